"""The rounds of BDM: projection, threshold and weight of one bit after another (Yang et al. 2010, Fig. 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Similarity
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.boosting.bdm_cells import CellPairs
from semblance.core.metrics.boosting.bdm_pairs import DensePairs
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.numerics.top_eigenpair import top_eigenpair
from semblance.core.metrics.training import TrainingPoint
from semblance.core.tasks import Reporter

Bits = npt.NDArray[np.bool_]

#: Share of both sums that is added to each before taking their ratio, because separable data drives one of them to 0.
SMOOTHING = 1e-3
#: The paper stops at this relative change of the objective.
SMALLEST_CHANGE = 1e-5
#: The rounds end below this share of the initial objective.
SMALLEST_OBJECTIVE = 1e-9
#: From this many cases on nothing is stored for every pair.
DENSE_BELOW = 5_000
#: Cells beyond which the members of one count as its first case: a table of so many has 128 MB.
MOST_CELLS = 4_000
#: Cases below which a round pair by pair takes less time than the bookkeeping of cells.
_FEW_CASES = 400
#: Projections closer than this share of the largest are equal, because equal rows may differ in rounding.
_DISTINCT = 1e-10
_FURTHER_EIGENVECTORS = 20


class Bit(NamedTuple):
    """f(x) = +1 if ``direction`` . x > ``threshold``, else -1; ``weight`` is its alpha."""

    direction: Matrix
    threshold: float
    weight: float


@dataclass(frozen=True)
class Boosted:
    """The bits, F before the first and after each of them, and why the rounds ended.

    ``merged``: from which round on cells were no longer split, "" if that was not necessary.
    """

    bits: tuple[Bit, ...]
    objectives: list[float]
    stopped: str
    merged: str = ""


@dataclass(frozen=True)
class _Split:
    direction: Matrix
    threshold: float
    bits: Bits
    #: f'L(S+)f and f'L(S-)f.
    similar: float
    dissimilar: float


def run_rounds(
    similarity: Similarity,
    X: Matrix,
    *,
    rounds: int,
    exact: bool,
    title: str,
    reporter: Reporter,
    distance: Callable[[Sequence[Bit]], Distance],
) -> Boosted:
    """At most ``rounds`` bits on the columns of ``X`` (n, d), whose distance ``distance`` makes.

    If a bit would make more than :data:`MOST_CELLS` cells, the first case of every cell represents all its cases in
    the following rounds, which bounds time and memory; until then the result is exact.

    ``exact`` weighs a bit by the minimum of F instead of that of the paper's bound. ``reporter`` receives a
    :class:`TrainingPoint` after every round.

    Raises:
        BadInput: no bit lowers the objective.
    """
    reporter.progress(0, rounds, title)
    weights: CellPairs | DensePairs = cheaper_form(CellPairs(similarity, X, reporter.check_cancelled))
    bits: list[Bit] = []
    objectives = [weights.objective]
    merged = ""

    def ended(reason: str) -> Boosted:
        return Boosted(tuple(bits), objectives, reason, merged)

    while len(bits) < rounds:
        reporter.check_cancelled()
        if bits and reporter.stop_requested:
            return ended(tr_lazy("Stopped on request after {n} rounds.", n=len(bits)))
        cut = best_split(weights, X)
        if cut is None:
            break
        if isinstance(weights, CellPairs) and not merged and weights.cells_with(cut.bits) > MOST_CELLS:
            X = weights.merge_members()
            merged = tr_lazy(
                "From round {number} on the {n:,} training cases counted as {cells:,} groups of equal bits and "
                "finding.",
                number=len(bits) + 1,
                n=len(X),
                cells=weights.cells,
            )
            continue
        weight = _weight(weights, cut, exact)
        weights.add_bit(cut.bits, weight)
        if not weights.objective < objectives[-1]:
            break
        weights = cheaper_form(weights)
        bits.append(Bit(cut.direction, cut.threshold, weight))
        objectives.append(weights.objective)
        reporter.progress(len(bits), rounds, title)
        reporter.partial(_point(bits, weights.objective, distance))
        if weights.objective < SMALLEST_OBJECTIVE * objectives[0]:
            return ended(tr_lazy("Stopped after {n} rounds: the objective is down to nothing.", n=len(bits)))
        if objectives[-2] - objectives[-1] < SMALLEST_CHANGE * objectives[-2]:
            return ended(
                tr_lazy("Stopped after {n} rounds: the objective hardly fell any more.", n=len(bits))
            )
    if not bits:
        raise BadInput(
            "No threshold on these features keeps similar cases closer than dissimilar ones.",
            "Try other features, or check the findings.",
        )
    if len(bits) < rounds:
        return ended(tr_lazy("Stopped after {n} rounds: no further bit helps.", n=len(bits)))
    return ended(tr_lazy("All {n} rounds.", n=len(bits)))


def cheaper_form(weights: CellPairs | DensePairs) -> CellPairs | DensePairs:
    """``weights``, or the same weights pair by pair if cells save no time and pairs are few."""
    if isinstance(weights, DensePairs):
        return weights
    n = len(weights.similar)
    # With half as many cells as cases, cells cost as much as all pairs; a changed pair costs ten times as much as
    # another.
    cheaper = n >= _FEW_CASES and 2 * weights.cells <= n and 20 * weights.changed <= n * n
    return weights if cheaper or n >= DENSE_BELOW else weights.dense()


def smoothed_log_ratio(gain: float, loss: float) -> float:
    """ln((gain + e) / (loss + e)), e a small share of their sum."""
    e = SMOOTHING * (gain + loss)
    return math.log((gain + e) / (loss + e))


def best_split(weights: CellPairs | DensePairs, X: Matrix) -> _Split | None:
    """The cut of the top eigenvector's projection (Eq. 18) with the least bound (Eqs. 14, 17).

    Where none of its cuts improves the bound, the next eigenvectors are tried; ``None`` if none of theirs
    does either.
    """
    for direction in _eigenvectors(weights.curvature):
        projection = X @ direction
        splits = weights.splits(projection)
        ordered = projection[splits.order]
        distinct = np.diff(ordered) > _DISTINCT * np.abs(projection).max()
        gain = np.where(distinct, np.sqrt(splits.dissimilar) - np.sqrt(splits.similar), 0.0)
        place = int(gain.argmax()) if len(gain) else 0
        if len(gain) and gain[place] > 0.0:
            threshold = 0.5 * float(ordered[place] + ordered[place + 1])
            similar, dissimilar = 4.0 * float(splits.similar[place]), 4.0 * float(splits.dissimilar[place])
            return _Split(direction, threshold, projection > threshold, similar, dissimilar)
    return None


def _weight(weights: CellPairs | DensePairs, cut: _Split, exact: bool) -> float:
    """alpha of the new bit: the minimum of the paper's bound (Eq. 11), or of F itself."""
    if not exact:
        return smoothed_log_ratio(cut.dissimilar, cut.similar) / 16.0
    a, b = weights.across(cut.bits)
    gain = float(b @ (weights.similar - a))
    loss = float(a @ (weights.dissimilar - b))
    return smoothed_log_ratio(gain, loss) / 8.0


def _eigenvectors(curvature: Matrix) -> Iterator[Matrix]:
    """From the largest eigenvalue down; the sign is such that the largest entry is positive."""
    from scipy.linalg import eigh

    yield top_eigenpair(curvature)[1]
    last = len(curvature) - 1
    first = max(0, last - _FURTHER_EIGENVECTORS)
    if last > 0:
        vectors: Matrix = eigh(curvature, subset_by_index=[first, last - 1], check_finite=False)[1]
        for vector in vectors.T[::-1]:
            yield vector * (1.0 if vector[np.abs(vector).argmax()] > 0 else -1.0)


def _point(bits: list[Bit], objective: float, distance: Callable[[Sequence[Bit]], Distance]) -> TrainingPoint:
    count = len(bits)
    return TrainingPoint(count, objective, lambda: distance(bits[:count]))
