from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.errors import BadInput
from semblance.core.retrieval.vote import vote, vote_weights


def test_a_plain_vote_counts():
    result = vote(["benign", "malignant", "malignant"])
    assert result.counts == {"malignant": 2, "benign": 1}
    assert result.probability == pytest.approx({"malignant": 2 / 3, "benign": 1 / 3})
    assert result.finding == "malignant"


def test_nearer_cases_weigh_more_but_one_copy_does_not_decide_alone():
    result = vote(["a", "b", "b"], [0.0, 1.0, 1.0])
    assert result.counts == {"b": 2, "a": 1}
    assert result.probability["a"] == pytest.approx(1 / (1 + 2 * np.exp(-1)))
    assert result.finding == "a"
    assert vote(["a", *"bbb"], [0.0, 1.0, 1.0, 1.0]).finding == "b"


def test_cases_without_a_finding_do_not_vote():
    assert vote(["a", "", None], [1.0, 0.0, 2.0]).probability == {"a": 1.0}
    assert vote(["", None]).finding is None
    assert vote([], []).counts == {}


def test_equal_shares_are_ordered_by_name():
    assert list(vote(["b", "a", "c", "c"]).counts) == ["c", "a", "b"]


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


def test_findings_and_distances_must_be_as_many():
    with pytest.raises(BadInput):
        vote(["a", "b"], [1.0])
