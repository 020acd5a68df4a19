from __future__ import annotations

import pytest

from semblance.app.search.query.query_panel import QueryPanel
from semblance.app.shell import search_operations
from semblance.core.searches.query import Query
from semblance.core.workflows.library import library_snapshot
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.images import striped_folder
from tests.helpers.query_panel import image_file
from tests.helpers.widgets import show_widget


@pytest.fixture
def panel(qtbot, context):
    return show_widget(qtbot, QueryPanel(context), 336, 640)


@pytest.fixture
def library(tmp_path, context):
    """A library of eight images of four patients, open; its first case is ``level/p000.png``."""
    source = striped_folder(tmp_path / "images", n=8)
    path = tmp_path / "striped.semblance"
    import_source(source, path, kind="folder")
    context.state.set_library(library_snapshot.read_snapshot(path))
    return context.state.library


@pytest.fixture
def panel_with_query(panel, context, jobs, tmp_path):
    """The panel, shown with an image from outside of 48 x 40 pixels."""
    search_operations.submit_query(context, Query(image=image_file(tmp_path)))
    jobs.run_pending()
    return panel
