"""NCA is scikit-learn's."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics import make_learner
from tests.helpers.learner_checks import in_order_of_training, labelled_problem


def test_nca_is_scikit_learns():
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    X, y, _ = labelled_problem()
    X = (X - X.mean(axis=0)) / np.sqrt(np.square(X - X.mean(axis=0)).mean())
    X, y = in_order_of_training(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    for components in (2, 4, 5):
        L = make_learner("nca", components=components, rounds=15, validation=0).fit(X, y).L_
        nca = NeighborhoodComponentsAnalysis(components, max_iter=15, random_state=0).fit(X, codes)
        np.testing.assert_allclose(L.T @ L, nca.components_.T @ nca.components_, rtol=1e-6, atol=1e-9)
