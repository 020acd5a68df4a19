"""The protocols of the papers BDM, MetricBoost, BoostMetric, online learning and CCML, as they evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import PairDistances, metric_distances
from semblance.core.evaluation.protocols.protocol import (
    MAX_VOTERS,
    MetricTrial,
    SplitProtocol,
    TrainingQueries,
    kept_records,
    patient_numbers,
    random_halves,
    repeat_seed,
    repeated_folds,
)
from semblance.core.evaluation.result import MeasuredScores, QueryScores, Vector
from semblance.core.evaluation.roc import Roc, auc, is_defined, roc
from semblance.core.evaluation.scores import (
    Matrix,
    Rows,
    accuracy_scores,
    finding_neighbours,
    mean_over_findings,
    mean_over_queries,
    ndcg,
    retrieval_accuracy,
    triplet_accuracy,
    votes,
    wrong_shares,
)
from semblance.core.evaluation.splits import HoldOut, patient_codes, per_finding, three_parts
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from semblance.core.metrics.distance import Distance


BDM_MAX_K = 50
VOTERS = 10
#: Training cases of each finding in the paper's library of masses (bdm.txt 4.2).
MASSES = 300
_BDM_K = (1, 5, 10, 20, 50)
_BDM_COMPARED = (
    "retrieval_accuracy@1",
    "retrieval_accuracy@10",
    "retrieval_accuracy@50",
    "macro_retrieval_accuracy@10",
    "worst_finding@10",
    "auc",
    "knn_accuracy@10",
)

METRICBOOST_FOLDS = 5
METRICBOOST_MAX_K = 50
_METRICBOOST_K = (1, 5, 10)

VALIDATION = TEST = 0.15
NEIGHBOURS = 3
BOOSTMETRIC_MAX_K = 25
_BOOSTMETRIC_K = (1, NEIGHBOURS, 5, 10)

_ONLINE_K = (1, 3, 5, 10, 25)
_ONLINE_COMPARED = ("knn_error", "balanced_error", "knn_error@1", "knn_error@5")

CCML_FOLDS = 10
_MAX_RANKS = 50
_CCML_K = (1, 3, 5)
_REPORTED_RANKS = (1, 5, 10, 20, 50)
_CCML_COMPARED = ("knn_error", "ccknn_error", "ndcg@10")


class BDMProtocol(SplitProtocol):
    """Random stratified halves, or 300 + 300 masses for training; the rest is tested (bdm.txt 4.2).

    ``retrieval_accuracy@K``: leave-one-out inside the tested part (Eq. 20), with its mean over findings, its worst
    finding and chance. ``auc:FINDING``: one finding against the rest, by the share of it among the 10 training cases
    nearest to a tested one; ``auc`` is the mean over findings. ``auc_weighted``: the same where nearer cases count
    more. ``knn_accuracy@K``: the majority of the K nearest training cases. Ties: see
    :mod:`semblance.core.evaluation.neighbours`.
    """

    name: ClassVar[str] = "bdm"
    title: ClassVar[str] = "Retrieval and votes (BDM)"
    paper: ClassVar[str] = (
        "L. Yang et al., A Boosting Framework for Visuality-Preserving Distance Metric Learning and Its "
        "Application to Medical Image Retrieval, IEEE TPAMI 32(1), 2010"
    )
    summary: ClassVar[str] = (
        "Random halves: retrieval accuracy @ 1-50 inside the tested half, 10-NN vote of the training half "
        "for ROC and AUC; 10 repeats."
    )
    repeats: ClassVar[int] = 10
    compared: ClassVar[tuple[str, ...]] = _BDM_COMPARED

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """300 + 300 training cases of a mass library, or else random halves, in each repeat."""
        # With fewer test cases of a finding than BDM_MAX_K even a perfect ranking could not score 1.
        if data.masses and len(data.findings) == 2 and min(data.findings.values()) > MASSES + BDM_MAX_K:
            seeds = [repeat_seed(seed, repeat) for repeat in range(repeats)]
            rule = tr_lazy("{masses} training cases of each finding", masses=MASSES)
            return rule, [per_finding(data.y.tolist(), data.units, one, MASSES) for one in seeds]
        return random_halves(data, repeats, seed)

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """Retrieval accuracy among the tested cases, and the ROC of the training cases' vote."""
        return _measure_bdm(trial)


