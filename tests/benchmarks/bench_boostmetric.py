"""BoostMetric: whole fits, and the error on all of letter with three passes.

Targets of whole fits are a tenth of the seconds of LMNN (metric-learn 0.7.0) and, at 2,000 rows, a twentieth
of those of NCA (scikit-learn), both on the reference machine with one thread.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from semblance.core.library.importers.table import read_table
from semblance.core.metrics import make_learner
from semblance.core.metrics.metric import Metric
from tests.benchmarks.bench_metricboost import Matrix, best, fit, standardised, whole_fits
from tests.benchmarks.harness import require_data, row

#: Seconds of NCA on the reference machine.
NCA = {"satellite": 6.2, "letter": 9.4}
FORMS: list[dict[str, Any]] = [
    {},
    {"loss": "exponential"},
    {"passes": 3},
    {"corrective": "total"},
    {"corrective": "total", "loss": "exponential"},
]
#: Forms measured on letter, and the largest error in %.
ON_LETTER: list[tuple[dict[str, Any], float]] = [
    ({"passes": 3}, 2.6),
    ({"loss": "exponential"}, 3.6),
    ({}, 2.8),
]
NEIGHBOURS, SPLITS = 3, 3


def nearest_error(metric: Metric, X: Matrix, y: Any, queries: Matrix, expected: Any) -> float:
    """The error in % of the vote of the three nearest; the nearest of those that tie decides."""
    codes = np.unique(np.concatenate([y, expected]), return_inverse=True)[1]
    train, held = codes[: len(y)], codes[len(y) :]
    wrong = 0
    for start in range(0, len(queries), 500):
        d = metric.distances(queries[start : start + 500], X)
        near = np.argpartition(d, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        near = np.take_along_axis(near, np.argsort(np.take_along_axis(d, near, axis=1), axis=1), axis=1)
        for votes, code in zip(train[near], held[start : start + 500], strict=True):
            counts = np.bincount(votes)
            wrong += int(next(vote for vote in votes if counts[vote] == counts.max()) != code)
    return 100.0 * wrong / len(queries)


def letter(data: Path) -> list[dict[str, Any]]:
    """70 % to learn from, 15 % that no setting here was chosen on or needs, 15 % to measure the error on."""
    X, y = standardised(data, "letter", None)
    seconds, _ = best(lambda: fit("boostmetric", {"passes": 3}, X, y))
    rows = [row(f"fit, passes=3, all of letter ({len(X):,} x {X.shape[1]})", seconds, "s", most=3.0)]
    read = read_table(data / "tables" / "letter.csv")
    raw, findings = np.asarray(read.X, dtype=np.float64), np.array(read.findings)
    for settings, most in ON_LETTER:
        errors = []
        for seed in range(SPLITS):
            order = np.random.default_rng(seed).permutation(len(raw))
            train, test = np.split(order, [int(0.7 * len(raw)), int(0.85 * len(raw))])[::2]
            Z = (raw - raw[train].mean(axis=0)) / raw[train].std(axis=0)
            metric = make_learner("boostmetric", **settings).fit(Z[train], findings[train]).metric()
            errors.append(nearest_error(metric, Z[train], findings[train], Z[test], findings[test]))
        settings_text = ", ".join(f"{key}={value}" for key, value in settings.items()) or "defaults"
        rows.append(
            row(
                f"3-NN error on letter, {settings_text}, {SPLITS} splits",
                float(np.mean(errors)),
                "%",
                most=most,
            )
        )
    return rows


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    folder = require_data(data)
    with threadpool_limits(limits=1, user_api="blas"):
        rows = whole_fits("boostmetric", FORMS, folder)
        for name, peer in NCA.items():
            X, y = standardised(folder, name)
            seconds, _ = best(lambda X=X, y=y: fit("boostmetric", {}, X, y))
            rows.append(
                row(f"NCA's seconds to those of the fit, {name}", peer / seconds, "times", least=20.0)
            )
        return rows + letter(folder)
