"""Protocols run on standardised features, and votes of nearest cases by loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.metrics.steps import parse_steps
from semblance.core.parameters import Value

STEPS = parse_steps("standardise")


def run_protocol(
    name: str,
    data: EvaluationData,
    *learners: str | LearnerSpec,
    repeats: int = 1,
    seed: int = 0,
    **settings: Value,
) -> EvaluationResult:
    """``learners`` measured by the protocol ``name``, features standardised."""
    specs = [one if isinstance(one, LearnerSpec) else LearnerSpec(one) for one in learners]
    return get_protocol(name, **settings).run(data, specs, steps=STEPS, repeats=repeats, seed=seed)


def standardised(data: EvaluationData, train: np.ndarray) -> np.ndarray:
    """(n, d) features by mean and standard deviation of the rows ``train``."""
    return (data.X - data.X[train].mean(axis=0)) / data.X[train].std(axis=0)


def squared(Z: np.ndarray, a: int, b: int) -> float:
    """Squared Euclidean distance of two rows."""
    return float(((Z[a] - Z[b]) ** 2).sum())


def nearest(Z: np.ndarray, query: int, gallery: Sequence[int], k: int) -> list[int]:
    """The ``k`` rows of ``gallery`` nearest to ``query``, from near to far."""
    return sorted(gallery, key=lambda row: squared(Z, query, row))[:k]


def vote_credit(Z: np.ndarray, y: np.ndarray, query: int, gallery: Sequence[int], k: int) -> float:
    """1 where the majority of the k nearest is right; of findings with equally many, a share of it."""
    near = nearest(Z, query, gallery, k)
    counts = {f: sum(y[row] == f for row in near) for f in set(y)}
    winners = [f for f in counts if counts[f] == max(counts.values())]
    return (y[query] in winners) / len(winners)