def _measure_bdm(trial: MetricTrial) -> MeasuredScores:
    data, split, reporter = trial.data, trial.split, trial.reporter
    names, findings = np.unique(data.y, return_inverse=True)
    patients = patient_codes(data.units, data.n_cases)
    test, train = data.X[split.test], data.X[split.train]
    query_findings = findings[split.test]
    test_patients = None if patients is None else patients[split.test]
    per_query = retrieval_accuracy(
        metric_distances(trial.metric, test, test, data.lesions_of(split.test)),
        query_findings,
        test_patients,
        BDM_MAX_K,
        reporter,
    )
    retrieval = mean_over_queries(per_query)
    vote = votes(
        metric_distances(trial.metric, test, train, data.lesions_of(split.train)),
        findings[split.train],
        query_findings,
        len(names),
        k=VOTERS,
        max_k=BDM_MAX_K,
        reporter=reporter,
    )
    accuracy = mean_over_queries(vote.correct)
    plain, rocs = _areas("auc", vote.plain, query_findings, names.tolist())
    weighted, _ = _areas("auc_weighted", vote.weighted, query_findings, names.tolist())
    return MeasuredScores(
        {
            **accuracy_scores(per_query, query_findings, test_patients, data.lesions_of(split.test), _BDM_K),
            **plain,
            **weighted,
            **{f"knn_accuracy@{k}": float(accuracy[k - 1]) for k in (1, 5, 10) if k <= len(accuracy)},
        },
        {"retrieval_accuracy": retrieval, "knn_accuracy": accuracy},
        rocs,
        queries=QueryScores(*at_rank(per_query, split.test)),
        records=kept_records(trial, _BDM_K, inside=True, columns=weighted_columns(vote.weighted)),
    )


def weighted_columns(weighted: Matrix) -> dict[str, Matrix]:
    """A column of the weighted votes (q, c) at :data:`VOTERS` for each finding."""
    return {f"weighted_votes{finding + 1}": column for finding, column in enumerate(weighted.T)}


def at_rank(per_query: Matrix, rows: Rows, k: int = 10) -> tuple[str, Rows, Matrix]:
    """Retrieval accuracy (q, K) of the queries ``rows`` at ``k``, or at the last rank."""
    k = min(k, per_query.shape[1])
    return f"retrieval_accuracy@{k}", rows, per_query[:, k - 1]


def _areas(
    score: str, shares: Matrix, query_findings: Rows, names: Sequence[str]
) -> tuple[dict[str, float], dict[str, Roc]]:
    """``score`` (the mean) and ``score:FINDING``, and the curves, of findings that some tested cases have."""
    areas: dict[str, float] = {}
    rocs: dict[str, Roc] = {}
    for finding, name in enumerate(names):
        positive = query_findings == finding
        if is_defined(positive):
            areas[f"{score}:{name}"] = auc(shares[:, finding], positive)
            rocs[name] = roc(shares[:, finding], positive)
    mean = {score: float(np.mean(list(areas.values())))} if areas else {}
    return {**mean, **areas}, rocs


