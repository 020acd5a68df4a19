"""Every learner of tables against the Euclidean distance on ten tables, each after its own model selection.

None is to be worse by more than the 95 % interval on more than one table. ``SEMBLANCE_LEARNERS=lda,rca`` measures these
alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from semblance.core.errors import BadInput
from semblance.core.evaluation.neighbours import metric_distances
from semblance.core.evaluation.scores import mean_over_queries, votes
from semblance.core.library.importers.table import read_table
from semblance.core.metrics import learners, make_learner
from semblance.core.metrics.training_data.training_sample import stratified_sample
from tests.benchmarks.harness import require_data, row

TABLES = (
    "wine",
    "iris",
    "ionosphere",
    "sonar",
    "balance_scale",
    "glass",
    "breast_cancer_original",
    "satellite",
    "letter",
    "optdigits",
)
K, SPLITS, HELD_OUT = 3, 10, 0.3
#: Cases drawn of a larger table in each split, and splits of these.
CASES, FEWER_SPLITS = 1400, 5
#: Tables on which a learner may be worse.
ALLOWED = 1


def run(data: Path | None) -> list[dict[str, Any]]:
    """Errors of k-NN (k = 3) and the tables on which each learner is worse than Euclidean."""
    folder = require_data(data)
    chosen = [name for name in os.environ.get("SEMBLANCE_LEARNERS", "").split(",") if name]
    names = [one.name for one in learners() if not one.needs and one.name != "euclidean"]
    names = [name for name in names if not chosen or name in chosen]
    worse: dict[str, list[str]] = {name: [] for name in names}
    out = []
    for table in TABLES:
        splits = list(table_splits(folder, table))
        plain = np.array([_error("euclidean", *split) for split in splits])
        out.append(row(f"euclidean, {table}", float(plain.mean())))
        for name in names:
            errors = np.array([_error(name, *split) for split in splits])
            difference = errors - plain
            # Splits overlap: Nadeau, Bengio, Inference for the generalization error, 2003, Eq. 9.
            spread = float(difference.var(ddof=1)) * (1 / len(splits) + HELD_OUT / (1 - HELD_OUT))
            half = float(student.ppf(0.975, len(splits) - 1)) * math.sqrt(spread)
            mean = float(difference.mean())
            if mean - half > 0.0:
                worse[name].append(table)
            what = f"{name}, {table} (against euclidean {mean:+.3f}, 95 %: +-{half:.3f})"
            out.append(row(what, float(errors.mean())))
    for name in names:
        what = f"{name}, tables on which it is worse: {', '.join(worse[name]) or 'none'}"
        out.append(row(what, float(len(worse[name])), most=float(ALLOWED)))
    return out


def table_splits(
    folder: Path, name: str
) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]]:
    """Training rows and codes, test rows and codes of each split, standardised on the training part."""
    read = read_table(folder / "tables" / f"{name}.csv")
    X, codes = np.asarray(read.X), np.unique(np.array(read.findings), return_inverse=True)[1]
    for seed in range(SPLITS if len(X) <= CASES else FEWER_SPLITS):
        rows = stratified_sample(codes, min(CASES, len(X)), seed)
        test = rows[stratified_sample(codes[rows], round(HELD_OUT * len(rows)), seed + 100)]
        train = np.setdiff1d(rows, test)
        mean, deviation = X[train].mean(axis=0), X[train].std(axis=0)
        Z = (X - mean)[:, deviation > 0] / deviation[deviation > 0]
        yield Z[train], codes[train], Z[test], codes[test]


def _error(
    name: str,
    X: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int64],
    Q: npt.NDArray[np.float64],
    truth: npt.NDArray[np.int64],
) -> float:
    """Error of k-NN; 1 where the learner refuses the rows."""
    try:
        metric = make_learner(name, random_state=0).fit(X, codes.astype(str)).metric()
    except BadInput:
        return 1.0
    vote = votes(metric_distances(metric, Q, X), codes, truth, int(codes.max()) + 1, k=K, max_k=K)
    return 1.0 - float(mean_over_queries(vote.correct)[K - 1])
