"""The steps of a window after its first paint: open a library and build the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

from semblance.app.shell.jobs import Jobs, Lane
from semblance.app.window.preload import (
    LATER_MODULES,
    OPEN_MODULES,
    SHOW_MODULES,
    make_types,
    preload_reading,
    preload_searching,
)

#: Attributes of ``WindowParts`` that are shown once a library is open, in the order they are built.
PARTS = (
    "commands",
    "panels.thumbnails",
    "panels.concepts",
    "panels.ranking",
    "panels.library",
    "panels.query",
    "panels.side",
    "panels.evaluation",
    "layout.docks",
    "case_links",
    "search_view",
)


def steps(
    jobs: Jobs,
    open_library: Callable[[], object],
    build: Callable[[str], object],
    built: Callable[[], object],
) -> Iterator[Callable[[], object]]:
    """Open a library, ``build`` each of :data:`PARTS`, call ``built``, and preload what will be used for."""
    # The other processes work while the rest of the window is built.
    yield partial(jobs.preload, Lane.READ, preload_reading)
    yield partial(jobs.import_in_thread, OPEN_MODULES)
    yield open_library
    yield from (partial(make_types, f"PySide6.{name}") for name in ("QtCore", "QtGui", "QtWidgets"))
    yield from (partial(import_module, name) for name in SHOW_MODULES)
    yield from (partial(build, part) for part in PARTS)
    yield built
    yield partial(jobs.preload, Lane.SEARCH, preload_searching)
    yield from (partial(import_module, name) for name in LATER_MODULES)
