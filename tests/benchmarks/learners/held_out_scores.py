"""Scores of a fitted metric on the held-out rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import metric_distances
from semblance.core.evaluation.protocols.protocol import MetricTrial, TrainingQueries
from semblance.core.evaluation.scores import mean_over_queries, retrieval_accuracy, votes
from semblance.core.evaluation.splits import HoldOut
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distances import LinearDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.metric import Metric, load_metric
from semblance.core.tasks import SILENT
from tests.benchmarks.learners.tables import TimingTable

RANK = 10
#: Held-out cases that triplets are drawn of at most, and triplets.
_CASES, TRIPLETS = 1000, 20_000


def load_fitted_metric(file: Path, d: int) -> Metric:
    """Load what a worker saved: a metric of the project, or the map L (m, d) of a peer."""
    if file.suffix == ".npy":
        return Metric((), LinearDistance(d, np.load(file, allow_pickle=False)), MetricCard(learner="peer"))
    return load_metric(file)


def held_out_scores(metric: Metric, table: TimingTable) -> dict[str, float]:
    """``knn_error`` (k chosen on the training part), ``retrieval_accuracy``@10 and ``triplet_accuracy``."""
    data, split = table.data, table.split
    names, findings = np.unique(data.y, return_inverse=True)
    # A trial needs a learner, which is not used here.
    trial = MetricTrial(metric, data, split, SILENT, cast(Learner, None))
    training = TrainingQueries(trial, findings)
    k, _ = training.best_k(training.correct(trial, len(names)))
    test, test_findings = data.X[split.test], findings[split.test]
    vote = votes(
        metric_distances(metric, test, data.X[split.train]),
        findings[split.train],
        test_findings,
        len(names),
        k=k,
        max_k=k,
    )
    retrieval = mean_over_queries(
        retrieval_accuracy(metric_distances(metric, test, test), test_findings, max_k=RANK)
    )
    return {
        "knn_error": 1.0 - float(mean_over_queries(vote.correct)[k - 1]),
        "retrieval_accuracy": float(retrieval[RANK - 1]),
        "triplet_accuracy": triplet_accuracy(metric, data, split),
    }


def triplet_accuracy(metric: Metric, data: EvaluationData, split: HoldOut) -> float:
    """Share of a fixed sample of held-out triplets in the right order; a tie counts as an error."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(split.test)[:_CASES]
    i, j, k = _triplets(data.y[rows], rng)
    distances = metric.distances(data.X[rows], data.X[rows])
    return float(np.mean(distances[i, j] < distances[i, k]))


def _triplets(
    y: npt.NDArray[np.str_], rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows (t,) of cases, of others of their finding, and of others of another finding."""
    i, j, k = rng.integers(len(y), size=(3, 200 * TRIPLETS // 4))
    valid = np.flatnonzero((i != j) & (y[i] == y[j]) & (y[i] != y[k]))[:TRIPLETS]
    return i[valid], j[valid], k[valid]
