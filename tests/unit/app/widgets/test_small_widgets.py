from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell.actions import Actions
from semblance.app.shell.settings import RecentLibrary
from semblance.app.widgets import focus_ring
from semblance.app.widgets.badge import KINDS, Badge
from semblance.app.widgets.buttons import Segmented, ViewSwitch
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import SearchField
from semblance.app.widgets.finding_chips import FindingChip
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import WrappingRow
from semblance.app.widgets.panel import PanelHeader, TabHeader
from semblance.app.widgets.progress_line import ProgressLine, time_left
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.tables import FactList
from semblance.app.window.start_page import RecentLine, StartPage
from tests.helpers.gallery import PAGES, page
from tests.helpers.widgets import Paints, show_widget


def button(widget: QWidget, text: str) -> QPushButton:
    return next(found for found in widget.findChildren(QPushButton) if found.text() == text)


def test_names_with_line_breaks_and_marks_of_direction_are_spelled_out(qtbot) -> None:
    name, shown = "cas\u202eeno\nx", r"cas\u202eeno\nx"
    label, chip, facts = ElidedLabel(name), FindingChip(0, "C", name), FactList(("Patient",))
    for widget in (label, chip, facts):
        qtbot.addWidget(widget)
    assert label.text() == shown
    label.setText(f"{name} again")
    label.set_tip(name)
    facts.set_fact("Patient", name)
    assert label.text() == f"{shown} again"
    assert "\u202e" not in label.toolTip()
    assert chip.accessibleName() == chip.toolTip() == shown
    assert facts.text("Patient") == shown


@pytest.mark.parametrize(
    ("make", "show"),
    [
        (lambda: Segmented([("a", "A"), ("b", "B")]), lambda choice, text: choice.set_value(text)),
        (lambda: Badge("held-out", "a"), lambda badge, text: badge.set_kind("held-out", text)),
        (lambda: ElidedLabel("long text"), ElidedLabel.set_short_text),
    ],
    ids=["choice", "badge", "label"],
)
def test_what_is_shown_already_is_not_painted_again(qtbot, make, show) -> None:
    widget = make()
    show_widget(qtbot, widget, 60, 30)
    show(widget, "a")
    QCoreApplication.processEvents()
    paints = Paints(widget)
    show(widget, "a")
    QCoreApplication.processEvents()
    assert paints.count == 0
    show(widget, "b")
    QCoreApplication.processEvents()
    assert paints.count == 1


@pytest.mark.parametrize("kind", KINDS)
def test_badges_have_their_text_as_accessible_name(qtbot, kind: str) -> None:
    badge = Badge(kind)
    qtbot.addWidget(badge)
    assert badge.text in badge.accessibleName()
    assert badge.sizeHint().height() == 18
    assert not badge.grab().isNull()
    badge.set_kind("stale", "old")
    assert badge.text == "old"
    with pytest.raises(KeyError):
        badge.set_kind("unheard of")


def test_a_chip_names_its_finding(qtbot) -> None:
    chip = FindingChip(0, "M", "malignant")
    qtbot.addWidget(chip)
    assert chip.accessibleName() == "malignant"
    wide = chip.sizeHint().width()
    chip.set_finding(-1, "?")
    assert chip.sizeHint().width() < wide


def test_an_empty_panel_leads_on(qtbot) -> None:
    done = []
    empty = EmptyState("No metric yet", "Train one.", "Train", icon="target")
    qtbot.addWidget(empty)
    empty.show_message("No features yet", "Extract them.", "Extract…", lambda: done.append(1))
    qtbot.mouseClick(button(empty, "Extract…"), Qt.MouseButton.LeftButton)
    assert done == [1]
    empty.show_message("Nothing to do")
    assert all(found.isHidden() for found in empty.findChildren(QPushButton))


def test_long_text_is_shortened_with_a_full_tooltip(qtbot) -> None:
    label = ElidedLabel("a very long name of an image.png", mode=Qt.TextElideMode.ElideMiddle)
    qtbot.addWidget(label)
    label.show()
    label.resize(80, 20)
    assert "…" in label.shown_text()
    assert label.toolTip() == "a very long name of an image.png"
    label.resize(600, 20)
    assert label.toolTip() == ""
    label.set_tip("what it is")
    assert label.toolTip() == "what it is"
    label.set_short_text("a.png")
    assert label.shown_text() == label.text()
    label.resize(80, 20)
    assert label.shown_text() == "a.png"
    label.resize(10, 20)
    assert label.shown_text() == "", "nothing rather than a torn word"


