"""The library: the catalogue of cases, the feature stores, and the importers that fill them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from semblance.core.library.library import Library


def check_is_library(path: Path) -> None:
    """Refuse what is no library, without opening it.

    Raises:
        BadInput: nothing is at ``path``, or something else.
    """
    from semblance.core.library.records import CATALOGUE, LIBRARY_ENTRIES

    for room in LIBRARY_ENTRIES:
        if (path / room).is_symlink():
            raise BadInput(
                tr_lazy("{path} holds a link in place of its own '{room}'.", path=path, room=room),
                "No link is followed out of a library, for what lies there may be anybody's. Put the files "
                "themselves in its place, or restore a backup.",
            )
    if not (path / CATALOGUE).is_file():
        if any((path / room).exists() for room in LIBRARY_ENTRIES):
            raise BadInput(
                tr_lazy(
                    "The catalogue of {path} is gone: it has no file '{name}'.", path=path, name=CATALOGUE
                ),
                "Restore a backup (semblance restore), or import its images into a new library.",
            )
        if path.exists():
            raise BadInput(
                tr_lazy("{path} is not a library.", path=path),
                "Choose the folder of a library: its name mostly ends in .semblance.",
            )
        raise BadInput(
            tr_lazy("{path} does not exist.", path=path),
            "Was it moved, renamed or removed, or is its disk not connected? Open it where it is now.",
        )


def open_library(path: Path, *, writable: bool | None = None) -> Library:
    """:meth:`semblance.core.library.library.Library.open`, loading the database only now: the window imports the
    workflows for their types and must start without it."""
    from semblance.core.library.library import Library

    return Library.open(path, writable=writable)


def open_or_create_library(path: Path) -> Library:
    """:meth:`semblance.core.library.library.Library.open_or_create`, loading the database only now."""
    from semblance.core.library.library import Library

    return Library.open_or_create(path)
