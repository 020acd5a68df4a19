"""Imports the window, the asking and the looking process will need, done before somebody waits for them."""

from __future__ import annotations

from core.tasks import SILENT, Reporter

#: What opening a library needs and the first paint does not, in portions of at most 0.05 s.
TO_OPEN = (
    "numpy._core",
    "core.library.importers.registry",
    "core.workflows.library.opening",
    "core.metrics.registry",
    "core.workflows.searches.asking",
    "app.operations.library",
)
#: What showing it needs.
TO_SHOW = (
    "app.operations.refining",
    "app.viewer.picture_pane",
    "app.panels.ranking.panel",
    "pyqtgraph",
    "app.windows.parts",
    "app.windows.commands",
)
#: What the first of the larger dialogs, and the first sight of the map, would stop to read.
TO_COME = (
    "core.workflows.evaluation.mapping",
    "app.panels.evaluation.map",
    "core.evaluation.protocols.registry",
    "app.dialogs.experiment_results",
    "app.dialogs.experiments",
)


def warm_looking(*, reporter: Reporter = SILENT) -> None:
    """Pictures and the catalogue."""
    import PIL.Image

    import core.imaging.raster
    import core.workflows.imaging.looking
    import core.workflows.library.opening

    reporter.progress(1, 1, "")
    _ = (PIL.Image, core.imaging.raster, core.workflows.imaging.looking, core.workflows.library.opening)


def warm_asking(*, reporter: Reporter = SILENT) -> None:
    """Feature stores, metrics and the extractors."""
    import zarr

    import core.workflows.searches.searching
    from core.features.gabor import Gabor

    reporter.progress(1, 1, "")
    _ = (zarr, core.workflows.searches.searching, Gabor)
