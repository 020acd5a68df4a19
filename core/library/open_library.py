"""Open a library without loading the database before one is opened.

The window imports the workflows for their types and must start without SQLAlchemy and zarr.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semblance.core.library.library import Library

_read_only = ContextVar("read_only", default=False)


@contextlib.contextmanager
def read_only_libraries() -> Iterator[None]:
    """Libraries that are opened within are only read, whatever a workflow would keep in them otherwise."""
    before = _read_only.set(True)
    try:
        yield
    finally:
        _read_only.reset(before)


def open_library(path: Path, *, writable: bool | None = None) -> Library:
    """:meth:`semblance.core.library.library.Library.open`, read-only within :func:`read_only_libraries`."""
    from semblance.core.library.library import Library

    return Library.open(path, writable=False if _read_only.get() else writable)


def open_or_create_library(path: Path) -> Library:
    """:meth:`semblance.core.library.library.Library.open_or_create`."""
    from semblance.core.library.library import Library

    return Library.open_or_create(path)
