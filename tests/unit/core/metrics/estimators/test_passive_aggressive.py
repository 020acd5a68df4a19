"""The passive-aggressive family equals Algorithm 1 of its paper, written as plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semblance.core.errors import BadArguments, BadInput
from semblance.core.metrics import fit_metric, load_metric
from semblance.core.metrics.distances import LinearDistance, LinearEmbeddingDistance
from semblance.core.metrics.estimators.margin_model import VARIANTS, MarginModel, StepRule, learn_by_each
from semblance.core.metrics.estimators.passive_aggressive import GRID, usual_passes
from semblance.core.metrics.numerics.eigenpairs import LowestEigenpair
from semblance.core.tasks import Cancelled, Reporter
from tests.helpers import naive_bdm, naive_margin
from tests.helpers.learners import of_paper

PSD = ("end", "always")


def problem(n=45, d=5, seed=0):
    return naive_bdm.problem(n=n, d=d, seed=seed)


def random_pairs(X, y, count, seed=0):
    rng = np.random.default_rng(seed)
    i = rng.integers(0, len(X), count)
    j = (i + rng.integers(1, len(X), count)) % len(X)
    return np.stack([i, j], axis=1), np.where(y[i] == y[j], 1.0, -1.0)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("psd", PSD)
@pytest.mark.parametrize("C", [0.003, 10.0])
def test_every_variant_is_the_plain_loop(variant, psd, C):
    X, y = problem()
    pairs, labels = random_pairs(X, y, 300)
    expected = naive_margin.run(X, pairs.tolist(), labels.tolist(), variant, C, psd == "always")
    model = MarginModel(np.zeros((5, 5)))
    z = X[pairs[:, 0]] - X[pairs[:, 1]]
    learn = model.learn if psd == "end" else model.learn_positive
    # Blocks of 64 must not show: neither those inside one call nor those of several.
    learn(z[:1], labels[:1], StepRule(variant, C))
    learn(z[1:200], labels[1:200], StepRule(variant, C))
    learn(z[200:], labels[200:], StepRule(variant, C))
    M, b, updates, mistakes = expected
    np.testing.assert_allclose(model.M, M, rtol=0, atol=1e-12 * np.abs(M).max())
    assert model.b == pytest.approx(b, rel=1e-12)
    assert (model.n_pairs, model.updates, model.mistakes) == (300, updates, mistakes)


@pytest.mark.parametrize("variant", VARIANTS)
def test_rules_that_learn_together_come_to_what_each_learns_alone(variant):
    X, y = problem()
    pairs, labels = random_pairs(X, y, 150)
    z = X[pairs[:, 0]] - X[pairs[:, 1]]
    start = MarginModel(0.1 * np.eye(5), 0.7)
    rules = [StepRule(variant, C) for C in GRID]
    together = learn_by_each(start, z, labels, rules, passes=2)
    for rule, M in zip(rules, together, strict=True):
        alone = start.copy()
        for _ in range(2):
            alone.learn(z, labels, rule)
        np.testing.assert_allclose(M, alone.M, rtol=0, atol=1e-12 * np.abs(M).max())
    np.testing.assert_array_equal(start.M, 0.1 * np.eye(5))


@settings(max_examples=30)
@given(
    d=st.sampled_from([1, 2, 7, 70, 90]),
    rank=st.integers(0, 12),
    eye=st.sampled_from([0.0, 0.3]),
    c=st.floats(0.01, 3.0),
    seed=st.integers(0, 10_000),
)
def test_the_negative_eigenvalue_of_a_rank_one_step_is_found(d, rank, eye, c, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(min(rank, d), d))
    z = rng.normal(size=d)
    M = A.T @ A + eye * np.eye(d)
    M -= c * np.outer(z, z)
    values, vectors = np.linalg.eigh(M)
    found = LowestEigenpair(d).find(M, z)
    scale = np.abs(values).max()
    if found is None:
        assert values[0] > -1e-12 * scale
    elif values[0] < -1e-10 * scale:
        assert found[0] == pytest.approx(values[0], rel=1e-10)
        corrected = M - found[0] * np.outer(found[1], found[1])
        expected = M - values[0] * np.outer(vectors[:, 0], vectors[:, 0])
        np.testing.assert_allclose(corrected, expected, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("d", [40, 90])
def test_many_positive_steps_stay_the_full_projection(variant, d):
    """With Lanczos (d = 90) and without, for every pair in turn."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, d)) * np.geomspace(1, 0.05, d)
    y = np.arange(60) % 3
    X[:, 0] += y
    pairs, labels = random_pairs(X, y, 120)
    z = X[pairs[:, 0]] - X[pairs[:, 1]]
    model = MarginModel(np.zeros((d, d)))
    model.learn_positive(z, labels, StepRule(variant, 0.01))
    M, b = np.zeros((d, d)), 0.0
    for difference, label in zip(z, labels, strict=True):
        p = 1 - label * (b - difference @ M @ difference)
        tau = naive_margin.step_length(variant, p, (difference @ difference) ** 2, 0.01)
        if tau:
            M = naive_margin.nearest_psd(M - tau * label * np.outer(difference, difference))
            b = max(1.0, b + tau * label)
    np.testing.assert_allclose(model.M, M, rtol=0, atol=1e-11 * np.abs(M).max())
    assert model.b == pytest.approx(b, rel=1e-11)


