"""Open a library without loading the database before one is opened.

The window imports the workflows for their types and must start without SQLAlchemy and zarr.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.library.location import LibraryLocation

if TYPE_CHECKING:
    from semblance.core.library.library import Library

_read_only = ContextVar("read_only", default=False)


@contextlib.contextmanager
def read_only_libraries() -> Iterator[None]:
    """A context in which libraries are opened read-only, even by workflows that would write to them."""
    before = _read_only.set(True)
    try:
        yield
    finally:
        _read_only.reset(before)


def open_library(location: LibraryLocation, *, writable: bool | None = None) -> Library:
    """:meth:`semblance.core.library.library.Library.open`, read-only within :func:`read_only_libraries`."""
    return _class_for(location).open(location, writable=False if _read_only.get() else writable)


def open_or_create_library(location: LibraryLocation) -> Library:
    """:meth:`semblance.core.library.library.Library.open_or_create`."""
    return _class_for(location).open_or_create(location)


def _class_for(location: LibraryLocation) -> type[Library]:
    """The class of a library in a folder, on a server, or of the copy of one whose server is away."""
    if isinstance(location, Path):
        from semblance.core.library.library import Library

        return Library
    if location.is_away:
        from semblance.core.library.server.local_copy import LocalCopy

        return LocalCopy
    from semblance.core.library.server.library import ServerLibrary

    return ServerLibrary
