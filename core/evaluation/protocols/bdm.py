"""The protocol of the BDM paper: retrieval in the test part, votes of the training part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import metric_distances
from semblance.core.evaluation.protocols.plan import Trial
from semblance.core.evaluation.protocols.runner import repeat_seed
from semblance.core.evaluation.protocols.split_protocol import SplitProtocol, random_halves
from semblance.core.evaluation.result import Measured, Queries
from semblance.core.evaluation.roc import Roc, auc, is_defined, roc
from semblance.core.evaluation.scores import (
    Matrix,
    Rows,
    accuracy_scores,
    mean_over_queries,
    retrieval_accuracy,
    votes,
)
from semblance.core.evaluation.splits import HoldOut, patient_codes, per_finding
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    pass

MAX_K = 50
VOTERS = 10
#: Training cases of each finding in the paper's library of masses (bdm.txt 4.2).
MASSES = 300
_REPORTED_K = (1, 5, 10, 20, 50)
_COMPARED = (
    "retrieval_accuracy@1",
    "retrieval_accuracy@10",
    "retrieval_accuracy@50",
    "macro_retrieval_accuracy@10",
    "worst_finding@10",
    "auc",
    "knn_accuracy@10",
)


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
    compared: ClassVar[tuple[str, ...]] = _COMPARED

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """300 + 300 training cases of a mass library, or else random halves, in each repeat."""
        # With fewer test cases of a finding than MAX_K even a perfect ranking could not score 1.
        if data.masses and len(data.findings) == 2 and min(data.findings.values()) > MASSES + MAX_K:
            seeds = [repeat_seed(seed, repeat) for repeat in range(repeats)]
            rule = tr_lazy("{masses} training cases of each finding", masses=MASSES)
            return rule, [per_finding(data.y.tolist(), data.units, one, MASSES) for one in seeds]
        return random_halves(data, repeats, seed)

    def measure(self, trial: Trial) -> Measured:
        """Retrieval accuracy among the tested cases, and the ROC of the training cases' vote."""
        return _measure(trial)


def _measure(trial: Trial) -> Measured:
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
        MAX_K,
        reporter,
    )
    retrieval = mean_over_queries(per_query)
    vote = votes(
        metric_distances(trial.metric, test, train, data.lesions_of(split.train)),
        findings[split.train],
        query_findings,
        len(names),
        k=VOTERS,
        max_k=MAX_K,
        reporter=reporter,
    )
    accuracy = mean_over_queries(vote.correct)
    plain, rocs = _areas("auc", vote.plain, query_findings, names.tolist())
    weighted, _ = _areas("auc_weighted", vote.weighted, query_findings, names.tolist())
    return Measured(
        {
            **accuracy_scores(
                per_query, query_findings, test_patients, data.lesions_of(split.test), _REPORTED_K
            ),
            **plain,
            **weighted,
            **{f"knn_accuracy@{k}": float(accuracy[k - 1]) for k in (1, 5, 10) if k <= len(accuracy)},
        },
        {"retrieval_accuracy": retrieval, "knn_accuracy": accuracy},
        rocs,
        queries=Queries(*at_rank(per_query, split.test)),
    )


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
