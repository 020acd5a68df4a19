"""The protocol of the BDM paper: same splits for all, failures apart, the JSON scripts rely on."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.data_sources import builtin_table
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec, repeat_seed
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.evaluation.splits import folds, halves, three_parts
from semblance.core.metrics import registry
from semblance.core.metrics.estimators.fixed_distances import Euclidean
from semblance.core.metrics.steps import parse_steps
from semblance.core.tasks import SILENT, Cancelled, Reporter
from tests.helpers.blobs import blobs
from tests.helpers.naive_protocols import run_protocol, squared, standardised, vote_credit

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
        "n_patients": None,
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


def scores_of(name, data, *learners, repeats=1, seed=0, **settings):
    specs = [one if isinstance(one, LearnerSpec) else LearnerSpec(one) for one in learners]
    return get_protocol(name, **settings).run(data, specs, steps=STEPS, repeats=repeats, seed=seed)


def wrong(Z, y, query, gallery, k):
    """1 minus the credit of the majority of the k nearest."""
    nearest = sorted(gallery, key=lambda row: ((Z[query] - Z[row]) ** 2).sum())[:k]
    counts = {f: sum(y[row] == f for row in nearest) for f in set(y)}
    winners = [f for f in counts if counts[f] == max(counts.values())]
    return 1 - (y[query] in winners) / len(winners)


@pytest.mark.parametrize("train_on", ["four", "one"])
@pytest.mark.parametrize("patients", [0, 2])
def test_metricboost_scores_are_those_of_loops(train_on, patients):
    data = blobs(n=60, patients=patients)
    result = scores_of("metricboost", data, "euclidean", seed=3, train_on=train_on)
    triplets, nearest = [], []
    for split in folds(data.y.tolist(), data.groups, repeat_seed(3, 0), 5):
        train, test = (split.train, split.test) if train_on == "four" else (split.test, split.train)
        Z, y = standardised(data, train), data.y
        own = np.arange(60) if data.groups is None else data.groups
        right = [
            ((Z[i] - Z[j]) ** 2).sum() < ((Z[i] - Z[k]) ** 2).sum()
            for i in test
            for j in test
            for k in test
            if own[i] not in (own[j], own[k]) and y[j] == y[i] != y[k]
        ]
        triplets.append(np.mean(right))
        nearest.append(1 - np.mean([wrong(Z, y, query, train, 1) for query in test]))
    scores = result.results[0].scores
    assert scores["triplet_accuracy"].values == pytest.approx(triplets, rel=1e-12)
    assert scores["knn_accuracy@1"].values == pytest.approx(nearest, rel=1e-12)
    assert result.results[0].curves["knn_accuracy"].mean[0] == pytest.approx(np.mean(nearest))
    sizes = (48.0, 12.0) if train_on == "four" else (12.0, 48.0)
    if not patients:
        assert (result.split.n_train, result.split.n_test) == sizes
    assert result.split.rule == ("5 folds" if train_on == "four" else "one of 5 folds to train on")


def test_metricboost_repeats_are_five_folds_each_and_metricboost_learns_20_rounds():
    data = builtin_table("iris")
    result = scores_of("metricboost", data, "metricboost", repeats=2)
    assert result.results[0].params["rounds"] == 20
    assert len(result.results[0].scores["triplet_accuracy"].values) == 10
    own = scores_of("metricboost", data, LearnerSpec("metricboost", {"rounds": 3}), "bdm")
    assert own.results[0].params["rounds"] == 3
    assert own.results[1].params["rounds"] != 20
    with pytest.raises(BadArguments, match="one of four, one"):
        get_protocol("metricboost", train_on="two")
    with pytest.raises(BadInput, match="too few cases"):
        scores_of("metricboost", EvaluationData(np.eye(4), np.array(list("abab"))), "euclidean")


def test_a_tested_part_without_triplets_has_no_triplet_accuracy():
    data = EvaluationData(np.random.default_rng(0).normal(size=(10, 2)), np.array(list("abcdefghij")))
    result = scores_of("metricboost", data, "euclidean").results[0]
    assert "triplet_accuracy" not in result.scores
    assert result.scores["knn_accuracy@1"].values == (0.0,) * 5


def test_boostmetric_errors_are_those_of_loops():
    data = blobs(n=90)
    result = scores_of("boostmetric", data, "euclidean", seed=5, repeats=3)
    tested, validated = [], []
    for repeat in range(3):
        split = three_parts(data.y.tolist(), None, repeat_seed(5, repeat), 0.15, 0.15)
        Z, y = standardised(data, split.train), data.y
        tested.append([np.mean([wrong(Z, y, q, split.train, k) for q in split.test]) for k in (1, 3, 5)])
        validated.append(np.mean([wrong(Z, y, q, split.train, 3) for q in split.validation]))
    one = result.results[0]
    for place, k in enumerate((1, 3, 5)):
        assert one.scores[f"knn_error@{k}"].values == pytest.approx([row[place] for row in tested])
        assert one.curves["knn_error"].mean[k - 1] == pytest.approx(np.mean([row[place] for row in tested]))
    assert one.scores["validation_knn_error@3"].values == pytest.approx(validated)
    assert one.curves["validation_knn_error"].mean[2] == pytest.approx(np.mean(validated))
    assert 62 <= result.split.n_train <= 64
    low, high = one.scores["knn_error@3"].ci95
    assert low < one.scores["knn_error@3"].mean < high


def test_boostmetric_needs_three_parts():
    with pytest.raises(BadInput, match="3 parts"):
        scores_of("boostmetric", EvaluationData(np.eye(2), np.array(["a", "b"])), "euclidean")
    tiny = scores_of("boostmetric", EvaluationData(np.eye(4)[:, :2], np.array(list("abab"))), "euclidean")
    assert "knn_error@1" in tiny.results[0].scores
    assert "validation_knn_error@3" not in tiny.results[0].scores


def errors(Z, y, queries, galleries, k):
    """Plain and balanced error."""
    right = [vote_credit(Z, y, query, gallery, k) for query, gallery in zip(queries, galleries, strict=True)]
    per_finding = [
        np.mean([r for r, q in zip(right, queries, strict=True) if y[q] == f]) for f in set(y[queries])
    ]
    return 1 - np.mean(right), 1 - np.mean(per_finding)


def test_errors_are_those_of_loops_at_the_k_best_inside_the_training_half():
    data = blobs(n=60)
    result = run_protocol("online", data, "euclidean", seed=9).results[0]
    split = halves(data.y.tolist(), None, repeat_seed(9, 0))
    Z, y = standardised(data, split.train), data.y
    inside = [
        errors(Z, y, split.train, [[r for r in split.train if r != q] for q in split.train], k)
        for k in range(1, 26)
    ]
    outside = [errors(Z, y, split.test, [split.train] * len(split.test), k) for k in range(1, 26)]
    plain_k, balanced_k = (int(np.argmin([round(pair[side], 12) for pair in inside])) for side in (0, 1))
    score = {name: summary.mean for name, summary in result.scores.items()}
    assert score["chosen_k"] == plain_k + 1
    assert score["knn_error"] == pytest.approx(outside[plain_k][0])
    assert score["balanced_error"] == pytest.approx(outside[balanced_k][1])
    assert score["knn_error@5"] == pytest.approx(outside[4][0])
    assert score["balanced_error@10"] == pytest.approx(outside[9][1])
    assert score["knn_error_best_on_test"] == pytest.approx(min(pair[0] for pair in outside))
    assert score["balanced_error_best_on_test"] == pytest.approx(min(pair[1] for pair in outside))
    assert "predictive_loss" not in score
    assert result.curves["knn_error"].mean == pytest.approx([pair[0] for pair in outside])


def test_loss_updates_and_rank_are_recorded_while_learning():
    data = builtin_table("wine")
    result = run_protocol(
        "online", data, LearnerSpec("passive_aggressive", {"passes": 30, "C": 0.1}), repeats=3
    )
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))["results"][0]
    scores, curves = document["scores"], document["curves"]
    loss = curves["predictive_loss"]["mean"]
    assert loss[-1] == pytest.approx(scores["predictive_loss"]["mean"])
    assert loss[0] > loss[-1]
    assert 0 < scores["updates"]["mean"] <= 30 * 240
    low, high = scores["updates"]["ci95"]
    assert low < scores["updates"]["mean"] < high
    assert curves["effective_dimension"]["mean"][-1] == scores["effective_dimension"]["mean"]
    assert 1 <= scores["effective_dimension"]["mean"] <= 13
    assert len(loss) == len(curves["effective_dimension"]["mean"])


def test_rules_and_ndcg_are_those_of_loops():
    data = blobs(n=50)
    result = run_protocol("ccml", data, "euclidean", seed=3)
    assert result.split.rule == "10 folds"
    y = data.y
    totals = {"knn": [], "mean": [], "likelihood": [], "ndcg": []}
    for split in folds(y.tolist(), None, repeat_seed(3, 0), 10):
        Z = standardised(data, split.train)
        totals["knn"].append(1 - np.mean([vote_credit(Z, y, query, split.train, 3) for query in split.test]))
        mean, likelihood, gains = [], [], []
        for query in split.test:
            near = {
                f: sorted(squared(Z, query, row) for row in split.train if y[row] == f)[:3] for f in "abc"
            }
            by_mean = min("abc", key=lambda f: sum(near[f]) / len(near[f]))
            roots = [value**0.5 for f in "abc" for value in near[f]]
            share = {f: np.mean(y[split.train] == f) for f in "abc"}
            by_likelihood = max("abc", key=lambda f: -sum(near[f]) / (2 * np.var(roots)) + np.log(share[f]))
            mean.append(by_mean != y[query])
            likelihood.append(by_likelihood != y[query])
            order = sorted(split.train, key=lambda row: squared(Z, query, row))
            gain = sum((y[row] == y[query]) / np.log2(i + 2) for i, row in enumerate(order[:5]))
            gains.append(gain / sum(1 / np.log2(i + 2) for i in range(5)))
        totals["mean"].append(np.mean(mean))
        totals["likelihood"].append(np.mean(likelihood))
        totals["ndcg"].append(np.mean(gains))
    scores = result.results[0].scores
    assert scores["knn_error@3"].values == pytest.approx(totals["knn"])
    assert scores["ccknn_error@3"].values == pytest.approx(totals["mean"])
    assert scores["ccknn_likelihood_error@3"].values == pytest.approx(totals["likelihood"])
    assert scores["ndcg@5"].values == pytest.approx(totals["ndcg"])
    assert set(result.results[0].curves) == {"knn_error", "ccknn_error", "ndcg"}


def test_repeats_are_ten_folds_each():
    result = run_protocol("ccml", builtin_table("iris"), "euclidean", repeats=2)
    assert len(result.results[0].scores["knn_error"].values) == 20
    with pytest.raises(BadInput, match="too few cases"):
        run_protocol("ccml", blobs(n=8), "euclidean")


def test_few_relevant_cases_are_the_ideal_of_ndcg():
    y = np.array(["a"] * 30 + ["b"] * 11)
    X = np.random.default_rng(0).normal(size=(41, 2)) + 50 * (y == "b")[:, None]
    scores = run_protocol("ccml", EvaluationData(X, y), "euclidean").results[0].scores
    assert scores["ndcg@20"].mean == pytest.approx(1.0)
