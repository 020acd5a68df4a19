"""Pairs of training cases of which looks decide a share, and findings the rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import visual_pairs
from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import SILENT, Reporter

#: Similar pairs a case takes part in by its own choice, and as many dissimilar ones.
EACH = 20


def pairs_between(
    X: Matrix,
    codes: npt.NDArray[np.int64],
    share: float,
    seed: int,
    reporter: Reporter = SILENT,
    each: int = EACH,
) -> npt.NDArray[np.int64]:
    """(p, 3) rows i < j and +1 similar or -1 dissimilar; ``X`` (n, d) after the steps.

    Every case names ``each`` similar and ``each`` dissimilar cases, a quarter of the others at most.
    ``share`` of both by looks: its nearest Euclidean neighbours, and cases drawn from all. The rest by
    findings (``codes`` (n,), -1 for none): cases drawn from its own finding, and from the others. Where two
    say different, a neighbour is similar, and otherwise findings count.
    """
    n = len(X)
    each = max(1, min(each, (n - 1) // 4))
    by_looks = round(share * each)
    rng = np.random.default_rng(seed)
    neighbours = visual_pairs(X, by_looks, reporter)
    told = [np.insert(neighbours, 2, 1, axis=1)]
    known = np.flatnonzero(codes >= 0)
    for code in np.unique(codes[known]).tolist():
        own, others = known[codes[known] == code], known[codes[known] != code]
        for among, sign in ((own, 1), (others, -1)):
            told.append(_drawn(own, among, each - by_looks, sign, rng))
    told.append(_drawn(np.arange(n), np.arange(n), by_looks, -1, rng))
    every = np.concatenate(told)
    # Of several lines on one pair the first stands, so the order above decides.
    _, first = np.unique(every[:, 0] * n + every[:, 1], return_index=True)
    return every[first]


def _drawn(
    rows: npt.NDArray[np.intp], among: npt.NDArray[np.intp], each: int, sign: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """(p, 3) lines of every one of ``rows`` with at most ``each`` drawn ``among`` others."""
    if not each or not len(among):
        return np.empty((0, 3), dtype=np.int64)
    i = np.repeat(rows, each)
    j = among[rng.integers(len(among), size=len(i))]
    apart = i != j
    low, high = np.minimum(i, j)[apart], np.maximum(i, j)[apart]
    return np.stack([low, high, np.full(len(low), sign)], axis=1).astype(np.int64)
