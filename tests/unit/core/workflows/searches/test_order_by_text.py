"""Words come together with the image: hits come forward, the estimate goes, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.estimate import BY_TEXT
from semblance.core.workflows.searches.order_by_text import fused_scores
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.ranked_searches import ids


def test_cases_with_the_words_come_forward_in_the_order_of_the_image(table):
    plain = nearest_cases(table, "plain", Query("t/c0"), k=1000)
    noted = [case.case_id for case in plain.ranked][30:40:3]
    with Library.open(table) as library:
        for case in noted:
            library.notes.set(case, f"A mass, SPICULÄTED, of {case}")
    found = nearest_cases(table, "plain", Query("t/c0"), k=1000, text="spiculat mass")
    assert [case.case_id for case in found.ranked][: len(noted)] == noted
    assert set(ids(found)) == set(ids(plain))
    # Reciprocal ranks of what is shown; the three match the words as well.
    scores = {
        case: 1 / (60 + rank) + (1 / 61 if case in noted else 0)
        for rank, case in enumerate(ids(plain), start=1)
    }
    assert ids(found) == sorted(scores, key=lambda case: -scores[case])
    assert (found.text.text, found.text.found) == ("spiculat mass", len(noted))
    hit = found.text.hits[found.ranked[0].row]
    assert (hit.name, hit.text[hit.start : hit.stop]) == ("notes", "SPICULÄTED")
    assert (found.match, found.vote.counts) == (plain.match, plain.vote.counts)
    assert not found.vote.calibrated and (not plain.vote.calibrated or found.vote.why_not == BY_TEXT)
    lines = found.to_json()
    assert lines["text_order"] == {"text": "spiculat mass", "found": len(noted), "k": 60}
    assert lines["results"][0]["text_hit"]["name"] == "notes" and lines["results"][-1]["text_hit"] is None
    assert "text_order" not in plain.to_json()
    # With marks, their order is fused.
    marked = nearest_cases(table, "plain", Query("t/c0"), k=1000, text="spiculat", unlike=(noted[0],))
    assert set(ids(marked)[: len(noted) - 1]) == set(noted[1:])
    # Nothing is found: the order of the image.
    nothing = nearest_cases(table, "plain", Query("t/c0"), k=1000, text='"zzz"')
    assert (ids(nothing), nothing.text.found) == (ids(plain), 0)
    with pytest.raises(BadArguments, match="nothing to search"):
        nearest_cases(table, "plain", Query("t/c0"), text=" -- ")


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "nothing has this"},
        {"like": ("t/c9",)},
        {"like": ("t/c9",), "unlike": ("t/c4",), "strength": 0.5},
    ],
)
def test_cases_at_equal_distance_keep_the_order_of_their_features(table, changed):
    train_metric(table, TrainRequest("bdm", "few", settings={"rounds": 3}))
    marked = {"t/c9", "t/c4"} if "like" in changed else set()

    def ranked(**options: object) -> list[RankedCase]:
        every = nearest_cases(table, "few", Query("t/c0"), k=1000, **options).ranked
        return [case for case in every if case.case_id not in marked]

    plain, found = ranked(), ranked(**changed)
    groups: dict[float, list[str]] = {}
    for case in plain:
        groups.setdefault(case.distance, []).append(case.case_id)
    assert max(map(len, groups.values())) > 5
    for distance, cases in groups.items():
        assert [case.case_id for case in found if case.distance == distance] == cases
    if not marked:
        assert [case.case_id for case in found] == [case.case_id for case in plain]


def test_each_order_gives_the_reciprocal_of_k_and_the_rank():
    image = (np.array([0, 1, 2]), np.array([1, 2, 3]))
    text = (np.array([2]), np.array([1]))
    np.testing.assert_allclose(fused_scores(3, [image, text]), [1 / 61, 1 / 62, 1 / 63 + 1 / 61])
    assert fused_scores(2, []).tolist() == [0.0, 0.0]
