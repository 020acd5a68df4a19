from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.distances import CityBlockDistance
from semblance.core.retrieval.feedback import MarkedIndex
from semblance.core.retrieval.index import DistanceIndex, Index
from semblance.core.retrieval.ranking import BATCH, EmbeddedQuery, diverse_order, rank, rank_many

LINE = Index(np.arange(10.0)[:, None])


def test_the_query_itself_is_no_result_and_is_not_counted():
    ranking = rank(LINE, EmbeddedQuery(np.array([3.0]), position=3), 3)
    assert ranking.rows.tolist() == [2, 4, 1]
    assert ranking.distances.tolist() == [1, 1, 4]
    assert (ranking.hidden_same_patient, ranking.hidden_near_duplicates) == (0, 0)


@pytest.mark.parametrize("kind", [str, object])
def test_cases_of_the_same_patient_are_hidden_and_those_in_reach_counted(kind):
    patients = np.array(["p", "p", "q", "p", "", "q", "q", "p", "q", "p"], dtype=kind)
    ranking = rank(LINE, EmbeddedQuery(np.array([0.0]), position=0, patient="p"), 3, patients=patients)
    assert ranking.rows.tolist() == [2, 4, 5]
    assert ranking.hidden_same_patient == 2


@pytest.mark.parametrize("unknown", [None, ""])
def test_cases_of_unknown_patients_do_not_share_a_patient(unknown):
    patients = np.array([unknown] * 10, dtype=object)
    ranking = rank(LINE, EmbeddedQuery(np.array([0.0]), patient=unknown), 4, patients=patients)
    assert ranking.rows.tolist() == [0, 1, 2, 3]


def test_near_duplicates_are_grouped_under_the_nearest():
    keys = np.array([-1, 7, 7, -1, 7, 5, 5, -1, -1, 7])
    ranking = rank(LINE, EmbeddedQuery(np.array([0.0])), 4, keys=keys)
    assert ranking.rows.tolist() == [0, 1, 3, 5]
    assert ranking.duplicate_counts.tolist() == [0, 3, 0, 1]
    assert ranking.hidden_near_duplicates == 4


def test_grouping_continues_until_enough_different_cases_are_found():
    keys = np.array([4] * 8 + [-1, 3])
    ranking = rank(LINE, EmbeddedQuery(np.array([0.0])), 3, keys=keys)
    assert ranking.rows.tolist() == [0, 8, 9]
    assert rank(LINE, EmbeddedQuery(np.array([0.0])), 8, keys=keys).rows.tolist() == [0, 8, 9]


def test_copies_of_the_query_are_left_out_and_counted():
    keys = np.array([4, 1, 4, 2, 3, 5, 6, 4, 8, 9])
    ranking = rank(LINE, EmbeddedQuery(np.array([0.0]), position=0, key=4), 3, keys=keys)
    assert ranking.rows.tolist() == [1, 3, 4]
    assert ranking.hidden_near_duplicates == 1


def test_a_filter_counts_nothing_it_leaves_out():
    patients = np.array(["p"] * 5 + ["q"] * 5)
    allowed = np.arange(10) % 2 == 1
    ranking = rank(LINE, EmbeddedQuery(np.array([0.0]), patient="p"), 9, patients=patients, allowed=allowed)
    assert ranking.rows.tolist() == [5, 7, 9]
    assert ranking.hidden_same_patient == 2
    assert allowed.sum() == 5


def test_a_ranking_without_remaining_cases_is_empty():
    ranking = rank(LINE, EmbeddedQuery(np.array([0.0]), patient="p"), patients=np.array(["p"] * 10))
    assert len(ranking.rows) == 0
    assert ranking.hidden_same_patient == 0


def test_equal_distances_follow_the_tie_break():
    index = Index(np.zeros((4, 1)), np.array([[3.0], [1.0], [2.0], [0.0]]))
    query = EmbeddedQuery(np.zeros(1), tie_break=np.zeros(1))
    assert rank(index, query, 3).rows.tolist() == [3, 1, 2]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_cases_left_out_are_counted_only_before_the_last_one_by_the_tie_break(k):
    # All are equally near; the patient's own come second and fifth.
    ties = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    patients = np.array(["q", "a", "q", "b", "c", "q"], dtype=object)
    query = EmbeddedQuery(np.zeros(1), np.zeros(1), 0, "q")
    equal = np.zeros((6, 1))
    scores = np.zeros(6)
    for index in (Index(equal, ties), MarkedIndex(scores, scores, lambda rows: ties[rows, 0])):
        ranking = rank(index, query, k, patients=patients)
        assert ranking.rows.tolist() == [1, 3, 4][:k]
        assert ranking.hidden_same_patient == (k > 1)


