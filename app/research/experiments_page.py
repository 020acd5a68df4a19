"""The Experiments window: the form at the left, the results of the finished cells at the right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QStackedWidget

from semblance.app.research.experiment_form import ExperimentForm
from semblance.app.research.experiment_results import ExperimentResults
from semblance.app.research.result_page import BADGES, ResultPage
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_folder, choose_target_folder
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import PanelScrollArea, fill, hbox, vbox
from semblance.app.widgets.menus import Menu
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.tab_order import enable_widgets
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import tr
from semblance.core.library.location import library_location
from semblance.core.workflows.research import experiments

_FORM_WIDTH, _SCROLL_BAR_WIDTH = 320, 10
_FOLDER, _SCHEDULER = "experiments_folder", "dask_scheduler"


class ExperimentsPage(ResultPage):
    """Runs, resumes, shows and exports experiments. Each is a folder of cells."""

    title = tr("Experiments")
    help_page = "experiments"
    channel = "experiment"

    def __init__(self, context: Context, thumbnails: ThumbnailSource | None = None) -> None:
        super().__init__(context)
        self._folder: Path | None = None
        self.document: Mapping[str, Any] = {}
        state = context.state
        self.form = ExperimentForm(state.library, state.features, context.settings.text(_SCHEDULER))
        self.form.changed.connect(self.update_buttons)
        self.name = QLineEdit(self._free_name())
        self.name.setAccessibleName(tr("Name of the experiment"))
        self.name.textChanged.connect(lambda _text: self.update_buttons())
        self.folder_button = dialog_button(
            tr("Folder…"), self._choose_experiments_folder, tr("Choose the folder that holds experiments")
        )
        self.run_button = dialog_button(tr("Run"), self.run_form)
        set_look(self.run_button, primary=True)
        self.open_button = dialog_button(
            tr("Open…"), self._choose_experiment, tr("Show an experiment that was run before")
        )
        self.resume_button = dialog_button(
            tr("Resume"), self.resume, tr("Measure the cells that are missing")
        )
        self.export_button = QPushButton(tr("Export…"))
        self.export_button.setAutoDefault(False)
        self.export_button.setIcon(icon("export"))
        exports = Menu(self)
        exports.addAction(tr("Tables, plots and script…"), lambda: self._choose_export(identified=False))
        exports.addAction(
            tr("The same with names of cases and folders…"), lambda: self._choose_export(identified=True)
        )
        self.export_button.setMenu(exports)
        self.problem = WrappedLabel(role="error")
        self._title_label, self.state_label = ElidedLabel(role="title"), ElidedLabel(role="second")
        self.badge = Badge("held-out")
        self.results = ExperimentResults(context, thumbnails)
        self.results.case_requested.connect(self._view_case)
        self._make_layout()
        theme_signals.changed.connect(self._fit)

    def _make_layout(self) -> None:
        self._sidebar = Panel()
        sidebar = vbox(self._sidebar, spacing=8)
        name = fill(hbox(spacing=8), QLabel(tr("Name")), (self.name, 1), self.folder_button)
        sidebar.addLayout(name)
        sidebar.addWidget(PanelScrollArea(self.form, tr("Experiments")), 1)
        header = fill(
            hbox(spacing=8), self._title_label, self.badge, (self.state_label, 1), self.results.protocol
        )
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
        results = fill(vbox(spacing=8), header, (self._pages, 1))
        row = fill(hbox(spacing=12), self._sidebar, (results, 1))
        self.content.addLayout(row, 1)
        self.content.addWidget(self.problem)
        self._fit()
        self.complete(self.run_button, self.resume_button, self.open_button, self.export_button)

    def _fit(self) -> None:
        # The form does not scroll sideways, and is wider in other languages.
        width = self.form.minimumSizeHint().width() + theme().px(_SCROLL_BAR_WIDTH)
        self._sidebar.setFixedWidth(max(theme().px(_FORM_WIDTH), width))

    # Commands

    def load(self) -> None:
        """Offer the feature sets of the open library."""
        self.form.add_feature_sets(self._context.state.library, self._context.state.features)
        self.update_buttons()

    @property
    def experiments_folder(self) -> Path:
        """The folder that holds experiments."""
        return Path(self._context.settings.text(_FOLDER) or Path.home() / "semblance-experiments")

    def _free_name(self) -> str:
        number = 1
        while (self.experiments_folder / f"experiment-{number}").exists():
            number += 1
        return f"experiment-{number}"

    def run_form(self) -> None:
        """Run the experiment of the form. An experiment of the same name is resumed."""
        spec = self.form.spec(self.name.text().strip())
        self._context.settings.set_text(_SCHEDULER, self.form.scheduler.text().strip())
        self._folder = self.experiments_folder / self.name.text().strip()
        self._measure(experiments.run_experiment, spec, self._folder)

    def resume(self) -> None:
        """Measure the missing cells of the experiment that is shown."""
        if self._folder is not None:
            self._measure(experiments.resume_experiment, self._folder)

    def _measure(self, workflow: Callable[..., Mapping[str, Any]], *values: object) -> None:
        """Measure the missing cells and show each part of the results."""
        assert self._folder is not None
        name = self._folder.name
        job = self.start(
            tr("Experiment {name}", name=name),
            lambda document: self._report(name, document),
            workflow,
            *values,
            known=self._context.state.location,
            workers=self.form.workers,
            scheduler=self.form.scheduler.text().strip(),
        )
        job.partial.connect(self.show_document)
        job.failed.connect(self._context.messages.error)
        job.ended.connect(self._read_comparisons)

    def _report(self, name: str, document: Mapping[str, Any]) -> None:
        self.show_document(document)
        cells = document["cells"]
        counts = {"name": name, "done": cells["done"], "failed": cells["failed"]}
        self._context.messages.info(
            tr("Experiment {name}: {done} cells done, {failed} failed.", **counts)
            if cells["failed"]
            else tr("Experiment {name}: {done} cells done.", **counts)
        )

    def _read_comparisons(self) -> None:
        """Read a cancelled experiment again, because documents of parts have no comparisons."""
        if not self.running and self._folder is not None and self.document.get("complete") is False:
            self.open_experiment(self._folder)

    def open_experiment(self, folder: Path) -> None:
        """Show the experiment in ``folder``."""
        self._folder = folder
        job = self._context.jobs.run(
            tr("Opening {name}", name=folder.name),
            experiments.show_experiment,
            folder,
            pool=WorkerPool.READ,
            channel="experiment shown",
            quiet=True,
        )
        self._context.follow(job, self.show_document)

    def _choose_experiments_folder(self) -> None:
        begin = str(self.experiments_folder.parent)
        if folder := choose_target_folder(self, tr("The folder that holds experiments"), begin=begin):
            self._context.settings.set_text(_FOLDER, str(folder))
            self.name.setText(self._free_name())
            self.update_buttons()

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
        if self._folder is None:
            return
        job = self._context.jobs.run(
            tr("Exporting {name}", name=self._folder.name),
            experiments.export_experiment,
            self._folder,
            target,
            identified=identified,
            known=self._context.state.location,
            pool=WorkerPool.DRAW,
        )

        def show(files: list[Path]) -> None:
            self._context.messages.info(
                tr(
                    "Wrote {files} files into {folder}; repeat.sh measures the same numbers again.",
                    files=len(files),
                    folder=target,
                )
            )
            self.state_label.setText(
                tr("Wrote {files} files into {folder}", files=len(files), folder=target.name)
            )

        self._context.follow(job, show)

    def _view_case(self, library: str, row: int) -> None:
        """Show the image of a case of the open library."""
        path, messages = self._context.state.location, self._context.messages
        if path is not None and path == library_location(library):
            self.case_requested.emit(row)
        else:
            messages.info(
                tr("This case is of {name}.", name=library_location(library).name),
                tr("Open that library and click the query again."),
            )

    # Showing

    def show_document(self, document: Mapping[str, Any]) -> None:
        """Show a partial or complete document."""
        self.document = document
        self._pages.setCurrentIndex(1)
        self.results.show_document(document)
        self.update_buttons()

    def show_error(self, error: SemblanceError) -> None:
        super().show_error(error)
        self.update_buttons()

    def _problem_text(self) -> str:
        """Why the form cannot be run, or an empty text."""
        name = self.name.text().strip()
        if not name or Path(name).name != name or name in (".", ".."):
            return tr("Give the experiment a name without slashes.")
        try:
            self.form.spec(name)
        except BadArguments as error:
            return str(error)
        return ""

    def update_buttons(self) -> None:
        running, document, problem = self.running, self.document, self._problem_text()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem) and not running)
        complete = bool(document) and bool(document["complete"])
        self.resume_button.setVisible(bool(document) and not complete and not running)
        enable_widgets(
            {
                self.run_button: not problem and not running,
                self.export_button: bool(document) and document["cells"]["done"] > 0 and not running,
            }
        )
        self.badge.setVisible(bool(document))
        if not document:
            self._title_label.setText(tr("measuring…") if running else "")
            return
        patients = {row["patients"] for row in document["results"]}
        self.badge.set_kind(BADGES["known" if patients == {"known"} else "unknown"])
        cells = document["cells"]
        self._title_label.setText(str(document["experiment"]))
        self.state_label.setText(
            tr(
                "{done} of {total} cells{failed}, {state}",
                done=cells["done"],
                total=cells["total"],
                failed=tr(", {n} failed", n=cells["failed"]) if cells["failed"] else "",
                state=tr("measuring") if running else tr("complete") if complete else tr("interrupted"),
            )
        )
