from __future__ import annotations

import numpy as np
import pytest

from semblance.core.retrieval.diversity import diverse_order


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