def test_columns_that_do_not_fit_are_refused():
    with pytest.raises(BadInput, match="patients"):
        rank(LINE, EmbeddedQuery(np.zeros(1)), patients=np.array(["p"]))


def test_grouped_near_duplicates_are_counted():
    rng = np.random.default_rng(0)
    for _ in range(20):
        keys, allowed = rng.integers(-4, 12, size=60), rng.random(60) < 0.7
        index = Index(rng.normal(size=(60, 3)))
        ranking = rank(
            index, EmbeddedQuery(np.zeros(3), position=5, key=int(keys[5])), 6, keys=keys, allowed=allowed
        )
        mask = allowed & (np.arange(60) != 5)
        if keys[5] >= 0:
            mask &= keys != keys[5]
        expected = [
            int((mask & (keys == keys[row])).sum()) - 1 if keys[row] >= 0 else 0 for row in ranking.rows
        ]
        assert ranking.duplicate_counts.tolist() == expected


@pytest.mark.parametrize("scanned", [False, True])
def test_many_queries_at_once_rank_like_one_at_a_time(scanned, monkeypatch):
    # Whole numbers tie; a few large groups make four times k cases too few.
    monkeypatch.setattr("semblance.core.retrieval.index._BLOCK_BYTES", 4 * 64 * 3)
    rng = np.random.default_rng(0)
    rows, ties = rng.integers(-2, 3, size=(700, 3)).astype(float), rng.normal(size=(700, 2))
    patients, keys = rng.integers(0, 40, 700), np.where(rng.random(700) < 0.4, -1, rng.integers(0, 9, 700))
    index = DistanceIndex(CityBlockDistance(3), rows, ties) if scanned else Index(rows, ties)
    queries = [
        EmbeddedQuery(rows[row], ties[row], row, int(patients[row]), int(keys[row]))
        for row in range(2 * BATCH + 3)
    ]
    # Too far for single precision.
    queries.append(EmbeddedQuery(np.full(3, 1e14), ties[0]))
    for hidden in ({"patients": patients, "keys": keys}, {"keys": np.arange(700) % 3}, {}):
        for query, found in zip(queries, rank_many(index, queries, 5, **hidden), strict=True):
            expected = rank(index, query, 5, **hidden)
            assert found.rows.tolist() == expected.rows.tolist()
            assert found.distances.tolist() == expected.distances.tolist()


def naive(distances: np.ndarray, rows: np.ndarray, k: int, share: float) -> list[int]:
    """Equation 1, one candidate at a time."""
    chosen = [0]
    while len(chosen) < min(k, len(rows)):
        scores = {}
        for at in set(range(len(rows))) - set(chosen):
            redundant = min(float(np.linalg.norm(rows[at] - rows[one])) for one in chosen)
            scores[at] = (1 - share) * distances[at] ** 0.5 - share * redundant
        chosen.append(min(scores, key=lambda at: (scores[at], at)))
    return chosen


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_it_is_maximal_marginal_relevance(share):
    rows = np.random.default_rng(0).normal(size=(40, 3))
    distances = np.square(rows).sum(axis=1)
    order = np.argsort(distances)
    rows, distances = rows[order], distances[order]
    assert diverse_order(distances, rows, 15, share).tolist() == naive(distances, rows, 15, share)


def test_without_a_share_the_order_stays():
    rows = np.random.default_rng(1).normal(size=(9, 2))
    assert diverse_order(np.arange(9.0), rows, 5, 0.0).tolist() == [0, 1, 2, 3, 4]
    assert diverse_order(np.arange(3.0), rows[:3], 9, 0.5).tolist()[0] == 0
    assert diverse_order(np.empty(0), np.empty((0, 2)), 5, 0.5).tolist() == []


def test_near_duplicates_do_not_fill_a_diverse_ranking():
    twins = np.array([[1.0, 0.0]] * 5)
    other = np.array([[0.0, 1.2]])
    rows = np.concatenate([twins, other])
    distances = np.square(rows).sum(axis=1)
    assert diverse_order(distances, rows, 2, 0.5).tolist() == [0, 5]
