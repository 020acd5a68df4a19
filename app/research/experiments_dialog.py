"""Experiments: what to measure at the left, what the finished cells say at the right, growing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QLabel,
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from semblance.app.research import run_experiment
from semblance.app.research.experiment_form import ExperimentForm
from semblance.app.research.experiment_results import ExperimentResults
from semblance.app.research.experiment_tables import BADGES
from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.dialog import resize_dialog
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.menus import Menu
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.scroll_area import PanelScrollArea
from semblance.app.widgets.tab_order import Dialog
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import tr

_FORM, _SCROLL, _SIZE = 320, 10, (1180, 760)
_FOLDER, _SCHEDULER = "experiments_folder", "dask_scheduler"


class ExperimentsDialog(Dialog):
    """``case_requested(library, row)``: a case whose image is to be seen; ``help_requested``."""

    case_requested = Signal(str, int)
    help_requested = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._job: Job | None = None
        self._folder: Path | None = None
        self._document: Mapping[str, Any] = {}
        self._failure = ""
        self.setWindowTitle(tr("Experiments"))
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        resize_dialog(self, *_SIZE)
        settings, state = context.settings, context.state
        self.form = ExperimentForm(state.library, state.features, settings.text(_SCHEDULER))
        self.name = QLineEdit(self._free_name())
        self.name.setAccessibleName(tr("Name of the experiment"))
        self.place = QPushButton(tr("Folder…"))
        self.place.setToolTip(tr("Choose the folder that holds experiments"))
        self.run_button, self.cancel_button = QPushButton(tr("Run")), QPushButton(tr("Cancel"))
        set_look(self.run_button, primary=True)
        self.open_button = QPushButton(tr("Open…"))
        self.open_button.setToolTip(tr("Show an experiment that was run before"))
        self.resume_button = QPushButton(tr("Resume"))
        self.resume_button.setToolTip(tr("Measure the cells that are missing"))
        self.export_button = QPushButton(tr("Export…"))
        self.export_button.setIcon(icon("export"))
        exports = Menu(self)
        exports.addAction(tr("Tables, plots and script…"), lambda: self._choose_export(identified=False))
        exports.addAction(
            tr("The same with names of cases and folders…"), lambda: self._choose_export(identified=True)
        )
        self.export_button.setMenu(exports)
        help_button = QPushButton(tr("Help"))
        help_button.setIcon(icon("help"))
        help_button.clicked.connect(self.help_requested)
        for button in (self.run_button, self.open_button, self.place, help_button):
            button.setAutoDefault(False)
        self._problem = WrappedLabel(role="error")
        self._told, self._state_told = ElidedLabel(role="title"), ElidedLabel(role="second")
        self.badge = Badge("held-out")
        self.results = ExperimentResults(context)
        empty = EmptyState()
        empty.show_message(
            tr("No results yet"),
            tr(
                "Tick cases, learners and protocols, and press Run. Each finished cell is saved at once. "
                "You can resume an interrupted experiment."
            ),
        )
        self._pages = QStackedWidget()
        self._pages.addWidget(empty)
        self._pages.addWidget(self.results)
        self._lay_out(help_button)
        self._connect()
        self._tell()

    def _lay_out(self, help_button: QPushButton) -> None:
        foot = QFrame()
        set_look(foot, role="bar")
        named = hbox(spacing=8)
        named.addWidget(QLabel(tr("Name")))
        named.addWidget(self.name, 1)
        named.addWidget(self.place)
        buttons = hbox(spacing=8)
        for button in (self.run_button, self.cancel_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        # Never where Cancel stood a moment ago.
        buttons.addWidget(self.open_button)
        below = vbox(foot, spacing=8, margins=(12, 8, 12, 8))
        below.addWidget(self._problem)
        below.addLayout(named)
        below.addLayout(buttons)
        self._left = Panel()
        side = vbox(self._left)
        side.addWidget(PanelScrollArea(self.form), 1)
        side.addWidget(foot)
        head = hbox(spacing=8, margins=(12, 6, 12, 6))
        head.addWidget(self._told)
        head.addWidget(self.badge)
        head.addWidget(self._state_told, 1)
        for widget in (self.results.protocol, self.resume_button, self.export_button, help_button):
            head.addWidget(widget)
        right = vbox()
        right.addLayout(head)
        right.addWidget(self._pages, 1)
        row = hbox(self)
        row.addWidget(self._left)
        row.addLayout(right, 1)
        self._fit()

    def _connect(self) -> None:
        self.form.changed.connect(self._tell)
        self.name.textChanged.connect(lambda _text: self._tell())
        self.place.clicked.connect(self._choose_place)
        self.run_button.clicked.connect(self.run)
        self.cancel_button.clicked.connect(self.cancel)
        self.open_button.clicked.connect(self._choose_experiment)
        self.resume_button.clicked.connect(self.resume)
        self.results.case_requested.connect(self.case_requested)
        theme_signals.changed.connect(self._fit)

    def _fit(self) -> None:
        # Longer words of another language widen the form, which does not scroll sideways.
        wide = self.form.minimumSizeHint().width() + theme().px(_SCROLL)
        self._left.setFixedWidth(max(theme().px(_FORM), wide))

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
        job = run_experiment.run(
            self._context, spec, self._folder, self.form.workers, scheduler, self.show_document
        )
        self._follow(job)

    def resume(self) -> None:
        """Measure the cells that the experiment shown lacks."""
        if self._folder is not None:
            scheduler = self.form.scheduler.text().strip()
            job = run_experiment.resume(
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
        run_experiment.show(self._context, folder, self.show_document)

    def _follow(self, job: Job) -> None:
        self._job = job
        self._failure = ""
        job.failed.connect(self._fail)
        job.ended.connect(lambda: self._ended(job))
        self._tell()

    def _fail(self, error: SemblanceError) -> None:
        self._failure = str(error)

    def _ended(self, job: Job) -> None:
        if self._job is not job:
            return
        self._job = None
        cut_short = self._document and not self._document["complete"]
        if cut_short and self._folder is not None:
            # What was told on the way has no comparisons; what is kept has.
            run_experiment.show(self._context, self._folder, self.show_document)
        self._tell()

    def _choose_place(self) -> None:
        chosen = QFileDialog.getExistingDirectory(
            self, tr("The folder that holds experiments"), str(self.home.parent)
        )
        if chosen:
            self._context.settings.set_text(_FOLDER, chosen)
            self.name.setText(self._free_name())
            self._tell()

    def _choose_experiment(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, tr("An experiment's folder"), str(self.home))
        if chosen:
            self.open_experiment(Path(chosen))

    def _choose_export(self, *, identified: bool) -> None:
        chosen = QFileDialog.getExistingDirectory(self, tr("Write tables and plots into"), str(self.home))
        if chosen and self._folder is not None:
            self.export(Path(chosen) / f"{self._folder.name}-export", identified=identified)

    def export(self, to: Path, *, identified: bool = False) -> None:
        """Write everything there is into the folder ``to``; ``identified``: with names of cases."""
        if self._folder is not None:
            job = run_experiment.export(self._context, self._folder, to, identified=identified)
            # The window's own message lies behind this one.
            job.done.connect(
                lambda files: self._state_told.setText(
                    tr("Wrote {files} files into {folder}", files=len(files), folder=to.name)
                )
            )

    # Showing

    def show_document(self, document: Mapping[str, Any]) -> None:
        """The table so far, or all that the finished cells say."""
        self._document = document
        self._pages.setCurrentIndex(1)
        self.results.show_document(document)
        self._tell()

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
            problem = tr("Give the experiment a name without slashes.")
        told = problem or self._failure
        self._problem.setText(told)
        self._problem.setVisible(bool(told) and not running)
        held = self.focusWidget()
        if running:
            self.cancel_button.show()
        if held is self.run_button and running:
            # Where Tab would lead is far from what ends it.
            self.cancel_button.setFocus()
        self.run_button.setEnabled(not problem and not running)
        if held is self.cancel_button and not running and not problem:
            self.run_button.setFocus()
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
            failed = tr(", {n} failed", n=cells["failed"]) if cells["failed"] else ""
            self._told.setText(str(self._document["experiment"]))
            words = tr("measuring") if running else tr("complete") if complete else tr("interrupted")
            self._state_told.setText(
                tr(
                    "{done} of {total} cells{failed}, {words}",
                    done=cells["done"],
                    total=cells["total"],
                    failed=failed,
                    words=words,
                )
            )
        else:
            self._told.setText(tr("measuring…") if running else "")
