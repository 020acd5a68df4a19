"""EM for a Gaussian mixture with rows known to share a cloud."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from semblance.core.metrics.boosting.constrained_mixture import fit_mixture, share_out
from semblance.core.metrics.distances.mixtures import log_joint


def test_rows_of_a_chunklet_are_shared_out_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 3 * (np.arange(40) % 2)[:, None]
    chunklets = np.repeat(np.arange(20), 2)
    mixture = fit_mixture(X, np.full(40, 1 / 40), chunklets, 2, 5, rng)
    shares = share_out(mixture, X, chunklets)
    prior = np.exp(mixture.offsets - np.linalg.slogdet(mixture.roots)[1])
    assert prior.sum() == pytest.approx(1.0)
    density = np.exp(log_joint(X, *mixture)) / prior
    for chunklet in range(20):
        rows = np.flatnonzero(chunklets == chunklet)
        product = prior * density[rows[0]] * density[rows[1]]
        np.testing.assert_allclose(shares[rows], np.tile(product / product.sum(), (2, 1)), rtol=1e-9)


def test_em_raises_the_likelihood_of_what_it_is_given():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 4])
    alone = np.arange(80)
    likelihood = []
    for rounds in range(1, 8):
        mixture = fit_mixture(X, np.full(80, 1 / 80), alone, 2, rounds, np.random.default_rng(3))
        likelihood.append(np.log(np.exp(log_joint(X, *mixture)).sum(axis=1)).mean())
    # The covariances lean on a common one, so the last rounds may give back a little.
    assert likelihood[-1] > likelihood[0]
    assert all(later > earlier - 1e-3 for earlier, later in itertools.pairwise(likelihood))
