"""The protocol of the MetricBoost paper: five folds, triplets of the test part, 1-NN in the training part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import metric_distances
from semblance.core.evaluation.protocols.choose_k import patient_numbers
from semblance.core.evaluation.protocols.plan import Trial
from semblance.core.evaluation.protocols.split_protocol import SplitProtocol, repeated_folds
from semblance.core.evaluation.result import Measured
from semblance.core.evaluation.scores import mean_over_queries, triplet_accuracy, votes
from semblance.core.evaluation.splits import HoldOut
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value

FOLDS = 5
MAX_K = 50
_REPORTED_K = (1, 5, 10)


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
        found = repeated_folds(data, repeats, seed, FOLDS)
        if self.settings["train_on"] == "one":
            return tr_lazy("one of {folds} folds to train on", folds=FOLDS), [
                split.swapped() for split in found
            ]
        return tr_lazy("{folds} folds", folds=FOLDS), found

    def measure(self, trial: Trial) -> Measured:
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
            max_k=MAX_K,
            reporter=reporter,
        ).correct
        accuracy = mean_over_queries(correct)
        return Measured(
            {
                "triplet_accuracy": triplets.share,
                **{f"knn_accuracy@{k}": float(accuracy[k - 1]) for k in _REPORTED_K if k <= len(accuracy)},
            },
            {"knn_accuracy": accuracy},
        )
