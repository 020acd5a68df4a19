"""Imports the window, the asking and the looking process will need, done before somebody waits for them."""

from __future__ import annotations

from semblance.core.tasks import SILENT, Reporter

#: What opening a library needs and the first paint does not, in portions of at most 0.05 s.
TO_OPEN = (
    "numpy._core",
    "semblance.core.library.importers.registry",
    "semblance.core.workflows.library.opening",
    "semblance.core.metrics.registry",
    "semblance.core.workflows.searches.rank_cases",
    "semblance.app.operations.library",
)
#: What showing it needs.
TO_SHOW = (
    "semblance.app.operations.refining",
    "semblance.app.viewer.image_pane",
    "semblance.app.panels.ranking.panel",
    "pyqtgraph",
    "semblance.app.windows.parts",
    "semblance.app.windows.commands",
)
#: What the first of the larger dialogs, and the first sight of the map, would stop to read.
TO_COME = (
    "semblance.core.workflows.evaluation.map_library",
    "semblance.app.panels.evaluation.map",
    "semblance.core.evaluation.protocols.registry",
    "semblance.app.dialogs.experiment_results",
    "semblance.app.dialogs.experiments",
)


def warm_looking(*, reporter: Reporter = SILENT) -> None:
    """Images and the catalogue."""
    import PIL.Image

    import semblance.core.imaging.raster
    import semblance.core.workflows.imaging.view_images
    import semblance.core.workflows.library.opening

    reporter.progress(1, 1, "")
    _ = (
        PIL.Image,
        semblance.core.imaging.raster,
        semblance.core.workflows.imaging.view_images,
        semblance.core.workflows.library.opening,
    )


def warm_asking(*, reporter: Reporter = SILENT) -> None:
    """Feature stores, metrics and the extractors."""
    import zarr

    import semblance.core.workflows.searches.search_result
    from semblance.core.features.gabor import Gabor

    reporter.progress(1, 1, "")
    _ = (zarr, semblance.core.workflows.searches.search_result, Gabor)
