"""What the window's commands on libraries and their sources do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QDialog, QFileDialog

from semblance.app.library.import_dialog import ImportDialog
from semblance.app.library.unreadable_files_dialog import NotReadDialog
from semblance.app.shell import library_operations as libraries
from semblance.app.shell import plot_operations, search_operations
from semblance.core.language import tr
from semblance.core.searches.query import Query

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow

_FOLDER = "last_folder"


def new_from_file(window: MainWindow) -> None:
    """From a file: a zip, a table, an array file."""
    if chosen := _ask_file(window, tr("New library from a file")):
        bring_in(window, chosen)


def new_from_folder(window: MainWindow) -> None:
    """From a folder of images."""
    if chosen := _ask_folder(window, tr("New library from a folder")):
        bring_in(window, chosen)


def open_library(window: MainWindow) -> None:
    """Ask for a library and show it."""
    if chosen := _ask_folder(window, tr("Open a library (a folder ending in .semblance)")):
        window.open_library(chosen)


def import_more(window: MainWindow) -> None:
    """Ask for a folder of images that the open library is to have too."""
    if chosen := _ask_folder(window, tr("Add images to this library")):
        bring_in(window, chosen, into=window.state.path)


def import_file(window: MainWindow) -> None:
    """Ask for a zip, a table or an array file that the open library is to have too."""
    if chosen := _ask_file(window, tr("Add images to this library")):
        bring_in(window, chosen, into=window.state.path)


def _ask_file(window: MainWindow, title: str) -> Path | None:
    kinds = ";;".join((tr("Zip, table or arrays (*.zip *.csv *.npz)"), tr("All files (*)")))
    chosen, _ = QFileDialog.getOpenFileName(window, title, _last(window), kinds)
    return _remembered(window, chosen)


def _ask_folder(window: MainWindow, title: str) -> Path | None:
    return _remembered(window, QFileDialog.getExistingDirectory(window, title, _last(window)))


def _last(window: MainWindow) -> str:
    """Where something was chosen the last time: what is wanted next is mostly beside it."""
    folder = window.context.settings.text(_FOLDER)
    return folder if folder and Path(folder).is_dir() else ""


def _remembered(window: MainWindow, chosen: str) -> Path | None:
    if not chosen:
        return None
    window.context.settings.set_text(_FOLDER, str(Path(chosen).parent))
    return Path(chosen)


def bring_in(window: MainWindow, source: Path, into: Path | None = None) -> None:
    """A dropped or chosen source: a library is opened, an image asked with, the rest imported."""
    if (source / "catalogue.sqlite").is_file():
        window.open_library(source)
        return
    if into is None and "metric" in window.state.there and source.suffix.lower() in search_operations.ENDINGS:
        search_operations.ask(window.context, Query(image=source))
        return

    def ask(found: list[Any]) -> None:
        # Recognised just before the window was closed.
        if not window.isVisible():
            return
        dialog = ImportDialog(source, found, into, window)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            libraries.import_source(
                window.context, source, dialog.library(), dialog.kind(), identified=dialog.identified()
            )
        dialog.deleteLater()

    # The dialog waits for its answer: only once the job that recognised the source has ended.
    libraries.recognise(
        window.context, source, lambda found: QTimer.singleShot(0, window, lambda: ask(found))
    )


def show_not_read(window: MainWindow) -> None:
    """The files that could not be read, each with its reason."""
    if window.state.library is None:
        return

    def save(path: Path, text: str) -> None:
        # Its paths may be called after patients.
        plot_operations.save_scores(
            window.context, path, text, what="list of files not read", identified=True
        )

    dialog = NotReadDialog(window.state.library, save, window)
    dialog.exec()
    dialog.deleteLater()


def relink(window: MainWindow) -> None:
    """Ask where moved images are now, and find them there."""
    if chosen := QFileDialog.getExistingDirectory(window, tr("Where the moved images are now")):
        libraries.relink(window.context, Path(chosen))
