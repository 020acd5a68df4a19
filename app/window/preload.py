"""Imports that the window and its processes will need, done before a user waits for them."""

from __future__ import annotations

from importlib import import_module

from semblance.core.tasks import SILENT, Reporter

#: Modules without Qt for opening a library that the first paint does not need. A thread imports them: the import of
#: SQLAlchemy alone takes 0.1 s.
OPEN_MODULES = (
    "numpy",
    "sqlalchemy",
    "semblance.core.library.importers.registry",
    "semblance.core.workflows.library.library_snapshot",
    "semblance.core.workflows.searches.rank_cases",
)
#: Modules for showing a library, in steps of at most 0.05 s.
SHOW_MODULES = (
    "semblance.app.shell.library_operations",
    "semblance.app.search.feedback.mark_cards",
    "semblance.app.viewer.image_pane",
    "semblance.app.search.similar.ranking_panel",
    "PySide6.QtSvg",
    "PySide6.QtOpenGLWidgets",
    "PySide6.QtTest",
    "pyqtgraph",
    "semblance.app.evaluation.panel",
    "semblance.app.library.panel",
    "semblance.app.window.side_panel",
    "semblance.app.window.panels",
    "semblance.app.library.library_commands",
    "semblance.app.metrics.metric_commands",
    "semblance.app.window.commands",
    "semblance.app.window.parts",
)
#: Modules for the larger dialogs and the map.
LATER_MODULES = (
    "semblance.core.workflows.evaluation.map_library",
    "semblance.app.evaluation.map_page",
    "semblance.core.evaluation.protocols.registry",
    "semblance.app.reports.report_dialog",
    "semblance.app.research.experiment_results",
    "semblance.app.research.experiments_page",
    "semblance.app.research.reader_studies_page",
    "semblance.app.research.vault_page",
    "semblance.app.research.data_check_page",
    "semblance.app.research.two_metrics_page",
    "platformdirs",
)


def make_types(module: str) -> None:
    """Make the classes of a ``module`` of Qt, which PySide6 does on first use. pyqtgraph uses all of them."""
    qt = import_module(module)
    for name in dir(qt):
        getattr(qt, name)


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
