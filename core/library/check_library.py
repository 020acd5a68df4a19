"""Tell a library from any other folder."""

from __future__ import annotations

import re
from pathlib import Path

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import CATALOGUE, LIBRARY_ENTRIES


def folder_of(location: LibraryLocation) -> Path:
    """The folder ``location``. An address, such as of a database, would become the name of a folder.

    Raises:
        BadInput: ``location`` is one, or begins with a scheme.
    """
    # Paths have lost one of two slashes. A scheme of one letter is a drive of Windows.
    text = location.as_posix() if isinstance(location, Path) else str(location)
    if scheme := re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", text):
        # The address may hold a password.
        raise BadInput(
            tr_lazy("A library is a folder, not an address ({scheme}://…).", scheme=scheme[1]),
            "Give the path of a folder.",
        )
    return Path(text)


def check_is_library(path: Path) -> None:
    """Raise an error for a folder that is not a library, without opening it.

    Raises:
        BadInput: nothing is at ``path``, or something else.
    """
    for entry in LIBRARY_ENTRIES:
        if (path / entry).is_symlink():
            raise BadInput(
                tr_lazy("{path} contains a link instead of its own '{entry}'.", path=path, entry=entry),
                "For safety, links out of a library are not followed. Replace the link by the files "
                "themselves, or restore a backup.",
            )
    if not (path / CATALOGUE).is_file():
        if any((path / entry).exists() for entry in LIBRARY_ENTRIES):
            raise BadInput(
                tr_lazy(
                    "The catalogue of {path} is missing: there is no file '{name}'.",
                    path=path,
                    name=CATALOGUE,
                ),
                "Restore a backup (semblance restore), or import its images into a new library.",
            )
        if path.exists():
            raise BadInput(
                tr_lazy("{path} is not a library.", path=path),
                "Choose the folder of a library. Its name usually ends in .semblance.",
            )
        raise BadInput(
            tr_lazy("{path} does not exist.", path=path),
            "It may have been moved, renamed or removed, or its disk is not connected. Open it at"
            " its new place.",
        )
