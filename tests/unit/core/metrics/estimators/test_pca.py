"""Principal components equal their definition."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics import make_learner


def test_pca_keeps_the_given_share_of_the_variance_or_number():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [10.0, 3.0, 0.5, 0.1]
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[::-1]
    for share in (0.5, 0.95, 0.999, 1.0):
        components = make_learner("pca", variance=share).fit(X).L_
        assert len(components) == min(
            n for n in range(1, 5) if values[:n].sum() >= share * values.sum() * (1 - 1e-9)
        )
    assert len(make_learner("pca", components=2).fit(X).L_) == 2
    np.testing.assert_allclose(components @ components.T, np.eye(4), atol=1e-12)
