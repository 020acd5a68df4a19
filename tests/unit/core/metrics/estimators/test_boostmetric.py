"""BoostMetric equals its definition, descends, and lands where its optimality conditions hold."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.optimize import linprog

from semblance.core.errors import BadInput
from semblance.core.metrics.estimators import boostmetric
from semblance.core.metrics.estimators.boostmetric import (
    LOSSES,
    RankOneSum,
    TripletMargins,
    hinge,
    solve_program,
    stagewise,
    totally_corrective,
)
from semblance.core.metrics.numerics.minimise import convex_minimum
from semblance.core.metrics.training import TrainingPoint
from semblance.core.metrics.training_data.triplets import nearest_of_both, nearest_triplets
from semblance.core.tasks import SILENT, Cancelled, Reporter
from tests.helpers import naive_boostmetric as naive
from tests.helpers.learners import of_paper
from tests.helpers.naive_bdm import problem

V = 1e-7
over_losses = pytest.mark.parametrize("loss", LOSSES)


@functools.cache
def small():
    """Rows, findings as numbers, triplets and their matrices; overlapping, so that nothing is separable."""
    X, y = problem(n=45, d=5)
    rng = np.random.default_rng(8)
    X = X + 0.8 * rng.normal(size=X.shape)
    codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
    table = nearest_triplets(X, codes, 3, SILENT)
    return X, codes, table, naive.matrices(X, table.tolist())


def test_triplets_are_those_of_the_nearest():
    X, codes, table, _ = small()
    assert sorted(map(tuple, table.tolist())) == sorted(naive.nearest_triplets(X, codes, 3))


@pytest.mark.parametrize(
    ("name", "scale"),
    [("smooth", 1.0), ("ties", 1.0), ("ties", 2.0**-27), ("far off", 2.0**20), ("rare", 1.0)],
)
def test_nearest_rows_are_exact_whatever_the_rounding(name, scale, monkeypatch):
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(120, 4)), rng.integers(4, size=120)
    if name == "ties":
        X = np.round(X)
    if name == "far off":
        X += 1e4
    if name == "rare":
        codes = np.array([0] * 117 + [1, 1, 2])
    X = X * scale
    monkeypatch.setattr("semblance.core.metrics.training_data.triplets._BLOCK", 120 * 16)
    targets, impostors = nearest_of_both(X, codes, 3, SILENT)
    for i in range(120):
        d = ((X - X[i]) ** 2).sum(axis=1)
        order = [j for j in np.lexsort((np.arange(120), d)).tolist() if j != i]
        expected = [j for j in order if codes[j] == codes[i]][:3]
        assert targets[i][targets[i] >= 0].tolist() == expected
        assert impostors[i].tolist() == [j for j in order if codes[j] != codes[i]][:3]


def test_margins_and_curvature_equal_sums_over_triplets():
    X, _, table, A = small()
    margins = TripletMargins(X, table)
    rng = np.random.default_rng(0)
    v, u = rng.normal(size=5), rng.random(len(table))
    assert margins.of(margins.squares(v)) == pytest.approx(naive.margins(A, np.outer(v, v)), rel=1e-12)
    expected = sum(weight * a for weight, a in zip(u, A, strict=True))
    assert margins.curvature(u) == pytest.approx(expected, rel=1e-11, abs=1e-12 * np.abs(expected).max())
    edges = rng.normal(size=margins.n_edges)
    assert margins.on_edges(u) @ edges == pytest.approx(u @ margins.of(edges), rel=1e-12)


@over_losses
def test_every_stage_equals_its_definition(loss):
    X, _, table, A = small()
    rounds = stagewise(TripletMargins(X, table), LOSSES[loss](len(table)), V)
    M, trace = np.zeros((5, 5)), 0.0
    for _ in range(6):
        rho = naive.margins(A, M)
        weighted = sum(u * a for u, a in zip(naive.weights(loss, rho), A, strict=True))
        values, vectors = np.linalg.eigh(weighted)
        v = vectors[:, -1]
        H = naive.margins(A, np.outer(v, v))
        w = naive.step(loss, rho, H, V)
        M, trace = M + w * np.outer(v, v), trace + w
        found = next(rounds)
        assert np.abs(found.matrix - M).max() < 1e-10 * np.abs(M).max()
        assert found.objective == pytest.approx(naive.value(loss, naive.margins(A, M)) + V * trace, rel=1e-11)
        assert values[-1] > V


@over_losses
def test_weights_values_and_slopes_agree(loss):
    rng = np.random.default_rng(1)
    rho, H = rng.normal(size=300), rng.normal(size=300)
    form = LOSSES[loss](300)
    assert form.value(rho) == pytest.approx(naive.value(loss, rho), rel=1e-12)
    assert form.weights(rho) == pytest.approx(naive.weights(loss, rho), rel=1e-12)
    e = 1e-4
    for w in (0.0, 0.3, 2.0):
        values = [form.value(rho + (w + n * e) * H) for n in (-2, -1, 0, 1, 2)]
        first, second, third = form.slopes(rho, H, w)
        assert first == pytest.approx((values[3] - values[1]) / (2 * e), rel=1e-6)
        assert second == pytest.approx((values[3] - 2 * values[2] + values[1]) / e**2, rel=1e-4)
        slopes = [form.slopes(rho, H, w + n * e)[1] for n in (-1, 1)]
        assert third == pytest.approx((slopes[1] - slopes[0]) / (2 * e), rel=1e-4)
    assert form.share(form.value(np.zeros(300))) == pytest.approx(1.0)


@over_losses
def test_large_margins_do_not_overflow_the_loss(loss):
    form = LOSSES[loss](3)
    for rho in (np.array([-1e4, 0.0, 1e4]), np.full(3, 1e5), np.full(3, -1e5)):
        assert np.isfinite(form.value(rho))
        assert np.isfinite(form.weights(rho)).all()
        assert np.isfinite(form.slopes(rho, np.array([1.0, -2.0, 3.0]), 0.5)).all()


@over_losses
def test_all_weights_together_are_at_the_optimum(loss):
    X, _, table, _ = small()
    margins = TripletMargins(X, table)
    form, columns, rng = LOSSES[loss](len(table)), RankOneSum(margins), np.random.default_rng(4)
    for v in rng.normal(size=(8, 5)):
        columns.add(v, margins.squares(v), 0.1)
    H = columns.table()
    before = form.value(H @ columns.weights) + V * columns.weights.sum()
    rho = columns.correct(form, V)
    assert (columns.weights > 0).all()
    assert 1 <= len(columns.weights) < 8
    value = form.value(rho) + V * columns.weights.sum()
    assert value < before
    # Weights of 0 must not want to grow, the others neither way.
    slopes = V - H.T @ form.weights(rho)
    size = np.abs(H).mean(axis=0) * (len(table) if loss == "logistic" else 1)
    chosen = np.isin(np.round(H, 12), np.round(columns.table(), 12)).all(axis=0)
    assert chosen.sum() == len(columns.weights)
    assert (np.abs(slopes / size)[chosen] < 1e-4).all()
    assert (slopes / size > -1e-4).all()


@over_losses
@pytest.mark.parametrize("form", [stagewise, totally_corrective])
def test_the_objective_falls_in_every_round(loss, form):
    X, _, table, _ = small()
    objectives = []
    rounds = form(TripletMargins(X, table), LOSSES[loss](len(table)), V)
    for found in rounds:
        objectives.append(found.objective)
        assert np.linalg.eigvalsh(found.matrix)[0] > -1e-12 * np.trace(found.matrix)
        if len(objectives) == 60:
            break
    assert (np.diff(objectives) < 0).all()
    assert len(objectives) > 3


@over_losses
def test_correcting_all_weights_ends_no_higher_than_stages_do(loss):
    X, _, table, _ = small()
    least = []
    for form in (stagewise, totally_corrective):
        rounds = form(TripletMargins(X, table), LOSSES[loss](len(table)), V)
        least.append([found.objective for found, _ in zip(rounds, range(80), strict=False)][-1])
    assert least[1] <= least[0] + 1e-6 * abs(least[0])


def test_the_hinge_program_is_that_of_the_paper():
    rng = np.random.default_rng(6)
    H, most = rng.normal(size=(50, 4)) + 0.1, 1 / (0.2 * 50)
    found = solve_program(H, most)
    # Eq. 9 itself: variables rho, w, xi.
    primal = linprog(
        np.concatenate([[-1.0], np.zeros(4), np.full(50, most)]),
        A_ub=np.hstack([np.ones((50, 1)), -H, -np.eye(50)]),
        b_ub=np.zeros(50),
        A_eq=np.concatenate([[0.0], np.ones(4), np.zeros(50)])[None],
        b_eq=[1.0],
        bounds=[(None, None), *([(0, None)] * 54)],
    )
    assert found.pi == pytest.approx(-primal.fun, rel=1e-9)
    assert found.weights == pytest.approx(primal.x[1:5], abs=1e-9)
    assert found.u.sum() == pytest.approx(1.0)
    assert (found.u <= most * (1 + 1e-9)).all()
    assert (H.T @ found.u).max() == pytest.approx(found.pi, rel=1e-9)


def test_hinge_rounds_gain_margin_until_no_direction_does():
    X, _, table, _ = small()
    margins = TripletMargins(X, table)
    rounds = hinge(margins, 0.2)
    objectives, M = [], None
    while True:
        try:
            found = next(rounds)
        except StopIteration as end:
            assert "no further direction" in end.value
            break
        objectives.append(found.objective)
        M = found.matrix
    assert (np.diff(objectives) <= 1e-9).all()
    assert np.trace(M) == pytest.approx(1.0)
    # The least of Eq. 9 over all matrices of trace 1, from its own margins.
    rho = np.array([(a * M).sum() for a in naive.matrices(X, table.tolist())])
    best = max(level - np.maximum(level - rho, 0).sum() / (0.2 * len(rho)) for level in rho)
    assert -objectives[-1] == pytest.approx(best, rel=1e-6)


def test_a_second_pass_looks_up_neighbours_in_the_space_of_the_first():
    X, y = problem(n=45, d=5)
    one = of_paper("boostmetric", rounds=5).fit(X, y)
    both = of_paper("boostmetric", rounds=5, passes=2).fit(X, y)
    L = one.distance_.L
    again = of_paper("boostmetric", rounds=5).fit(X @ L.T, y)
    assert both.objectives_[0] == one.objectives_[0]
    # The second pass works at the scale the first left, a fit of its own at a spread of 1.
    rows = X @ L.T
    unit = np.sqrt(np.square(rows - rows.mean(axis=0)).mean())
    table = nearest_triplets(rows / unit, np.unique(y, return_inverse=True)[1], 3, SILENT)
    assert again.metric().card.constraints["triplets"] == len(table)
    d = again.metric().distances(rows, rows)
    share = both.metric().distances(X, X) / np.where(d > 0, d, 1.0)
    assert share[d > 0] == pytest.approx(np.full((d > 0).sum(), share[d > 0].mean()), rel=1e-4)


def test_given_triplets_are_learnt_alone():
    X, codes, table, _ = small()
    answer_by_findings = of_paper("boostmetric", rounds=4).fit(X, codes)
    by_triplets = of_paper("boostmetric", rounds=4).fit(X, triplets=table)
    assert by_triplets.objectives_[0] == pytest.approx(answer_by_findings.objectives_[0], rel=1e-9)
    with_both = of_paper("boostmetric", rounds=4).fit(X, codes, triplets=table[:30])
    assert with_both.metric().card.constraints == {"triplets": 30}
    assert with_both.metric().card.findings == {"0": 15, "1": 15, "2": 15}


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("loss", ["logistic", "exponential", "hinge"])
def test_the_scale_of_features_changes_nothing_but_the_scale(scale, loss):
    X, y = problem(n=45, d=5)
    plain = of_paper("boostmetric", loss=loss, rounds=6).fit(X, y).metric().distances(X, X)
    scaled = of_paper("boostmetric", loss=loss, rounds=6).fit(scale * X, y).metric()
    assert scaled.distances(scale * X, scale * X) == pytest.approx(plain, rel=1e-6, abs=1e-8 * plain.max())


def test_learning_ends_with_a_direction_that_separates_all_triplets():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 20)
    X = np.column_stack([50.0 * (y == "a"), rng.normal(size=40)])
    for loss in LOSSES:
        learner = of_paper("boostmetric", loss=loss).fit(X, y)
        assert "large margin" in learner.stopped_
        assert np.isfinite(learner.distance_.L).all()


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("loss", ["exponential", "logistic", "hinge"])
def test_where_no_direction_helps_it_warns_and_is_the_plain_distance(loss, passes):
    X, y = np.array([[0.0, 0.0], [10.0, 3.0], [4.0, 1.0], [6.0, 2.0]]), ["a", "a", "b", "b"]
    learner = of_paper("boostmetric", loss=loss, passes=passes)
    with pytest.warns(UserWarning, match="BoostMetric: Nothing was learnt"):
        learner.fit(X, y)
    metric, plain = learner.metric(), of_paper("euclidean").fit(X, y).metric()
    learnt, expected = metric.distances(X, X), plain.distances(X, X)
    assert learnt / learnt.max() == pytest.approx(expected / expected.max())
    assert metric.card.notes == (learner.stopped_,)


def test_too_many_triplets_for_the_linear_program_are_refused(monkeypatch):
    monkeypatch.setattr(boostmetric, "MOST_HINGE_TRIPLETS", 100)
    X, y = problem(n=45, d=5)
    with pytest.raises(BadInput, match=r"405 triplets are too many.*loss=logistic"):
        of_paper("boostmetric", loss="hinge").fit(X, y)


class Impatient(Reporter):
    def __init__(self, stop_after=None, cancel_after=None):
        self.points, self._stop, self._cancel = [], stop_after, cancel_after

    def partial(self, result):
        self.points.append(result)

    def check_cancelled(self):
        if self._cancel is not None and len(self.points) >= self._cancel:
            raise Cancelled

    @property
    def stop_requested(self):
        return self._stop is not None and len(self.points) >= self._stop


@pytest.mark.parametrize("after", [1, 4, 5, 7])
def test_stopped_in_any_pass_it_keeps_what_it_has(after):
    X, y = problem(n=45, d=5)
    reporter = Impatient(stop_after=after)
    learner = of_paper("boostmetric", rounds=5, passes=3).fit(X, y, reporter=reporter)
    assert [point.round for point in reporter.points] == list(range(1, after + 1))
    assert all(isinstance(point, TrainingPoint) for point in reporter.points)
    assert (learner.distance_.L == reporter.points[-1].distance.L).all()
    assert learner.metric().card.rounds == after


def test_cancelled_it_has_no_metric():
    X, y = problem(n=45, d=5)
    learner = of_paper("boostmetric")
    with pytest.raises(Cancelled):
        learner.fit(X, y, reporter=Impatient(cancel_after=2))
    assert not hasattr(learner, "distance_")


def test_lanczos_and_full_decomposition_agree():
    X, y = problem(n=160, d=120)
    for name in ("boostmetric", "metricboost"):
        found = []
        for beyond in (100, 10**9):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("semblance.core.metrics.numerics.eigenpairs._LANCZOS_FROM", beyond)
                found.append(of_paper(name, rounds=4).fit(X, y).metric().distances(X[:20], X[:20]))
        fast, full = found
        assert fast == pytest.approx(full, rel=1e-6, abs=1e-9)


def test_minima_of_convex_functions():
    for a, b in ((1.0, 3.0), (1e-9, 2.0), (1e9, 2.0)):
        # a (x - b)^2 + x^4 / 100 falls at 0.
        def slopes(x, a=a, b=b):
            return 2 * a * (x - b) + x**3 / 25, 2 * a + 3 * x**2 / 25, 6 * x / 25

        found = convex_minimum(slopes, 1.0)
        assert found.bounded
        assert abs(slopes(found.place)[0]) < 1e-9 * max(a, 1e-3)
    assert convex_minimum(lambda x: (2 * (x - 9.0), 2.0, 0.0), 1.0, most=4.0).place == 4.0
    endless = convex_minimum(lambda x: (-1.0, 0.0, 0.0), 1.0)
    assert not endless.bounded
    nowhere = convex_minimum(lambda x: (x + 1e-30, 1.0, 0.0), 1.0)
    assert nowhere.place < 1e-9
