"""The real window while the server of its library does not answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from semblance.app.shell import search_operations
from semblance.app.window.main_window import MainWindow
from semblance.core.library.location import ServerAddress, local_folder, server_address
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.maintenance.share_library import set_right
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import striped_folder
from tests.helpers.windows import open_window, search_first_case, wait_for

CASES = 24


@pytest.fixture
def images(tmp_path) -> Path:
    return striped_folder(tmp_path / "images", n=CASES)


@pytest.fixture
def library(database, postgres, images) -> Iterator[ServerAddress]:
    """The address of a library with a metric for the annotator anna."""
    address = server_address(database)
    import_source(images, address)
    extract_features(address, "colour_edge_texture")
    train_metric(address, TrainRequest("euclidean", "plain"))
    set_right(address, "anna", "annotator", "pw")
    yield server_address(postgres.address("library", "anna", "pw"))
    postgres.execute('DROP DATABASE "library" WITH (FORCE)')
    roles = [f"library_{right}" for right in ("administrator", "curator", "annotator", "reader")]
    postgres.execute(f"DROP ROLE {', '.join(['anna', *roles])}")


def has_copy(address: ServerAddress) -> bool:
    return (local_folder(address) / "copy.json").exists()


def search(window: MainWindow, index: int) -> list[str]:
    """The ids of the cases that a search by the case at ``index`` lists."""
    before = window.state.ranked_search
    search_operations.submit_query(window.context, Query(case=window.state.columns.ids[index]))
    wait_for(window, lambda: window.state.ranked_search not in (None, before))
    return [case.case_id for case in window.state.ranking.ranked]


def test_a_window_searches_and_shows_images_while_the_server_is_away(library, postgres, images):
    with open_window(library) as window:
        wait_for(window, lambda: has_copy(library))
        state = window.state
        wanted = search(window, 7)
        search_first_case(window)
        postgres.stop("immediate")
        shutil.move(images, images.with_name("unreachable"))
        try:
            assert search(window, 7) == wanted
            assert state.server_problem
            assert state.ranking.ranked[0].row
        finally:
            shutil.move(images.with_name("unreachable"), images)
            postgres.start()
        wait_for(window, lambda: not state.server_problem)
        assert search(window, 3)
        assert "(annotator)" in window.status.where.text()


def test_a_library_is_opened_from_its_copy_and_says_of_when_it_is(library, postgres):
    with open_window(library) as window:
        wait_for(window, lambda: has_copy(library))
        wanted = search(window, 7)
    postgres.stop("immediate")
    try:
        with open_window(library) as window:
            wait_for(window, lambda: window.state.library is not None)
            state = window.state
            assert len(state.columns) == CASES
            assert "read-only copy of 20" in window.status.where.text()
            assert search(window, 7) == wanted
            postgres.start()
            wait_for(window, lambda: not state.server_problem)
            wait_for(window, lambda: not state.library.copied)
            assert "(annotator)" in window.status.where.text()
            assert state.can_write
    except BaseException:
        postgres.start()
        raise
