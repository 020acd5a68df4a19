"""The protocol of the BDM paper: same splits for all, failures apart, the JSON scripts rely on."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.builtin_tables import builtin_table
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.protocols.runner import repeat_seed
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.evaluation.splits import halves
from semblance.core.metrics import registry
from semblance.core.metrics.estimators.fixed_distances import Euclidean
from semblance.core.metrics.steps import parse_steps
from semblance.core.tasks import SILENT, Cancelled, Reporter

STEPS = parse_steps("standardise")
EUCLIDEAN = LearnerSpec("euclidean")


class Recording(Euclidean):
    """Remembers what it was fitted on."""

    name = "recording"
    fits: list = []  # noqa: RUF012

    def fit(self, X, y=None, *, pairs=None, triplets=None, groups=None, reporter=None):
        Recording.fits.append((np.array(X), np.array(y), None if groups is None else np.array(groups)))
        return super().fit(X, y, groups=groups)


class Failing(Euclidean):
    """Cannot be fitted the third time."""

    name = "failing"
    fits = 0
    problem: Exception = BadInput("The matrix is singular.", "Use fewer features.")

    def fit(self, X, y=None, *, pairs=None, triplets=None, groups=None, reporter=None):
        Failing.fits += 1
        if Failing.fits == 3:
            raise Failing.problem
        return super().fit(X, y, groups=groups)


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    monkeypatch.setattr(registry, "LEARNERS", (*registry.learners(), Recording, Failing))
    monkeypatch.setattr(Recording, "fits", [])
    monkeypatch.setattr(Failing, "fits", 0)


def run(data, *learners, steps=STEPS, repeats=4, seed=0, reporter=SILENT) -> EvaluationResult:
    specs = [LearnerSpec(name) for name in learners]
    return get_protocol("bdm").run(data, specs, steps=steps, repeats=repeats, seed=seed, reporter=reporter)


def masses(benign, malignant, patients=False):
    rng = np.random.default_rng(0)
    y = np.repeat(["benign", "malignant"], [benign, malignant])
    X = rng.normal(size=(benign + malignant, 4)) + (y == "malignant")[:, None]
    groups = np.array([f"p{row // 2}" for row in range(len(y))]) if patients else None
    return EvaluationData(X, y, groups, source="masses", masses=True)


def test_json_is_that_of_the_contract():
    document = run(builtin_table("iris"), "euclidean", "recording", seed=5).to_json()
    document = json.loads(json.dumps(document, allow_nan=False))
    assert document["protocol"] == "bdm"
    assert document["source"] == {
        "path": "builtin:iris",
        "n_cases": 150,
        "n_features": 4,
        "findings": {"setosa": 50, "versicolor": 50, "virginica": 50},
        "patients": "unknown",
    }
    assert (document["seed"], document["repeats"], document["measured_on"]) == (5, 4, "held-out")
    assert document["split"] == {
        "rule": "random halves",
        "by_patient": False,
        "n_train": 75.0,
        "n_test": 75.0,
    }
    result = document["results"][0]
    assert (result["learner"], result["params"], result["steps"]) == ("euclidean", {}, "standardise")
    for name in ("retrieval_accuracy@1", "retrieval_accuracy@50", "auc", "auc:virginica", "knn_accuracy@10"):
        score = result["scores"][name]
        assert set(score) == {"mean", "std", "ci95", "values"}
        assert len(score["values"]) == 4
        assert score["mean"] == pytest.approx(np.mean(score["values"]))
        assert score["ci95"][0] <= score["mean"] <= score["ci95"][1]
    curve = result["curves"]["retrieval_accuracy"]
    assert curve["k"] == list(range(1, 51))
    assert curve["mean"][9] == pytest.approx(result["scores"]["retrieval_accuracy@10"]["mean"])
    assert curve["std"][9] == pytest.approx(result["scores"]["retrieval_accuracy@10"]["std"])
    assert set(result["curves"]["knn_accuracy"]) == {"k", "mean", "std"}
    assert set(result["curves"]["roc"]) == {"setosa", "versicolor", "virginica"}
    assert len(result["curves"]["roc"]["setosa"]["fpr"]) == len(result["curves"]["roc"]["setosa"]["tpr"])
    assert result["fit_seconds"]["min"] <= result["fit_seconds"]["median"] <= result["fit_seconds"]["max"]
    compared = {(line["a"], line["b"], line["score"]) for line in document["comparisons"]}
    assert ("euclidean", "recording", "auc") in compared
    assert all(line["p_value"] == 1.0 and line["difference"] == 0.0 for line in document["comparisons"])
    assert document["failed"] == []
    assert {"semblance", "python", "numpy"} <= set(document["versions"])


def test_scores_equal_loops_over_cases():
    """One repeat on small data, against Equation 20 and the vote written out."""
    rng = np.random.default_rng(4)
    y = rng.choice(["a", "b", "c"], 60)
    X = rng.normal(size=(60, 3)) + (y == "a")[:, None]
    result = run(EvaluationData(X, y), "recording", repeats=1, seed=9)
    split = halves(y.tolist(), None, repeat_seed(9, 0))
    Z = (X - X[split.train].mean(axis=0)) / X[split.train].std(axis=0)
    np.testing.assert_allclose(Recording.fits[0][0], Z[split.train])
    for k in (1, 5, 10):
        total = 0.0
        for query in split.test:
            others = [row for row in split.test if row != query]
            others.sort(key=lambda row: ((Z[row] - Z[query]) ** 2).sum())
            total += sum(y[row] == y[query] for row in others[:k]) / k
        expected = total / len(split.test)
        assert result.results[0].scores[f"retrieval_accuracy@{k}"].mean == pytest.approx(expected)
    share = []
    for query in split.test:
        nearest = sorted(split.train, key=lambda row: ((Z[row] - Z[query]) ** 2).sum())[:10]
        share.append(sum(y[row] == "a" for row in nearest) / 10)
    pairs = [
        (p > n) + 0.5 * (p == n)
        for p, one in zip(share, split.test, strict=True)
        for n, other in zip(share, split.test, strict=True)
        if y[one] == "a" and y[other] != "a"
    ]
    assert result.results[0].scores["auc:a"].mean == pytest.approx(np.mean(pairs))


def test_every_learner_gets_the_same_training_rows_only():
    data = builtin_table("wine")
    run(data, "recording", repeats=3, seed=1)
    first = [fit[0] for fit in Recording.fits]
    Recording.fits.clear()
    run(data, "euclidean", "recording", repeats=2, seed=1)
    for mine, again in zip(first, [fit[0] for fit in Recording.fits], strict=False):
        np.testing.assert_array_equal(mine, again)
        assert len(mine) == 89
        np.testing.assert_allclose(mine.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(mine.std(axis=0), 1.0)


def test_the_papers_training_part_for_masses():
    result = run(masses(380, 500), "recording", repeats=2)
    assert result.split.rule == "300 training cases of each finding"
    for _, y, _ in Recording.fits:
        assert (y == "benign").sum() == (y == "malignant").sum() == 300


def test_few_masses_use_random_halves():
    assert run(masses(350, 500), "euclidean", repeats=1).split.rule == "random halves"
    assert run(builtin_table("breast_cancer"), "euclidean", repeats=1).split.rule == "random halves"


def test_patients_are_known_and_separated():
    data = masses(60, 80, patients=True)
    result = run(data, "recording", repeats=3)
    assert result.split.by_patient
    assert result.to_json()["source"]["patients"] == "known"
    for _, y, groups in Recording.fits:
        assert len(groups) == len(y)
        names, counts = np.unique(groups, return_counts=True)
        assert (counts == 2).all(), names


def test_failing_learner_is_listed_and_the_others_continue():
    result = run(builtin_table("iris"), "failing", "euclidean")
    assert [one.learner for one in result.results] == ["euclidean"]
    assert result.results[0].scores["auc"].values.count(None) == 0
    document = result.to_json()
    assert document["failed"] == [
        {"learner": "failing", "reason": "Repeat 3: The matrix is singular. Use fewer features."}
    ]
    assert document["comparisons"] == []


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (np.linalg.LinAlgError("no convergence"), "The computation failed (no convergence)."),
        (MemoryError(), "not enough memory"),
    ],
)
def test_numerical_failure_has_a_message(monkeypatch, problem, words):
    monkeypatch.setattr(Failing, "problem", problem)
    assert words in run(builtin_table("iris"), "failing").failed[0].reason


def test_programming_error_in_a_learner_is_raised(monkeypatch):
    monkeypatch.setattr(Failing, "problem", AttributeError("typo"))
    with pytest.raises(AttributeError):
        run(builtin_table("iris"), "failing")


def test_steps_that_fail_fail_every_learner():
    data = EvaluationData(np.ones((20, 2)), np.repeat(["a", "b"], 10))
    result = run(data, "euclidean", "recording")
    assert result.results == ()
    assert [failure.learner for failure in result.failed] == ["euclidean", "recording"]
    assert "same value" in result.failed[0].reason


def test_wrong_requests_are_refused_before_any_work():
    data = builtin_table("iris")
    for learners, repeats, what in [
        ((), 2, "No learner"),
        (("euclidean", "euclidean"), 2, "named twice"),
        (("nonsense",), 2, "no learner 'nonsense'"),
        (("euclidean",), 0, "at least one repeat"),
    ]:
        with pytest.raises(BadArguments, match=what):
            run(data, *learners, repeats=repeats)
    with pytest.raises(BadArguments, match="no parameter"):
        get_protocol("bdm").run(data, [LearnerSpec("euclidean", {"depth": 3})])
    with pytest.raises(BadArguments, match="There is no protocol 'x'"):
        get_protocol("x")


def test_missing_values_and_single_cases_of_a_finding():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.array([*["a"] * 20, *["b"] * 20, "rare"])
    result = run(EvaluationData(X, y), "euclidean", repeats=4)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    values = document["results"][0]["scores"]["auc:rare"]["values"]
    assert len(values) == 4
    assert None in values
    assert document["results"][0]["curves"]["retrieval_accuracy"]["k"][-1] <= 20


@pytest.mark.parametrize("n", [2, 3, 4])
def test_scores_of_two_to_four_cases_are_valid_json(n):
    data = EvaluationData(np.arange(n * 2.0).reshape(n, 2), np.array(["a", "b", "a", "b"][:n]))
    json.dumps(run(data, "euclidean", steps=(), repeats=2).to_json(), allow_nan=False)


def test_one_repeat_has_no_interval_and_no_comparison():
    document = run(builtin_table("iris"), "euclidean", "recording", repeats=1).to_json()
    assert document["results"][0]["scores"]["auc"]["ci95"] is None
    assert document["comparisons"] == []


def test_seed_gives_the_same_first_repeats():
    data = builtin_table("wine")

    def values(repeats, seed):
        return run(data, "euclidean", repeats=repeats, seed=seed).results[0].scores["auc"].values

    assert values(2, 3) == values(4, 3)[:2]
    assert values(2, 3) != values(2, 4)


class Listener(Reporter):
    def __init__(self, stop_after=None, cancel_after=None):
        self.news, self.partials = [], []
        self.stop_after, self.cancel_after = stop_after, cancel_after

    def progress(self, done, total, what):
        self.news.append((done, total, what))

    def partial(self, result):
        self.partials.append(result)

    def check_cancelled(self):
        if self.cancel_after is not None and len(self.partials) >= self.cancel_after:
            raise Cancelled

    @property
    def stop_requested(self):
        return self.stop_after is not None and len(self.partials) >= self.stop_after


def test_progress_runs_over_repeats_and_learners():
    listener = Listener()
    run(builtin_table("iris"), "euclidean", "recording", repeats=3, reporter=listener)
    done = [news[0] for news in listener.news]
    assert done == sorted(done)
    assert listener.news[-1][0] == listener.news[-1][1]
    assert listener.news[-1][2] == "recording, repeat 3 of 3"
    assert [partial.repeats for partial in listener.partials] == [1, 2, 3]


def test_stopping_keeps_the_repeats_done():
    result = run(builtin_table("iris"), "euclidean", repeats=5, reporter=Listener(stop_after=2))
    assert result.repeats == 2
    assert len(result.results[0].scores["auc"].values) == 2


def test_cancelling_leaves_the_last_partial_result():
    listener = Listener(cancel_after=2)
    with pytest.raises(Cancelled):
        run(builtin_table("iris"), "euclidean", repeats=5, reporter=listener)
    assert listener.partials[-1].repeats == 2