@pytest.mark.parametrize("psd", PSD)
@pytest.mark.parametrize("variant", VARIANTS)
def test_pairs_given_one_by_one_or_together_come_to_the_same(variant, psd):
    X, y = problem()
    pairs, labels = random_pairs(X, y, 90)
    table = np.column_stack([pairs, labels]).astype(np.int64)
    together = of_paper("passive_aggressive", variant=variant, psd=psd, C=0.1)
    one_by_one = of_paper("passive_aggressive", variant=variant, psd=psd, C=0.1)
    table = table[np.unique(table[:, :2] @ [100, 1], return_index=True)[1]]
    together.partial_fit(X, pairs=table)
    for pair in table:
        one_by_one.partial_fit(X, pairs=pair[np.newaxis])
    a, b = together.metric(), one_by_one.metric()
    np.testing.assert_allclose(a.distances(X, X), b.distances(X, X), rtol=1e-9, atol=1e-12)
    assert a.card.rounds == b.card.rounds == len(table)
    assert a.card.constraints == b.card.constraints
    assert dict(a.card.constraints) == {
        "similar": int((table[:, 2] > 0).sum()),
        "dissimilar": int((table[:, 2] < 0).sum()),
    }


def test_fitting_is_passes_over_the_drawn_pairs_with_the_chosen_c():
    X, y = problem()
    learner = of_paper("passive_aggressive", passes=2, random_state=4).fit(X, y)
    assert learner.C_ in GRID
    assert learner.model_.n_pairs == 2 * 40 * 3 * 2
    again = of_paper("passive_aggressive", passes=2, C=learner.C_, random_state=4).fit(X, y)
    assert (again.model_.M == learner.model_.M).all()
    assert "chosen on training pairs" in " ".join(learner.metric().card.notes)
    assert "chosen on training pairs" not in " ".join(again.metric().card.notes)


def test_given_pairs_alone_and_over_findings():
    X, y = problem()
    pairs = np.array([[0, 1, 1], [0, 3, -1], [1, 4, -1], [3, 6, 1], [7, 2, -1]])
    learner = of_paper("passive_aggressive").fit(X, pairs=pairs)
    assert dict(learner.metric().card.constraints) == {"similar": 2, "dissimilar": 3}
    # Rows 0 and 3 have the same finding; the pair given says otherwise, and is heard.
    both = of_paper("passive_aggressive", draw=1000).fit(X, y, pairs=np.array([[3, 0, -1]]))
    alone = of_paper("passive_aggressive", draw=1000).fit(X, y)
    a, b = (dict(one.metric().card.constraints) for one in (both, alone))
    assert (a["similar"], a["dissimilar"]) == (b["similar"] - 1, b["dissimilar"] + 1)


@pytest.mark.parametrize("psd", PSD)
def test_more_features_than_cases_give_what_the_full_space_gives(psd):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    y = np.arange(20) % 2
    X[:, 0] += 2 * y
    settings_of = {"psd": psd, "C": 0.01, "passes": 3}
    reduced = of_paper("passive_aggressive", **settings_of).fit(X, y)
    whole = of_paper("passive_aggressive", **settings_of)
    whole.start_from(LinearDistance(50, np.zeros((1, 50))), threshold=0.0).fit(X, y)
    scale = np.abs(whole.model_.M).max()
    np.testing.assert_allclose(reduced.model_.M, whole.model_.M, rtol=0, atol=1e-11 * scale)
    assert reduced.model_.b == pytest.approx(whole.model_.b, rel=1e-11)


def test_it_starts_from_any_metric_with_an_embedding(tmp_path):
    X, y = problem()
    bits = of_paper("bdm", rounds=15).fit(X, y).metric()
    metric = of_paper("passive_aggressive").start_from(bits.distance).fit(X, y).metric()
    assert isinstance(metric.distance, LinearEmbeddingDistance)
    assert metric.distance.ties
    path = tmp_path / "mapped.zip"
    metric.save(path)
    again = load_metric(path)
    assert (again.distances(X, X) == metric.distances(X, X)).all()
    assert sum(part.amount for part in again.explain(X[0], X[1])) == pytest.approx(
        again.distances(X[:1], X[1:2])[0, 0], rel=1e-9
    )
    # And on from there, over the same bits.
    further = of_paper("passive_aggressive").start_from(metric.distance)
    further.partial_fit(X, pairs=np.array([[0, 1, -1]]))
    assert further.metric().distance.base is metric.distance.base


