"""Measures each learner with its own protocol and compares it with reference values and Euclidean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.data_sources import PREFIX, builtin_table
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.library.importers.table import read_table
from semblance.core.metrics.steps import parse_steps
from semblance.core.research.printed_values import printed_values
from tests.benchmarks.learners.references import EuclideanClaim, Reference, ReferenceRange

#: The paper prints the balanced error at the k that was best on the tested half.
_PRINTED_SCORES = {"balanced_error": "balanced_error_best_on_test"}


def load_table(folder: Path, name: str, cases: int | None = None) -> EvaluationData:
    """All rows of a table, or a stratified draw of ``cases``."""
    if name.startswith(PREFIX):
        data = builtin_table(name)
    else:
        table = read_table(folder / "tables" / f"{name}.csv")
        data = EvaluationData(np.asarray(table.X), np.array(table.findings), source=name)
    return prepare(data, max_cases=cases)


def measure_reference(reference: Reference, data: EvaluationData) -> dict[str, Any]:
    """``scores`` by name, each ``{"mean", "error", "printed", "k"}``, and ``seconds`` of the median fit."""
    result = _run(
        reference.protocol, data, [LearnerSpec(reference.learner, reference.parameters)], reference.rounds
    )
    if result.failed:
        return {"failed": result.failed[0].reason}
    learner_result = result.results[0]
    scores = {}
    for known_range in reference.known:
        mean, error, _ = over_rounds(learner_result.scores[known_range.score].values, reference.rounds)
        scores[known_range.score] = {"mean": mean, "error": error, "printed": _printed(result, known_range)}
        best = _PRINTED_SCORES.get(known_range.score)
        if best:
            scores[known_range.score]["best_on_test"] = over_rounds(
                learner_result.scores[best].values, reference.rounds
            )[0]
    return {"scores": scores, "seconds": learner_result.fit_seconds.median, "rounds": reference.rounds}


def compare_with_euclidean(
    claim: EuclideanClaim, table: str, data: EvaluationData, rounds: int
) -> dict[str, Any]:
    """``mean``, ``euclidean``, ``difference`` and its standard ``error`` over the rounds."""
    specs = [LearnerSpec("euclidean"), LearnerSpec(claim.learner)]
    result = _run(claim.protocol, data, specs, rounds)
    if result.failed:
        return {"failed": result.failed[0].reason}
    euclidean, learnt = (
        np.array(over_rounds(entry.scores[claim.score].values, rounds)[2]) for entry in result.results
    )
    difference = learnt - euclidean
    return {
        "mean": float(learnt.mean()),
        "euclidean": float(euclidean.mean()),
        "difference": float(difference.mean()),
        "error": standard_error(difference.tolist()),
        "rounds": rounds,
    }


def over_rounds(values: tuple[float | None, ...], rounds: int) -> tuple[float, float, list[float]]:
    """Mean, its standard error and the means of the rounds, of scores round after round of splits.

    The folds of one round test each case once; only rounds repeat.
    """
    round_means = np.array(values, dtype=np.float64).reshape(rounds, -1).mean(axis=1).tolist()
    return float(np.mean(round_means)), standard_error(round_means), round_means


def standard_error(values: list[float]) -> float:
    """The standard error of the mean, NaN for a single value."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def _run(protocol: str, data: EvaluationData, specs: list[LearnerSpec], rounds: int) -> EvaluationResult:
    return get_protocol(protocol).run(data, specs, steps=parse_steps("standardise"), repeats=rounds)


def _printed(result: EvaluationResult, known_range: ReferenceRange) -> str:
    """The value printed in the paper in per cent, or an empty text."""
    learner_result = result.results[0]
    source: Mapping[str, Any] = result.source
    shape = (source["n_cases"], source["n_features"])
    printed_score = _PRINTED_SCORES.get(known_range.score, known_range.score)
    for entry in printed_values(
        result.protocol, shape, source["findings"], learner_result.learner, learner_result.params
    ):
        if entry.score == printed_score:
            return f"{100.0 * entry.value:.3g}"
    return ""


def with_rounds(reference: Reference, rounds: int) -> Reference:
    """``reference`` with another number of rounds."""
    return replace(reference, rounds=rounds)