def test_at_every_width_it_is_whole_or_short_and_never_cut(qtbot):
    for number in range(400, 500):
        label = ElidedLabel(f"{number} in {number % 37} ms", mode=Qt.TextElideMode.ElideMiddle)
        qtbot.addWidget(label)
        label.set_short_text("short")
        for width in range(label.sizeHint().width() - 4, label.sizeHint().width() + 2):
            label.resize(width, 14)
            assert label.shown_text() in (label.text(), "short")


def test_a_label_measures_again_after_a_change_of_font_or_text(qtbot) -> None:
    label = ElidedLabel("lesion")
    qtbot.addWidget(label)
    label.resize(label.sizeHint().width(), 20)
    assert label.shown_text() == "lesion"
    face = label.font()
    face.setPixelSize(2 * label.fontInfo().pixelSize())
    label.setFont(face)
    assert "…" in label.shown_text()
    label.setText("l")
    assert label.shown_text() == "l"
    label.setText("another lesion")
    assert "…" in label.shown_text()
    label.set_short_text("a")
    assert label.shown_text() == "a"


def test_progress_says_share_and_time(qtbot) -> None:
    line = ProgressLine("Extracting Gabor", can_pause=True, can_stop=True)
    qtbot.addWidget(line)
    line.set_progress(0.34, 240)
    assert {"Extracting Gabor", "34 %", "4 min left"} <= {label.text() for label in line.findChildren(QLabel)}
    assert line.bar.value() == 340
    buttons = {found.toolTip(): found for found in line.findChildren(QToolButton)}
    for tip, signal in (
        ("Pause", line.pause_requested),
        ("Stop and keep the best so far", line.stop_requested),
        ("Cancel", line.cancel_requested),
    ):
        with qtbot.waitSignal(signal):
            qtbot.mouseClick(buttons[tip], Qt.MouseButton.LeftButton)
    line.set_progress(None)
    assert not line.grab().isNull()
    line.set_state("paused", "paused")
    assert buttons["Pause"].toolTip() == "Resume"
    line.set_state("done", "done, 2 min 51 s")
    assert not buttons["Cancel"].isEnabled()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "a moment left"),
        (37, "35 s left"),
        (100, "1 min 40 s left"),
        (240, "4 min left"),
        (300, "5 min left"),
        (1503, "25 min left"),
        (7200, "2 h left"),
        (9000, "2 h 30 min left"),
    ],
)
def test_remaining_time_is_written_in_words(seconds: float, text: str) -> None:
    assert time_left(seconds) == text


def test_one_of_several_by_mouse_and_keys(qtbot) -> None:
    choice = Segmented([("region", "region"), ("whole", "whole image")])
    qtbot.addWidget(choice)
    choice.resize(200, 26)
    with qtbot.waitSignal(choice.changed) as signal:
        qtbot.mouseClick(choice, Qt.MouseButton.LeftButton, pos=QPoint(150, 10))
    assert signal.args == ["whole"]
    qtbot.keyClick(choice, Qt.Key.Key_Right)
    assert choice.value() == "whole"
    qtbot.keyClick(choice, Qt.Key.Key_Left)
    assert choice.value() == "region"
    with qtbot.assertNotEmitted(choice.changed):
        choice.set_value("whole")
    with pytest.raises(KeyError):
        choice.set_value("other")
    assert not choice.grab().isNull()


def test_grid_or_list(qtbot) -> None:
    switch = ViewSwitch()
    qtbot.addWidget(switch)
    with qtbot.waitSignal(switch.changed) as signal:
        qtbot.mouseClick(switch.findChildren(QToolButton)[1], Qt.MouseButton.LeftButton)
    assert signal.args == ["list"]
    assert switch.value() == "list"
    switch.set_value("grid")
    assert switch.value() == "grid"


def test_a_search_text_is_emitted_after_a_pause_and_cleared_with_escape(qtbot) -> None:
    field = SearchField()
    qtbot.addWidget(field)
    with qtbot.waitSignal(field.searched) as signal:
        qtbot.keyClicks(field, "us-07")
    assert signal.args == ["us-07"]
    with qtbot.waitSignal(field.down_pressed):
        qtbot.keyClick(field, Qt.Key.Key_Down)
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == ""


