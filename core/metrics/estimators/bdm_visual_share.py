"""BDM+V with a chosen balance between visual and diagnostic similarity (Yang et al. 2010, 3.5).

The paper adds the nearest neighbours of a case to the pairs that the findings make similar, which has a limited
effect. Here visual similarity decides a share of the pairs, from none (BDM) to all of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import (
    Similarity,
    check_usable,
    count_pairs,
    no_findings,
    visual_neighbour_pairs,
)
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.estimators.bdm import BDM
from semblance.core.metrics.training_data.labelled_rows import codes_of_findings
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.tasks import SILENT, Reporter

#: Similar pairs a case takes part in by its own choice, and as many dissimilar ones.
EACH = 20


def pairs_by_share(
    X: Matrix,
    codes: npt.NDArray[np.int64],
    share: float,
    seed: int,
    reporter: Reporter = SILENT,
    each: int = EACH,
) -> npt.NDArray[np.int64]:
    """(p, 3) rows i < j and +1 similar or -1 dissimilar; ``X`` (n, d) after the steps.

    Every case names ``each`` similar and ``each`` dissimilar cases, a quarter of the others at most.
    Visual similarity decides ``share`` of both: the similar cases are its nearest Euclidean neighbours, the dissimilar
    ones are drawn from all cases. Findings (``codes`` (n,), -1 for none) decide the rest: cases drawn from its own
    finding, and from the others. Where the two disagree on a pair, neighbours are similar; otherwise findings count.
    """
    n = len(X)
    each = max(1, min(each, (n - 1) // 4))
    n_visual = round(share * each)
    rng = np.random.default_rng(seed)
    neighbours = visual_neighbour_pairs(X, n_visual, reporter)
    tables = [np.insert(neighbours, 2, 1, axis=1)]
    known = np.flatnonzero(codes >= 0)
    for code in np.unique(codes[known]).tolist():
        own, others = known[codes[known] == code], known[codes[known] != code]
        for among, sign in ((own, 1), (others, -1)):
            tables.append(_drawn(own, among, each - n_visual, sign, rng))
    tables.append(_drawn(np.arange(n), np.arange(n), n_visual, -1, rng))
    every = np.concatenate(tables)
    # Of several entries on one pair the first counts, so the order above decides.
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


class BDMVisualShare(declarations.BDMVisualShare, BDM):
    """BDM on pairs of which looks decide ``visual_share``; at 0 it is BDM itself."""

    def _constraints(self, data: TrainingInput) -> tuple[Similarity, dict[str, int]]:
        if not self.visual_share:
            return super()._constraints(data)
        X, pairs = data.X, data.pairs
        if data.y is None:
            raise BadInput(
                tr_lazy("{title} learns from findings.", title=self.title), "Give the cases findings."
            )
        codes, names = codes_of_findings(len(X), data.y)
        shared = pairs_by_share(X, codes, self.visual_share, data.seed, data.reporter)
        similarity = no_findings(len(X)).with_pairs(shared)
        if pairs is not None:
            similarity = similarity.with_pairs(pairs)
        check_usable(similarity, names if self.visual_share < 1.0 else None)
        return similarity, count_pairs(similarity)
