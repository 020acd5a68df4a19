"""The step mrmr: relevance and redundancy against scipy, the choice against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from semblance.core.errors import BadInput
from semblance.core.metrics import fit_metric, load_metric, make_learner
from semblance.core.metrics.steps import parse_steps, steps_text
from semblance.core.metrics.steps.mrmr import MRMR, chosen_columns, correlation, relevance


def problem(n=60, d=12, findings=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % findings
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[:, :4] += 1.5 * rng.normal(size=(findings, 4))[y]
    X[:, 5] = X[:, 0] + 0.01 * rng.normal(size=n)
    return X, np.array([f"f{code}" for code in y])


def test_relevance_is_the_t_statistic_and_of_more_findings_the_root_of_f():
    X, y = problem()
    t = stats.ttest_ind(X[y == "f0"], X[y == "f1"]).statistic
    np.testing.assert_allclose(relevance(X, np.unique(y, return_inverse=True)[1]), np.abs(t), rtol=1e-9)
    X, y = problem(findings=4)
    f = stats.f_oneway(*(X[y == name] for name in np.unique(y))).statistic
    np.testing.assert_allclose(relevance(X, np.unique(y, return_inverse=True)[1]), np.sqrt(f), rtol=1e-9)


def test_redundancy_is_pearsons_correlation():
    X, _ = problem()
    np.testing.assert_allclose(correlation(X), np.abs(np.corrcoef(X.T)), atol=1e-12)
    X[:, 3] = 7.0
    assert not np.delete(correlation(X)[3], 3).any()
    np.testing.assert_allclose(correlation(1e200 * X), correlation(X), atol=1e-12)


def test_the_choice_is_the_plain_loop():
    rng = np.random.default_rng(0)
    relevant, correlated = rng.random(15), np.abs(np.corrcoef(rng.normal(size=(15, 20))))
    selected = [max(range(15), key=lambda c: relevant[c])]
    while len(selected) < 8:
        rest = [c for c in range(15) if c not in selected]
        selected.append(
            max(
                rest,
                key=lambda c: relevant[c] / max(0.1, np.mean([correlated[c, other] for other in selected])),
            )
        )
    assert chosen_columns(relevant, correlated, 8, floor=0.1).tolist() == selected
    assert sorted(chosen_columns(relevant, correlated, 99, floor=0.1).tolist()) == list(range(15))


def test_a_copy_of_a_chosen_feature_is_chosen_last():
    rng = np.random.default_rng(0)
    y = np.array(list("ab" * 50))
    X = rng.normal(size=(100, 6)) + (y == "a")[:, None]
    X = np.column_stack([X, X[:, 2] + 1e-3 * rng.normal(size=100)])
    assert MRMR(7).fit(X, y).selected_.tolist()[-1] in (2, 6)


def test_it_is_part_of_the_metric_and_on_its_card(tmp_path):
    X, y = problem()
    names = [f"feature {chr(97 + column)}" for column in range(12)]
    steps = parse_steps("standardise,mrmr:4")
    assert steps_text(steps) == "standardise,mrmr:4"
    metric = fit_metric(make_learner("euclidean"), X, y, steps=steps, feature_names=names)
    assert "mrmr: 4 of 12 features" in metric.card.steps
    metric.save(tmp_path / "metric.zip")
    again = load_metric(tmp_path / "metric.zip")
    assert (again.distances(X, X) == metric.distances(X, X)).all()
    selected = metric.steps[-1].selected_
    assert again.card.selected_columns == tuple(names[column] for column in selected)
    parts = {part.name: part.amount for part in again.explain(X[0], X[1])}
    assert {name for name, amount in parts.items() if amount} == {names[column] for column in selected}
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert sum(parts.values()) == pytest.approx(((Z[0] - Z[1])[selected] ** 2).sum(), rel=1e-9)
    assert metric.transform(X).shape == (60, 4)


def test_cases_without_a_finding_have_no_effect():
    X, y = problem()
    some = y.astype(object)
    some[:10] = None
    assert (MRMR(5).fit(X, some).selected_ == MRMR(5).fit(X[10:], y[10:]).selected_).all()


def test_perfect_and_constant_features():
    X, y = problem()
    X[:, 7] = (y == "f1") * 1.0
    X[:, 8] = 3.0
    selected = MRMR(12).fit(X, y).selected_.tolist()
    assert selected[0] == 7
    assert selected[-1] == 8


@pytest.mark.parametrize(("y", "words"), [(None, "needs findings"), (["a"] * 60, "at least two findings")])
def test_without_findings_it_is_refused(y, words):
    with pytest.raises(BadInput, match=words):
        MRMR(3).fit(problem()[0], None if y is None else np.array(y))


@pytest.mark.parametrize(
    ("settings", "stored"),
    [
        ({}, [0]),
        ({"n_features_kept": 2, "n_features": 3}, None),
        ({"n_features_kept": 2, "n_features": 3}, [3]),
        ({"n_features_kept": 2, "n_features": 3}, [-1]),
        ({"n_features_kept": 2, "n_features": 3}, [1, 1]),
        ({"n_features_kept": 2, "n_features": 3}, []),
    ],
)
def test_stored_values_that_do_not_fit_are_refused(settings, stored):
    arrays = {} if stored is None else {"kept": np.array(stored, dtype=np.int64)}
    with pytest.raises(BadInput, match="stored mrmr step"):
        MRMR.restore(settings, arrays)
