from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from semblance.core.retrieval.explanation.shapley import EXACT_GROUPS, shapley_shares, subsets


def naive(value, start, steps):
    """The average over all orders of what each group adds when it comes."""
    out = np.zeros(len(steps))
    for order in itertools.permutations(range(len(steps))):
        here = start.copy()
        for group in order:
            before = value(here[np.newaxis])[0, 0]
            here = here + steps[group]
            out[group] += value(here[np.newaxis])[0, 0] - before
    return out / math.factorial(len(steps))


def bent(X):
    return (np.abs(X @ np.array([1.0, -2.0, 0.5])) > 0.7).astype(float)[:, np.newaxis] + np.sin(X[:, :1])


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_up_to_nine_groups_get_the_average_over_all_orders(groups):
    rng = np.random.default_rng(groups)
    steps = rng.normal(size=(groups, 3))
    start = rng.normal(size=3)
    shares = shapley_shares(bent, start, start + steps.sum(axis=0), steps)
    assert shares[:, 0] == pytest.approx(naive(bent, start, steps), abs=1e-12)


def test_of_a_quadratic_form_it_is_z_times_mz():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 6))
    start, z = rng.normal(size=6), rng.normal(size=6)
    steps = np.diag(z).reshape(3, 2, 6).sum(axis=1)

    def value(X):
        return np.square((X - start) @ root.T).sum(axis=1, keepdims=True)

    expected = (z * (root.T @ root @ z)).reshape(3, 2).sum(axis=1)
    assert shapley_shares(value, start, start + z, steps)[:, 0] == pytest.approx(expected, rel=1e-9)


def test_more_groups_are_drawn_and_sum_as_exactly_every_time_the_same():
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(EXACT_GROUPS + 6, 3))
    start = rng.normal(size=3)
    end = start + steps.sum(axis=0)
    shares = shapley_shares(bent, start, end, steps)
    whole = bent(np.stack([start, end]))[:, 0]
    assert shares.sum() == pytest.approx(whole[1] - whole[0], abs=1e-12)
    np.testing.assert_array_equal(shares, shapley_shares(bent, start, end, steps))


def test_a_group_that_changes_nothing_has_no_share():
    steps = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    shares = shapley_shares(bent, np.zeros(3), steps.sum(axis=0), steps)
    assert shares[1, 0] == 0.0
    assert not shapley_shares(bent, np.zeros(3), np.zeros(3), np.zeros((2, 3))).any()


def test_the_weights_of_subsets_share_out_one():
    inside, weights = subsets(5)
    assert inside.shape == (32, 5)
    additive = inside @ np.arange(1.0, 6.0)
    assert weights @ additive == pytest.approx(np.arange(1.0, 6.0))
