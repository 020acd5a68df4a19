"""The protocol of the BoostMetric paper: training, validation and test part; 3-NN error."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import metric_distances
from semblance.core.evaluation.protocols.plan import Trial
from semblance.core.evaluation.protocols.runner import repeat_seed
from semblance.core.evaluation.protocols.split_protocol import SplitProtocol
from semblance.core.evaluation.result import Measured
from semblance.core.evaluation.scores import Matrix, Rows, mean_over_queries, votes
from semblance.core.evaluation.splits import HoldOut, three_parts
from semblance.core.language import tr_lazy

VALIDATION = TEST = 0.15
NEIGHBOURS = 3
MAX_K = 25
_REPORTED_K = (1, NEIGHBOURS, 5, 10)


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

    def measure(self, trial: Trial) -> Measured:
        """k-NN errors of the test and validation cases, with neighbours in the training part."""
        error, validation = _errors(trial, trial.split.test), _errors(trial, trial.split.validation)
        scores = {f"knn_error@{k}": float(error[k - 1]) for k in _REPORTED_K if k <= len(error)}
        if len(validation) >= NEIGHBOURS:
            scores[f"validation_knn_error@{NEIGHBOURS}"] = float(validation[NEIGHBOURS - 1])
        return Measured(scores, {"knn_error": error, "validation_knn_error": validation})


def _errors(trial: Trial, queries: Rows) -> Matrix:
    """(K,) k-NN errors of the rows ``queries``, with neighbours in the training part."""
    data, train = trial.data, trial.split.train
    names, findings = np.unique(data.y, return_inverse=True)
    correct = votes(
        metric_distances(trial.metric, data.X[queries], data.X[train], data.lesions_of(train)),
        findings[train],
        findings[queries],
        len(names),
        k=1,
        max_k=MAX_K,
        reporter=trial.reporter,
    ).correct
    error: Matrix = 1.0 - mean_over_queries(correct)
    return error
