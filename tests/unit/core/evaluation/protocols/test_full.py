"""All scores at once: each as its own definition gives it on the same split."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics
from sklearn.neighbors import KNeighborsClassifier

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec, fit_and_measure
from semblance.core.metrics import make_learner
from semblance.core.metrics.steps import parse_steps
from semblance.core.tasks import SILENT


@pytest.fixture(scope="module")
def data() -> EvaluationData:
    rng = np.random.default_rng(4)
    y = np.array([str(row // 2 % 3) for row in range(120)])
    X = rng.normal(size=(120, 3))
    X[:, 0] += 1.2 * y.astype(float)
    return EvaluationData(X, y, np.array([f"P{row // 2}" for row in range(120)]))


def measured(data, **settings):
    protocol = get_protocol("full", **{"draws": 100, **settings})
    plan = protocol.plan(data, 1, 0)
    found, _ = fit_and_measure(make_learner("euclidean"), plan.prepared(0, ()), plan.measure, SILENT)
    return found, plan.splits[0]


def test_scores_against_plain_definitions(data):
    found, split = measured(data)
    X, y, patients = data.X[split.test], data.y[split.test], data.groups[split.test]
    distances = metrics.pairwise_distances(X, metric="sqeuclidean")
    right = total = 0
    precisions, averages = [], []
    for i in range(len(y)):
        others = [j for j in np.argsort(distances[i]) if patients[j] != patients[i]]
        good = np.array([y[j] == y[i] for j in others])
        precisions.append(good[:10].mean())
        R = good.sum()
        averages.append((good[:R] * np.cumsum(good[:R]) / np.arange(1, R + 1)).sum() / R)
        for place, j in enumerate(others):
            if y[j] == y[i]:
                right += (~good[place + 1 :]).sum()
                total += (~good).sum()
    assert found.scores["precision@10"] == pytest.approx(np.mean(precisions))
    assert found.scores["retrieval_accuracy@10"] == pytest.approx(np.mean(precisions))
    assert found.scores["map@r"] == pytest.approx(np.mean(averages))
    assert found.scores["triplet_accuracy"] == pytest.approx(right / total)
    knn = KNeighborsClassifier(1).fit(data.X[split.train], data.y[split.train])
    assert found.scores["knn_error@1"] == pytest.approx(1 - knn.score(X, y))
    expected = metrics.balanced_accuracy_score(y, knn.predict(X))
    assert found.scores["balanced_knn_error@1"] == pytest.approx(1 - expected)
    assert found.scores["ccknn_error@1"] == pytest.approx(found.scores["knn_error@1"])
    shares = KNeighborsClassifier(10).fit(data.X[split.train], data.y[split.train]).predict_proba(X)
    for column, name in enumerate("012"):
        assert found.scores[f"auc:{name}"] == pytest.approx(
            metrics.roc_auc_score(y == name, shares[:, column])
        )
        fpr, tpr, _ = metrics.roc_curve(y == name, shares[:, column])
        assert found.scores[f"sensitivity@0.9:{name}"] == pytest.approx(tpr[fpr <= 0.1 + 1e-9].max())


def test_intervals_of_both_methods_contain_the_score(data):
    found, _ = measured(data)
    for name in "012":
        methods = found.intervals[f"auc:{name}"]
        assert set(methods) == {"delong", "bootstrap"}
        assert all(low <= found.scores[f"auc:{name}"] <= high for low, high in methods.values())
        assert set(found.intervals[f"sensitivity@0.9:{name}"]) == {"bootstrap"}


def test_means_over_cases_have_intervals_that_draw_patients_whole(data):
    found, split = measured(data, draws=2000)
    for name in ("retrieval_accuracy@10", "precision@5", "ndcg@20", "map@r", "knn_error@5", "ccknn_error@1"):
        low, high = found.intervals[name]["bootstrap"]
        assert low < found.scores[name] < high
    assert "triplet_accuracy" not in found.intervals
    assert "balanced_knn_error@5" not in found.intervals
    # Independently: the spread of the mean over patients drawn one by one.
    assert found.queries is not None
    values, patients = found.queries.values, data.groups[found.queries.rows]
    assert sorted(found.queries.rows) == sorted(split.test)
    of_patient = [values[patients == patient] for patient in np.unique(patients)]
    rng = np.random.default_rng(1)
    means = [
        np.concatenate(
            [of_patient[one] for one in rng.integers(len(of_patient), size=len(of_patient))]
        ).mean()
        for _ in range(2000)
    ]
    low, high = found.intervals["retrieval_accuracy@10"]["bootstrap"]
    assert (low, high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=0.01)


def test_no_draws_give_no_interval(data):
    found, _ = measured(data, draws=0)
    assert "retrieval_accuracy@10" not in found.intervals


def test_share_of_test_cases_is_a_setting(data):
    _, half = measured(data)
    _, third = measured(data, held_out=0.3)
    plan = get_protocol("full", split="folds").plan(data, 2, 0)
    assert (len(half.test), len(third.test)) == (60, 36)
    assert (len(plan.splits), plan.per_repeat) == (10, 5)
    assert sorted(np.concatenate([split.test for split in plan.splits[:5]])) == list(range(120))


def test_it_runs_where_a_finding_has_one_case(data):
    y = data.y.copy()
    y[0] = "rare"
    result = get_protocol("full", draws=10).run(
        EvaluationData(data.X, y), [LearnerSpec("euclidean")], steps=parse_steps("standardise"), repeats=2
    )
    assert not result.failed
