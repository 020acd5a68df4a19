"""What a window does after its first paint, a short step at a time: a library and the rest of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.app.shell.jobs import Lane
from semblance.app.window.preload import TO_COME, TO_OPEN, TO_SHOW, warm_asking, warm_looking

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow

#: What is seen once a library is open, in the order it is built: attributes of the window.
PARTS = (
    "_parts",
    "commands",
    "thumbnails",
    "concepts",
    "ranking",
    "library",
    "query",
    "side",
    "evaluation",
    "docks",
    "map_links",
    "search_view",
)


def steps(window: MainWindow, library: Path | None) -> Iterator[Callable[[], object]]:
    """Open ``library`` or the last one, and warm up what will be asked for."""
    # What comes from other processes is on its way while the rest of the window is built.
    yield partial(window.jobs.warm, Lane.LOOK, warm_looking)
    yield from (partial(import_module, name) for name in TO_OPEN)
    yield partial(window.open_first, library)
    yield from (partial(import_module, name) for name in TO_SHOW)
    yield from (partial(getattr, window, part) for part in PARTS)
    yield partial(window.jobs.warm, Lane.ASK, warm_asking)
    yield from (partial(import_module, name) for name in TO_COME)