class MetricBoostProtocol(SplitProtocol):
    """Five stratified folds, each tested once (metricboost.txt 5.1); each repeat has new folds.

    ``triplet_accuracy``: of all triplets (i, j, k) inside the tested part, j of i's finding and k of another,
    the share with d(i, j) < d(i, k); a tie counts as an error (Eq. 1). Where patients are known j and k are
    other patients' cases than i. ``knn_accuracy@K``: the majority of the K nearest training cases, K = 1 in
    the paper. ``train_on=one`` fits on one fold and tests on the other four. MetricBoost learns 20 rounds
    by default.
    """

    name: ClassVar[str] = "metricboost"
    title: ClassVar[str] = "Triplets and 1-NN (MetricBoost)"
    paper: ClassVar[str] = (
        "J. Bi et al., AdaBoost on Low-Rank PSD Matrices for Metric Learning, IEEE Conference on Computer "
        "Vision and Pattern Recognition, 2011"
    )
    summary: ClassVar[str] = (
        "Five folds: share of right triplets inside the tested part, 1-NN accuracy from the training part."
    )
    repeats: ClassVar[int] = 1
    compared: ClassVar[tuple[str, ...]] = ("triplet_accuracy", "knn_accuracy@1")
    split_parameters: ClassVar[tuple[str, ...]] = ("train_on",)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "train_on",
            "four",
            "How many of the five folds are trained on; the others are tested.",
            choices=("four", "one"),
            paper="four",
        ),
    )
    paper_params: ClassVar[Mapping[str, Mapping[str, Value]]] = {"metricboost": {"rounds": 20}}

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """Five folds, trained on four or on one of them, by the setting ``train_on``."""
        found = repeated_folds(data, repeats, seed, METRICBOOST_FOLDS)
        if self.settings["train_on"] == "one":
            return tr_lazy("one of {folds} folds to train on", folds=METRICBOOST_FOLDS), [
                split.swapped() for split in found
            ]
        return tr_lazy("{folds} folds", folds=METRICBOOST_FOLDS), found

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """Triplet accuracy and k-NN accuracy of the tested cases, with neighbours in the training part."""
        data, split, reporter = trial.data, trial.split, trial.reporter
        names, findings = np.unique(data.y, return_inverse=True)
        test, query_findings = data.X[split.test], findings[split.test]
        triplets = triplet_accuracy(
            metric_distances(trial.metric, test, test),
            query_findings,
            patient_numbers(data)[split.test],
            reporter,
        )
        correct = votes(
            metric_distances(trial.metric, test, data.X[split.train], data.lesions_of(split.train)),
            findings[split.train],
            query_findings,
            len(names),
            k=1,
            max_k=METRICBOOST_MAX_K,
            reporter=reporter,
        ).correct
        accuracy = mean_over_queries(correct)
        return MeasuredScores(
            {
                "triplet_accuracy": triplets.share,
                **{f"knn_accuracy@{k}": float(accuracy[k - 1]) for k in _METRICBOOST_K if k <= len(accuracy)},
            },
            {"knn_accuracy": accuracy},
            records=kept_records(
                trial,
                _METRICBOOST_K,
                inside=False,
                columns={"triplets_right": triplets.right, "triplets": triplets.all},
            ),
        )


