"""One table's race: every contender in turn, round after round, so that a slow moment hits them all."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.learners.contenders import LMNN, NCA, Contender
from tests.benchmarks.learners.held_out import held_out_scores, metric_of
from tests.benchmarks.learners.tables import RaceTable
from tests.benchmarks.learners.workers import Worker

ROUNDS = 5
#: The first fit, which also gives memory and scores, counts as one of the rounds where it takes this long.
_LONG = 5.0
#: Processor seconds of a fit that is not repeated, of contenders with and without a part in the targets; and
#: after which a fit is given up: those that others are measured by, those with a target, the others.
_ONCE, _ONCE_BESIDE = 60.0, 5.0
_LIMIT_OF_MEASURES, _LIMIT, _LIMIT_BESIDE = 600.0, 60.0, 30.0


def race(
    table: RaceTable, contenders: Sequence[Contender], workers: Mapping[str, Worker], rounds: int = ROUNDS
) -> dict[str, dict[str, Any]]:
    """By title: ``fits`` (seconds each), ``seconds`` (their median), ``mib`` and ``scores``; or ``failed``.

    A contender whose library has no worker does not take part.
    """
    running = [contender for contender in contenders if contender.library in workers]
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        X, y = table.train
        rows = Path(folder) / "rows.npz"
        np.savez(rows, X=X, y=np.unique(y, return_inverse=True)[1])
        for worker in set(workers.values()):
            worker.ask(do="load", rows=str(rows))
        for place, contender in enumerate(running):
            suffix = "semblance-metric" if contender.library == "semblance" else "npy"
            file = Path(folder) / f"{place}.{suffix}"
            told = _ask(workers, contender, alone=True, limit=_limit(contender), save=str(file))
            print(f"  {table.name}: {contender.title}: {told}", file=sys.stderr, flush=True)
            if "failed" not in told:
                told["scores"] = held_out_scores(metric_of(file, X.shape[1]), table)
            results[contender.title] = told
    for contender in running:
        told = results[contender.title]
        if "failed" not in told:
            told["fits"] = [told["seconds"]] if told["seconds"] > _LONG else []
    for _ in range(rounds):
        for contender in running:
            told = results[contender.title]
            once = told.get("seconds", 0.0) > (_ONCE if contender.judged else _ONCE_BESIDE)
            if "failed" in told or len(told["fits"]) >= (1 if once else rounds):
                continue
            told["fits"].append(_ask(workers, contender, alone=False)["seconds"])
    for told in results.values():
        if "failed" not in told:
            told["seconds"] = statistics.median(told["fits"])
    return results


def _limit(contender: Contender) -> float:
    if contender.title in (LMNN, NCA):
        return _LIMIT_OF_MEASURES
    return _LIMIT if contender.judged else _LIMIT_BESIDE


def _ask(workers: Mapping[str, Worker], contender: Contender, **how: Any) -> dict[str, Any]:
    return workers[contender.library].ask(
        do="fit",
        library=contender.library,
        learner=contender.learner,
        parameters=dict(contender.parameters),
        **how,
    )