def test_a_section_collapses(qtbot) -> None:
    section = SectionHeader("Finding", note="3", collapsible=True)
    qtbot.addWidget(section)
    assert section.is_expanded()
    with qtbot.waitSignal(section.expanded) as signal:
        qtbot.mouseClick(section.findChild(QToolButton), Qt.MouseButton.LeftButton)
    assert signal.args == [False]
    section.set_expanded(True)
    assert section.is_expanded()
    # The title is a larger target than the arrow.
    title = next(label for label in section.findChildren(QLabel) if label.text() == "Finding")
    qtbot.mouseClick(title, Qt.MouseButton.LeftButton)
    assert not section.is_expanded()


def test_headers_offer_help_and_tabs(qtbot) -> None:
    header, tabs = PanelHeader("Ranking", "248 compared"), TabHeader(["Why", "Train"], title="Evaluation")
    for widget in (header, tabs):
        qtbot.addWidget(widget)
    assert header.height() == 32
    with qtbot.waitSignal(header.help_requested):
        qtbot.mouseClick(header.findChild(QToolButton), Qt.MouseButton.LeftButton)
    added = header.add_button("pop-out", "Show in a window of its own")
    assert added.accessibleName() == "Show in a window of its own"
    with qtbot.waitSignal(tabs.changed) as signal:
        qtbot.keyClick(tabs.tabs, Qt.Key.Key_Right)
    assert signal.args == [1]


def test_tabs_that_are_shown_again_get_their_width(qtbot):
    header = show_widget(qtbot, TabHeader(["Why", "Case", "Train", "Refine"]), 500, 40)
    header.set_shown([0, 1])
    QCoreApplication.processEvents()
    narrow = header.tabs.width()
    header.set_shown([0, 1, 2, 3])
    QCoreApplication.processEvents()
    assert header.tabs.width() == header.tabs.sizeHint().width() > narrow


def test_choosing_a_tab_moves_none(qtbot) -> None:
    header = TabHeader(["Why", "Train", "Refine"])
    qtbot.addWidget(header)
    before = [header.tabs.tabRect(place) for place in range(3)]
    header.tabs.setCurrentIndex(2)
    assert [header.tabs.tabRect(place) for place in range(3)] == before


def test_the_start_page_leads_on(qtbot) -> None:
    start = show_widget(qtbot, StartPage(Actions()), 1000, 700)
    for text, signal in (
        ("Try the demo", start.demo_requested),
        ("Choose a folder…", start.new_requested),
        ("Open…", start.open_requested),
        ("What is a metric? What is a finding? Open the glossary", start.glossary_requested),
    ):
        with qtbot.waitSignal(signal):
            qtbot.mouseClick(button(start, text), Qt.MouseButton.LeftButton)


def test_who_comes_back_sees_recent_libraries_first_and_lost_ones_can_be_removed(qtbot, tmp_path) -> None:
    start = StartPage(Actions())
    qtbot.addWidget(start)
    start.show()
    assert start.demo_button.property("primary") and start._title.text() == "Open a library"
    there = tmp_path / "Breast.semblance"
    there.mkdir()
    known = RecentLibrary(there, "12 cases", "mammogram", "2026-11-28")
    start.set_recent([known, RecentLibrary(tmp_path / "Gone.semblance", "", "", "")])
    assert start._title.text() == "Recent" and not start.demo_button.property("primary")
    first, lost = start.findChildren(RecentLine)
    assert first.button.accessibleName().startswith("Breast, 12 cases · mammogram · opened 28 Nov 2026")
    assert "(not found)" in lost.button.accessibleName() and not lost.forget.isHidden()
    assert first.forget.isHidden()
    for clicked, signal, library in (
        (first.button, start.recent_requested, there),
        (lost.forget, start.forget_requested, tmp_path / "Gone.semblance"),
    ):
        with qtbot.waitSignal(signal) as emitted:
            qtbot.mouseClick(clicked, Qt.MouseButton.LeftButton)
        assert emitted.args == [str(library)]
    start.set_recent([])
    assert start._title.text() == "Open a library"


