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
    (Query(case="c1"), Query(image=Path("c.png"))),
    (Query(case="c2", region=Region(0, 0, 4, 4)),),
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
    ("search", "moved"),
    [
        (FULL, True),
        (Search("m", Query(case="c0"), concepts=(("round", 0.0),)), False),
        (Search("m", Query(case="c0"), unlike=(Query(case="c1"),)), False),
    ],
)
def test_concepts_shift_the_query_and_examples_do_not(search, moved):
    assert search.is_shifted is moved


def test_no_two_ledgers_have_one_name():
    assert len({new_ledger() for _ in range(100)}) == 100
