"""Measures the references: each learner on its own protocol, with a standard error over the rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.evaluation.builtin_tables import PREFIX, builtin_table
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.library.importers.read_table import read_table
from semblance.core.metrics.steps import parse_steps
from semblance.core.research.printed_values import printed_values
from tests.benchmarks.learners.references import AgainstEuclidean, Known, Reference

#: The paper prints the balanced error at the k that was best on the tested half.
_PRINTED_AS = {"balanced_error": "balanced_error_best_on_test"}


def table_of(folder: Path, name: str, cases: int | None = None) -> EvaluationData:
    """All rows of a table, or a stratified draw of ``cases``."""
    if name.startswith(PREFIX):
        data = builtin_table(name)
    else:
        read = read_table(folder / "tables" / f"{name}.csv")
        data = EvaluationData(np.asarray(read.X), np.array(read.findings), source=name)
    return prepare(data, max_cases=cases)


def measured(reference: Reference, data: EvaluationData) -> dict[str, Any]:
    """``scores`` by name, each ``{"mean", "error", "printed", "k"}``, and ``seconds`` of the median fit."""
    result = _run(
        reference.protocol, data, [LearnerSpec(reference.learner, reference.parameters)], reference.rounds
    )
    if result.failed:
        return {"failed": result.failed[0].reason}
    only = result.results[0]
    told = {}
    for known in reference.known:
        mean, error, _ = over_rounds(only.scores[known.score].values, reference.rounds)
        told[known.score] = {"mean": mean, "error": error, "printed": _printed(result, known)}
        best = _PRINTED_AS.get(known.score)
        if best:
            told[known.score]["best_on_test"] = over_rounds(only.scores[best].values, reference.rounds)[0]
    return {"scores": told, "seconds": only.fit_seconds.median, "rounds": reference.rounds}


def compared(claim: AgainstEuclidean, table: str, data: EvaluationData, rounds: int) -> dict[str, Any]:
    """``mean``, ``euclidean``, ``difference`` and its standard ``error`` over the rounds."""
    specs = [LearnerSpec("euclidean"), LearnerSpec(claim.learner)]
    result = _run(claim.protocol, data, specs, rounds)
    if result.failed:
        return {"failed": result.failed[0].reason}
    plain, ours = (np.array(over_rounds(one.scores[claim.score].values, rounds)[2]) for one in result.results)
    difference = ours - plain
    return {
        "mean": float(ours.mean()),
        "euclidean": float(plain.mean()),
        "difference": float(difference.mean()),
        "error": standard_error(difference.tolist()),
        "rounds": rounds,
    }


def over_rounds(values: tuple[float | None, ...], rounds: int) -> tuple[float, float, list[float]]:
    """Mean, its standard error and the means of the rounds, of scores round after round of splits.

    The folds of one round test each case once; only rounds repeat.
    """
    each = np.array(values, dtype=np.float64).reshape(rounds, -1).mean(axis=1).tolist()
    return float(np.mean(each)), standard_error(each), each


def standard_error(values: list[float]) -> float:
    """Of the mean; NaN of a single value."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def _run(protocol: str, data: EvaluationData, specs: list[LearnerSpec], rounds: int) -> EvaluationResult:
    return get_protocol(protocol).run(data, specs, steps=parse_steps("standardise"), repeats=rounds)


def _printed(result: EvaluationResult, known: Known) -> str:
    """What the paper prints, in per cent; nothing where it does not."""
    only = result.results[0]
    source: Mapping[str, Any] = result.source
    shape = (source["n_cases"], source["n_features"])
    wanted = _PRINTED_AS.get(known.score, known.score)
    for one in printed_values(result.protocol, shape, source["findings"], only.learner, only.params):
        if one.score == wanted:
            return f"{100.0 * one.value:.3g}"
    return ""


def shortened(reference: Reference, rounds: int) -> Reference:
    """The same with fewer rounds."""
    return replace(reference, rounds=rounds)
