"""RCA equals its definition, and its chunklets are those of findings and pairs."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.estimators.rca import about_chunklets, chunklets_of
from tests.helpers.learner_checks import labelled_problem, matrix_of
from tests.helpers.learners import of_paper


def test_rca_whitens_what_varies_within_chunklets():
    X, y, codes = labelled_problem()
    metric = of_paper("rca", shrinkage=0).fit(X, y).metric()
    within = np.zeros((5, 5))
    for x, c in zip(X, codes, strict=True):
        z = x - X[codes == c].mean(axis=0)
        within += np.outer(z, z) / len(X)
    np.testing.assert_allclose(matrix_of(metric), np.linalg.inv(within), rtol=1e-9, atol=1e-12)


def test_chunklets_are_joined_by_findings_and_similar_pairs():
    y = np.array(["a", "a", "", "b", "", "c", "", "b"])
    pairs = np.array([[2, 4, 1], [4, 5, 1], [6, 7, -1]])
    chunklets = chunklets_of("RCA", 8, y, pairs)
    groups = {frozenset(np.flatnonzero(chunklets == n).tolist()) for n in set(chunklets.tolist()) - {-1}}
    assert groups == {frozenset({0, 1}), frozenset({3, 7}), frozenset({2, 4, 5})}
    assert chunklets[6] == -1
    centred = about_chunklets(np.arange(16.0).reshape(8, 2), chunklets)
    assert centred.shape == (7, 2)
    np.testing.assert_allclose(centred.sum(axis=0), 0.0, atol=1e-12)
    only_pairs = of_paper("rca").fit(np.random.default_rng(0).normal(size=(8, 2)), pairs=pairs)
    assert "1 groups" in only_pairs.metric().card.notes[0]


def test_chunklets_lose_their_means_as_in_the_plain_loop():
    X, y, codes = labelled_problem()
    chunklets = chunklets_of("RCA", len(X), y, None)
    expected = []
    for x, code in zip(X, codes, strict=True):
        own = [row for row, other in zip(X, codes, strict=True) if other == code]
        expected.append([x[c] - sum(row[c] for row in own) / len(own) for c in range(5)])
    np.testing.assert_allclose(about_chunklets(X, chunklets), expected, rtol=0, atol=1e-12)
