"""The order in which learners go through the training cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semblance.core.metrics import make_learner
from semblance.core.metrics.training_data.content_order import in_content_order
from tests.helpers.learner_checks import labelled_problem, training_input

BOTH = frozenset({"pairs", "triplets"})


def table():
    rng = np.random.default_rng(0)
    X = rng.integers(-1, 2, size=(60, 2)) * 1.5
    data = training_input(X, rng.choice(["a", "b", ""], 60))
    pairs = np.column_stack([rng.permutation(60).reshape(-1, 2), rng.choice([-1, 1], 30)])
    return replace(
        data, groups=rng.choice(["p", "q"], 60), pairs=pairs, triplets=rng.permutation(60).reshape(-1, 3)
    )


def test_cases_in_any_order_come_in_one():
    data = table()
    order = np.random.default_rng(1).permutation(60)
    place = np.argsort(order)
    other = replace(data, X=data.X[order], y=data.y[order], groups=data.groups[order])
    first, second = (in_content_order(one, BOTH) for one in (data, other))
    for name in ("X", "y", "groups"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.X.tolist() == sorted(data.X.tolist())
    # Equal cases may stand for each other, so the rows that pairs name are compared, not their numbers.
    renumbered = replace(
        other,
        pairs=np.column_stack([place[data.pairs[:, :2]], data.pairs[:, 2]])[::-1],
        triplets=place[data.triplets][::-1],
    )
    for one in (data, renumbered):
        found = in_content_order(one, BOTH)
        named = sorted((*found.X[i], *found.X[j], sign) for i, j, sign in found.pairs.tolist())
        assert named == sorted((*data.X[i], *data.X[j], sign) for i, j, sign in data.pairs.tolist())
        named = sorted(found.X[row].tobytes() for row in found.triplets)
        assert named == sorted(data.X[row].tobytes() for row in data.triplets)


def test_the_last_digits_move_no_row_far():
    X = np.random.default_rng(0).normal(size=(500, 3))
    noisy = X * (1.0 + 1e-15 * np.random.default_rng(1).choice([-1, 0, 1], X.shape))
    first, second = (in_content_order(training_input(rows, None), BOTH).X for rows in (X, noisy))
    np.testing.assert_allclose(first, second, rtol=1e-14)


def test_the_order_of_pairs_and_of_triplets_changes_nothing():
    X, y, _ = labelled_problem()
    i, j = np.triu_indices(len(X), 1)
    pairs = np.column_stack([i, j, np.where(y[i] == y[j], 1, -1)])[::7]
    near = np.flatnonzero(y == y[0])[1:]
    far = np.flatnonzero(y != y[0])[: len(near)]
    triplets = np.column_stack([np.zeros_like(near)[: len(far)], near[: len(far)], far])
    for name in ("passive_aggressive", "itml", "mmc", "distboost"):
        a, b = (
            make_learner(name, random_state=1).fit(X, pairs=table).metric() for table in (pairs, pairs[::-1])
        )
        np.testing.assert_allclose(a.distances(X, X), b.distances(X, X), rtol=1e-6)
    for name in ("metricboost", "boostmetric"):
        a, b = (make_learner(name).fit(X, triplets=table).metric() for table in (triplets, triplets[::-1]))
        np.testing.assert_allclose(a.distances(X, X), b.distances(X, X), rtol=1e-6)
