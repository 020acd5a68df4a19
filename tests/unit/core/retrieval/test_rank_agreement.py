from __future__ import annotations

import numpy as np
import pytest

from semblance.core.retrieval.index import Index
from semblance.core.retrieval.rank_agreement import kendall, ranks_in, shared, whole_order
from semblance.core.retrieval.ranking import EmbeddedQuery


def _naive_tau(a, b):
    n, score = len(a), 0
    for i in range(n):
        for j in range(i):
            score += 1 if (a[i] < a[j]) == (b[i] < b[j]) else -1
    return 2 * score / (n * (n - 1))


def _naive_half(a, b, tau):
    """Hollander, Wolfe and Chicken, 8.3, term by term."""
    n = len(a)
    c = [sum(1 if (a[i] < a[j]) == (b[i] < b[j]) else -1 for j in range(n) if j != i) for i in range(n)]
    mean = sum(c) / n
    spread = sum((value - mean) ** 2 for value in c)
    variance = 2 / (n * (n - 1)) * (2 * (n - 2) / (n * (n - 1) ** 2) * spread + 1 - tau**2)
    return 1.959964 * variance**0.5


@pytest.mark.parametrize("seed", range(5))
def test_tau_and_its_interval_are_those_counted_pair_by_pair(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    a, b = rng.permutation(n) + 1, rng.permutation(n) + 1
    found = kendall(a, b)
    tau = _naive_tau(a.tolist(), b.tolist())
    half = _naive_half(a.tolist(), b.tolist(), tau)
    assert found.n == n
    assert found.tau == pytest.approx(tau)
    assert (found.low, found.high) == pytest.approx((max(-1, tau - half), min(1, tau + half)))


def test_tau_is_that_of_scipy_and_its_ends_are_one():
    from scipy.stats import kendalltau

    rng = np.random.default_rng(7)
    a, b = rng.permutation(50), rng.permutation(50)
    assert kendall(a, b).tau == pytest.approx(kendalltau(a, b).statistic)
    assert kendall(a, a).tau == 1.0
    assert kendall(a, -a).tau == -1.0
    assert kendall([1, 2], [1, 2]) is None


def test_shared_and_ranks_are_those_looked_up_one_by_one():
    rng = np.random.default_rng(1)
    left, right = rng.permutation(40)[:25], rng.permutation(40)[:30]
    assert shared(left, right, 10) == len(set(left[:10].tolist()) & set(right[:10].tolist()))
    order = right.tolist()
    expected = [order.index(row) + 1 if row in order else 0 for row in left.tolist()]
    assert ranks_in(right, left).tolist() == expected
    assert ranks_in(np.empty(0, dtype=np.int64), left).tolist() == [0] * 25


def test_the_whole_ranking_sorts_all_distances_without_patient_and_copies():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 4, (60, 3)).astype(np.float64)
    patients = np.array([f"P{n // 3}" if n % 5 else None for n in range(60)], dtype=object)
    keys = rng.integers(-1, 25, 60)
    ties = rng.normal(size=(60, 2))
    query = EmbeddedQuery(rows[7], ties[7], 7, patients[7], int(keys[7]))
    ranking, order = whole_order(Index(rows, ties), query, 10, patients=patients, keys=keys)
    by_distance = sorted(
        range(60), key=lambda n: (((rows[n] - rows[7]) ** 2).sum(), ((ties[n] - ties[7]) ** 2).sum())
    )
    expected, grouped = [], set()
    for n in by_distance:
        if n == 7 or patients[n] == patients[7] or (keys[7] >= 0 and keys[n] == keys[7]):
            continue
        if keys[n] >= 0 and keys[n] in grouped:
            continue
        grouped.add(keys[n])
        expected.append(n)
    assert order.tolist() == expected
    assert ranking.rows.tolist() == expected[:10]
