"""Imports that the window and its processes will need, done before a user waits for them."""

from __future__ import annotations

from semblance.core.tasks import SILENT, Reporter

#: Modules for opening a library that the first paint does not need, in steps of at most 0.05 s.
OPEN_MODULES = (
    "numpy._core",
    "semblance.core.library.importers.registry",
    "semblance.core.workflows.library.library_snapshot",
    "semblance.core.metrics.registry",
    "semblance.core.workflows.searches.rank_cases",
    "semblance.app.shell.library_operations",
)
#: Modules for showing a library.
SHOW_MODULES = (
    "semblance.app.search.feedback.refine_metric",
    "semblance.app.viewer.image_pane",
    "semblance.app.search.similar.panel",
    "pyqtgraph",
    "semblance.app.window.panels",
    "semblance.app.window.commands",
    "semblance.app.window.parts",
)
#: Modules for the larger dialogs and the map.
LATER_MODULES = (
    "semblance.core.workflows.evaluation.map_library",
    "semblance.app.evaluation.map.map_page",
    "semblance.core.evaluation.protocols.registry",
    "semblance.app.research.experiment_results",
    "semblance.app.research.experiments_dialog",
)


def preload_reading(*, reporter: Reporter = SILENT) -> None:
    """Images and the catalogue."""
    import PIL.Image

    import semblance.core.imaging.raster
    import semblance.core.workflows.imaging.view_images
    import semblance.core.workflows.library.library_snapshot

    reporter.progress(1, 1, "")
    _ = (
        PIL.Image,
        semblance.core.imaging.raster,
        semblance.core.workflows.imaging.view_images,
        semblance.core.workflows.library.library_snapshot,
    )


def preload_searching(*, reporter: Reporter = SILENT) -> None:
    """Feature stores, metrics and the extractors."""
    import zarr

    import semblance.core.workflows.searches.search_result
    from semblance.core.features.gabor import Gabor

    reporter.progress(1, 1, "")
    _ = (zarr, semblance.core.workflows.searches.search_result, Gabor)
