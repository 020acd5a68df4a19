"""The interface of metric-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from semblance.core.metrics import learners, make_learner
from tests.helpers.learners import problem

NAMES = [learner.name for learner in learners() if not learner.needs]
OF_PAIRS = ["itml", "mmc", "passive_aggressive", "rca"]
OF_TRIPLETS = [learner.name for learner in learners() if not learner.needs and "triplets" in learner.accepts]


def tuples(seed: int, size: int, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Tuples of rows whose first column has the meaning, the others noise; and the findings of the rows."""
    rng = np.random.default_rng(seed)
    findings = rng.integers(0, 2, (count, size))
    rows = rng.normal(size=(count, size, 4)) * [0.3, 2, 2, 2]
    rows[..., 0] += 2 * findings
    return rows, findings


@pytest.mark.parametrize("name", NAMES)
def test_distances_of_pairs_are_the_roots_of_those_of_the_metric(name):
    X, y = problem("two findings")
    learner = make_learner(name, random_state=0)
    pairs = np.stack([X[:-1], X[1:]], axis=1)
    with pytest.raises(NotFittedError):
        learner.pair_distance(pairs)
    learner.fit(X, y)
    expected = np.sqrt(np.diagonal(learner.metric().distances(X[:-1], X[1:])))
    np.testing.assert_allclose(learner.pair_distance(pairs), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(learner.pair_score(pairs), -expected, rtol=1e-9, atol=1e-9)
    distance = learner.get_metric()
    assert distance(X[0], X[1]) == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    assert distance(X[0], X[1], squared=True) == pytest.approx(expected[0] ** 2, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["euclidean", "rca", "itml", "boostmetric", "passive_aggressive"])
def test_the_matrix_and_its_components_give_the_distance(name):
    X, y = problem("two findings")
    learner = make_learner(name, random_state=0)
    assert not hasattr(learner, "components_")
    learner.fit(X, y)
    L, M, z = learner.components_, learner.get_mahalanobis_matrix(), X[0] - X[1]
    np.testing.assert_allclose(L.T @ L, M)
    assert z @ M @ z == pytest.approx(learner.get_metric()(X[0], X[1], squared=True), rel=1e-9)


def test_a_learner_without_a_matrix_has_no_components():
    X, y = problem("two findings")
    learner = make_learner("bdm").fit(X, y)
    assert not hasattr(learner, "components_")
    with pytest.raises(AttributeError, match="no Mahalanobis"):
        learner.get_mahalanobis_matrix()


@pytest.mark.parametrize("name", OF_PAIRS)
def test_a_learner_of_pairs_learns_from_pairs_of_rows(name):
    rows, findings = tuples(0, 2)
    y = np.where(findings[:, 0] == findings[:, 1], 1, -1)
    learner = make_learner(name, random_state=0).fit(rows, y)
    others, their_findings = tuples(1, 2, 400)
    kinds = np.where(their_findings[:, 0] == their_findings[:, 1], 1, -1)
    plain = make_learner("euclidean").fit(rows.reshape(-1, 4))
    assert learner.score(others, kinds) > plain.score(others, kinds) + 0.05
    with pytest.raises(ValueError, match="similar or -1"):
        make_learner(name).fit(rows, np.zeros(len(rows)))


@pytest.mark.parametrize("name", OF_TRIPLETS)
def test_a_learner_of_triplets_learns_from_triplets_of_rows(name):
    def triplets(seed: int, count: int) -> np.ndarray:
        rows, findings = tuples(seed, 3, count)
        of_use = (findings[:, 0] == findings[:, 1]) & (findings[:, 0] != findings[:, 2])
        return rows[of_use]

    learner = make_learner(name, random_state=0).fit(triplets(0, 400))
    plain = make_learner("euclidean").fit(triplets(0, 400).reshape(-1, 4))
    assert learner.score(triplets(1, 900)) > plain.score(triplets(1, 900)) + 0.05


def test_tuples_that_a_learner_does_not_take_are_refused():
    rows, _ = tuples(0, 3)
    with pytest.raises(ValueError, match="does not learn from tuples of 3 rows"):
        make_learner("itml").fit(rows)
    with pytest.raises(ValueError, match="does not learn from tuples of 2 rows"):
        make_learner("bdm").fit(rows[:, :2], np.ones(len(rows)))
    with pytest.raises(ValueError, match="does not learn from tuples of 4 rows"):
        make_learner("boostmetric").fit(np.zeros((5, 4, 3)))


def test_the_score_of_rows_is_the_share_of_their_finding_among_the_nearest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    learner = make_learner("euclidean").fit(X)
    d = learner.metric().distances(X, X)
    np.fill_diagonal(d, np.inf)
    expected = np.mean([np.mean(y[np.argsort(row)[:10]] == own) for row, own in zip(d, y, strict=True)])
    assert learner.score(X, y) == pytest.approx(expected)


def test_the_score_of_few_bits_does_not_depend_on_the_order_of_the_rows():
    X, y = problem("two findings")
    learner = make_learner("bdm", rounds=2, random_state=0).fit(X, y)
    backwards = np.arange(len(X))[::-1]
    assert learner.score(X[backwards], y[backwards]) == pytest.approx(learner.score(X, y), abs=1e-12)
