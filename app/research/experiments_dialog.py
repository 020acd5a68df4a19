"""The Experiments window: the form at the left, the results of the finished cells at the right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
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
from semblance.app.shell.file_dialogs import choose_folder, choose_target_folder
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.dialog import Dialog, resize_dialog
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import PanelScrollArea, hbox, vbox
from semblance.app.widgets.menus import Menu
from semblance.app.widgets.panel import Panel
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import tr

_FORM_WIDTH, _SCROLL_BAR_WIDTH, _SIZE = 320, 10, (1180, 760)
_FOLDER, _SCHEDULER = "experiments_folder", "dask_scheduler"


class ExperimentsDialog(Dialog):
    """``case_requested(library, row)``: show the image of a case · ``help_requested``."""

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
        self.folder_button = QPushButton(tr("Folder…"))
        self.folder_button.setToolTip(tr("Choose the folder that holds experiments"))
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
        for button in (self.run_button, self.open_button, self.folder_button, help_button):
            button.setAutoDefault(False)
        self._problem = WrappedLabel(role="error")
        self._title_label, self._state_label = ElidedLabel(role="title"), ElidedLabel(role="second")
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
        self._make_layout(help_button)
        self._connect()
        self._update_controls()

    def _make_layout(self, help_button: QPushButton) -> None:
        bottom_bar = QFrame()
        set_look(bottom_bar, role="bar")
        name_row = hbox(spacing=8)
        name_row.addWidget(QLabel(tr("Name")))
        name_row.addWidget(self.name, 1)
        name_row.addWidget(self.folder_button)
        buttons = hbox(spacing=8)
        for button in (self.run_button, self.cancel_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        # At the other end, so that a second click on Cancel does not open a folder.
        buttons.addWidget(self.open_button)
        bottom = vbox(bottom_bar, spacing=8, margins=(12, 8, 12, 8))
        bottom.addWidget(self._problem)
        bottom.addLayout(name_row)
        bottom.addLayout(buttons)
        self._sidebar = Panel()
        sidebar_layout = vbox(self._sidebar)
        sidebar_layout.addWidget(PanelScrollArea(self.form, tr("Experiments")), 1)
        sidebar_layout.addWidget(bottom_bar)
        header = hbox(spacing=8, margins=(12, 6, 12, 6))
        header.addWidget(self._title_label)
        header.addWidget(self.badge)
        header.addWidget(self._state_label, 1)
        for widget in (self.results.protocol, self.resume_button, self.export_button, help_button):
            header.addWidget(widget)
        right_layout = vbox()
        right_layout.addLayout(header)
        right_layout.addWidget(self._pages, 1)
        row = hbox(self)
        row.addWidget(self._sidebar)
        row.addLayout(right_layout, 1)
        self._fit()

    def _connect(self) -> None:
        self.form.changed.connect(self._update_controls)
        self.name.textChanged.connect(lambda _text: self._update_controls())
        self.folder_button.clicked.connect(self._choose_experiments_folder)
        self.run_button.clicked.connect(self.run)
        self.cancel_button.clicked.connect(self.cancel)
        self.open_button.clicked.connect(self._choose_experiment)
        self.resume_button.clicked.connect(self.resume)
        self.results.case_requested.connect(self.case_requested)
        theme_signals.changed.connect(self._fit)

    def _fit(self) -> None:
        # The form does not scroll sideways, and is wider in other languages.
        width = self.form.minimumSizeHint().width() + theme().px(_SCROLL_BAR_WIDTH)
        self._sidebar.setFixedWidth(max(theme().px(_FORM_WIDTH), width))

    # Commands

    @property
    def experiments_folder(self) -> Path:
        """The folder that holds experiments."""
        return Path(self._context.settings.text(_FOLDER) or Path.home() / "semblance-experiments")

    def _free_name(self) -> str:
        number = 1
        while (self.experiments_folder / f"experiment-{number}").exists():
            number += 1
        return f"experiment-{number}"

    def run(self) -> None:
        """Run the experiment of the form. An experiment of the same name is resumed."""
        try:
            spec = self.form.spec(self.name.text().strip())
        except BadArguments as error:
            self._problem.setText(str(error))
            self._problem.setVisible(True)
            return
        scheduler = self.form.scheduler.text().strip()
        self._context.settings.set_text(_SCHEDULER, scheduler)
        self._folder = self.experiments_folder / self.name.text().strip()
        job = run_experiment.run(
            self._context, spec, self._folder, self.form.workers, scheduler, self.show_document
        )
        self._follow(job)

    def resume(self) -> None:
        """Measure the missing cells of the experiment that is shown."""
        if self._folder is not None:
            scheduler = self.form.scheduler.text().strip()
            job = run_experiment.resume(
                self._context, self._folder, self.form.workers, scheduler, self.show_document
            )
            self._follow(job)

    def cancel(self) -> None:
        """Cancel the run. Finished cells are kept."""
        if self._job is not None:
            self._job.cancel()

    def open_experiment(self, folder: Path) -> None:
        """Show the experiment in ``folder``."""
        self._folder = folder
        run_experiment.show(self._context, folder, self.show_document)

    def _follow(self, job: Job) -> None:
        self._job = job
        self._failure = ""
        job.failed.connect(self._fail)
        job.ended.connect(lambda: self._end_run(job))
        self._update_controls()

    def _fail(self, error: SemblanceError) -> None:
        self._failure = str(error)

    def _end_run(self, job: Job) -> None:
        if self._job is not job:
            return
        self._job = None
        is_incomplete = self._document and not self._document["complete"]
        if is_incomplete and self._folder is not None:
            # Partial documents have no comparisons, so the document is read again.
            run_experiment.show(self._context, self._folder, self.show_document)
        self._update_controls()

    def _choose_experiments_folder(self) -> None:
        begin = str(self.experiments_folder.parent)
        if folder := choose_target_folder(self, tr("The folder that holds experiments"), begin=begin):
            self._context.settings.set_text(_FOLDER, str(folder))
            self.name.setText(self._free_name())
            self._update_controls()

    def _choose_experiment(self) -> None:
        begin = str(self.experiments_folder)
        if folder := choose_folder(self, tr("An experiment's folder"), begin=begin):
            self.open_experiment(folder)

    def _choose_export(self, *, identified: bool) -> None:
        begin = str(self.experiments_folder)
        folder = choose_target_folder(self, tr("Write tables and plots into"), begin=begin)
        if folder and self._folder is not None:
            self.export(folder / f"{self._folder.name}-export", identified=identified)

    def export(self, target: Path, *, identified: bool = False) -> None:
        """Export the experiment into the folder ``target``. ``identified``: with names of cases."""
        if self._folder is not None:
            job = run_experiment.export(self._context, self._folder, target, identified=identified)
            # The message bar of the main window is behind this window.
            job.done.connect(
                lambda files: self._state_label.setText(
                    tr("Wrote {files} files into {folder}", files=len(files), folder=target.name)
                )
            )

    # Showing

    def show_document(self, document: Mapping[str, Any]) -> None:
        """Show a partial or complete document."""
        self._document = document
        self._pages.setCurrentIndex(1)
        self.results.show_document(document)
        self._update_controls()

    def _update_controls(self) -> None:
        """Update buttons, problem and state."""
        running = self._job is not None
        problem = ""
        try:
            self.form.spec(self.name.text().strip())
        except BadArguments as error:
            problem = str(error)
        name = self.name.text().strip()
        if not name or Path(name).name != name or name in (".", ".."):
            problem = tr("Give the experiment a name without slashes.")
        message = problem or self._failure
        self._problem.setText(message)
        self._problem.setVisible(bool(message) and not running)
        focused = self.focusWidget()
        if running:
            self.cancel_button.show()
        if focused is self.run_button and running:
            # The next widget in tab order is far from Cancel.
            self.cancel_button.setFocus()
        self.run_button.setEnabled(not problem and not running)
        if focused is self.cancel_button and not running and not problem:
            self.run_button.setFocus()
        self.cancel_button.setVisible(running)
        has_document = bool(self._document)
        complete = has_document and bool(self._document["complete"])
        self.resume_button.setVisible(has_document and not complete and not running)
        self.export_button.setEnabled(has_document and self._document["cells"]["done"] > 0 and not running)
        self.badge.setVisible(has_document)
        if has_document:
            patients = {row["patients"] for row in self._document["results"]}
            self.badge.set_kind(BADGES["known" if patients == {"known"} else "unknown"])
            cells = self._document["cells"]
            failed = tr(", {n} failed", n=cells["failed"]) if cells["failed"] else ""
            self._title_label.setText(str(self._document["experiment"]))
            state_text = tr("measuring") if running else tr("complete") if complete else tr("interrupted")
            self._state_label.setText(
                tr(
                    "{done} of {total} cells{failed}, {state}",
                    done=cells["done"],
                    total=cells["total"],
                    failed=failed,
                    state=state_text,
                )
            )
        else:
            self._title_label.setText(tr("measuring…") if running else "")
