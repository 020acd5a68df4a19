"""Copies of libraries on servers on this computer: kept up to date, limited in size, and removed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from semblance.core.library.location import (
    COPY_FACTS,
    DEFAULT_COPY_BYTES,
    VIEWED_IMAGES,
    LibraryLocation,
    servers_folder,
)
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter


@dataclass(frozen=True)
class CopyReport:
    """``compared``: when the copy was the library (UTC). ``thumbnails`` of the ``all_thumbnails`` are here."""

    compared: str
    thumbnails: int
    all_thumbnails: int


def renew_copy(
    library: LibraryLocation, limit: int = DEFAULT_COPY_BYTES, *, reporter: Reporter = SILENT
) -> CopyReport | None:
    """Make the copy of ``library``, which is on a server, the same as the library; ``None`` where ``limit`` is 0.

    Raises:
        AccessRefused: the user may not read the library any more. The copy was removed.
        ServerUnavailable: the server does not answer any more; the copy is as it was.
    """
    if not limit:
        remove_copies()
        return None
    from semblance.core.library.server import local_copy
    from semblance.core.library.server.library import ServerLibrary

    remove_ended_copies()
    with open_library(library, writable=False) as opened:
        if not isinstance(opened, ServerLibrary):
            # The server went away meanwhile.
            return None
        facts = local_copy.renew_catalogue(opened, reporter)
        here, made = local_copy.copy_thumbnails(opened, reporter)
    limit_copies(limit, keep=opened.files.folder)
    return CopyReport(facts.compared, here, made)


def remove_ended_copies(*, reporter: Reporter = SILENT) -> None:
    """Remove the copies of projects whose last day has passed."""
    folders = [folder for folder in _folders() if (folder / COPY_FACTS).is_file()]
    if folders:
        from semblance.core.library.server.local_copy import remove_ended

        for folder in folders:
            remove_ended(folder)


def limit_copies(limit: int, keep: Path | None = None) -> None:
    """Remove the images that were viewed longest ago, and then whole copies, the one used longest ago first, until all
    together have at most ``limit`` bytes. ``keep``: the folder of the library in use, of which only images go."""
    folders = _folders()
    size = sum(_size(folder) for folder in folders)
    images = [one for folder in folders for one in _entries(folder / VIEWED_IMAGES)]
    others = [folder for folder in folders if folder != keep]
    for unneeded in [*sorted(images, key=_last_use), *sorted(others, key=_last_use)]:
        if size <= limit:
            return
        size -= _size(unneeded)
        shutil.rmtree(unneeded, ignore_errors=True)


def size_of_copies(*, reporter: Reporter = SILENT) -> int:
    """The bytes of all copies."""
    return sum(_size(folder) for folder in _folders())


def remove_copies(*, reporter: Reporter = SILENT) -> int:
    """Remove all copies; the bytes that are left, of files in use."""
    for folder in _folders():
        # Without it the rest is no copy any more.
        (folder / COPY_FACTS).unlink(missing_ok=True)
        for entry in _entries(folder):
            if entry.is_dir():
                # Programs that use the library expect the folder itself.
                for inner in _entries(entry):
                    shutil.rmtree(inner) if inner.is_dir() else inner.unlink(missing_ok=True)
            elif entry.name != "library":
                entry.unlink(missing_ok=True)
    return size_of_copies()


def _folders() -> list[Path]:
    return [folder for folder in _entries(servers_folder()) if folder.is_dir()]


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())


def _last_use(folder: Path) -> float:
    """When an image was viewed, or a copy was compared with its library."""
    facts = folder / COPY_FACTS
    return (facts if facts.exists() else folder).stat().st_mtime
