"""The dialog *PACS*: find studies on a server, retrieve them into a library, or search with one.

No connection is opened before the person presses *Find studies* or *Test*.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QGridLayout,
    QHeaderView,
    QLabel,
    QMessageBox,
    QStackedWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from semblance.app.network.server_dialog import ServerComboBox, ServerDialog
from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.actions import available
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.dialog import (
    Dialog,
    closing_row,
    dialog_button,
    dialog_layout,
    help_button,
    resize_dialog,
)
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import line_edit
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.app.widgets.progress_line import ProgressLine
from semblance.app.widgets.tab_order import enable_widgets
from semblance.core.errors import SemblanceError
from semblance.core.language import format_number, tr, tr_n, translate, visible
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.library.records import SUFFIX
from semblance.core.network.servers import Server
from semblance.core.network.studies import FoundStudies, Series, Study, StudyQuery
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.library.import_source import ImportResult
from semblance.core.workflows.network import find_studies, retrieve_study, saved_servers

_SIZE = (980, 680)
#: What the extra ``pacs`` brings.
_PACKAGES = ("pynetdicom", "requests", "keyring")
_INSTALL = 'pip install "semblance-retrieval[app,pacs]"'


class PacsDialog(Dialog):
    """``retrieved(library)``: cases were added to it · ``help_requested``."""

    retrieved = Signal(object)
    help_requested = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: Server | None = None
        self._job: Job | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._server_dialog: ServerDialog | None = None
        self.is_installed = all(find_spec(package) is not None for package in _PACKAGES)
        self.setWindowTitle(tr("PACS"))
        resize_dialog(self, *_SIZE)
        self.server_box = ServerComboBox(context.settings)
        self.server_box.chosen.connect(self._choose_server)
        self.add_button = dialog_button(tr("Add…"), self.add_server)
        self.edit_button = dialog_button(tr("Edit…"), self.edit_server)
        self.remove_button = dialog_button(tr("Remove…"), self._ask_remove)
        self.test_button = dialog_button(tr("Test"), self.test)
        self.test_button.setToolTip(tr("Connect to the server, and say what is wrong"))
        self.patient = line_edit(tr("Patient"), placeholder=tr("ID or name"))
        self.date_from, self.date_to = (
            line_edit(title, placeholder=tr("YYYY-MM-DD")) for title in (tr("Date from"), tr("Date to"))
        )
        self.modality = line_edit(tr("Modality"), placeholder=tr("CT, MR, MG…"))
        self.accession = line_edit(tr("Accession number"))
        self.description = line_edit(tr("Description"), placeholder=tr("A part of it"))
        self.search_button = dialog_button(tr("Find studies"), self.search)
        set_look(self.search_button, primary=True)
        self.tree = StudyTree()
        self.tree.series_needed.connect(self._list_series)
        self.tree.itemSelectionChanged.connect(self._update)
        self.empty = EmptyState(icon="search")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.tree)
        self.note = WrappedLabel(selectable=True)
        self.identified = QCheckBox(tr("Keep patient IDs and dates"))
        self.identified.setToolTip(tr("Names in file headers are never stored. See the help page Privacy."))
        self.retrieve_button = dialog_button(tr("Retrieve into library"), self.retrieve)
        self.query_button = dialog_button(tr("Use as query"), self.use_as_query)
        self.progress = ProgressLine()
        self.progress.cancel_requested.connect(self.cancel)
        self.error = ErrorLine()
        self._help_button = help_button(self, self.help_requested.emit)
        self._make_layout()
        context.state.on_change(Change.LIBRARY | Change.METRIC, self, self._update)
        self.load_servers()

    def _make_layout(self) -> None:
        server = hbox(spacing=8)
        title = QLabel(tr("Server"))
        title.setBuddy(self.server_box)
        server.addWidget(title)
        server.addWidget(self.server_box, 1)
        for button in (self.add_button, self.edit_button, self.remove_button, self.test_button):
            server.addWidget(button)
        fields = QGridLayout()
        fields.setHorizontalSpacing(12)
        fields.setVerticalSpacing(4)
        for place, field in enumerate(
            (self.patient, self.description, self.accession, self.date_from, self.date_to, self.modality)
        ):
            row, column = divmod(place, 3)
            label = QLabel(field.accessibleName())
            label.setBuddy(field)
            fields.addWidget(label, 2 * row, column)
            fields.addWidget(field, 2 * row + 1, column)
        fields.addWidget(self.search_button, 3, 3)
        layout = dialog_layout(self)
        layout.addLayout(server)
        layout.addLayout(fields)
        layout.addWidget(self.stack, 1)
        layout.addWidget(self.note)
        layout.addWidget(self.error)
        layout.addWidget(self.progress)
        actions = hbox(spacing=8)
        for widget in (self.retrieve_button, self.query_button, self.identified):
            actions.addWidget(widget)
        actions.addStretch(1)
        layout.addLayout(actions)
        layout.addLayout(closing_row(self, self._help_button))
        # Enter in a field searches.
        self.search_button.setDefault(True)

    # Servers

    def load_servers(self, choose: str = "") -> None:
        """List the saved servers, and choose the one named ``choose`` or used last."""
        try:
            self.server_box.load(choose)
        except SemblanceError as error:
            self._show_error(error)

    def server(self) -> Server | None:
        """The chosen server."""
        return self.server_box.server()

    def _choose_server(self) -> None:
        """Clear the studies of the server chosen before."""
        server = self.server()
        if server != self._asked:
            self._asked = None
            self.tree.show_studies([])
            self.note.setText("")
        if not self.is_installed:
            self.empty.show_message(
                tr("What a PACS needs is not installed"),
                tr("Install it and start Semblance again: {command}", command=_INSTALL),
            )
        elif server is None:
            self.empty.show_message(
                tr("No PACS is set up"),
                tr("Add a server by its AE title, host and port, or by its DICOMweb address."),
                tr("Add a server…"),
                self.add_server,
            )
        elif self._asked is None:
            self.empty.show_message(
                tr("Search the PACS"), tr("Nothing is sent before you press Find studies.")
            )
        self._update()

    def add_server(self) -> ServerDialog:
        """Ask for a new server."""
        return self._open_server_dialog(None)

    def edit_server(self) -> ServerDialog:
        """Change the chosen server."""
        return self._open_server_dialog(self.server())

    def _open_server_dialog(self, server: Server | None) -> ServerDialog:
        dialog = ServerDialog(server, self)
        self._server_dialog = dialog
        dialog.save_requested.connect(partial(self._save_server, dialog, server))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def _save_server(
        self, dialog: ServerDialog, before: Server | None, server: Server, password: str
    ) -> None:
        """Save it, and close ``dialog`` when it is saved. Jobs do it, because a keyring may ask the person."""
        job = self._context.jobs.run(
            tr("Saving the server"),
            saved_servers.save_server,
            server,
            password=password,
            replaces=None if before is None else before.name,
            pool=WorkerPool.NETWORK,
            channel="pacs servers",
            quiet=True,
        )
        job.done.connect(lambda _: dialog.accept())
        job.failed.connect(dialog.error.set_error)
        job.ended.connect(lambda: self.load_servers(server.name))

    def _ask_remove(self) -> None:
        server = self.server()
        if server is None:
            return
        answer = QMessageBox.question(
            self,
            tr("Remove the server"),
            tr("Remove the server {name} and its password from this computer?", name=server.name),
        )
        if answer == QMessageBox.StandardButton.Yes:
            self.remove_server()

    def remove_server(self) -> None:
        """Remove the chosen server and its password."""
        server = self.server()
        if server is not None:
            self._start(
                tr("Removing the server"),
                lambda _: self.load_servers(),
                saved_servers.remove_server,
                server.name,
            )

    def test(self) -> None:
        """Connect to the chosen server, and show what is wrong."""
        server = self.server()
        if server is not None:
            answers = tr("{address} answers.", address=server.address)
            self._start(
                tr("Testing {name}", name=server.name),
                lambda _: self.note.setText(answers),
                find_studies.echo_server,
                server,
            )

    # Studies

    def search(self) -> None:
        """Ask the chosen server for studies."""
        server = self.server()
        if server is None or not self.is_installed:
            return
        begin, end = self.date_from.text().strip(), self.date_to.text().strip()
        query = StudyQuery(
            dates=f"{begin}-{end}" if begin or end else "",
            modality=self.modality.text().strip(),
            description=self.description.text().strip(),
            accession=self.accession.text().strip(),
        )
        self._start(
            tr("Searching {name}", name=server.name),
            partial(self._show_studies, server),
            find_studies.find_studies,
            server,
            query,
            patient=self.patient.text().strip(),
        )

    def _show_studies(self, server: Server, studies: FoundStudies) -> None:
        if server != self.server():
            return
        self._asked = server
        self.tree.show_studies(studies)
        if not studies:
            self.empty.show_message(
                tr("No study was found"), tr("Ask for less, or use * and ? in the fields.")
            )
        found = tr_n("{n} study was found.", "{n} studies were found.", len(studies))
        found = " ".join(map(translate, studies.notes)) or found
        self.note.setText(found if studies else "")
        self._update()
        if studies:
            self.tree.setFocus()

    def _list_series(self, study: str) -> None:
        server = self._asked
        if server is None:
            return
        job = self._context.jobs.run(
            tr("Reading the series"),
            find_studies.list_series,
            server,
            study,
            pool=WorkerPool.NETWORK,
            channel=f"pacs series {study}",
            quiet=True,
        )

        def show(series: Sequence[Series]) -> None:
            if server == self._asked:
                self.tree.show_series(study, series)

        def fail(error: SemblanceError) -> None:
            self.tree.collapse_study(study)
            self.error.set_error(error)

        job.done.connect(show)
        job.failed.connect(fail)

    def retrieve(self) -> None:
        """Retrieve what is selected into the open library, or into a new one."""
        library = self._context.state.location
        if library is None:
            chosen, _ = choose_target(
                self, tr("New library"), f"PACS{SUFFIX}", f"{tr('Library')} (*{SUFFIX})"
            )
            if not chosen:
                return
            library = chosen if chosen.suffix == SUFFIX else chosen.with_name(chosen.name + SUFFIX)
        self.retrieve_into(library)

    def retrieve_into(self, library: LibraryLocation) -> None:
        """Retrieve what is selected into ``library``, which is created where there is none."""
        wanted = self.tree.chosen()
        if self._asked is None or not wanted:
            return
        job = self._start(
            tr("Retrieving into {name}", name=library_name(library)),
            partial(self._show_retrieved, library),
            retrieve_study.retrieve_several_into_library,
            self._asked,
            wanted,
            library,
            identified=self.identified.isChecked(),
            must_exist=self._context.state.location == library,
            pool=WorkerPool.BACKGROUND,
        )
        job.failed.connect(lambda _: self._keep_what_came(library))
        job.cancelled.connect(lambda: self._keep_what_came(library))

    def _show_retrieved(self, library: LibraryLocation, results: Sequence[ImportResult]) -> None:
        added = sum(result.added for result in results)
        unchanged = sum(result.unchanged for result in results)
        failed = [one for result in results for one in result.failed]
        text = tr_n(
            "{n} case was added to {name}.",
            "{n} cases were added to {name}.",
            added,
            name=library_name(library),
        )
        if unchanged:
            text += " " + tr_n("{n} was there already.", "{n} were there already.", unchanged)
        if failed:
            text += " " + tr_n(
                "{n} file could not be used: {reason}",
                "{n} files could not be used. The first: {reason}",
                len(failed),
                reason=translate(failed[0]["reason"]),
            )
        self.note.setText(text)
        if added:
            self.retrieved.emit(library)

    def _keep_what_came(self, library: LibraryLocation) -> None:
        """Studies before the one that failed are in the library."""
        self.note.setText(tr("What came is kept. Retrieve it again to get the rest."))
        if self._context.state.location == library:
            library_operations.renew(self._context)

    def use_as_query(self) -> None:
        """Search with the image in the middle of what is selected, or open the search of a report. The files are
        deleted with the program's end."""
        wanted = self.tree.chosen()
        library = self._context.state.location
        if self._asked is None or len(wanted) != 1 or library is None:
            return
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="semblance-pacs-", ignore_cleanup_errors=True)
            # A ranking reads the image again, so that it stays while the program runs.
            atexit.register(self._folder.cleanup)
        study, series = wanted[0]
        # Each query has its own folder, or the middle of a series would be that of all that came.
        folder = Path(mkdtemp(dir=self._folder.name))
        self._start(
            tr("Retrieving the query"),
            partial(self._search_with, library),
            retrieve_study.retrieve_query,
            self._asked,
            study,
            folder,
            library,
            series=series,
        )

    def _search_with(self, library: LibraryLocation, found: Query | Search) -> None:
        if self._context.state.location != library:
            return
        if isinstance(found, Search):
            self.note.setText(tr("The search of this report is open now."))
            self._context.state.restore_search(found)
            search_operations.rank(self._context)
        else:
            self.note.setText(tr("The image in the middle of it is the query now. It is not kept."))
            search_operations.submit_query(self._context, found)

    def cancel(self) -> None:
        """Cancel what runs."""
        if self._job is not None:
            self._job.cancel()

    def _start(
        self,
        title: str,
        then: Callable[[Any], object],
        workflow: Callable[..., Any],
        *args: Any,
        pool: WorkerPool = WorkerPool.NETWORK,
        **options: Any,
    ) -> Job:
        self.error.set_error(None)
        self.note.setText("")
        job = self._context.jobs.run(title, workflow, *args, pool=pool, channel="pacs", **options)
        self._job = job
        job.changed.connect(lambda: self.progress.show_job(job))
        job.done.connect(then)
        job.failed.connect(self.error.set_error)
        job.ended.connect(lambda: self._end(job))
        self.progress.show_job(job)
        self._update()
        return job

    def _end(self, job: Job) -> None:
        if self._job is job:
            self._job = None
        self._update()

    def _show_error(self, error: SemblanceError) -> None:
        error.message, error.hint = translate(error.message), translate(error.hint)
        self.error.set_error(error)

    def _update(self) -> None:
        state, running = self._context.state, self._job is not None
        has_server = self.server() is not None
        ready = has_server and self.is_installed and not running
        chosen = self.tree.chosen() if self._asked is not None else []
        snapshot = state.library
        writable = snapshot is None or state.can_edit
        can_rank = "metric" in available(state)
        self.stack.setCurrentWidget(self.tree if self.tree.topLevelItemCount() else self.empty)
        self.note.setVisible(bool(self.note.text()))
        self.progress.setVisible(running)
        self.retrieve_button.setText(
            tr("Retrieve into library") if snapshot is not None else tr("Retrieve into a new library…")
        )
        enable_widgets(
            {
                self.server_box: has_server and not running,
                self.add_button: self.is_installed and not running,
                self.edit_button: has_server and not running,
                self.remove_button: has_server and not running,
                self.test_button: ready,
                self.search_button: ready,
                self.retrieve_button: ready and bool(chosen) and writable,
                self.query_button: ready and len(chosen) == 1 and can_rank,
            }
        )
        nothing = "" if chosen else tr("Select a study or series first")
        self.retrieve_button.setToolTip(nothing or state.why_not_edited)
        one = nothing or ("" if len(chosen) == 1 else tr("Select one study or some of its series"))
        self.query_button.setToolTip(one or ("" if can_rank else tr("Open a library with a metric first")))


