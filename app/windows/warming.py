"""Imports that the asking and looking processes will need, done before somebody waits for them."""

from __future__ import annotations

from core.tasks import SILENT, Reporter


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