def test_a_dropped_path_is_emitted(qtbot, tmp_path) -> None:
    start = StartPage(Actions())
    qtbot.addWidget(start)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    start.set_dragging(True)
    with qtbot.waitSignal(start.dropped) as signal:
        start.dropEvent(event)
    assert signal.args == [str(tmp_path)]


def test_the_ring_follows_the_keyboard_only(qtbot, qapp) -> None:
    ring = focus_ring.install(qapp)
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    row = QHBoxLayout()
    column.addLayout(row)
    first, second, field = QPushButton("a"), QPushButton("b"), QLineEdit()
    for widget in (first, second, field):
        row.addWidget(widget)
    with qtbot.waitActive(window):
        window.show()
        window.activateWindow()
    qtbot.mouseClick(field, Qt.MouseButton.LeftButton)
    first.setFocus()
    assert ring.overlay is not None
    assert ring.overlay.geometry().contains(first.geometry())
    window.resize(600, 300)
    qtbot.waitUntil(lambda: ring.overlay.geometry().contains(first.geometry()))
    field.setFocus()
    assert ring.overlay is None
    # Focus that a click hands on, as when it closes a dialog, is no keyboard's.
    QTest.mouseClick(window.windowHandle(), Qt.MouseButton.LeftButton, pos=field.geometry().center())
    first.setFocus()
    assert ring.overlay is None
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_Tab)
    assert ring.overlay is not None
    field.setFocus()
    qtbot.mouseClick(second, Qt.MouseButton.LeftButton)
    assert ring.overlay is None
    first.setFocus()
    first.deleteLater()
    qtbot.waitUntil(lambda: ring.target is not first)
    ring.deleteLater()


@pytest.mark.parametrize("name", PAGES)
def test_the_gallery_shows_every_page(qtbot, name: str) -> None:
    shown = page(name)
    qtbot.addWidget(shown)
    with qtbot.waitExposed(shown):
        shown.show()
    assert not shown.grab().isNull()


def test_tabs_without_space_become_a_combo_box(qtbot):
    header = TabHeader(
        ["Overview", "Retrieval accuracy", "Calibration"], title="Evaluation", subtitle="by case"
    )
    qtbot.addWidget(header)
    emitted = []
    header.changed.connect(emitted.append)
    header.resize(header.sizeHint().width() + 200, header.height())
    header.show()
    whole = header.sizeHint()
    assert header.tab_chooser is header.tabs
    header.resize(200, header.height())
    field = header.tab_chooser
    assert isinstance(field, QComboBox)
    assert not header.tabs.isVisible()
    assert header.sizeHint() == whole
    field.setCurrentIndex(2)
    field.activated.emit(2)
    assert emitted == [2]
    assert header.tabs.currentIndex() == 2
    header.tabs.setCurrentIndex(1)
    assert field.currentText() == "Retrieval accuracy"


def test_the_title_of_a_section_is_not_cut_for_its_note(qtbot):
    head = SectionHeader("Contributions to the distance", note="untick to leave out")
    qtbot.addWidget(head)
    head.resize(400, 28)
    head.show()
    assert head.note.shown_text() == "untick to leave out"
    head.resize(head.title.sizeHint().width() + 40, 28)
    head.layout().activate()
    assert head.title.shown_text() == "Contributions to the distance"
    assert head.note.shown_text().strip() == "", "a part of a hint says nothing"
    assert "untick to leave out" in head.note.toolTip()


def test_a_row_goes_on_below_where_it_is_narrow_and_cuts_no_text_off(qtbot):
    buttons, field = (
        [QPushButton(text) for text in ("Search with this case", "Compare", "Remove")],
        QLineEdit(),
    )
    panel = QWidget()
    qtbot.addWidget(panel)
    panel.setLayout(WrappingRow(*buttons, field))
    panel.show()
    for width in (900, 260):
        panel.resize(width, panel.heightForWidth(width))
        panel.layout().activate()
        lines = {button.y() for button in buttons}
        assert (len(lines) == 1) == (width == 900)
        for button in buttons:
            assert button.width() >= button.sizeHint().width()
        assert max(one.geometry().bottom() for one in (*buttons, field)) < panel.height()
        assert field.geometry().right() == panel.rect().right(), "the field takes what is left of its line"
