"""Reciprocal rank fusion, as the paper has it."""

from __future__ import annotations

import numpy as np

from semblance.core.retrieval.rank_fusion import fused_scores


def test_each_order_gives_the_reciprocal_of_k_and_the_rank():
    image = (np.array([0, 1, 2]), np.array([1, 2, 3]))
    text = (np.array([2]), np.array([1]))
    np.testing.assert_allclose(fused_scores(3, [image, text]), [1 / 61, 1 / 62, 1 / 63 + 1 / 61])
    assert fused_scores(2, []).tolist() == [0.0, 0.0]
