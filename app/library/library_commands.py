"""Commands on libraries and their sources: new, open, add, find moved images, close."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QWidget,
)

from semblance.app.library.import_dialog import ImportDialog, TableSettings, default_library
from semblance.app.library.list_panel import ListPanel
from semblance.app.library.open_server_dialog import OpenServerDialog
from semblance.app.library.prepare_operations import (
    PreparationView,
    import_and_prepare,
    prepare_for_searching,
)
from semblance.app.shell import library_operations, plot_operations, search_operations
from semblance.app.shell.actions import available
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file, choose_folder
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.messages import Action
from semblance.app.shell.theme import set_look
from semblance.core.language import tr, tr_n, tr_name
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.importer import Recognition
from semblance.core.library.importers.registry import get_importer
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.searches.query import Query
from semblance.core.workflows import demo
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot
from semblance.core.workflows.library.prepare_library import Preparation
from semblance.core.workflows.library.preview_table import preview_of_list, preview_of_table


class LibraryCommands(QObject):
    """Commands that ask for files and folders. ``parent`` is the parent of their dialogs.

    ``help_requested(page)`` · ``list_requested(name, panel)``: show a list beside the images.
    """

    help_requested = Signal(str)
    list_requested = Signal(str, object)

    def __init__(self, context: Context, parent: QWidget) -> None:
        super().__init__(parent)
        self._context, self._parent = context, parent
        self.commands: dict[str, Callable[[], object]] = {
            "new_library": self.new_from_file,
            "new_library_folder": self.new_from_folder,
            "open_library": self.choose_and_open,
            "open_server": self.ask_address,
            "demo": partial(open_demo, context),
            "import_more": self.import_folder,
            "import_file": self.import_file,
            "prepare": partial(prepare_for_searching, context),
            "not_read": self.show_unreadable,
            "relink": self.relink,
            "close_library": partial(library_operations.close_library, context),
        }

    def new_from_file(self) -> None:
        """Make a library of a zip, a table or an array file."""
        if chosen := self._ask_file(tr("New library from a file")):
            self.import_with_options(chosen)

    def new_from_folder(self) -> None:
        """Make a library of a folder of images."""
        if chosen := choose_folder(self._parent, tr("New library from a folder")):
            self.import_with_options(chosen)

    def choose_and_open(self) -> None:
        """Choose a library and open it."""
        if chosen := choose_folder(self._parent, tr("Open a library (a folder ending in .semblance)")):
            library_operations.open_library(self._context, chosen)

    def ask_address(self) -> None:
        """Ask for the address of a library on a server and open it. The one that could not be opened is shown."""
        tried = self._context.state.opening
        dialog = OpenServerDialog(
            self._context,
            partial(library_operations.open_library, self._context),
            partial(self.help_requested.emit, "server"),
            tried if isinstance(tried, ServerAddress) else None,
            self._parent,
        )
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def import_folder(self) -> None:
        """Ask for a folder of images to add to the open library."""
        if chosen := choose_folder(self._parent, tr("Add images to this library")):
            self.import_with_options(chosen, into=self._context.state.location)

    def import_file(self) -> None:
        """Ask for a zip, a table or an array file to add to the open library."""
        if chosen := self._ask_file(tr("Add images to this library")):
            self.import_with_options(chosen, into=self._context.state.location)

    def open_dropped(self, source: Path) -> None:
        """Open ``source`` if it is a library and search with it if it is an image. Make a library of anything else."""
        context = self._context
        if (source / "catalogue.sqlite").is_file():
            library_operations.open_library(context, source)
            return
        is_image = source.suffix.lower() in search_operations.SUFFIXES
        if "metric" in available(context.state) and is_image:
            search_operations.submit_query(context, Query(image=source))
            return
        library_operations.recognise(context, source, partial(self._import_as_recognised, source))

    def _import_as_recognised(self, source: Path, kinds: list[tuple[str, str, Recognition]]) -> None:
        kind = kinds[0][0]
        library = default_library(source, anonymous=get_importer(kind).paths_name_patients)
        actions = (self._other_import(source, None, kinds),)
        import_and_prepare(self._context, source, library, kind, actions=actions)

    def _other_import(
        self, source: Path, into: LibraryLocation | None, kinds: list[tuple[str, str, Recognition]]
    ) -> Action:
        return tr("Import differently…"), partial(self._show_import_dialog, source, into, kinds)

    def import_with_options(self, source: Path, into: LibraryLocation | None = None) -> None:
        """Ask for the kind of ``source``, the library and whether patient data are stored, and import it."""
        library_operations.recognise(
            self._context,
            source,
            # The dialog blocks, so it opens only after the job that recognised the source has ended.
            lambda kinds: QTimer.singleShot(0, self, partial(self._show_import_dialog, source, into, kinds)),
        )

    def _show_import_dialog(
        self, source: Path, into: LibraryLocation | None, kinds: list[tuple[str, str, Recognition]]
    ) -> None:
        # The window may be closed while the source is being recognised.
        if not self._parent.isVisible():
            return
        preview = partial(self._preview, source)
        dialog = ImportDialog(source, kinds, into, self._parent, preview=preview)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            import_and_prepare(
                self._context,
                source,
                dialog.library(),
                dialog.kind(),
                settings=dialog.settings(),
                identified=dialog.identified(),
                actions=(self._other_import(source, into, kinds),),
            )
        dialog.deleteLater()

    def _preview(self, source: Path, kind: str, settings: tuple[str, ...], view: TableSettings) -> None:
        """Read the first rows of a table or list for ``view``; a later request replaces this one."""
        preview = preview_of_list if kind == FolderImporter.kind else preview_of_table
        job = self._context.jobs.run(
            "", preview, source, settings, pool=WorkerPool.READ, channel="preview table", quiet=True
        )
        job.done.connect(view.show_preview)
        job.failed.connect(view.show_error)

    def show_unreadable(self) -> None:
        """Show the files that could not be read, each with its reason."""
        library = self._context.state.library
        if library is None:
            return

        def save(path: Path, text: str) -> None:
            # Its paths may contain patients' names.
            plot_operations.save_scores(
                self._context, path, text, what="list of files not read", identified=True
            )

        self.list_requested.emit("unreadable", UnreadableFilesPanel(library, save))

    def relink(self) -> None:
        """Choose the folder the images were moved to, and find them there."""
        if chosen := choose_folder(self._parent, tr("Where the moved images are now")):
            library_operations.relink(self._context, chosen)

    def _ask_file(self, title: str) -> Path | None:
        filters = ";;".join((tr("Zip, table or arrays (*.zip *.csv *.parquet *.npz)"), tr("All files (*)")))
        return choose_file(self._parent, title, filters)


def open_demo(context: Context) -> None:
    """Open the demo library. If it does not exist, a job creates it, and it is shown while it grows.

    Nothing is done while it is made: another job would begin again.
    """
    if context.jobs.is_running("demo"):
        return
    folder = demo.usual_folder()
    job = context.jobs.run(
        tr("Making the demo library"), demo.make_demo, folder, one_bar=True, channel="demo"
    )
    view = PreparationView(context, folder, job, ())

    def show_part(part: object) -> None:
        # The import and the training report parts too.
        if isinstance(part, Preparation):
            view.show(part)

    def show(library: LibraryLocation) -> None:
        if view.was_opened:
            view.finish(None)
        else:
            library_operations.open_library(context, library)

    job.partial.connect(show_part)
    context.follow(job, show)


class UnreadableFilesPanel(ListPanel):
    """The files that could not be read with their reasons, and on request those that were ignored."""

    list_name = tr("Files that could not be read")
    columns = (tr("File"), tr("State"), tr("Reason"))
    widths = (320,)

    def __init__(self, library: LibrarySnapshot, save: Callable[[Path, str], object]) -> None:
        super().__init__(save)
        self._library = library
        set_look(self.summary, role="second")
        self._show_ignored = QCheckBox(tr("Show ignored files too"))
        self._show_ignored.toggled.connect(self._fill)
        self.complete(beside_summary=[self._show_ignored])
        self._fill()

    def rows(self) -> list[tuple[str, str, str]]:
        """The rows of the table: file, state and reason."""
        files = (
            self._library.files_without_cases
            if self._show_ignored.isChecked()
            else self._library.unusable_files
        )
        return [
            (f"{source}/{path}" if path else source, state, reason) for source, path, state, reason in files
        ]

    def _fill(self) -> None:
        rows = self.rows()
        self.summary.setText(
            tr_n("{n} file", "{n} files", len(rows)) if rows else tr("Every file could be read.")
        )
        self.table.fill([(path, state, tr_name(reason)) for path, state, reason in rows])

    def list_to_save(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        name = tr("{library} unreadable files", library=self._library.name) + ".csv"
        return name, self.columns, self.rows()
