"""A region is found again at its place in other images, and searches by place hide, group and mark as all others."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import comparison_judgement, likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import BOTH, PLACE, WHOLE, Search, new_ledger
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import place_search
from semblance.core.workflows.searches.explain_distance import explain_distance, result_with_reasons
from semblance.core.workflows.searches.feedback.refine_metric import (
    add_judgements,
    redo_judgements,
    undo_judgements,
)
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.place_search import found_rectangle
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from semblance.core.workflows.searches.saved_searches import reopen, save_result
from tests.helpers.square_library import PLACE as PLACE_SIDE
from tests.helpers.square_library import SIDE, SQUARE, corner, square_library, square_region, squares


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return square_library(tmp_path_factory.mktemp("squares"))


@pytest.fixture
def library(made, tmp_path):
    yield shutil.copytree(made, tmp_path / "squares")
    close_loaded_metrics()


def _number(case_id: str) -> int:
    return int(Path(case_id).stem[1:])


def _case(number: int) -> str:
    return f"images/{('red', 'green')[number // 2 % 2]}/i{number:02d}.png"


def test_a_region_is_found_at_its_place_in_images_of_other_patients(library):
    query = Query(case=_case(0), region=square_region(0))
    result = nearest_cases(library, "plain", query, k=4)
    assert result.compared_by == PLACE and result.compared == 11
    assert [one.finding for one in result.ranked] == ["red"] * 4
    # The other image of the patient would be the nearest.
    assert result.same_patient == 1
    for one in result.ranked:
        assert one.place is not None
        left, top = corner(_number(one.case_id))
        # Colours of neighbouring places are mixed where the image is made smaller.
        beyond = np.subtract(one.place.box, (left, top, left + SQUARE, top + SQUARE))
        assert (abs(beyond) <= PLACE_SIDE).all() and one.place.y >= 0 and one.place.box[3] <= SIDE
        assert one.place.slice is None and one.place.similarity > 0.99
        assert one.distance == pytest.approx(2.0 - 2.0 * one.place.similarity)
    document = result_with_reasons(library, result)
    assert document["results"][0]["place"]["x"] == corner(_number(result.ranked[0].case_id))[0]
    assert document["results"][0]["parts"] == [{"name": "Places", "amount": result.ranked[0].distance}]
    assert result.vote.counts == {"red": 4, "green": 6} and "compares places" in result.vote.why_not


def test_an_outline_and_an_image_from_outside_are_compared_by_their_places(library, tmp_path):
    file = tmp_path / "asked.png"
    squares(40, "green").save(file)
    mask = np.zeros((80, 80), dtype=bool)
    left, top = corner(40)
    mask[top : top + 20, left : left + 20] = True
    found = nearest_cases(library, "plain", Query(image=file, region=region_of_mask(mask)), k=6)
    assert {one.finding for one in found.ranked} == {"green"} and found.same_patient == 0
    # A copy of a case is recognised, and its patient is hidden.
    squares(5, "red").save(file)
    again = nearest_cases(library, "plain", Query(image=file, region=Region(0, 0, 80, 80)), k=20)
    assert again.same_patient == 2 and len(again.ranked) == 10


def test_what_is_compared_can_be_chosen(library):
    query = Query(case=_case(0), region=square_region(0))
    by = {match: nearest_cases(library, "plain", query, k=4, match=match) for match in (PLACE, WHOLE, BOTH)}
    assert {match: found.compared_by for match, found in by.items()} == {one: one for one in by}
    assert all(one.place is None for one in by[WHOLE].ranked)
    assert all(one.place is not None for one in by[BOTH].ranked)
    parts = result_with_reasons(library, by[BOTH])["results"][0]["parts"]
    assert [part["name"] for part in parts] == ["Places", "Whole image"]
    assert sum(part["amount"] for part in parts) == pytest.approx(by[BOTH].ranked[0].distance)
    whole = nearest_cases(library, "plain", Query(case=_case(0)), k=4)
    assert whole.compared_by == WHOLE
    by_place = nearest_cases(library, "plain", Query(case=_case(0)), k=4, match=PLACE)
    assert [one.finding for one in by_place.ranked] == ["red"] * 4
    # A whole image is found at no one place of another: a frame anywhere would be a claim.
    assert by_place.compared_by == PLACE and all(one.place is None for one in by_place.ranked)
    with pytest.raises(BadArguments, match="no way to compare"):
        nearest_cases(library, "plain", query, match="patch")


def test_without_places_a_region_is_compared_as_a_whole_and_that_is_said(made, tmp_path):
    library = shutil.copytree(made, tmp_path / "squares")
    extract_features(library, "colour_edge_texture")
    with Library.open(library, writable=True) as opened:
        places = next(one for one in opened.features.every() if one.part == "places")
        opened.features.forget([row.id for row in opened.catalogue.all_cases()], [places])
    query = Query(case=_case(0), region=square_region(0))
    result = nearest_cases(library, "plain", query)
    assert result.compared_by == WHOLE and any("no places" in one for one in result.warnings)
    with pytest.raises(BadInput, match="no places"):
        nearest_cases(library, "plain", query, match=PLACE)
    close_loaded_metrics()


def test_cases_without_places_are_not_ranked_and_counted(library):
    with Library.open(library, writable=True) as opened:
        places = next(one for one in opened.features.every() if one.part == "places")
        opened.features.forget([opened.catalogue.row_of(_case(4))], [places])
    result = nearest_cases(library, "plain", Query(case=_case(0), region=square_region(0)), k=20)
    assert _case(4) not in [one.case_id for one in result.ranked] and result.compared == 10
    assert any("1 case has no places" in one for one in result.warnings)


def test_a_mark_on_a_place_moves_what_has_that_place_and_can_be_undone(library):
    search = Search("plain", Query(case=_case(0), region=Region(60, 60, 20, 20)), new_ledger())
    before = rank_cases(library, search, k=20)
    marked = _case(4)
    judgement = likeness_judgement(search, marked, True, (), square_region(4))
    after = add_judgements(library, search, [judgement], k=20)
    reds, were = (
        np.flatnonzero([one.finding == "red" for one in found.result.ranked]) for found in (after, before)
    )
    assert reds.mean() < were.mean()
    assert after.result.ranked[0].case_id == marked and after.result.marks.places[marked]["x"] == corner(4)[0]
    disliked = add_judgements(
        library, search, [likeness_judgement(search, _case(2), False, (), square_region(2))], k=20
    )
    assert disliked.result.ranked[-1].case_id == _case(2)
    undo_judgements(library, search, k=20)
    plain = undo_judgements(library, search, k=20)
    assert [one.case_id for one in plain.result.ranked] == [one.case_id for one in before.result.ranked]
    again = redo_judgements(library, search, k=20)
    assert again.result.marks.places and again.result.ranked[0].case_id == marked
    outside = add_judgements(
        library, search, [likeness_judgement(search, _case(10), True, (), Region(500, 500, 5, 5))]
    )
    assert "place of a mark is left out" in outside.left_out[0]
    # Compared as a whole, the mark is one on the case.
    whole = rank_cases(library, replace(search, match=WHOLE), k=20).result
    assert whole.marks.liked == (marked, _case(10)) and whole.compared_by == WHOLE


def test_diverse_grouped_and_saved_searches_work_by_place(library):
    query = Query(case=_case(0), region=square_region(0))
    diverse = nearest_cases(library, "plain", query, k=6, diverse=0.7)
    assert len({one.case_id for one in diverse.ranked}) == 6
    saved = nearest_cases(library, "plain", query, k=10)
    save_result(library, "the square", saved)
    reopened = reopen(library, "the square")
    assert reopened.search.match == PLACE and reopened.is_current
    assert reopened.ranked_search is not None
    assert [one.case_id for one in reopened.ranked_search.result.ranked[:10]] == [
        one.case_id for one in saved.ranked
    ]


def test_new_places_are_searched_after_the_library_changed(library):
    query = Query(case=_case(0), region=square_region(0))
    assert len(nearest_cases(library, "plain", query, k=20).ranked) == 10
    with Library.open(library, writable=True) as opened:
        places = next(one for one in opened.features.every() if one.part == "places")
        opened.features.forget([opened.catalogue.row_of(_case(5))], [places])
    assert len(nearest_cases(library, "plain", query, k=20).ranked) == 9


def test_a_metric_without_coordinates_is_combined_with_places(library):
    train_metric(library, TrainRequest("l1", "city"))
    query = Query(case=_case(0), region=square_region(0))
    found = nearest_cases(library, "city", query, k=4, match=BOTH)
    assert [one.finding for one in found.ranked] == ["red"] * 4


def test_a_found_rectangle_is_about_as_large_as_the_region_and_inside_the_grid():
    rng = np.random.default_rng(0)
    cosines = rng.uniform(0.0, 0.2, (14, 14))
    cosines[3:6, 11:14] = 0.9
    cosines[4, 12] = 0.95
    assert found_rectangle(cosines, (3, 3)) == (3, 11, 6, 14)
    top, left, bottom, right = found_rectangle(cosines, (1, 1))
    assert bottom - top <= 2 and right - left <= 2 and top <= 4 < bottom and left <= 12 < right
    top, left, bottom, right = found_rectangle(np.zeros((5, 7)), (20, 20))
    assert 0 <= top < bottom <= 5 and 0 <= left < right <= 7


_WHOLE, _REGION = Query("a"), Query("a", region=Region(0, 0, 5, 5))


def _match(card: dict, query: Query = _WHOLE, *, refined: bool = False, **options: object) -> str:
    loaded = SimpleNamespace(record=SimpleNamespace(card=card), library=None, feature_set=None)
    return place_search.resolved_match(loaded, Search("m", query, **options), refined=refined)


@pytest.fixture
def with_places(monkeypatch):
    monkeypatch.setattr(place_search, "has_places", lambda *_: True)


def test_metrics_of_before_and_those_without_a_gain_rank_as_they_did(with_places):
    assert _match({}) == WHOLE
    assert _match({"place_weight": 0.0}) == WHOLE
    assert _match({"place_weight": "much"}) == WHOLE
    assert _match({}, _REGION) == PLACE


def test_places_join_a_metric_that_was_validated_with_them(with_places):
    assert _match({"place_weight": 0.35}) == BOTH
    assert _match({"place_weight": 0.35}, _REGION) == PLACE
    assert _match({"place_weight": 0.35}, match="whole") == WHOLE


@pytest.mark.parametrize(
    "changed", [{"refined": True}, {"without": ("size",)}, {"concepts": (("round", 0.5),)}]
)
def test_what_changes_the_metric_ranks_by_it_alone(with_places, changed):
    assert _match({"place_weight": 0.35}, **changed) == WHOLE


def test_the_reason_is_that_of_the_order_with_places_and_without(library, monkeypatch):
    monkeypatch.setattr(place_search, "chosen_weight", lambda _: 0.35)
    search = Search("plain", Query(case=_case(0)), new_ledger())

    def compared_by() -> str:
        result = rank_cases(library, search, k=4).result
        for one in result.ranked:
            found = explain_distance(library, search, one.case_id)
            assert found.distance == pytest.approx(one.distance, rel=1e-6), one.case_id
        return result.compared_by

    assert compared_by() == BOTH
    add_judgements(library, search, [comparison_judgement(search, _case(3), _case(5))])
    assert compared_by() == WHOLE
