from __future__ import annotations

import json
from pathlib import Path

import pytest

from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger

FULL = Search(
    "mine",
    Query(image=Path("a/b.png"), region=Region(1, 2, 8, 9)),
    "l1",
    0.25,
    ("shape", "texture"),
    ("c1", "/c.png"),
    ("c2",),
    (("round", -0.5),),
    False,
    False,
    0.3,
    0.05,
)


@pytest.mark.parametrize("search", [FULL, Search("plain", Query(case="c0"))])
def test_round_trip_through_json(search):
    assert Search.from_json(json.loads(json.dumps(search.to_json()))) == search


@pytest.mark.parametrize(
    "damaged",
    [
        {"query": 1},
        {"query": {"region": {}, "case_id": "c"}, "like": 3},
        {"strength": "high"},
        {"concepts": [["a", 1, 2]]},
        {"candidates": "many"},
        {"query": {"region": {"kind": "?"}}},
    ],
)
def test_other_data_is_refused(damaged):
    with pytest.raises(ValueError):
        Search.from_json(damaged)


def test_what_is_missing_has_its_default():
    assert Search.from_json({"query": {"case_id": "c0"}}) == Search("", Query(case="c0"))
    assert Search.from_json({"metric": None}) == Search("", Query())


@pytest.mark.parametrize(
    ("search", "moved"),
    [
        (FULL, True),
        (Search("m", Query(case="c0"), concepts=(("round", 0.0),)), False),
        (Search("m", Query(case="c0"), unlike=("c1",)), False),
    ],
)
def test_concepts_shift_the_query_and_marks_do_not(search, moved):
    assert search.is_shifted is moved


def test_examples_of_the_version_before_are_marks():
    stored = {
        "query": {"case_id": "c0"},
        "like": [{"case_id": "c1", "image": None, "region": None}, {"case_id": None, "image": "/c.png"}],
        "unlike": [Query("c2", region=Region(0, 0, 4, 4)).to_json(), Query("c3").to_json()],
    }
    assert Search.from_json(stored) == Search("", Query("c0"), like=("c1", "/c.png"), unlike=("c3",))


def test_no_two_ledgers_have_one_name():
    assert len({new_ledger() for _ in range(100)}) == 100
