"""BDM+V between looks and findings: which pairs it learns from, and where its ends lead."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.estimators.bdm_visual_share import BDMVisualShare, pairs_by_share
from semblance.core.metrics.registry import make_learner

EACH = 6


def made_up(n: int = 90, seed: int = 0, noise: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Three quiet columns tell two findings; two loud ones are what cases look like."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = np.hstack([y[:, None] + rng.normal(0, noise, (n, 3)), rng.normal(0, 2.0, (n, 2))])
    return X, y


def nearest(X: np.ndarray, k: int) -> set[tuple[int, int]]:
    """Pairs of which one is among the ``k`` nearest of the other, by loops."""
    out = set()
    for i in range(len(X)):
        squared = ((X - X[i]) ** 2).sum(axis=1)
        squared[i] = np.inf
        out |= {(min(i, j), max(i, j)) for j in np.argsort(squared, kind="stable")[:k].tolist()}
    return out


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_pairs_come_from_visual_neighbours_before_findings(share: float) -> None:
    X, y = made_up()
    pairs = pairs_by_share(X, y, share, 0, each=EACH)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs[:, :2], axis=0)) == len(pairs)
    near = nearest(X, round(share * EACH)) if share else set()
    for i, j, sign in pairs.tolist():
        if (i, j) in near:
            assert sign == 1
        elif sign == 1:
            assert y[i] == y[j]
        elif share < 1.0 and y[i] == y[j]:
            assert share > 0.0  # drawn from all, as not similar
    assert near <= {(i, j) for i, j, _ in pairs.tolist()}
    if share == 1.0:
        assert {(i, j) for i, j, sign in pairs.tolist() if sign == 1} == near


def test_every_case_takes_part() -> None:
    X, y = made_up()
    pairs = pairs_by_share(X, y, 0.5, 0, each=EACH)
    for sign in (1, -1):
        assert set(range(len(X))) == set(pairs[pairs[:, 2] == sign, :2].ravel().tolist())


def test_cases_without_finding_form_visual_pairs_only() -> None:
    X, y = made_up()
    y[:10] = -1
    near = nearest(X, 3)
    for i, j, sign in pairs_by_share(X, y, 0.5, 0, each=EACH).tolist():
        if sign == 1 and (i < 10 or j < 10):
            assert (i, j) in near


def test_the_same_seed_gives_the_same_pairs() -> None:
    X, y = made_up()
    one, two, other = (pairs_by_share(X, y, 0.5, seed) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_visual_share_0_equals_bdm() -> None:
    X, y = made_up()
    plain = make_learner("bdm", rounds=12).fit(X, y)
    between = BDMVisualShare(visual_share=0.0, rounds=12).fit(X, y)
    assert between.objectives_ == plain.objectives_
    assert between.metric().card.learner == "bdm_v"


def test_visual_share_0_favours_findings_and_1_visual_similarity() -> None:
    # Findings that overlap: where bits separate them at once, all others tie and visual similarity decides again.
    (X, y), (Q, z) = made_up(200, noise=0.9), made_up(200, seed=1, noise=0.9)
    accuracy, visual = [], []
    apart = ((Q[:, None] - Q) ** 2).sum(axis=2)
    for share in (1.0, 0.5, 0.0):
        metric = BDMVisualShare(visual_share=share, rounds=120, random_state=0).fit(X, y).metric()
        D = metric.distances(Q, Q) + 1e-9 * apart
        np.fill_diagonal(D, np.inf)
        near = np.argsort(D, axis=1)[:, :10]
        accuracy.append((z[near] == z[:, None]).mean())
        visual.append(np.take_along_axis(apart, near, axis=1).mean())
    assert accuracy[0] < min(accuracy[1:])
    assert visual[0] < visual[1] < visual[2]


def test_it_needs_findings() -> None:
    with pytest.raises(BadInput, match="learns from findings"):
        BDMVisualShare().fit(made_up()[0])


def test_the_objective_never_rises() -> None:
    X, y = made_up()
    assert (np.diff(BDMVisualShare(rounds=40, random_state=0).fit(X, y).objectives_) < 0).all()