def test_a_start_is_scaled_to_the_margin_and_nearly_unchanged_by_a_small_cost():
    X, y = problem()
    L = np.random.default_rng(3).normal(size=(2, 5))
    learner = of_paper("passive_aggressive", C=1e-6, variant="pa1", passes=1)
    learner.start_from(LinearDistance(5, L)).fit(X, y)
    M = learner.model_.M
    cosine = (M * (L.T @ L)).sum() / np.linalg.norm(M) / np.linalg.norm(L.T @ L)
    assert cosine > 0.98
    plain = of_paper("passive_aggressive", start="euclidean", C=1e-6, variant="pa1", passes=1).fit(X, y)
    assert np.abs(plain.model_.M / plain.model_.M[0, 0] - np.eye(5)).max() < 0.1
    with pytest.raises(BadInput, match="takes 5 features, not 4"):
        of_paper("passive_aggressive").start_from(LinearDistance(5)).fit(X[:, :4], y)


@pytest.mark.parametrize("psd", PSD)
def test_it_separates_findings_that_a_linear_map_separates(psd):
    rng = np.random.default_rng(5)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 6)) * [1, 5, 5, 5, 5, 5]
    X[:, 0] += 8 * y
    learner = of_paper("passive_aggressive", psd=psd, draw=200, passes=20)
    d = fit_metric(learner, X, y).distances(X, X)
    np.fill_diagonal(d, np.inf)
    assert (y[d.argmin(axis=1)] == y).mean() > 0.97


class Stopping(Reporter):
    """Cancels, or asks to stop, at the given look."""

    def __init__(self, cancel_at=None, stop_at=None):
        self.checks, self.points, self.cancel_at, self.stop_at = 0, [], cancel_at, stop_at

    def check_cancelled(self):
        self.checks += 1
        if self.checks == self.cancel_at:
            raise Cancelled

    @property
    def stop_requested(self):
        return self.stop_at is not None and self.checks >= self.stop_at

    def partial(self, result):
        self.points.append(result)


@pytest.mark.parametrize("psd", PSD)
def test_progress_is_reported_and_cancelling_changes_nothing(psd):
    X, y = problem()
    learner = of_paper("passive_aggressive", psd=psd, passes=60)
    full = Stopping()
    learner.fit(X, y, reporter=full)
    before = learner.metric().card.content_hash
    assert len(full.points) >= 3
    assert full.points[-1].round == learner.model_.n_pairs
    assert full.points[-1].objective == learner.model_.mistakes / learner.model_.n_pairs
    np.testing.assert_allclose(
        full.points[-1].distance.between(X, X), learner.metric().distances(X, X), rtol=1e-9, atol=1e-12
    )
    for check in range(1, full.checks + 1, 5):
        with pytest.raises(Cancelled):
            learner.fit(X * 2, y, reporter=Stopping(cancel_at=check))
        assert learner.metric().card.content_hash == before
        with pytest.raises(Cancelled):
            learner.partial_fit(X, y, reporter=Stopping(cancel_at=1))
        assert learner.metric().card.content_hash == before
    stopped = of_paper("passive_aggressive", psd=psd, passes=60)
    stopped.fit(X, y, reporter=Stopping(stop_at=full.checks // 2))
    assert 0 < stopped.model_.n_pairs < learner.model_.n_pairs
    assert "Stopped on request" in stopped.metric().card.notes[0]


@pytest.mark.parametrize("scale", [1e-48, 1e-20, 1e8, 1e30, 1e48])
def test_very_small_and_very_large_features(scale):
    X, y = problem()
    d = of_paper("passive_aggressive").fit(X * scale, y).metric().distances(X * scale, X * scale)
    assert np.isfinite(d).all()
    assert (d >= 0).all()


@pytest.mark.parametrize(
    ("y", "pairs", "words"),
    [
        (None, None, "findings or pairs"),
        (["a"] * 6, None, "All training cases have the finding 'a'"),
        (list("abcdef"), None, "No two training cases have the same finding"),
        ([""] * 6, None, "lack a finding"),
        (list("ababa"), None, "6 cases but 5 findings"),
        (None, [[0, 1, 1]], "No two training cases are called dissimilar"),
        (None, [[0, 1, -1]], "No two training cases are called similar"),
        (None, [[0, 1, 1], [1, 0, -1]], "rows 0 and 1 is called similar and dissimilar"),
        (None, [[0, 6, 1]], "outside 0 to 5"),
        (None, [[0, 1, 2]], "neither"),
    ],
)
def test_what_it_cannot_learn_from_is_refused(y, pairs, words):
    X = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(BadInput, match=words):
        of_paper("passive_aggressive").fit(X, y, pairs=None if pairs is None else np.array(pairs))


def test_values_out_of_range_are_refused():
    for name, value in (("C", -1.0), ("variant", "pa3"), ("psd", "never"), ("passes", -1), ("draw", 0)):
        with pytest.raises(BadArguments, match=name):
            of_paper("passive_aggressive", **{name: value})


@pytest.mark.parametrize(
    ("n", "pairs", "passes"),
    [(89, 240, 4), (341, 80, 50), (3217, 1200, 50), (2000, 26_000, 4), (20, 200, 2), (5000, 90_000, 2)],
)
def test_pairs_are_used_as_often_as_in_the_paper(n, pairs, passes):
    assert usual_passes(n, pairs) == passes
