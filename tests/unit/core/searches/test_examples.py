"""Where examples move a query to."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.searches.examples import UNLIKE_SHIFT, shifted_query

Z = np.random.default_rng(0).normal(size=(12, 4))


def test_without_examples_the_query_is_unchanged() -> None:
    assert np.array_equal(shifted_query(Z[0], [], []), Z[0])


def test_each_positive_example_has_the_weight_of_the_query() -> None:
    assert shifted_query(Z[0], [Z[1], Z[2]], []) == pytest.approx((Z[0] + Z[1] + Z[2]) / 3)


def test_negative_examples_push_the_query_away() -> None:
    centre, other = (Z[0] + Z[1]) / 2, (Z[5] + Z[6]) / 2
    assert shifted_query(Z[0], [Z[1]], [Z[5], Z[6]]) == pytest.approx(
        centre + UNLIKE_SHIFT * (centre - other)
    )


def test_shift_is_translation_invariant() -> None:
    away = np.array([100.0, -3.0, 0.0, 7.0])
    there = shifted_query(Z[0] + away, [Z[1] + away], [Z[2] + away])
    assert there == pytest.approx(shifted_query(Z[0], [Z[1]], [Z[2]]) + away)


def test_order_of_examples_does_not_matter() -> None:
    one = shifted_query(Z[0], [Z[1], Z[2], Z[3]], [Z[4], Z[5]])
    assert shifted_query(Z[0], [Z[3], Z[1], Z[2]], [Z[5], Z[4]]) == pytest.approx(one, rel=1e-14)
