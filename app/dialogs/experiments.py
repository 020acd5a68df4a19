"""Experiments: what to measure at the left, what the finished cells say at the right, growing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QFontInfo, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.context import Context
from app.dialogs.experiment_form import ExperimentForm
from app.dialogs.experiment_tables import (
    BADGES,
    PlainTable,
    compared_scores,
    show_differences,
    show_queries,
    show_scores,
    show_worst,
)
from app.icons import icon
from app.jobs import Job
from app.operations import experimenting
from app.plots.figure_view import theme_name
from app.theme import font, news, set_look, theme
from app.widgets.badge import Badge
from app.widgets.elided_label import ElidedLabel
from app.widgets.empty_state import EmptyState
from core.errors import BadArguments

_FORM, _SIZE = 320, (1180, 760)
_FOLDER, _SCHEDULER = "experiments_folder", "dask_scheduler"


class ExperimentsDialog(QDialog):
    """``case_wanted(library, row)``: a case whose picture is to be seen; ``help_wanted``."""

    case_wanted = Signal(str, int)
    help_wanted = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._job: Job | None = None
        self._folder: Path | None = None
        self._document: Mapping[str, Any] = {}
        self._drawn: tuple[Any, ...] = ()
        self.setWindowTitle("Experiments")
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.resize(theme().px(_SIZE[0]), theme().px(_SIZE[1]))
        settings, state = context.settings, context.state
        self.form = ExperimentForm(state.library, state.features, settings.text(_SCHEDULER))
        self.name = QLineEdit(self._free_name())
        self.name.setAccessibleName("Name of the experiment")
        self.place = QPushButton("In…")
        self.place.setToolTip("Choose the folder that holds experiments")
        self.run_button, self.cancel_button = QPushButton("Run"), QPushButton("Cancel")
        set_look(self.run_button, primary=True)
        self.open_button = QPushButton("Open…")
        self.open_button.setToolTip("Show an experiment that was run before")
        self.resume_button = QPushButton("Resume")
        self.resume_button.setToolTip("Measure the cells that are missing")
        self.export_button = QPushButton("Export…")
        self.export_button.setIcon(icon("export"))
        exports = QMenu(self)
        exports.addAction("Tables, plots and script…", lambda: self._choose_export(identified=False))
        exports.addAction(
            "The same with names of cases and folders…", lambda: self._choose_export(identified=True)
        )
        self.export_button.setMenu(exports)
        help_button = QPushButton("Help")
        help_button.setIcon(icon("help"))
        help_button.clicked.connect(self.help_wanted)
        for button in (self.run_button, self.open_button, self.place, help_button):
            button.setAutoDefault(False)
        self._problem = QLabel()
        self._problem.setWordWrap(True)
        set_look(self._problem, role="error")
        self._make_results()
        self._lay_out(help_button)
        self._connect()
        self._tell()

    # Making

    def _make_results(self) -> None:
        self._told = ElidedLabel(role="title")
        self._state_told = ElidedLabel(role="second")
        self.badge = Badge("held-out")
        self.protocol = QComboBox()
        self.protocol.setAccessibleName("Protocol shown")
        self.protocol.setMinimumContentsLength(10)
        self.protocol.hide()
        self.scores = PlainTable("Scores of every learner")
        self.score = QComboBox()
        self.score.setAccessibleName("Score that is compared")
        self.differences = PlainTable("Every two learners compared")
        self.test = QComboBox()
        self.test.setAccessibleName("Score that is ranked")
        self.ranks = QLabel()
        self.ranks.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self._ranks_told = QLabel()
        self._ranks_told.setWordWrap(True)
        set_look(self._ranks_told, role="second")
        self.row = QComboBox()
        self.row.setAccessibleName("Learner whose worst queries are shown")
        self.queries = PlainTable("Worst queries; Enter shows the case")
        self.findings = PlainTable("Worst findings")
        self._worst_told = ElidedLabel(role="second")
        self.notes = QLabel()
        self.notes.setWordWrap(True)
        self.notes.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.notes.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.notes.setContentsMargins(12, 8, 12, 8)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.scores, "Scores")
        self.tabs.addTab(self._stacked(self.test, self._ranks_told, self.ranks), "Ranks")
        self._differences_told = ElidedLabel(role="second")
        self.tabs.addTab(self._stacked(self.score, self._differences_told, self.differences), "Differences")
        worst = QSplitter(Qt.Orientation.Horizontal)
        worst.setChildrenCollapsible(False)
        worst.addWidget(self.queries)
        worst.addWidget(self.findings)
        worst.setStretchFactor(0, 2)
        worst.setStretchFactor(1, 1)
        self.tabs.addTab(self._stacked(self.row, self._worst_told, worst), "Worst queries")
        self.tabs.addTab(self.notes, "Notes")
        self._empty = EmptyState()
        self._empty.say(
            "Nothing measured yet",
            "Tick cases, learners and protocols, and press Run. Finished cells are kept at once: an "
            "experiment that was interrupted goes on where it was.",
        )
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.tabs)

    def _stacked(self, choice: QComboBox, told: QWidget, content: QWidget) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        choice.setMinimumContentsLength(24)
        choice.setMaximumWidth(theme().px(420))
        column.addWidget(choice)
        column.addWidget(told)
        column.addWidget(content, 1)
        return page

    def _lay_out(self, help_button: QPushButton) -> None:
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self.form)
        foot = QFrame()
        set_look(foot, role="bar")
        named = QHBoxLayout()
        named.setSpacing(8)
        named.addWidget(QLabel("Name"))
        named.addWidget(self.name, 1)
        named.addWidget(self.place)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.run_button, self.cancel_button, self.open_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        below = QVBoxLayout(foot)
        below.setContentsMargins(12, 8, 12, 8)
        below.setSpacing(8)
        below.addWidget(self._problem)
        below.addLayout(named)
        below.addLayout(buttons)
        left = QWidget()
        set_look(left, role="panel")
        left.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        side = QVBoxLayout(left)
        side.setContentsMargins(0, 0, 0, 0)
        side.setSpacing(0)
        side.addWidget(scroll, 1)
        side.addWidget(foot)
        self._left = left
        head = QHBoxLayout()
        head.setContentsMargins(12, 6, 12, 6)
        head.setSpacing(8)
        head.addWidget(self._told)
        head.addWidget(self.badge)
        head.addWidget(self._state_told, 1)
        for widget in (self.protocol, self.resume_button, self.export_button, help_button):
            head.addWidget(widget)
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        right.addLayout(head)
        right.addWidget(self._pages, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(left)
        row.addLayout(right, 1)
        self._fit()

    def _connect(self) -> None:
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.setInterval(120)
        self._redraw.timeout.connect(self._draw_ranks)
        self.form.changed.connect(self._tell)
        self.name.textChanged.connect(lambda _text: self._tell())
        self.place.clicked.connect(self._choose_place)
        self.run_button.clicked.connect(self.run)
        self.cancel_button.clicked.connect(self.cancel)
        self.open_button.clicked.connect(self._choose_experiment)
        self.resume_button.clicked.connect(self.resume)
        self.protocol.currentTextChanged.connect(lambda _text: self._show_protocol())
        for choice in (self.test, self.score, self.row):
            choice.currentIndexChanged.connect(lambda _place: self._show_tab())
        self.findings.entered.connect(self._show_finding)
        self.findings.cellClicked.connect(lambda row, _column: self._show_finding(row))
        self.queries.entered.connect(self._enter_query)
        self.queries.cellClicked.connect(lambda row, _column: self._enter_query(row))
        self.tabs.currentChanged.connect(lambda _place: self._show_tab())
        news.changed.connect(self._fit)

    def _fit(self) -> None:
        self._left.setFixedWidth(theme().px(_FORM))
        self._drawn = ()
        self._draw_ranks()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._redraw.start()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._redraw.start()
        return super().event(event)

    # Doing

    @property
    def home(self) -> Path:
        """The folder that holds experiments."""
        return Path(self._context.settings.text(_FOLDER) or Path.home() / "semblance-experiments")

    def _free_name(self) -> str:
        number = 1
        while (self.home / f"experiment-{number}").exists():
            number += 1
        return f"experiment-{number}"

    def run(self) -> None:
        """Measure what is ticked, into the folder of that name; an experiment there is gone on with."""
        try:
            spec = self.form.spec(self.name.text().strip())
        except BadArguments as error:
            self._problem.setText(str(error))
            self._problem.setVisible(True)
            return
        scheduler = self.form.scheduler.text().strip()
        self._context.settings.set_text(_SCHEDULER, scheduler)
        self._folder = self.home / self.name.text().strip()
        job = experimenting.run(
            self._context, spec, self._folder, self.form.workers, scheduler, self.show_document
        )
        self._follow(job)

    def resume(self) -> None:
        """Measure the cells that the experiment shown lacks."""
        if self._folder is not None:
            scheduler = self.form.scheduler.text().strip()
            job = experimenting.resume(
                self._context, self._folder, self.form.workers, scheduler, self.show_document
            )
            self._follow(job)

    def cancel(self) -> None:
        """End measuring; finished cells stay."""
        if self._job is not None:
            self._job.cancel()

    def open_experiment(self, folder: Path) -> None:
        """Show what lies in ``folder``."""
        self._folder = folder
        experimenting.show(self._context, folder, self.show_document)

    def _follow(self, job: Job) -> None:
        self._job = job
        job.failed.connect(lambda error: self._fail(str(error)))
        job.ended.connect(lambda: self._ended(job))
        self._tell()

    def _fail(self, text: str) -> None:
        self._problem.setText(text)
        self._problem.setVisible(True)

    def _ended(self, job: Job) -> None:
        if self._job is not job:
            return
        self._job = None
        cut_short = self._document and not self._document["complete"]
        if cut_short and self._folder is not None:
            # What was told on the way has no comparisons; what is kept has.
            experimenting.show(self._context, self._folder, self.show_document)
        self._tell()

    def _choose_place(self) -> None:
        chosen = QFileDialog.getExistingDirectory(
            self, "The folder that holds experiments", str(self.home.parent)
        )
        if chosen:
            self._context.settings.set_text(_FOLDER, chosen)
            self.name.setText(self._free_name())
            self._tell()

    def _choose_experiment(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, "An experiment's folder", str(self.home))
        if chosen:
            self.open_experiment(Path(chosen))

    def _choose_export(self, *, identified: bool) -> None:
        chosen = QFileDialog.getExistingDirectory(self, "Write tables and plots into", str(self.home))
        if chosen and self._folder is not None:
            self.export(Path(chosen) / f"{self._folder.name}-export", identified=identified)

    def export(self, to: Path, *, identified: bool = False) -> None:
        """Write everything there is into the folder ``to``; ``identified``: with names of cases."""
        if self._folder is not None:
            experimenting.export(self._context, self._folder, to, identified=identified)

    def _enter_query(self, row: int) -> None:
        case, place = self.queries.case(row), self.row.currentIndex()
        if case is None or place < 0:
            self._worst_told.setText("A row of a table has no picture.")
            return
        cases = self._document["worst_queries"][place]["cases"]
        found = next((one for one in self._document["cases"] if one["name"] == cases), None)
        if found is not None and found["source"]:
            self.case_wanted.emit(str(found["source"]["path"]).rpartition(" → ")[2], case)

    # Showing

    def show_document(self, document: Mapping[str, Any]) -> None:
        """The table so far, or all that the finished cells say."""
        self._document = document
        self._pages.setCurrentIndex(1)
        names = list(dict.fromkeys(row["protocol"] for row in document["results"]))
        _refill(self.protocol, names)
        self.protocol.setVisible(len(names) > 1)
        _refill(self.test, [f"{one['score']} ({one['protocol']})" for one in document.get("over_tables", ())])
        _refill(
            self.row,
            [
                f"{one['cases']}: {one['learner']} ({one['protocol']})"
                for one in document.get("worst_queries", ())
            ],
        )
        self._drawn = ()
        self._show_protocol()
        notes = [*document["notes"]]
        for cases in document["cases"]:
            notes += [f"{cases['name']}: {text}" for text in (*cases["notes"], cases["problem"]) if text]
        notes += [f"{r['cases']}, {r['learner']}: {r['failed']}" for r in document["results"] if r["failed"]]
        self.notes.setText("\n\n".join(notes) or "Nothing failed, nothing was left out.")
        self.tabs.setTabText(4, f"Notes ({len(notes)})" if notes else "Notes")
        self._tell()

    def _show_protocol(self) -> None:
        _refill(self.score, compared_scores(self._document, self.protocol.currentText()))
        self._show_tab()

    def _show_tab(self) -> None:
        """Fill what is seen only: every table of a large experiment at once would stall the window."""
        protocol, tab = self.protocol.currentText(), self.tabs.currentIndex()
        if not self._document or not protocol:
            return
        if tab == 0:
            show_scores(self.scores, self._document, protocol)
        elif tab == 1:
            self._draw_ranks()
        elif tab == 2:
            show_differences(self.differences, self._document, protocol, self.score.currentText())
            some = self.score.count() > 0
            self._differences_told.setText(
                "Difference with its 95 % interval, and p values of paired tests over the same splits."
                if some
                else "Known at the end, where two learners have two repeats."
            )
        elif tab == 3:
            self._show_worst()

    def _show_worst(self) -> None:
        show_worst(self.queries, self.findings, self._document, self.row.currentIndex())
        told = self._document.get("worst_queries", ())
        score = told[self.row.currentIndex()]["score"] if 0 <= self.row.currentIndex() < len(told) else ""
        words = (
            f"Lowest {score} first; a click shows the case." if score else "Known when a cell is finished."
        )
        self._worst_told.setText(words)

    def _show_finding(self, row: int) -> None:
        """The worst queries of the finding in that line."""
        told = self._document.get("worst_findings", ())
        if 0 <= self.row.currentIndex() < len(told):
            line = told[self.row.currentIndex()]["findings"][row]
            show_queries(self.queries, line["queries"], told[self.row.currentIndex()]["score"])
            self._worst_told.setText(f"Worst queries of the finding {line['finding']}.")

    def _draw_ranks(self) -> None:
        tests = self._document.get("over_tables", ())
        place = self.test.currentIndex()
        if not 0 <= place < len(tests):
            self.ranks.clear()
            self._ranks_told.setText("Ranks need two learners, measured on two tables or feature sets.")
            return
        test = tests[place]
        self._ranks_told.setText(
            f"Friedman's test over {test['tables']} tables: chi-squared {test['statistic']:.2f}, p "
            f"{test['p_value']:.3g}. Learners joined by a bar do not differ (Nemenyi, 0.05)."
        )
        room = max(360, self.tabs.width() - 24)
        look = {
            "theme": theme_name(),
            "width": room,
            "ratio": self.devicePixelRatioF(),
            "text_scale": theme().px(100) / 100,
            "family": QFontInfo(font(12)).family(),
        }
        drawn = (place, test["score"], test["protocol"], *look.values())
        if drawn != self._drawn and self.tabs.currentIndex() == 1 and self.isVisible():
            self._drawn = drawn
            experimenting.draw(self._context, test, self._show_ranks, **look)
        names = sorted(test["ranks"].items(), key=lambda pair: pair[1])
        self.ranks.setAccessibleName("Average ranks: " + ", ".join(f"{n} {rank:.2f}" for n, rank in names))

    def _show_ranks(self, content: bytes) -> None:
        picture = QPixmap()
        picture.loadFromData(QByteArray(content))
        picture.setDevicePixelRatio(self.devicePixelRatioF())
        self.ranks.setPixmap(picture)

    def _tell(self) -> None:
        """What can be done now, and why not."""
        running = self._job is not None
        problem = ""
        try:
            self.form.spec(self.name.text().strip())
        except BadArguments as error:
            problem = str(error)
        name = self.name.text().strip()
        if not name or Path(name).name != name or name in (".", ".."):
            problem = "Give the experiment a name without slashes."
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem) and not running)
        self.run_button.setEnabled(not problem and not running)
        self.cancel_button.setVisible(running)
        there = bool(self._document)
        complete = there and bool(self._document["complete"])
        self.resume_button.setVisible(there and not complete and not running)
        self.export_button.setEnabled(there and self._document["cells"]["done"] > 0 and not running)
        self.badge.setVisible(there)
        if there:
            known = {row["patients"] for row in self._document["results"]}
            self.badge.set_kind(BADGES["known" if known == {"known"} else "unknown"])
            cells = self._document["cells"]
            failed = f", {cells['failed']} failed" if cells["failed"] else ""
            self._told.setText(str(self._document["experiment"]))
            words = "measuring" if running else "complete" if complete else "interrupted"
            self._state_told.setText(f"{cells['done']} of {cells['total']} cells{failed}, {words}")
        else:
            self._told.setText("measuring…" if running else "")


def _refill(box: QComboBox, texts: list[str]) -> None:
    """Other choices, the present one kept where it is still there, without a signal."""
    if texts == [box.itemText(place) for place in range(box.count())]:
        return
    before = box.currentText()
    blocked = box.blockSignals(True)
    box.clear()
    box.addItems(texts)
    box.setCurrentIndex(max(0, box.findText(before)) if texts else -1)
    box.blockSignals(blocked)
