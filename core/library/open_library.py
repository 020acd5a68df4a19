"""Open a library without loading the database before one is opened.

The window imports the workflows for their types and must start without SQLAlchemy and zarr.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semblance.core.library.library import Library


def open_library(path: Path, *, writable: bool | None = None) -> Library:
    """:meth:`semblance.core.library.library.Library.open`."""
    from semblance.core.library.library import Library

    return Library.open(path, writable=writable)


def open_or_create_library(path: Path) -> Library:
    """:meth:`semblance.core.library.library.Library.open_or_create`."""
    from semblance.core.library.library import Library

    return Library.open_or_create(path)
