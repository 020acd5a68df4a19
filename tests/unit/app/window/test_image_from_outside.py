from __future__ import annotations

import shutil

import pytest

from semblance.app.shell import search_operations
from semblance.core.searches.query import Query
from tests.helpers.ranked_searches import ids
from tests.helpers.striped_library import striped_library
from tests.helpers.windows import open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")


def test_the_window_hides_the_patient_of_a_copied_library_image(tmp_path):
    library = striped_library(tmp_path, n=12)
    image = shutil.copy(tmp_path / "images" / "level" / "p004.png", tmp_path / "copy.png")
    own = {"images/level/p004.png", "images/level/p005.png"}
    with open_window(library) as window:
        search_operations.submit_query(window.context, Query(image=image))
        wait_for(window, lambda: window.state.ranking is not None)
        assert not own & set(ids(window.state.ranking))
        assert window.state.ranking.same_patient == 2
        assert len(window.state.ranking.vote.voters) == 10
        window.state.change_search(hide_same_patient=False)
        search_operations.rank(window.context)
        wait_for(window, lambda: own <= set(ids(window.state.ranking)))
