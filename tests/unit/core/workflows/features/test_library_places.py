"""The places of a large library are coded once, stored with the recall of candidates, and made again if changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from semblance.core.library.library import Library
from semblance.core.retrieval.place_index import CodedPlaces, PlaceIndex
from semblance.core.searches.query import Query
from semblance.core.workflows.features import library_places as module
from semblance.core.workflows.features.library_places import forget_places, library_places, measure_recall
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.square_library import square_library, square_region


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return square_library(tmp_path_factory.mktemp("squares"))


@pytest.fixture
def library(made, tmp_path):
    forget_places()
    yield shutil.copytree(made, tmp_path / "squares")
    close_loaded_metrics()
    forget_places()


def test_many_cases_are_coded_once_and_mapped_until_their_places_change(library, monkeypatch):
    monkeypatch.setattr(module, "FEWEST", 5)
    monkeypatch.setattr(module, "NUMBERS", (11,))
    made = []
    monkeypatch.setattr(
        CodedPlaces,
        "made",
        lambda *given, _made=CodedPlaces.made, **more: made.append(1) or _made(*given, **more),
    )
    with Library.open(library, writable=True) as opened:
        assert library_places(opened).index.coded is None and not made
        first = library_places(opened, code=True)
        assert first.index.candidates == 11 and first.recall is not None and first.recall >= 0.98
        assert library_places(opened) is first
        forget_places(library)
        again = library_places(opened)
        np.testing.assert_array_equal(again.rows, first.rows)
        assert again.index.candidates == first.index.candidates and len(made) == 1
        query = Query(case="images/red/i00.png", region=square_region(0))
        found = nearest_cases(library, "plain", query, k=4)
        assert found.candidates is not None and found.candidates.number == first.index.candidates
        assert [one.finding for one in found.ranked] == ["red"] * 4
        every = nearest_cases(library, "plain", query, k=4, candidates=0)
        assert every.candidates is None and [one.case_id for one in every.ranked] == [
            one.case_id for one in found.ranked
        ]
        places = next(one for one in opened.features.every() if one.part == "places")
        opened.features.forget([int(first.rows[3])], [places])
        # A search does not wait for the coding.
        changed = library_places(opened)
        assert len(changed.rows) == 11 and changed.recall is None and len(made) == 1
        changed = library_places(opened, code=True)
        assert changed.recall is not None and len(made) == 2


def test_the_recall_is_that_of_the_exact_order_and_all_are_compared_where_none_reaches_it(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(-90, 91, (300, 16, 6)).astype(np.int8)
    coded = CodedPlaces.made(codes, centroids=4)
    index = PlaceIndex(codes, coded=coded, candidates=1)
    monkeypatch.setattr(module, "NUMBERS", (20, 40))
    assert measure_recall(index, (4, 4), 1.0)[0] == 0
    monkeypatch.setattr(module, "NUMBERS", (20, 40, 299))
    number, recall, queries = measure_recall(index, (4, 4), 0.98)
    assert number == 299 and recall == 1.0 and queries == module.QUERIES