class BoostMetricProtocol(SplitProtocol):
    """Stratified random 70 % for training, 15 % for validation, 15 % for testing (boostmetric.txt 4.2, Table 1).

    ``knn_error@K``: error of the majority of the K nearest training cases, K = 3 in the paper; findings that
    tie share the credit. ``validation_knn_error@3``: that of the validation part, which no
    learner is fitted on. Select parameters by it and use the test part for the selected ones only.
    """

    name: ClassVar[str] = "boostmetric"
    title: ClassVar[str] = "3-NN error (BoostMetric)"
    paper: ClassVar[str] = (
        "C. Shen et al., Positive semidefinite metric learning using boosting-like algorithms, JMLR 13, 2012"
    )
    summary: ClassVar[str] = (
        "70 % to train on, 15 % to choose parameters by, 15 % to test: 3-NN error on both; 10 repeats."
    )
    repeats: ClassVar[int] = 10
    compared: ClassVar[tuple[str, ...]] = (f"knn_error@{NEIGHBOURS}", f"validation_knn_error@{NEIGHBOURS}")

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """70 % of the cases for training, 15 % for validation and 15 % for testing, in each repeat."""
        seeds = [repeat_seed(seed, repeat) for repeat in range(repeats)]
        return tr_lazy("70 % to train on, 15 % to choose by, 15 % to test"), [
            three_parts(data.y.tolist(), data.units, one, VALIDATION, TEST) for one in seeds
        ]

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """k-NN errors of the test and validation cases, with neighbours in the training part."""
        error = _errors(trial, trial.split.test)
        scores = {f"knn_error@{k}": float(error[k - 1]) for k in _BOOSTMETRIC_K if k <= len(error)}
        curves = {"knn_error": error}
        # Splits that are given may have no validation part.
        if len(trial.split.validation):
            validation = curves["validation_knn_error"] = _errors(trial, trial.split.validation)
            if len(validation) >= NEIGHBOURS:
                scores[f"validation_knn_error@{NEIGHBOURS}"] = float(validation[NEIGHBOURS - 1])
        queries = np.concatenate([trial.split.test, trial.split.validation])
        records = kept_records(trial, _BOOSTMETRIC_K, inside=False, queries=queries)
        return MeasuredScores(scores, curves, records=records)


def _errors(trial: MetricTrial, queries: Rows) -> Matrix:
    """(K,) k-NN errors of the rows ``queries``, with neighbours in the training part."""
    data, train = trial.data, trial.split.train
    names, findings = np.unique(data.y, return_inverse=True)
    correct = votes(
        metric_distances(trial.metric, data.X[queries], data.X[train], data.lesions_of(train)),
        findings[train],
        findings[queries],
        len(names),
        k=1,
        max_k=BOOSTMETRIC_MAX_K,
        reporter=trial.reporter,
    ).correct
    error: Matrix = 1.0 - mean_over_queries(correct)
    return error


class OnlineProtocol(SplitProtocol):
    """Random stratified halves (passive_aggressive.txt 4.1 to 4.3).

    ``knn_error`` and ``balanced_error`` (the mean over findings of theirs): k-NN error of tested cases, k in
    1..25 chosen by leave-one-out inside the training half. ``knn_error@K``, ``balanced_error@K``: at fixed K.
    ``knn_error_best_on_test``, ``balanced_error_best_on_test``: at the K best on the tested half itself, as
    the paper prints; no held-out score. ``chosen_k``: the k of ``knn_error``.

    Of learners that take pairs one after another also ``predictive_loss``: the share of pairs on the wrong
    side when they were presented (4.3.1); ``updates``: pairs that changed the metric; ``effective_dimension``: its rank
    (4.3.2). The curves of the first and the last are at equal steps through the pairs, not at k.
    """

    name: ClassVar[str] = "online"
    title: ClassVar[str] = "k-NN and predictive errors (online)"
    paper: ClassVar[str] = (
        "A. Perez-Suay et al., Passive-aggressive online distance metric learning and extensions, "
        "Progress in Artificial Intelligence 2, 2013"
    )
    summary: ClassVar[str] = (
        "Random halves: plain and balanced k-NN error, k chosen on the training half; for online learners "
        "predictive 0-1 loss, updates and effective dimension; 10 repeats."
    )
    repeats: ClassVar[int] = 10
    compared: ClassVar[tuple[str, ...]] = _ONLINE_COMPARED
    needs_points: ClassVar[bool] = True

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """A random half to train on in each repeat."""
        return random_halves(data, repeats, seed)

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """Plain and balanced k-NN error, and the loss and updates of online learning."""
        return _measure_online(trial)


