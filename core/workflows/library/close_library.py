"""Close libraries that a process keeps open between calls."""

from __future__ import annotations

import sys

from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import SILENT, Reporter

#: Modules that keep libraries open, and their functions that close one or all.
_CLOSING_FUNCTIONS = (
    ("semblance.core.workflows.searches.open_metrics", "close_loaded_metrics"),
    ("semblance.core.workflows.searches.match_check", "forget_reference"),
    ("semblance.core.workflows.features.library_places", "forget_places"),
    ("semblance.core.workflows.imaging.library_cache", "close_libraries"),
    ("semblance.core.workflows.imaging.view_planes", "forget_volume"),
    ("semblance.core.workflows.imaging.measure_figures", "forget_image"),
)


def close_library(library: LibraryLocation | None = None, *, reporter: Reporter = SILENT) -> None:
    """Close ``library``, or every library, in this process, and drop what was computed for it.

    Modules that are not imported yet are skipped, because they have nothing open.
    """
    for name, close in _CLOSING_FUNCTIONS:
        if module := sys.modules.get(name):
            getattr(module, close)(library)
