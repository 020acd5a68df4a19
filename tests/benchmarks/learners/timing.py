"""Times the fits of all variants on a table in rounds, so that a slow moment affects all of them."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.learners.held_out_scores import held_out_scores, load_fitted_metric
from tests.benchmarks.learners.tables import TimingTable
from tests.benchmarks.learners.variants import LMNN, NCA, Variant
from tests.benchmarks.learners.workers import Worker

ROUNDS = 5
#: A first fit that takes longer than this counts as one of the rounds. It also measures memory and scores.
_LONG_FIT = 5.0
#: Fits that take more processor seconds are not repeated: variants with and without a target. Fits are stopped
#: after so many seconds: the peers of the targets, variants with a target, the others.
_SINGLE_FIT, _SINGLE_FIT_WITHOUT_TARGET = 60.0, 5.0
_LIMIT_OF_REFERENCES, _LIMIT, _LIMIT_WITHOUT_TARGET = 600.0, 60.0, 30.0


def time_fits(
    table: TimingTable, variants: Sequence[Variant], workers: Mapping[str, Worker], rounds: int = ROUNDS
) -> dict[str, dict[str, Any]]:
    """By title: ``fits`` (seconds each), ``seconds`` (their median), ``mib`` and ``scores``; or ``failed``.

    Variants whose library has no worker are left out.
    """
    running = [variant for variant in variants if variant.library in workers]
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        X, y = table.train
        rows_file = Path(folder) / "rows.npz"
        np.savez(rows_file, X=X, y=np.unique(y, return_inverse=True)[1])
        for worker in set(workers.values()):
            worker.send(do="load", rows=str(rows_file))
        for index, variant in enumerate(running):
            suffix = "semblance-metric" if variant.library == "semblance" else "npy"
            file = Path(folder) / f"{index}.{suffix}"
            result = _send(workers, variant, alone=True, limit=_limit(variant), save=str(file))
            print(f"  {table.name}: {variant.title}: {result}", file=sys.stderr, flush=True)
            if "failed" not in result:
                result["scores"] = held_out_scores(load_fitted_metric(file, X.shape[1]), table)
            results[variant.title] = result
    for variant in running:
        result = results[variant.title]
        if "failed" not in result:
            result["fits"] = [result["seconds"]] if result["seconds"] > _LONG_FIT else []
    for _ in range(rounds):
        for variant in running:
            result = results[variant.title]
            single_fit = result.get("seconds", 0.0) > (
                _SINGLE_FIT if variant.has_target else _SINGLE_FIT_WITHOUT_TARGET
            )
            if "failed" in result or len(result["fits"]) >= (1 if single_fit else rounds):
                continue
            result["fits"].append(_send(workers, variant, alone=False)["seconds"])
    for result in results.values():
        if "failed" not in result:
            result["seconds"] = statistics.median(result["fits"])
    return results


def _limit(variant: Variant) -> float:
    if variant.title in (LMNN, NCA):
        return _LIMIT_OF_REFERENCES
    return _LIMIT if variant.has_target else _LIMIT_WITHOUT_TARGET


def _send(workers: Mapping[str, Worker], variant: Variant, **options: Any) -> dict[str, Any]:
    return workers[variant.library].send(
        do="fit",
        library=variant.library,
        learner=variant.learner,
        parameters=dict(variant.parameters),
        **options,
    )
