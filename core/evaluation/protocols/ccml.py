"""The protocol of the class-conditional k-NN paper: ten folds, two decision rules, and nDCG."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from semblance.core.evaluation.class_conditional import finding_neighbours, wrong_shares
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import PairDistances, metric_distances
from semblance.core.evaluation.protocols.choose_k import MAX_K, TrainingQueries
from semblance.core.evaluation.protocols.plan import Trial
from semblance.core.evaluation.protocols.split_protocol import SplitProtocol, repeated_folds
from semblance.core.evaluation.result import Measured
from semblance.core.evaluation.scores import Matrix, Rows, mean_over_queries, ndcg, votes
from semblance.core.evaluation.splits import HoldOut
from semblance.core.language import tr_lazy
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    pass

FOLDS = 10
_MAX_RANKS = 50
_REPORTED_K = (1, 3, 5)
_REPORTED_RANKS = (1, 5, 10, 20, 50)
_COMPARED = ("knn_error", "ccknn_error", "ndcg@10")


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
    compared: ClassVar[tuple[str, ...]] = _COMPARED

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """Ten stratified folds in each repeat."""
        return tr_lazy("{folds} folds", folds=FOLDS), repeated_folds(data, repeats, seed, FOLDS)

    def measure(self, trial: Trial) -> Measured:
        """k-NN and class-conditional k-NN error at the k chosen on the training part, and nDCG@k."""
        return _measure(trial)


def _measure(trial: Trial) -> Measured:
    data, split, reporter = trial.data, trial.split, trial.reporter
    names, findings = np.unique(data.y, return_inverse=True)
    query_findings, gallery = findings[split.test], findings[split.train]
    training = TrainingQueries(trial, findings)
    plain_k, _ = training.best_k(training.correct(trial, len(names)))
    distances = metric_distances(
        trial.metric, data.X[split.test], data.X[split.train], data.lesions_of(split.train)
    )
    plain = 1.0 - mean_over_queries(
        votes(distances, gallery, query_findings, len(names), k=1, max_k=MAX_K, reporter=reporter).correct
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
    gain = mean_over_queries(
        ndcg(distances, gallery, query_findings, len(names), max_k=_MAX_RANKS, reporter=reporter)
    )
    by_mean, by_likelihood = test_errors
    scores = {
        "knn_error": float(plain[plain_k - 1]),
        "ccknn_error": float(by_mean[training_errors[0].argmin()]),
        "ccknn_likelihood_error": float(by_likelihood[training_errors[1].argmin()]),
        **{f"knn_error@{k}": float(plain[k - 1]) for k in _REPORTED_K if k <= len(plain)},
        **{f"ccknn_error@{k}": float(by_mean[k - 1]) for k in _REPORTED_K},
        **{f"ccknn_likelihood_error@{k}": float(by_likelihood[k - 1]) for k in _REPORTED_K},
        **{f"ndcg@{k}": float(gain[k - 1]) for k in _REPORTED_RANKS if k <= len(gain)},
    }
    return Measured(scores, {"knn_error": plain, "ccknn_error": by_mean, "ndcg": gain})


def _class_conditional_errors(
    distances: PairDistances,
    gallery: Rows,
    query_findings: Rows,
    n_findings: int,
    patients: tuple[Rows, Rows] | None,
    reporter: Reporter,
) -> tuple[Matrix, Matrix]:
    """(K,) errors at k = 1..25 of Eq. 14 and of Algorithm 2; cases of the query's patient are left out."""
    queries, gallery_patients = (None, None) if patients is None else patients
    near = finding_neighbours(
        distances,
        gallery,
        n_findings,
        MAX_K,
        query_patients=queries,
        gallery_patients=gallery_patients,
        reporter=reporter,
    )
    ks = range(1, MAX_K + 1)
    by_mean = [wrong_shares(near.nearest_in_mean(k), query_findings).mean() for k in ks]
    by_likelihood = [wrong_shares(near.likeliest(k), query_findings).mean() for k in ks]
    return np.array(by_mean), np.array(by_likelihood)
