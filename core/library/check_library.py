"""Tell a library from any other folder."""

from __future__ import annotations

from pathlib import Path

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.records import CATALOGUE, LIBRARY_ENTRIES


def check_is_library(path: Path) -> None:
    """Refuse what is no library, without opening it.

    Raises:
        BadInput: nothing is at ``path``, or something else.
    """
    for entry in LIBRARY_ENTRIES:
        if (path / entry).is_symlink():
            raise BadInput(
                tr_lazy("{path} holds a link in place of its own '{entry}'.", path=path, entry=entry),
                "No link is followed out of a library, for what lies there may be anybody's. Put the files "
                "themselves in its place, or restore a backup.",
            )
    if not (path / CATALOGUE).is_file():
        if any((path / entry).exists() for entry in LIBRARY_ENTRIES):
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
