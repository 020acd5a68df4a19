"""Choose parameters inside a training part: every combination on the same inner folds, by patient."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.neighbours import metric_distances
from semblance.core.evaluation.protocols.protocol import FAILURES, MetricTrial, PreparedSplit, fit_and_measure
from semblance.core.evaluation.result import MeasuredScores, number_or_none
from semblance.core.evaluation.scores import mean_over_queries, retrieval_accuracy, votes
from semblance.core.evaluation.splits import folds, patient_codes
from semblance.core.language import tr_lazy
from semblance.core.parameters import Value
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from semblance.core.evaluation.data import EvaluationData
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.steps import Step

CRITERION, INNER_FOLDS = "retrieval_accuracy@10", 3
_CRITERIA = ("retrieval_accuracy", "knn_accuracy")
_MAX_K = 50


def check_criterion(text: object) -> str:
    """Check that ``text`` is a score that parameters can be chosen by, and return it.

    Raises:
        BadArguments: another score.
    """
    name, at, k = str(text).partition("@")
    if name not in _CRITERIA or not at or not k.isdigit() or not 1 <= int(k) <= _MAX_K:
        raise BadArguments(
            tr_lazy("Parameters cannot be chosen by '{value}'.", value=text),
            tr_lazy(
                "Use {those}, K from 1 to {most_k}.",
                those=" or ".join(f"{one}@K" for one in _CRITERIA),
                most_k=_MAX_K,
            ),
        )
    return str(text)


def choose_settings(
    make: Callable[[Mapping[str, Value]], Learner],
    combinations: Sequence[Mapping[str, Value]],
    data: EvaluationData,
    train: np.ndarray[tuple[int, ...], np.dtype[np.intp]],
    steps: Sequence[Step],
    *,
    criterion: str,
    inner_folds: int,
    seed: int,
    reporter: Reporter,
) -> tuple[Mapping[str, Value], list[float | None]]:
    """The best of ``combinations`` by the mean ``criterion`` over folds of the rows ``train``; all means.

    Only these rows are used. Steps are fitted in each fold, and a patient is in one fold only. The first of ties is
    chosen. A combination that fails in a fold is excluded (``None``).

    Raises:
        BadInput: too few cases for the folds, or no combination could be measured.
    """
    if len(combinations) == 1:
        return combinations[0], [None]
    part = data.rows(train)
    means: list[float | None] = []
    reason = ""
    splits = folds(part.y.tolist(), part.units, seed, inner_folds)
    prepared = [PreparedSplit(part, split, steps, None) for split in splits]
    for combination in combinations:
        reporter.check_cancelled()
        try:
            found = [
                fit_and_measure(make(combination), one, lambda trial: _score(trial, criterion), reporter)[0]
                for one in prepared
            ]
            means.append(number_or_none(float(np.mean([one.scores[criterion] for one in found]))))
        except BadArguments:
            raise
        except FAILURES as problem:
            means.append(None)
            reason = reason or str(problem)
    present = [mean for mean in means if mean is not None]
    if not present:
        raise BadInput("No choice of the parameters could be measured inside the training part.", reason)
    return combinations[means.index(max(present))], means


def _score(trial: MetricTrial, criterion: str) -> MeasuredScores:
    name, _, number = criterion.partition("@")
    data, split, k = trial.data, trial.split, int(number)
    _, findings = np.unique(data.y, return_inverse=True)
    query_rows = data.X[split.test]
    if name == "retrieval_accuracy":
        patients = patient_codes(data.units, data.n_cases)
        test_distances = metric_distances(trial.metric, query_rows, query_rows, data.lesions_of(split.test))
        test_patients = None if patients is None else patients[split.test]
        curve = mean_over_queries(
            retrieval_accuracy(test_distances, findings[split.test], test_patients, k, trial.reporter)
        )
    else:
        training_distances = metric_distances(
            trial.metric, query_rows, data.X[split.train], data.lesions_of(split.train)
        )
        n_findings = int(findings.max()) + 1
        found = votes(
            training_distances, findings[split.train], findings[split.test], n_findings, k=k, max_k=k
        )
        curve = mean_over_queries(found.correct)
    return MeasuredScores({criterion: float(curve[min(k, len(curve)) - 1])})


def inner_split_seed(seed: int, place: int) -> int:
    """The seed of the inner folds of the split at ``place``, different from that of the split."""
    return int(np.random.SeedSequence([seed, place, 1]).generate_state(1)[0])
