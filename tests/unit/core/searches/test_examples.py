"""Where examples move a query to."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.searches.examples import UNLIKE_SHIFT, shifted_query

Z = np.random.default_rng(0).normal(size=(12, 4))


def test_without_examples_it_stays_where_it_is() -> None:
    assert np.array_equal(shifted_query(Z[0], [], []), Z[0])


def test_each_like_counts_as_much_as_the_query() -> None:
    assert shifted_query(Z[0], [Z[1], Z[2]], []) == pytest.approx((Z[0] + Z[1] + Z[2]) / 3)


def test_it_is_pushed_from_the_middle_of_what_is_not_meant() -> None:
    centre, other = (Z[0] + Z[1]) / 2, (Z[5] + Z[6]) / 2
    assert shifted_query(Z[0], [Z[1]], [Z[5], Z[6]]) == pytest.approx(
        centre + UNLIKE_SHIFT * (centre - other)
    )


def test_it_moves_with_everything_when_the_origin_does() -> None:
    away = np.array([100.0, -3.0, 0.0, 7.0])
    there = shifted_query(Z[0] + away, [Z[1] + away], [Z[2] + away])
    assert there == pytest.approx(shifted_query(Z[0], [Z[1]], [Z[2]]) + away)


def test_the_order_of_examples_changes_nothing() -> None:
    one = shifted_query(Z[0], [Z[1], Z[2], Z[3]], [Z[4], Z[5]])
    assert shifted_query(Z[0], [Z[3], Z[1], Z[2]], [Z[5], Z[4]]) == pytest.approx(one, rel=1e-14)
