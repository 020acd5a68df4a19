"""The library: the catalogue of cases, the feature stores, and the importers that fill them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import BadInput
from core.language import say

if TYPE_CHECKING:
    from core.library.library import Library


def check_is_library(path: Path) -> None:
    """Refuse what is no library, without opening it.

    Raises:
        BadInput: nothing is at ``path``, or something else.
    """
    from core.library.records import CATALOGUE

    if not (path / CATALOGUE).is_file():
        if path.exists():
            raise BadInput(
                say("{path} is not a library.", path=path),
                "Choose the folder of a library: its name mostly ends in .semblance.",
            )
        raise BadInput(
            say("{path} does not exist.", path=path),
            "Was it moved, renamed or removed, or is its disk not connected? Open it where it is now.",
        )


def open_library(path: Path, *, writable: bool | None = None) -> Library:
    """:meth:`core.library.library.Library.open`, loading the database only now: the window imports the
    workflows for their types and must start without it."""
    from core.library.library import Library

    return Library.open(path, writable=writable)


def open_or_create_library(path: Path) -> Library:
    """:meth:`core.library.library.Library.open_or_create`, loading the database only now."""
    from core.library.library import Library

    return Library.open_or_create(path)
