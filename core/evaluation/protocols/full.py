"""All scores: those of the papers and of retrieval, with intervals over the test cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from semblance.core.evaluation.calibration import expected_calibration_error
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.intervals import over_queries
from semblance.core.evaluation.neighbours import PairDistances, metric_distances
from semblance.core.evaluation.protocols.papers import at_rank
from semblance.core.evaluation.protocols.protocol import (
    MetricTrial,
    SplitProtocol,
    kept_records,
    repeat_seed,
    repeated_folds,
)
from semblance.core.evaluation.result import MeasuredScores, QueryScores, Vector
from semblance.core.evaluation.roc import (
    Roc,
    auc,
    auc_with_interval,
    bootstrap,
    is_defined,
    roc,
    sensitivity_at,
)
from semblance.core.evaluation.scores import (
    Matrix,
    NearestVotes,
    Rows,
    accuracy_scores,
    finding_neighbours,
    mean_over_findings,
    mean_over_queries,
    retrieval_accuracy,
    retrieval_scores,
    triplet_accuracy,
    votes,
    wrong_shares,
)
from semblance.core.evaluation.splits import HoldOut, hold_out, patient_codes
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter
from semblance.core.tasks import Reporter

MAX_K = 50
VOTERS = 10
FOLDS = 5
_REPORTED_K = (1, 5, 10, 20)
_REPORTED_VOTES = (1, 3, 5, 10)
#: Maximum number of test cases for counting triplets; more are sampled evenly.
_MAX_ANCHORS = 2000

#: 95 % intervals, by the name of a score and of a method.
Intervals = dict[str, dict[str, tuple[float, float]]]


class FullProtocol(SplitProtocol):
    """Random stratified parts, by patient where known: half is tested, or each of five folds.

    Leave-one-out inside the tested part: ``retrieval_accuracy@K`` with its mean over findings, its worst finding and
    chance, ``precision@K``, ``recall@K``, ``ndcg@K``,
    ``hit_rate@K``, ``map@r``, ``triplet_accuracy``. From the training part: ``knn_error@K`` and
    ``ccknn_error@K`` with their means over findings, ``balanced_...``; of the vote of the 10 nearest ``auc``
    and ``auc:FINDING`` (with DeLong's and the bootstrap's interval), ``sensitivity@S`` and
    ``sensitivity@S:FINDING`` at the specificity S, and ``calibration_error``: ten bins of the largest share
    of votes against how often it is right (Naeini et al. 2015), without calibration. Plain means over
    tested cases have a bootstrap interval too, which draws whole patients.
    """

    name: ClassVar[str] = "full"
    title: ClassVar[str] = "All scores"
    paper: ClassVar[str] = (
        "K. Musgrave et al., A Metric Learning Reality Check, ECCV 2020 (MAP@R); E. R. DeLong et al., "
        "Comparing the areas under two or more correlated ROC curves, Biometrics 44, 1988"
    )
    summary: ClassVar[str] = (
        "Random halves (or five folds): retrieval, triplets, k-NN and class-conditional k-NN, ROC with "
        "intervals, sensitivity at fixed specificity, calibration; 10 repeats."
    )
    repeats: ClassVar[int] = 10
    compared: ClassVar[tuple[str, ...]] = (
        "retrieval_accuracy@10",
        "macro_retrieval_accuracy@10",
        "worst_finding@10",
        "map@r",
        "ndcg@10",
        "triplet_accuracy",
        "knn_error@5",
        "balanced_knn_error@5",
        "auc",
    )
    split_parameters: ClassVar[tuple[str, ...]] = ("split", "held_out")
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("split", "half", "What is tested in a repeat.", choices=("half", "folds")),
        Parameter("held_out", 0.5, "Share of the cases that is tested.", minimum=0.05, maximum=0.95),
        Parameter(
            "specificity", 0.9, "The specificity at which sensitivity is measured.", minimum=0.0, maximum=1.0
        ),
        Parameter("draws", 200, "How often patients are drawn for an interval.", minimum=0, maximum=10_000),
    )

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """Folds, or a random part held out, as the setting ``split`` says."""
        if self.settings["split"] == "folds":
            return tr_lazy("{folds} folds", folds=FOLDS), repeated_folds(data, repeats, seed, FOLDS)
        share = self.settings["held_out"]
        assert isinstance(share, float)
        seeds = [repeat_seed(seed, repeat) for repeat in range(repeats)]
        rule = (
            tr_lazy("random halves")
            if share == 0.5
            else tr_lazy("{share:.0%} tested, at random", share=share)
        )
        return rule, [hold_out(data.y.tolist(), data.units, one, share) for one in seeds]

    @property
    def _draws(self) -> int:
        draws = self.settings["draws"]
        assert isinstance(draws, int)
        return draws

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """Every score that one split gives: retrieval, votes, ROC, triplets, class-conditional errors."""
        data, split = trial.data, trial.split
        names, findings = np.unique(data.y, return_inverse=True)
        patients = patient_codes(data.units, data.n_cases)
        test_patients = None if patients is None else patients[split.test]
        query_findings = findings[split.test]
        inside, curves, bootstrapped, queries, columns = _leave_one_out(
            trial, query_findings, test_patients, self._draws
        )
        across, more, rocs, intervals, errors = self._from_training(
            trial, findings, names.tolist(), test_patients
        )
        ks = sorted({*_REPORTED_K, *_REPORTED_VOTES})
        columns = {**columns, "ccknn_error": errors}
        return MeasuredScores(
            {**inside, **across},
            {**curves, **more},
            rocs,
            {**bootstrapped, **intervals},
            queries,
            kept_records(trial, ks, inside=True, columns=columns),
        )

    def _from_training(
        self, trial: MetricTrial, findings: Rows, names: list[str], test_patients: Rows | None
    ) -> tuple[dict[str, float], dict[str, Vector], dict[str, Roc], Intervals, Matrix]:
        """Scores, curves by k, ROC curves and intervals with neighbours in the training part, and the class-conditional
        errors (q, K) of the queries."""
        data, split, reporter = trial.data, trial.split, trial.reporter
        gallery, query_findings = findings[split.train], findings[split.test]
        distances = metric_distances(
            trial.metric, data.X[split.test], data.X[split.train], data.lesions_of(split.train)
        )
        vote = votes(distances, gallery, query_findings, len(names), k=VOTERS, max_k=MAX_K, reporter=reporter)
        plain, balanced = (
            1.0 - mean_over_queries(vote.correct),
            1.0 - mean_over_findings(vote.correct, query_findings),
        )
        errors = class_conditional_errors(
            distances, gallery, query_findings, len(names), max(_REPORTED_VOTES), reporter
        )
        conditional, even = mean_over_queries(errors), mean_over_findings(errors, query_findings)
        curves = {
            "knn_error": plain,
            "balanced_knn_error": balanced,
            "ccknn_error": conditional,
            "balanced_ccknn_error": even,
        }
        scores = {
            f"{name}@{k}": float(curve[k - 1])
            for name, curve in curves.items()
            for k in _REPORTED_VOTES
            if k <= len(curve)
        }
        areas, rocs, intervals = self._areas(vote, query_findings, names, test_patients, split.seed)
        scores |= areas
        per_query_scores = {"knn_error": 1.0 - vote.correct, "ccknn_error": errors}
        intervals |= _intervals_of_scores(
            per_query_scores, _REPORTED_VOTES, test_patients, split.seed, self._draws
        )
        best = vote.plain.max(axis=1)
        right = vote.correct[:, vote.k - 1]
        scores["calibration_error"] = expected_calibration_error(best, right)
        return scores, curves, rocs, intervals, errors

    def _areas(
        self,
        vote: NearestVotes,
        query_findings: Rows,
        names: list[str],
        test_patients: Rows | None,
        seed: int,
    ) -> tuple[dict[str, float], dict[str, Roc], Intervals]:
        specificity, draws = self.settings["specificity"], self._draws
        assert isinstance(specificity, float)
        at = f"sensitivity@{specificity:g}"
        sensitivity = sensitivity_at(specificity)
        scores: dict[str, float] = {}
        rocs: dict[str, Roc] = {}
        intervals: Intervals = {}
        for finding, name in enumerate(names):
            positive, shares = query_findings == finding, vote.plain[:, finding]
            if not is_defined(positive):
                continue
            rocs[name] = roc(shares, positive)
            area = auc_with_interval(shares, positive, test_patients)
            scores[f"auc:{name}"], scores[f"{at}:{name}"] = area.auc, sensitivity(shares, positive)
            found = {} if area.ci95 is None else {"delong": area.ci95}
            for score, function in ((f"auc:{name}", auc), (f"{at}:{name}", sensitivity)):
                interval = bootstrap(
                    function, shares, positive, seed=seed, patients=test_patients, draws=draws
                )
                bootstrapped = {"bootstrap": interval} if interval else {}
                intervals[score] = {**found, **bootstrapped} if function is auc else bootstrapped
        means = {}
        if rocs:
            means["auc"] = float(np.mean([scores[f"auc:{name}"] for name in rocs]))
            means[at] = float(np.mean([scores[f"{at}:{name}"] for name in rocs]))
        return {**means, **scores}, rocs, intervals


def _leave_one_out(
    trial: MetricTrial, query_findings: Rows, test_patients: Rows | None, draws: int
) -> tuple[dict[str, float], Mapping[str, Vector], Intervals, QueryScores, dict[str, Matrix]]:
    """Scores, curves by k, intervals and single queries, leave-one-out inside the tested part, and what the scores are
    means of: (q,) or (q, K) each."""
    test, reporter = trial.data.X[trial.split.test], trial.reporter
    lesions = trial.data.lesions_of(trial.split.test)
    distances = metric_distances(trial.metric, test, test, lesions)
    per_query = retrieval_accuracy(distances, query_findings, test_patients, MAX_K, reporter)
    found = retrieval_scores(distances, query_findings, test_patients, MAX_K, reporter)
    per_query_scores = {
        "retrieval_accuracy": per_query,
        "precision": found.precision,
        "recall": found.recall,
        "ndcg": found.ndcg,
        "hit_rate": found.hit,
    }
    curves = {name: mean_over_queries(values) for name, values in per_query_scores.items()}
    scores = {
        f"{name}@{k}": float(curve[k - 1])
        for name, curve in curves.items()
        for k in _REPORTED_K
        if k <= len(curve)
    }
    scores |= accuracy_scores(per_query, query_findings, test_patients, lesions, _REPORTED_K)
    average = found.average_precision[:, None]
    scores["map@r"] = float(mean_over_queries(average)[0])
    intervals = {
        **_intervals_of_scores(per_query_scores, _REPORTED_K, test_patients, trial.split.seed, draws),
        **_bootstrap(["map@r"], average, test_patients, trial.split.seed, draws),
    }
    chosen = np.arange(0, len(test), -(-len(test) // _MAX_ANCHORS))
    if len(chosen) < len(test):
        distances = metric_distances(trial.metric, test[chosen], test[chosen])
    patients = np.arange(len(test)) if test_patients is None else test_patients
    triplets = triplet_accuracy(distances, query_findings[chosen], patients[chosen], reporter)
    scores["triplet_accuracy"] = triplets.share
    right, every = np.full((2, len(test)), np.nan)
    right[chosen], every[chosen] = triplets.right, triplets.all
    columns = {
        "recall": found.recall,
        "ndcg": found.ndcg,
        "hit_rate": found.hit,
        "average_precision": found.average_precision,
        "triplets_right": right,
        "triplets": every,
    }
    return scores, curves, intervals, QueryScores(*at_rank(per_query, trial.split.test)), columns


def _intervals_of_scores(
    per_query_scores: Mapping[str, Matrix],
    shown: Sequence[int],
    test_patients: Rows | None,
    seed: int,
    draws: int,
) -> Intervals:
    """The bootstrap intervals of scores from their values for each query (q, K)."""
    found: Intervals = {}
    for name, values in per_query_scores.items():
        ks = [k for k in shown if k <= values.shape[1]]
        found |= _bootstrap(
            [f"{name}@{k}" for k in ks], values[:, [k - 1 for k in ks]], test_patients, seed, draws
        )
    return found


def _bootstrap(
    names: Sequence[str], values: Matrix, test_patients: Rows | None, seed: int, draws: int
) -> Intervals:
    """The intervals of ``names``, the means of the columns of ``values`` (q, K); none for fewer than two patients."""
    if not draws or len(np.unique(np.arange(len(values)) if test_patients is None else test_patients)) < 2:
        return {}
    _, low, high = over_queries(values, seed=seed, groups=test_patients, draws=draws)
    intervals = zip(names, low.tolist(), high.tolist(), strict=True)
    return {name: {"bootstrap": (least, most)} for name, least, most in intervals if not np.isnan(least)}


def class_conditional_errors(
    distances: PairDistances,
    gallery: Rows,
    query_findings: Rows,
    n_findings: int,
    max_k: int,
    reporter: Reporter,
) -> Matrix:
    """(q, K) 1 if the 1, 2, ... K nearest cases of another finding are nearest in mean (ccml.txt Eq. 14).

    Findings that tie share the credit.
    """
    near = finding_neighbours(distances, gallery, n_findings, max_k, reporter=reporter)
    errors = [wrong_shares(near.nearest_in_mean(k), query_findings) for k in range(1, max_k + 1)]
    return np.stack(errors, axis=1)
