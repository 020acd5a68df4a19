"""The pages of the gallery, laid out like the drawings they are held against."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell.actions import Actions, CommandEntry
from semblance.app.shell.icons import icon
from semblance.app.shell.messages import Message
from semblance.app.shell.theme import set_look
from semblance.app.widgets.badge import KINDS, Badge
from semblance.app.widgets.buttons import Segmented, ViewSwitch
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import SearchField
from semblance.app.widgets.finding_chips import FindingChip
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel import PanelHeader, TabHeader
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.app.widgets.progress_line import ProgressLine
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.app.window.message_corner import Entry, MessageView
from semblance.app.window.start_page import StartPage
from semblance.core.library.findings import finding_letters
from semblance.core.parameters import Parameter
from tests.helpers.gallery import answer, sample_cases
from tests.helpers.icons import icon_names

FINDINGS = ("malignant", "benign", "normal", "cyst", "polyp", "adenoma", "fibrosis", "mass")
PARAMETERS = (
    Parameter("rounds", 200, "How often the bits are improved, one at a time.", "Rounds", 1, 5000, paper=120),
    Parameter(
        "share",
        0.3,
        "How many of the pairs come from images that look alike, whatever their finding.",
        "Visual pairs, share",
        0,
        1,
        paper=0.3,
    ),
    Parameter("neighbours", 5, "Visual neighbours of each case.", "Neighbours", 1, 50, paper=5),
    Parameter("search", "exact", "How the best step is found.", "Line search", choices=("exact", "grid")),
    Parameter("balanced", True, "Give every finding the same weight.", "Balance findings"),
)


def states() -> QWidget:
    """Controls, badges, findings, cards, messages and progress in all their states."""
    page, column = _page("panel", 1040, 820)
    column.addWidget(SectionHeader("Controls"))
    column.addLayout(_controls())
    column.addWidget(SectionHeader("Icons"))
    column.addLayout(_icons())
    column.addWidget(SectionHeader("Provenance badges, by shape and text, never by hue"))
    badges = hbox(spacing=12)
    for kind in KINDS:
        badges.addWidget(Badge(kind))
    badges.addStretch(1)
    column.addLayout(badges)
    column.addWidget(SectionHeader("Findings, always with a letter"))
    chips, letters = QHBoxLayout(), finding_letters(FINDINGS)
    chips.setSpacing(20)
    for code, finding in enumerate(FINDINGS):
        chips.addWidget(FindingChip(code, letters[finding], finding))
    chips.addWidget(FindingChip(-1, "?", "unknown"))
    chips.addStretch(1)
    column.addLayout(chips)
    column.addWidget(SectionHeader("Case cards"))
    cards = CaseGrid()
    cards.setFixedHeight(152)
    cards.set_judging(True)
    cards.set_source(ThumbnailLoader(answer, cards))
    cards.set_model(sample_cases(9))
    cards.set_current(1)
    column.addWidget(cards)
    column.addWidget(SectionHeader("Messages"))
    for message in (
        Message(
            "info",
            "No close match in this library",
            "Nearest is 0.81, usual for a same-finding pair is under 0.42.",
        ),
        Message(
            "warning", "2 files were left out.", "Their reasons are listed.", actions=(("Show", page.update),)
        ),
        Message(
            "error",
            "IM-0077.dcm could not be read: the file ends after 3 of 12 MB.",
            "Copy it again from its source, then import once more. The other 249 were kept.",
            "expected 12582912 bytes",
        ),
    ):
        column.addWidget(MessageView(Entry(message, None, 0.0)))
    column.addLayout(_jobs())
    column.addStretch(1)
    return page


def panels() -> QWidget:
    """A form, headers, tabs, filters and an empty panel, side by side as in the window."""
    page, column = _page("gap", 1040, 560)
    column.setContentsMargins(1, 1, 1, 1)
    row = hbox(spacing=1)
    column.addLayout(row)
    row.addWidget(_library())
    row.addWidget(_ranking(), 1)
    row.addWidget(_train())
    return page


def grid() -> QWidget:
    """The grid as ranking, as library, and as lists."""
    page, column = _page("gap", 1400, 620)
    column.setContentsMargins(0, 0, 0, 0)
    row = hbox(spacing=1)
    column.addLayout(row)
    images = ThumbnailLoader(answer, page)
    for ranked, rows, width in ((False, True, 200), (True, False, 580), (False, False, 240), (True, True, 0)):
        shown = CaseGrid()
        shown.set_source(images)
        shown.set_rows(rows)
        shown.set_judging(ranked)
        shown.set_model(sample_cases(ranked=ranked))
        shown.set_current(4 if rows else 1)
        if width:
            shown.setFixedWidth(width)
        row.addWidget(shown)
    return page


def start() -> QWidget:
    """The first start."""
    page = StartPage(Actions())
    page.resize(1440, 832)
    return page


def palette() -> QWidget:
    """The command palette over a panel, with two letters typed."""
    from semblance.app.window.palette import CommandPalette

    page, column = _page("panel", 720, 520)
    column.addStretch(1)
    made = CommandPalette(page)
    made.open(
        [
            CommandEntry("Train chosen learners", "Metric", page.update, "Ctrl+T", "play"),
            CommandEntry("Pause training BDM+V 0.4", "Jobs", page.update, "", "pause"),
            CommandEntry("Extract features…", "Features", page.update, "Ctrl+E", "layers"),
            CommandEntry("Export training curve…", "Evaluation", page.update, "", "export"),
            CommandEntry("Show split: training cases only", "Library", page.update, "", "grid"),
            CommandEntry("Overlay: transverse views only", "View", page.update, "", "eye"),
            CommandEntry("Undo last judgement, not like rank 4", "Refine", page.update, "Ctrl+Z", "undo"),
            CommandEntry("Try the demo", "File", page.update, "Ctrl+D", "play"),
            CommandEntry("Create report…", "File", page.update, "Ctrl+R", "export", enabled=False),
        ]
    )
    made.field.setText("tr")
    return page


def _page(role: str, width: int, height: int) -> tuple[QWidget, QVBoxLayout]:
    page = QFrame()
    set_look(page, role=role)
    page.resize(width, height)
    column = vbox(page, spacing=12, margins=(24, 16, 24, 16))
    return page, column


def _controls() -> QHBoxLayout:
    row = hbox(spacing=16)
    plain, off, main, link = (QPushButton(t) for t in ("Extract", "Extract", "Train", "paper’s defaults"))
    off.setEnabled(False)
    set_look(main, primary=True)
    set_look(link, link=True)
    tool, view = QToolButton(), QToolButton()
    for button, name, on in ((tool, "polygon", "accent"), (view, "grid", "text")):
        button.setIcon(icon(name, on=on))
        button.setCheckable(True)
        button.setChecked(True)
    set_look(view, view=True)
    ticked, clear = QCheckBox("check"), QCheckBox("no")
    ticked.setChecked(True)
    field, wrong, combo = QLineEdit("200"), QLineEdit("0"), QComboBox()
    set_look(wrong, error=True)
    combo.addItems(["scale, PCA 200", "scale"])
    slider = QSlider(Qt.Orientation.Horizontal)
    slider.setValue(70)
    for widget in (plain, off, main, link, tool, view, ticked, clear, field, wrong, combo, slider):
        row.addWidget(widget)
    for narrow in (field, wrong):
        narrow.setFixedWidth(72)
    main.setFocus()
    row.addStretch(1)
    return row


def _icons() -> QGridLayout:
    names = QGridLayout()
    names.setSpacing(4)
    for place, name in enumerate(icon_names()):
        button = QToolButton()
        button.setIcon(icon(name))
        button.setToolTip(name)
        names.addWidget(button, place // 30, place % 30)
    names.setColumnStretch(30, 1)
    return names


def _jobs() -> QGridLayout:
    row = QGridLayout()
    row.setSpacing(16)
    for place, (title, share, left, state, note) in enumerate(
        (
            ("Extracting Gabor", 0.34, 240.0, "running", ""),
            ("Extracting Gabor", 0.34, None, "paused", "paused"),
            ("Trained BDM+V 0.4", 1.0, None, "done", "done, 2 min 51 s"),
            ("Importing", None, None, "running", ""),
        )
    ):
        line = ProgressLine(title, can_pause=state != "done", can_stop=state == "running")
        line.set_progress(share, left)
        line.set_state(state, note)
        row.addWidget(line, place // 2, place % 2)
    return row


def _library() -> QWidget:
    panel, column = _page("panel", 220, 500)
    panel.setFixedWidth(220)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    header = PanelHeader("Library", help_button=False)
    header.add_action(ViewSwitch())
    column.addWidget(header)
    inner = vbox(spacing=6, margins=(8, 8, 8, 8))
    inner.addWidget(SearchField())
    inner.addWidget(SectionHeader("Finding", collapsible=True))
    letters = finding_letters(FINDINGS)
    for code, finding in enumerate(FINDINGS[:3]):
        line = QHBoxLayout()
        box = QCheckBox()
        box.setChecked(code < 2)
        line.addWidget(box)
        line.addWidget(FindingChip(code, letters[finding], finding), 1)
        line.addWidget(ElidedLabel("125", role="second"))
        inner.addLayout(line)
    column.addLayout(inner)
    cases = CaseGrid()
    cases.set_rows(True)
    cases.set_source(ThumbnailLoader(answer, cases))
    cases.set_model(sample_cases(ranked=False))
    cases.set_current(3)
    column.addWidget(cases, 1)
    return panel


def _ranking() -> QWidget:
    panel, column = _page("panel", 400, 500)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    header = PanelHeader("Ranking", "248 compared in 31 ms")
    header.add_action(QCheckBox("Group the same lesion and copies"))
    header.add_action(ViewSwitch())
    column.addWidget(header)
    column.addWidget(
        EmptyState(
            "No metric yet",
            "A metric defines similarity. Train one. It is tested on patients not used for training.",
            "Train a metric",
            icon="target",
        ),
        1,
    )
    return panel


def _train() -> QWidget:
    panel, column = _page("panel", 312, 500)
    panel.setFixedWidth(312)
    column.setContentsMargins(0, 0, 0, 0)
    tabs = TabHeader(["Why", "Train", "Refine"])
    tabs.tabs.setCurrentIndex(1)
    column.addWidget(tabs)
    inner = vbox(spacing=10, margins=(12, 0, 12, 8))
    form = ParameterForm(PARAMETERS, title="BDM+V")
    form.set_values({"neighbours": 0})
    inner.addWidget(form)
    inner.addWidget(SectionHeader("Split", note="by patient, 5 folds, seed 7"))
    inner.addWidget(Segmented([("region", "region"), ("whole", "whole image")]))
    inner.addStretch(1)
    column.addLayout(inner, 1)
    return panel
