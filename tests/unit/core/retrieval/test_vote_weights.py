from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.retrieval.vote_weights import vote_weights


def test_one_exact_copy_does_not_decide_alone():
    weights = vote_weights([0.0, 1.0, 1.0, 1.0])
    assert weights[0] == pytest.approx(1 / (1 + 3 * np.exp(-1)))
    assert weights[0] < weights[1:].sum()


@given(
    st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=12),
    st.sampled_from([2.0**-20, 8.0]),
)
def test_weights_sum_to_one_fall_with_distance_and_know_no_scale(distances, scale):
    d = np.sort(distances)
    weights = vote_weights(d)
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(weights) <= 0).all()
    assert vote_weights(d * scale) == pytest.approx(weights)
    assert (vote_weights(np.stack([d, d]))[1] == weights).all()


def test_equal_copies_weigh_alike():
    assert vote_weights(np.zeros(4)).tolist() == [0.25] * 4
