"""BDM+V a round against the paper's formulas in plain dense NumPy; PCA; many cases. One BLAS thread.

Each figure is the best of several runs in turn: others on the machine can only slow a run down.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from semblance.core.constraints import from_findings, visual_neighbour_pairs
from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators.bdm import BDMV
from semblance.core.metrics.steps.pca import PCA
from tests.benchmarks.bdm_at_scale import against_dense, costs, overlapping
from tests.benchmarks.harness import row

Matrix = npt.NDArray[np.float64]

ROUNDS = 40
REPEATS = 7
#: Cases, features, findings and the target in ms a round: the paper's masses and radiographs.
SIZES = ((600, 38, 2, 5.0), (440, 200, 11, 8.0), (2000, 38, 2, None))


def plain_rounds(X: Matrix, y: Any, rounds: int) -> float:
    """BDM+V with the formulas as they stand on n x n arrays; the objective before the last bit."""
    similarity = from_findings(y).with_similar(visual_neighbour_pairs(X, 5)).dense()
    d = np.zeros(similarity.shape)
    objective = 0.0
    for _ in range(rounds):
        plus = np.where(similarity == 1, np.exp(d), 0.0)
        minus = np.where(similarity == -1, np.exp(-d), 0.0)
        g_plus, g_minus = plus.sum(axis=1), minus.sum(axis=1)
        objective = float(g_plus @ g_minus)
        s_plus = 0.5 * plus * (g_minus[:, None] + g_minus)
        s_minus = 0.5 * minus * (g_plus[:, None] + g_plus)
        r_plus, r_minus = s_plus.sum(axis=1), s_minus.sum(axis=1)
        laplacian = np.diag(r_minus - r_plus) - (s_minus - s_plus)
        f = X @ np.linalg.eigh(X.T @ laplacian @ X)[1][:, -1]
        order = np.argsort(f)
        both = np.ix_(order, order)
        cut_plus = np.cumsum(r_plus[order] - 2 * np.tril(s_plus[both], -1).sum(axis=1))[:-1]
        cut_minus = np.cumsum(r_minus[order] - 2 * np.tril(s_minus[both], -1).sum(axis=1))[:-1]
        place = int((np.sqrt(np.maximum(cut_minus, 0)) - np.sqrt(np.maximum(cut_plus, 0))).argmax())
        bits = np.where(f > 0.5 * (f[order[place]] + f[order[place + 1]]), 1.0, -1.0)
        e = 1e-3 * (cut_plus[place] + cut_minus[place])
        alpha = np.log((cut_minus[place] + e) / (cut_plus[place] + e)) / 16
        d += alpha * (bits[:, None] - bits) ** 2
    return objective


def seconds(function: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def a_size(n: int, d: int, findings: int, target: float | None) -> list[dict[str, Any]]:
    X, y = overlapping(n, d, findings)
    learner = make_learner("bdm_v", rounds=ROUNDS)
    assert isinstance(learner, BDMV)
    learner.fit(X, y)
    rounds = len(learner.objectives_) - 1
    ours, plain = [], []
    for _ in range(REPEATS):
        ours.append(seconds(learner.fit, X, y) / rounds)
        plain.append(seconds(plain_rounds, X, y, 6) / 6)
    difference = abs(plain_rounds(X, y, 7) / learner.objectives_[6] - 1)
    value, size = 1e3 * min(ours), f"{n:,} x {d}"
    return [
        row(f"BDM+V a round, {size}, whole fit", value, "ms", most=target),
        row(f"plain dense NumPy, {size}", 1e3 * min(plain), "ms"),
        row(f"times as fast, {size}", min(plain) / min(ours), "x"),
        row(f"objective, off by, {size}", difference * 1e12, "1e-12", 1, difference <= 1e-12),
    ]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        rows = [line for size in SIZES for line in a_size(*size)]
        X = rng.normal(size=(600, 300)) @ rng.normal(size=(300, 2560)) + rng.normal(size=(600, 2560))
        PCA(200).fit(X)
        fits = [seconds(PCA(200).fit, X) for _ in range(REPEATS)]
        rows.append(row("pca:200 fitted on 600 x 2,560", 1e3 * min(fits), "ms"))
        return [*rows, *against_dense(), *costs()]