def _measure_online(trial: MetricTrial) -> MeasuredScores:
    data, split = trial.data, trial.split
    names, findings = np.unique(data.y, return_inverse=True)
    training = TrainingQueries(trial, findings)
    plain_k, balanced_k = training.best_k(training.correct(trial, len(names)))
    query_findings = findings[split.test]
    correct = votes(
        metric_distances(trial.metric, data.X[split.test], data.X[split.train], data.lesions_of(split.train)),
        training.findings,
        query_findings,
        len(names),
        k=1,
        max_k=MAX_VOTERS,
        reporter=trial.reporter,
    ).correct
    plain, balanced = 1.0 - mean_over_queries(correct), 1.0 - mean_over_findings(correct, query_findings)
    scores = {
        "knn_error": float(plain[plain_k - 1]),
        "balanced_error": float(balanced[balanced_k - 1]),
        "chosen_k": float(plain_k),
        "knn_error_best_on_test": float(plain.min()),
        "balanced_error_best_on_test": float(balanced.min()),
        **{f"knn_error@{k}": float(plain[k - 1]) for k in _ONLINE_K if k <= len(plain)},
        **{f"balanced_error@{k}": float(balanced[k - 1]) for k in _ONLINE_K if k <= len(plain)},
    }
    online_scores, curves = _online_scores(trial)
    chosen = {"knn_error": float(plain_k), "balanced_error": float(balanced_k)}
    return MeasuredScores(
        {**scores, **online_scores},
        {"knn_error": plain, "balanced_error": balanced, **curves},
        records=kept_records(trial, range(1, MAX_VOTERS + 1), inside=False, chosen=chosen),
    )


def _online_scores(trial: MetricTrial) -> tuple[dict[str, float], dict[str, Vector]]:
    """Scores and curves of a learner that takes pairs one after another; none of others."""
    from semblance.core.metrics.estimators.passive_aggressive import PassiveAggressive

    learner = trial.learner
    if not isinstance(learner, PassiveAggressive) or not trial.points:
        return {}, {}
    model = learner.model_
    loss = np.array([point.objective for point in trial.points])
    ranks = np.array([float(_rank(point.distance)) for point in trial.points])
    scores = {
        "predictive_loss": model.mistakes / model.n_pairs,
        "updates": float(model.updates),
        "effective_dimension": float(ranks[-1]),
    }
    return scores, {"predictive_loss": loss, "effective_dimension": ranks}


def _rank(distance: Distance) -> int:
    from semblance.core.metrics.distances import LinearDistance, LinearEmbeddingDistance

    if not isinstance(distance, LinearDistance | LinearEmbeddingDistance) or distance.L is None:
        return distance.n_features
    return int((np.square(distance.L).sum(axis=1) > 0.0).sum())


class CCMLProtocol(SplitProtocol):
    """Ten stratified folds, each tested once (ccml.txt V-B); each repeat has new folds.

    ``knn_error``: error of the majority of the k nearest training cases. ``ccknn_error``: of the finding
    whose own k nearest are nearest in mean (Eq. 14); ``ccknn_likelihood_error``: by the likelihood of
    Algorithm 2. Each k in 1..25 is chosen by leave-one-out inside the training part; ``@K`` are at fixed K.
    ``ndcg@K``: normalised discounted cumulative gain of the K nearest training cases (V-D). Findings that tie
    share the credit.
    """

    name: ClassVar[str] = "ccml"
    title: ClassVar[str] = "k-NN, class-conditional k-NN and nDCG (CCML)"
    paper: ClassVar[str] = "D. J. Im, G. W. Taylor, Learning a metric for class-conditional KNN, IJCNN 2016"
    summary: ClassVar[str] = (
        "Ten folds: error of k-NN and of class-conditional k-NN, k chosen on the training part; nDCG @ 1-50."
    )
    repeats: ClassVar[int] = 1
    compared: ClassVar[tuple[str, ...]] = _CCML_COMPARED

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """Ten stratified folds in each repeat."""
        return tr_lazy("{folds} folds", folds=CCML_FOLDS), repeated_folds(data, repeats, seed, CCML_FOLDS)

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """k-NN and class-conditional k-NN error at the k chosen on the training part, and nDCG@k."""
        return _measure_ccml(trial)


