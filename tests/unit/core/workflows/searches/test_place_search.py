"""What a search compares where it does not say: places join a whole image only where validation chose so."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.searches.search import BOTH, PLACE, WHOLE, Search
from semblance.core.workflows.searches import place_search

WHOLE_IMAGE, REGION = Query("a"), Query("a", region=Region(0, 0, 5, 5))


def match(card: dict, query: Query = WHOLE_IMAGE, *, refined: bool = False, **options: object) -> str:
    loaded = SimpleNamespace(record=SimpleNamespace(card=card), library=None, feature_set=None)
    return place_search.resolved_match(loaded, Search("m", query, **options), refined=refined)


@pytest.fixture(autouse=True)
def _library_with_places(monkeypatch):
    monkeypatch.setattr(place_search, "has_places", lambda *_: True)


def test_metrics_of_before_and_those_without_a_gain_rank_as_they_did():
    assert match({}) == WHOLE
    assert match({"place_weight": 0.0}) == WHOLE
    assert match({"place_weight": "much"}) == WHOLE
    assert match({}, REGION) == PLACE


def test_places_join_a_metric_that_was_validated_with_them():
    assert match({"place_weight": 0.35}) == BOTH
    assert match({"place_weight": 0.35}, REGION) == PLACE
    assert match({"place_weight": 0.35}, match="whole") == WHOLE


@pytest.mark.parametrize(
    "changed", [{"refined": True}, {"without": ("size",)}, {"concepts": (("round", 0.5),)}]
)
def test_what_changes_the_metric_ranks_by_it_alone(changed):
    assert match({"place_weight": 0.35}, **changed) == WHOLE
