"""Open a library without loading the database before one is opened.

The window imports the workflows for their types and must start without SQLAlchemy and zarr.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.library.address import server_address

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


def open_library(path: Path, *, writable: bool | None = None) -> Library:
    """:meth:`semblance.core.library.library.Library.open`, read-only within :func:`read_only_libraries`."""
    return _home_of(path).open(path, writable=False if _read_only.get() else writable)


def open_or_create_library(path: Path) -> Library:
    """:meth:`semblance.core.library.library.Library.open_or_create`."""
    return _home_of(path).open_or_create(path)


def _home_of(path: Path) -> type[Library]:
    """The class of libraries at ``path``: in a folder, on a server, or the copy of one whose server is away."""
    address = server_address(path)
    if address is not None and address.is_away:
        from semblance.core.library.server.local_copy import LocalCopy

        return LocalCopy
    if address is not None:
        from semblance.core.library.server.library import ServerLibrary

        return ServerLibrary
    from semblance.core.library.library import Library

    return Library