_COLUMNS = (tr("Patient, study, series"), tr("Date"), tr("Modality"), tr("Series"), tr("Images"))
_WHAT, _DATE, _MODALITY, _SERIES, _IMAGES = range(len(_COLUMNS))
_DATA = Qt.ItemDataRole.UserRole
_WIDTHS = (0, 90, 90, 60, 70)


class StudyTree(QTreeWidget):
    """Patients, studies and series with their numbers of images.

    ``series_needed(study UID)``: a study was expanded whose series are not known yet.
    """

    series_needed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        #: Study UID -> its row.
        self._studies: dict[str, QTreeWidgetItem] = {}
        self.setAccessibleName(tr("Patients, studies and series in the PACS"))
        self.setHeaderLabels(list(_COLUMNS))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setUniformRowHeights(True)
        _align(self.headerItem())
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(_WHAT, QHeaderView.ResizeMode.Stretch)
        for column, width in enumerate(_WIDTHS):
            if width:
                self.setColumnWidth(column, theme().px(width))
        self.itemExpanded.connect(self._expand)

    def show_studies(self, studies: Sequence[Study]) -> None:
        """Show ``studies``, which come in their order, under their patients."""
        self.clear()
        self._studies.clear()
        patients: dict[tuple[str, str], list[Study]] = {}
        for study in studies:
            # An id may be given in several spellings of the name, and a name without an id is another patient.
            key = (study.patient_id, "" if study.patient_id else study.patient_name)
            patients.setdefault(key, []).append(study)
        for of_patient in patients.values():
            title = ", ".join(filter(None, (of_patient[0].patient_name, of_patient[0].patient_id)))
            patient = QTreeWidgetItem(self, [visible(title) or tr("Unknown patient")])
            patient.setData(_WHAT, _DATA, [(study.study_instance_uid, "") for study in of_patient])
            for study in of_patient:
                item = QTreeWidgetItem(patient, _study_cells(study))
                item.setData(_WHAT, _DATA, [(study.study_instance_uid, "")])
                item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
                _align(item)
                self._studies[study.study_instance_uid] = item
            patient.setExpanded(True)
        for item in list(self._studies.values())[:1]:
            self.setCurrentItem(item)

    def show_series(self, study: str, series: Sequence[Series]) -> None:
        """Show the ``series`` of the study with this UID."""
        item = self._studies.get(study)
        if item is None:
            return
        item.takeChildren()
        for one in series:
            child = QTreeWidgetItem(item, _series_cells(one))
            child.setData(_WHAT, _DATA, [(study, one.series_instance_uid)])
            _align(child)
        if not series:
            item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.DontShowIndicator)

    def collapse_study(self, study: str) -> None:
        """Collapse the study with this UID, so that its series can be requested again."""
        if study in self._studies:
            self._studies[study].setExpanded(False)

    def chosen(self) -> list[tuple[str, list[str]]]:
        """The UID of each selected study with the UIDs of its selected series; none means the whole study."""
        found: dict[str, list[str]] = {}
        whole: set[str] = set()
        for item in self.selectedItems():
            for study, series in item.data(_WHAT, _DATA):
                of_study = found.setdefault(study, [])
                if series:
                    of_study.append(series)
                else:
                    whole.add(study)
        return [(study, [] if study in whole else series) for study, series in found.items()]

    def _expand(self, item: QTreeWidgetItem) -> None:
        for study, shown in self._studies.items():
            if shown is item and not item.childCount():
                self.series_needed.emit(study)


def _study_cells(study: Study) -> list[str]:
    return [
        visible(study.description) or tr("Study without a description"),
        _date(study.date),
        visible(", ".join(study.modalities)),
        _number(study.series),
        _number(study.instances),
    ]


def _series_cells(series: Series) -> list[str]:
    number = "" if series.number is None else f"{series.number}: "
    title = series.description or series.body_part or tr("Series without a description")
    return [visible(number + title), "", visible(series.modality), "", _number(series.instances)]


def _date(text: str) -> str:
    return f"{text[:4]}-{text[4:6]}-{text[6:]}" if len(text) == 8 and text.isdigit() else visible(text)


def _number(value: int | None) -> str:
    return "" if value is None else format_number(value, ",")


def _align(item: QTreeWidgetItem) -> None:
    for column in (_SERIES, _IMAGES):
        item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
