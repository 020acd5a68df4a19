"""Dialogs to choose files and folders, and what follows when a file is saved.

They begin in the folder that was last read from, or written to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QStandardPaths, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.messages import Action
from semblance.app.shell.settings import READ_FOLDER, WRITE_FOLDER, Settings
from semblance.core.language import tr, tr_n
from semblance.core.workflows.library import audit_log


def choose_file(parent: QWidget, title: str, filters: str = "", *, begin: str = "") -> Path | None:
    """An existing file; ``None`` if none is chosen. ``filters``: the kinds of files as Qt writes them. ``begin``: the
    file or folder to begin with, in place of the folder used last."""
    file, _ = QFileDialog.getOpenFileName(parent, title, begin or _folder(READ_FOLDER), filters)
    return _remember(READ_FOLDER, file)


def choose_files(parent: QWidget, title: str, filters: str) -> list[Path]:
    """Existing files; none if none are chosen."""
    files, _ = QFileDialog.getOpenFileNames(parent, title, _folder(READ_FOLDER), filters)
    return [path for file in files if (path := _remember(READ_FOLDER, file)) is not None]


def choose_folder(parent: QWidget, title: str, *, begin: str = "") -> Path | None:
    """An existing folder to read; ``None`` if none is chosen."""
    chosen = QFileDialog.getExistingDirectory(parent, title, begin or _folder(READ_FOLDER))
    return _remember(READ_FOLDER, chosen)


def choose_target_folder(parent: QWidget, title: str, *, begin: str = "") -> Path | None:
    """An existing folder to write into; ``None`` if none is chosen."""
    chosen = QFileDialog.getExistingDirectory(parent, title, begin or _folder(WRITE_FOLDER))
    if chosen:
        Settings().remember_folder(WRITE_FOLDER, chosen)
    return Path(chosen) if chosen else None


def choose_target(parent: QWidget, title: str, name: str, filters: str) -> tuple[Path | None, str]:
    """The file or library to write and the chosen one of ``filters``; ``None`` if none is chosen. ``name``: the
    proposed name, in the folder used last unless it is a whole path. The dialog asks before a file is replaced."""
    begin = name if Path(name).is_absolute() else str(Path(_folder(WRITE_FOLDER), name))
    file, chosen = QFileDialog.getSaveFileName(parent, title, begin, filters)
    return _remember(WRITE_FOLDER, file), chosen


def target_folder() -> str:
    """The folder that was written to last, else the user's documents."""
    return _folder(WRITE_FOLDER)


def _folder(key: str) -> str:
    """The folder used last, else the user's documents."""
    folder = Settings().text(key)
    if folder and Path(folder).is_dir():
        return folder
    documents = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return documents if Path(documents).is_dir() else str(Path.home())


def _remember(key: str, chosen: str) -> Path | None:
    if not chosen:
        return None
    path = Path(chosen)
    Settings().remember_folder(key, str(path.parent))
    return path


def log_export(context: Context, what: str, kind: str) -> None:
    """Add a line to the export log of the open library, for files that the window itself writes."""
    if context.state.location is not None:
        job = context.jobs.run(
            "",
            audit_log.log_window_export,
            context.state.location,
            what,
            kind,
            pool=WorkerPool.READ,
            quiet=True,
        )
        job.failed.connect(context.messages.error)


def report_saved_file(context: Context, job: Job, path: Path, *, can_be_opened: bool = False) -> Job:
    """Show the path of the file once ``job`` has written it, and offer to open its folder, or itself if that can be.

    A job that returns files, or something with ``files``, wrote the others beside it.
    """

    library = context.state.location

    def show(result: object) -> None:
        def open_url(local: Path) -> None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(local)))

        actions: list[Action] = [(tr("Open"), lambda: open_url(path))] if can_be_opened else []
        actions.append((tr("Open folder"), lambda: open_url(path.parent)))
        files = getattr(result, "files", result if isinstance(result, list) else ())
        more = sum(isinstance(one, Path) and one != path and one.parent == path.parent for one in files)
        beside = tr_n(
            "Saved {path} and {n} more file beside it.",
            "Saved {path} and {n} more files beside it.",
            more,
            path=path,
        )
        saved = beside if more else tr("Saved {path}.", path=path)
        context.messages.info(saved, actions=actions, topic="saved", library=library)

    return context.follow(job, show)


def report_failures(context: Context, text: str, failed: Sequence[tuple[str, str]]) -> None:
    """Warn with ``text`` that cases (case, reason) are not in what was written, if there are any."""
    if failed:
        case, reason = failed[0]
        context.messages.warning(text, tr("The first, {case}: {reason}", case=case, reason=reason))
