"""The methods the papers compare with: each equals its definition, or has the property that defines it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.metrics.boosting.constrained_mixture import fit_mixture, share_out
from semblance.core.metrics.distances.mixtures import log_joint
from semblance.core.metrics.estimators.distboost import Boosting
from semblance.core.metrics.estimators.itml import project, start_of
from semblance.core.metrics.estimators.lmnn import objective as lmnn_objective
from semblance.core.metrics.estimators.lmnn import target_neighbours
from semblance.core.metrics.estimators.mmc import negative_spread
from semblance.core.metrics.estimators.ncmc import k_means, negative_log_likelihood
from semblance.core.metrics.estimators.rca import about_chunklets, chunklets_of
from semblance.core.metrics.numerics.covariance import ledoit_wolf
from semblance.core.metrics.steps import parse_steps
from semblance.core.metrics.training_data.labelled_rows import LabelledRows
from semblance.core.metrics.training_data.pairs import training_pairs
from tests.helpers import naive_bdm


def problem(n=45, d=5, findings=3, seed=0):
    X, y = naive_bdm.problem(n=n, d=d, findings=findings, seed=seed)
    return X, y, np.unique(y, return_inverse=True)[1]


def numeric_gradient(function, L, h=1e-6):
    gradient = np.empty_like(L)
    for place in np.ndindex(L.shape):
        step = np.zeros_like(L)
        step[place] = h
        gradient[place] = (function(L + step) - function(L - step)) / (2 * h)
    return gradient


def matrix_of(metric):
    return metric.distance.L.T @ metric.distance.L


def test_l1_is_the_square_of_the_sum_of_absolute_differences():
    X, y, _ = problem()
    metric = make_learner("l1").fit(X).metric()
    expected = [[sum(abs(a - b) for a, b in zip(p, q, strict=True)) ** 2 for q in X] for p in X]
    np.testing.assert_allclose(metric.distances(X, X), expected, rtol=1e-12)
    assert all(part.amount >= 0 for part in metric.explain(X[0], X[1]))
    grouped = fit_metric(make_learner("l1"), X, y, steps=parse_steps("standardise,pca:3"))
    assert [part.name for part in grouped.explain(X[0], X[1])] == [f"component {n}" for n in (1, 2, 3)]
    with pytest.raises(BadInput, match="no coordinates"):
        metric.embed(X)


def test_mahalanobis_is_the_inverse_covariance():
    X, _, _ = problem()
    metric = make_learner("mahalanobis").fit(X).metric()
    covariance = sum(np.outer(x - X.mean(axis=0), x - X.mean(axis=0)) for x in X) / len(X)
    np.testing.assert_allclose(matrix_of(metric), np.linalg.inv(covariance), rtol=1e-10, atol=1e-12)
    assert metric.card.notes == ()


def test_a_singular_covariance_is_shrunk_as_ledoit_and_wolf_say():
    from sklearn.covariance import ledoit_wolf as reference

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 30)) @ rng.normal(size=(30, 30))
    centred = X - X.mean(axis=0)
    covariance, shrinkage = reference(centred, assume_centered=True)
    assert ledoit_wolf(centred) == pytest.approx(shrinkage, rel=1e-10)
    metric = make_learner("mahalanobis").fit(X).metric()
    np.testing.assert_allclose(matrix_of(metric), np.linalg.inv(covariance), rtol=1e-8, atol=1e-12)
    assert "could not be inverted" in metric.card.notes[0]
    half = make_learner("mahalanobis", shrinkage=0.5).fit(X).metric()
    S = centred.T @ centred / 20
    mixed = 0.5 * S + 0.5 * np.trace(S) / 30 * np.eye(30)
    np.testing.assert_allclose(matrix_of(half), np.linalg.inv(mixed), rtol=1e-9, atol=1e-12)


def test_pca_keeps_the_share_of_the_variance_or_the_number_asked_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * [10.0, 3.0, 0.5, 0.1]
    values = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[::-1]
    for share in (0.5, 0.95, 0.999, 1.0):
        kept = make_learner("pca", variance=share).fit(X).L_
        assert len(kept) == min(
            n for n in range(1, 5) if values[:n].sum() >= share * values.sum() * (1 - 1e-9)
        )
    assert len(make_learner("pca", components=2).fit(X).L_) == 2
    np.testing.assert_allclose(kept @ kept.T, np.eye(4), atol=1e-12)


def test_lda_spreads_the_means_in_units_of_the_scatter_within():
    X, y, codes = problem()
    metric = make_learner("lda").fit(X, y).metric()
    within = sum(
        np.outer(x - X[codes == c].mean(axis=0), x - X[codes == c].mean(axis=0))
        for x, c in zip(X, codes, strict=True)
    )
    means = np.stack([X[codes == c].mean(axis=0) for c in range(3)])
    # Between the means the distance is the Mahalanobis one of the scatter within.
    inverse = np.linalg.inv(within / len(X))
    expected = [[(p - q) @ inverse @ (p - q) for q in means] for p in means]
    np.testing.assert_allclose(metric.distances(means, means), expected, rtol=1e-9, atol=1e-9)
    assert len(metric.distance.L) == 2
    assert len(make_learner("lda", components=1).fit(X, y).L_) == 1


def test_rca_whitens_what_varies_within_chunklets():
    X, y, codes = problem()
    metric = make_learner("rca").fit(X, y).metric()
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
    only_pairs = make_learner("rca").fit(np.random.default_rng(0).normal(size=(8, 2)), pairs=pairs)
    assert "1 groups" in only_pairs.metric().card.notes[0]


def naive_lmnn(L, X, codes, targets, push):
    n, value = len(X), 0.0
    d = [[float(np.square(L @ (X[i] - X[j])).sum()) for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in targets[i]:
            if j >= 0:
                value += (1 - push) * d[i][j]
                value += push * sum(max(0.0, 1 + d[i][j] - d[i][k]) for k in range(n) if codes[k] != codes[i])
    return value / n


def test_lmnn_objective_and_gradient_are_those_of_the_paper():
    X, _, codes = problem(n=20, d=4)
    codes = codes.astype(np.int64)
    codes[7] = 3
    targets = target_neighbours(X, codes, 3)
    for i in range(20):
        others = [j for j in range(20) if j != i and codes[j] == codes[i]]
        nearest = sorted(others, key=lambda j: ((X[i] - X[j]) ** 2).sum())[:3]
        assert [j for j in targets[i] if j >= 0] == nearest
    L = np.random.default_rng(1).normal(size=(3, 4))
    value, gradient = lmnn_objective(L, X, codes, targets, 0.3)
    assert value == pytest.approx(naive_lmnn(L, X, codes, targets, 0.3), rel=1e-12)
    numeric = numeric_gradient(lambda A: lmnn_objective(A, X, codes, targets, 0.3)[0], L)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


def test_ncmc_likelihood_and_gradient_are_those_of_the_paper():
    X, _, codes = problem(n=20, d=4)
    rows = LabelledRows(X, codes.astype(np.int64), ("a", "b", "c"))
    centres = np.random.default_rng(2).normal(size=(5, 4))
    owner = np.array([0, 0, 1, 2, 2])
    L = np.random.default_rng(1).normal(size=(3, 4))
    value, gradient = negative_log_likelihood(L, rows, centres, owner, 0.1)
    expected = 0.0
    for x, code in zip(X, codes, strict=True):
        near = [math.exp(-0.5 * np.square(L @ (x - m)).sum()) for m in centres]
        expected -= math.log(sum(p for p, c in zip(near, owner, strict=True) if c == code) / sum(near))
    assert value == pytest.approx(expected / 20 + 0.05 * np.square(L).sum(), rel=1e-12)
    numeric = numeric_gradient(lambda A: negative_log_likelihood(A, rows, centres, owner, 0.1)[0], L)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


def test_k_means_ends_where_each_centre_is_the_mean_of_its_own():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 2)) + shift for shift in ([0, 0], [9, 0], [0, 9])])
    centres = k_means(X, 3, rng)
    nearest = ((X[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=1)
    for number, centre in enumerate(centres):
        np.testing.assert_allclose(centre, X[nearest == number].mean(axis=0), atol=1e-12)
    assert len(k_means(np.ones((5, 2)), 3, rng)) == 1


def naive_itml(z, label, gamma, passes):
    """Algorithm 1 of Davis et al. as it stands."""
    d = z.shape[1]
    lengths = sorted(float(v @ v) for v in z)
    low, high = np.percentile(lengths, [5, 95])
    A = np.eye(d)
    xi = [low if y > 0 else high for y in label]
    multiplier = [0.0] * len(z)
    for _ in range(passes):
        for number, (v, y) in enumerate(zip(z, label, strict=True)):
            p = sum(v[a] * A[a, b] * v[b] for a in range(d) for b in range(d))
            alpha = min(multiplier[number], y / 2 * (1 / p - gamma / xi[number]))
            beta = y * alpha / (1 - y * alpha * p)
            xi[number] = gamma * xi[number] / (gamma + y * alpha * xi[number])
            multiplier[number] -= alpha
            A = A + beta * A @ np.outer(v, v) @ A
    return A, xi, multiplier


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_itml_is_the_plain_loop(gamma):
    rng = np.random.default_rng(0)
    z, label = rng.normal(size=(60, 4)), rng.choice([-1.0, 1.0], 60)
    A, xi, multiplier = naive_itml(z, label, gamma, 3)
    state = start_of(z, label)
    for _ in range(3):
        for start in range(0, 60, 25):
            project(state, z, label, slice(start, start + 25), gamma)
    np.testing.assert_allclose(state.M, A, rtol=0, atol=1e-12 * np.abs(A).max())
    np.testing.assert_allclose(state.bound, xi, rtol=1e-11)
    np.testing.assert_allclose(state.multiplier, multiplier, rtol=0, atol=1e-11 * max(multiplier))
    assert np.linalg.eigvalsh(state.M)[0] > 0


def test_itml_leaves_alone_what_no_pair_reaches():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 25))
    y = np.array(list("ab" * 5))
    M = matrix_of(make_learner("itml", passes=5).fit(X, y).metric())
    beside = np.linalg.svd(X)[2][-1]
    np.testing.assert_allclose(M @ beside, beside, atol=1e-10)


def test_mmc_meets_its_constraint_and_no_matrix_does_better():
    X, y, _ = problem(n=60)
    n = len(X)
    i, j = np.triu_indices(n, 1)
    similar = y[i] == y[j]
    z = X[i] - X[j]
    learner = make_learner("mmc", draw=1000, rounds=400).fit(X, y)
    M = matrix_of(learner.metric())
    assert dict(learner.metric().card.constraints) == {
        "similar": int(similar.sum()),
        "dissimilar": int((~similar).sum()),
    }
    assert np.einsum("ij,jk,ik->i", z[similar], M, z[similar]).mean() == pytest.approx(1.0, rel=1e-9)
    far = z[~similar]
    length = np.sqrt(np.einsum("ij,jk,ik->i", far, M, far))
    # Certificate of a concave maximum over {<S, M> = 1}: the gradient's top generalised eigenvalue.
    gradient = np.einsum("ij,ik,i->jk", far, far, 0.5 / length) / len(far)
    S = np.einsum("ij,ik->jk", z[similar], z[similar]) / similar.sum()
    top = np.linalg.eigvals(np.linalg.solve(S, gradient)).real.max()
    gap = top - np.trace(gradient @ M)
    assert gap > -1e-9
    assert gap < 1e-3 * length.mean()


def test_mmc_gradient():
    rng = np.random.default_rng(0)
    F, apart = rng.normal(size=(3, 4)), rng.normal(size=(15, 4))
    value, gradient = negative_spread(F, apart)
    size = math.sqrt((F**2).sum())
    assert value == pytest.approx(-np.mean([np.linalg.norm(F @ z) for z in apart]) / size, rel=1e-12)
    numeric = numeric_gradient(lambda A: negative_spread(A, apart)[0], F)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


def test_nca_is_scikit_learns():
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    X, y, codes = problem()
    X = (X - X.mean(axis=0)) / np.sqrt(np.square(X - X.mean(axis=0)).mean())
    L = make_learner("nca", components=2, rounds=15).fit(X, y).L_
    nca = NeighborhoodComponentsAnalysis(2, init="pca", max_iter=15, random_state=0).fit(X, codes)
    np.testing.assert_allclose(L.T @ L, nca.components_.T @ nca.components_, rtol=1e-6, atol=1e-9)


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
    assert all(lazy_part > earlier - 1e-3 for earlier, lazy_part in itertools.pairwise(likelihood))


def test_distboost_weighs_partitions_by_how_they_agree_with_the_pairs():
    X, y, _ = problem(n=60)
    learner = make_learner("distboost", rounds=6).fit(X, y)
    distance = learner.distance_
    assert (distance.weights > 0).all()
    embedded = distance.embed(X)
    d = ((embedded[:, None] - embedded[None]) ** 2).sum(axis=-1)
    assert d.max() <= distance.weights.sum() + 1e-12
    same = y[:, None] == y
    np.fill_diagonal(same, False)
    assert d[same].mean() < 0.6 * d[y[:, None] != y].mean()


def naive_posteriors(x, offsets, means, roots):
    scores = []
    for offset, mean, root in zip(offsets, means, roots, strict=True):
        y = [sum(root[a, b] * (x[b] - mean[b]) for b in range(len(x))) for a in range(len(x))]
        scores.append(offset - 0.5 * sum(value * value for value in y))
    best = max(scores)
    total = sum(math.exp(score - best) for score in scores)
    # Memberships are kept to 12 decimals.
    return [round(math.exp(score - best) / total, 12) for score in scores]


def test_distboost_is_the_plain_loop_over_pairs():
    """Weights, alphas and distances of every round by sums over single pairs (Hertz et al. 2004)."""
    X, y, _ = problem(n=45, d=3)
    source = training_pairs("DistBoost", 45, y, None, draw=8, seed=0)
    boosting = Boosting(X, source, np.arange(45), np.random.default_rng(0))
    rounds = sum(boosting.add(3, 1.0) for _ in range(6))
    assert rounds >= 3
    distance = boosting.distance(np.eye(3))
    similar = sum(label > 0 for label in source.label)
    weights = [0.25 / similar if label > 0 else 0.25 / (len(source) - similar) for label in source.label]
    unknown = 0.5
    total = np.zeros((45, 45))
    for number, mixture in enumerate(boosting.mixtures):
        p = [naive_posteriors(x, *mixture) for x in X]
        weak = [[0.5 * sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) for two in p] for one in p]
        agreement = [
            label * (1 - 2 * weak[i][j]) for i, j, label in zip(source.i, source.j, source.label, strict=True)
        ]
        r = sum(w * a for w, a in zip(weights, agreement, strict=True)) / sum(weights)
        alpha = 0.5 * math.log((1 + r) / (1 - r))
        assert boosting.weights[number] == pytest.approx(alpha, rel=1e-12)
        weights = [w * math.exp(-alpha * a) for w, a in zip(weights, agreement, strict=True)]
        unknown *= math.exp(-alpha)
        scale = sum(weights) + unknown
        weights, unknown = [w / scale for w in weights], unknown / scale
        total += alpha * np.array(weak)
    assert distance.between(X, X) == pytest.approx(total, rel=1e-12, abs=1e-12)


def test_chunklets_lose_their_means_as_in_the_plain_loop():
    X, y, codes = problem()
    chunklets = chunklets_of("RCA", len(X), y, None)
    expected = []
    for x, code in zip(X, codes, strict=True):
        own = [row for row, other in zip(X, codes, strict=True) if other == code]
        expected.append([x[c] - sum(row[c] for row in own) / len(own) for c in range(5)])
    np.testing.assert_allclose(about_chunklets(X, chunklets), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["rca", "itml", "mmc", "distboost"])
def test_pairs_alone_are_enough(name):
    X, y, _ = problem()
    i, j = np.triu_indices(len(X), 1)
    pairs = np.stack([i, j, np.where(y[i] == y[j], 1, -1)], axis=1)[::7]
    metric = make_learner(name).fit(X, pairs=pairs).metric()
    d = metric.distances(X, X)
    same = y[:, None] == y
    np.fill_diagonal(same, False)
    assert d[same].mean() < d[y[:, None] != y].mean()


@pytest.mark.parametrize("name", ["lda", "nca", "lmnn", "ncmc", "ccml"])
def test_cases_without_a_finding_are_left_out(name):
    X, y, _ = problem()
    some = y.copy()
    some[::5] = ""
    known = some != ""
    a = make_learner(name, random_state=1).fit(X, some).metric()
    b = make_learner(name, random_state=1).fit(X[known], y[known]).metric()
    np.testing.assert_allclose(a.distances(X, X), b.distances(X, X), rtol=1e-9)
