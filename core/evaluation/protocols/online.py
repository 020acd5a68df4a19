"""The protocol of the passive-aggressive paper: k-NN errors, and online losses and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import metric_distances
from semblance.core.evaluation.protocols.choose_k import MAX_K, TrainingQueries
from semblance.core.evaluation.protocols.plan import Trial
from semblance.core.evaluation.protocols.split_protocol import SplitProtocol, random_halves
from semblance.core.evaluation.result import Measured, Vector
from semblance.core.evaluation.scores import mean_over_findings, mean_over_queries, votes
from semblance.core.evaluation.splits import HoldOut

if TYPE_CHECKING:
    from semblance.core.metrics.distance import Distance

_REPORTED_K = (1, 3, 5, 10, 25)
_COMPARED = ("knn_error", "balanced_error", "knn_error@1", "knn_error@5")


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
    compared: ClassVar[tuple[str, ...]] = _COMPARED
    needs_points: ClassVar[bool] = True

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """A random half to train on in each repeat."""
        return random_halves(data, repeats, seed)

    def measure(self, trial: Trial) -> Measured:
        """Plain and balanced k-NN error, and the loss and updates of online learning."""
        return _measure(trial)


def _measure(trial: Trial) -> Measured:
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
        max_k=MAX_K,
        reporter=trial.reporter,
    ).correct
    plain, balanced = 1.0 - mean_over_queries(correct), 1.0 - mean_over_findings(correct, query_findings)
    scores = {
        "knn_error": float(plain[plain_k - 1]),
        "balanced_error": float(balanced[balanced_k - 1]),
        "chosen_k": float(plain_k),
        "knn_error_best_on_test": float(plain.min()),
        "balanced_error_best_on_test": float(balanced.min()),
        **{f"knn_error@{k}": float(plain[k - 1]) for k in _REPORTED_K if k <= len(plain)},
        **{f"balanced_error@{k}": float(balanced[k - 1]) for k in _REPORTED_K if k <= len(plain)},
    }
    online_scores, curves = _online_scores(trial)
    return Measured({**scores, **online_scores}, {"knn_error": plain, "balanced_error": balanced, **curves})


def _online_scores(trial: Trial) -> tuple[dict[str, float], dict[str, Vector]]:
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