def _measure_ccml(trial: MetricTrial) -> MeasuredScores:
    data, split, reporter = trial.data, trial.split, trial.reporter
    names, findings = np.unique(data.y, return_inverse=True)
    query_findings, gallery = findings[split.test], findings[split.train]
    training = TrainingQueries(trial, findings)
    plain_k, _ = training.best_k(training.correct(trial, len(names)))
    distances = metric_distances(
        trial.metric, data.X[split.test], data.X[split.train], data.lesions_of(split.train)
    )
    plain = 1.0 - mean_over_queries(
        votes(
            distances, gallery, query_findings, len(names), k=1, max_k=MAX_VOTERS, reporter=reporter
        ).correct
    )
    training_errors = _class_conditional_errors(
        training.distances,
        training.findings,
        training.findings[training.queries],
        len(names),
        (training.patients[training.queries], training.patients),
        reporter,
    )
    test_errors = _class_conditional_errors(distances, gallery, query_findings, len(names), None, reporter)
    gains = ndcg(distances, gallery, query_findings, len(names), max_k=_MAX_RANKS, reporter=reporter)
    gain = mean_over_queries(gains)
    by_mean, by_likelihood = (errors.mean(axis=0) for errors in test_errors)
    chosen_mean, chosen_likelihood = (int(errors.mean(axis=0).argmin()) + 1 for errors in training_errors)
    scores = {
        "knn_error": float(plain[plain_k - 1]),
        "ccknn_error": float(by_mean[chosen_mean - 1]),
        "ccknn_likelihood_error": float(by_likelihood[chosen_likelihood - 1]),
        **{f"knn_error@{k}": float(plain[k - 1]) for k in _CCML_K if k <= len(plain)},
        **{f"ccknn_error@{k}": float(by_mean[k - 1]) for k in _CCML_K},
        **{f"ccknn_likelihood_error@{k}": float(by_likelihood[k - 1]) for k in _CCML_K},
        **{f"ndcg@{k}": float(gain[k - 1]) for k in _REPORTED_RANKS if k <= len(gain)},
    }
    chosen = {
        "knn_error": float(plain_k),
        "ccknn_error": float(chosen_mean),
        "ccknn_likelihood_error": float(chosen_likelihood),
    }
    return MeasuredScores(
        scores,
        {"knn_error": plain, "ccknn_error": by_mean, "ndcg": gain},
        records=kept_records(
            trial,
            sorted({*_CCML_K, *_REPORTED_RANKS, plain_k, chosen_mean, chosen_likelihood}),
            inside=False,
            columns={"ccknn_error": test_errors[0], "ccknn_likelihood_error": test_errors[1], "ndcg": gains},
            chosen=chosen,
        ),
    )


def _class_conditional_errors(
    distances: PairDistances,
    gallery: Rows,
    query_findings: Rows,
    n_findings: int,
    patients: tuple[Rows, Rows] | None,
    reporter: Reporter,
) -> tuple[Matrix, Matrix]:
    """(q, K) errors at k = 1..25 of Eq. 14 and of Algorithm 2; cases of the query's patient are left out."""
    queries, gallery_patients = (None, None) if patients is None else patients
    near = finding_neighbours(
        distances,
        gallery,
        n_findings,
        MAX_VOTERS,
        query_patients=queries,
        gallery_patients=gallery_patients,
        reporter=reporter,
    )
    ks = range(1, MAX_VOTERS + 1)
    by_mean = [wrong_shares(near.nearest_in_mean(k), query_findings) for k in ks]
    by_likelihood = [wrong_shares(near.likeliest(k), query_findings) for k in ks]
    return np.stack(by_mean, axis=1), np.stack(by_likelihood, axis=1)
