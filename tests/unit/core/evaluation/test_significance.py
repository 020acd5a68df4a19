from __future__ import annotations

import itertools

import numpy as np
import pytest

from semblance.core.evaluation.significance import wilcoxon_test


def naive(a, b):
    """Two-sided p by enumerating all signs of the differences that are not zero."""
    apart = np.subtract(a, b)
    apart = apart[apart != 0]
    sizes = np.abs(apart)
    ranks = (sizes[:, None] > sizes).sum(axis=1) + ((sizes[:, None] == sizes).sum(axis=1) + 1) / 2
    middle = ranks.sum() / 2
    observed = abs(ranks[apart > 0].sum() - middle)
    signs = itertools.product([0, 1], repeat=len(ranks))
    return np.mean([abs(np.dot(sign, ranks) - middle) >= observed - 1e-9 for sign in signs])


@pytest.mark.parametrize("seed", range(8))
def test_against_all_signs(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=8), rng.normal(0.4, 1, size=8)
    assert wilcoxon_test(a.tolist(), b.tolist()) == pytest.approx(naive(a, b))


@pytest.mark.parametrize("seed", range(8))
def test_against_all_signs_where_differences_tie(seed):
    """As errors of small parts do: few cases, few different values."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, 9) / 8, rng.integers(0, 4, 9) / 8
    assert wilcoxon_test(a.tolist(), b.tolist()) == pytest.approx(naive(a, b))


def test_smallest_p_value_of_five_pairs():
    """Five of five differences of one sign, two of them equal: no smaller p is possible."""
    assert wilcoxon_test([0.5, 0.625, 0.75, 0.5, 0.875], [0.25, 0.5, 0.625, 0.0, 0.25]) == 2 / 2**5


def test_the_example_of_demsar():
    """Table 2 (C4.5 with and without m tuned): R- is 12 of 105, below the critical 21 at 0.05."""
    a = [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.940, 0.619, 0.972, 0.957]
    b = [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978]
    assert wilcoxon_test(a, b) < 0.05


def test_cases_without_pairs_are_refused():
    assert wilcoxon_test([None, 1.0], [1.0, None]) is None
    assert wilcoxon_test([0.5, 0.5], [0.5, 0.5]) == 1.0
    assert wilcoxon_test([0.1 + 0.2, 0.4], [0.3, 0.4]) == 1.0
