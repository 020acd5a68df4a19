"""BDM and BDM+V: boosted bits, and a weighted Hamming distance on them.

Yang, Jin, Mummert, Sukthankar, Goode, Zheng, Hoi, Satyanarayanan: A Boosting Framework for Visuality-
Preserving Distance Metric Learning and Its Application to Medical Image Retrieval. IEEE Transactions on
Pattern Analysis and Machine Intelligence 32(1), 2010. Equation numbers are theirs.

The paper adds the nearest neighbours of a case to the pairs that the findings make similar, which has a limited
effect. Here visual similarity decides a share of the pairs, from none (BDM) to all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

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
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.bits import BitDistance
from semblance.core.metrics.estimators.bdm_cells import CellPairs
from semblance.core.metrics.estimators.bdm_pairs import DensePairs
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.numerics.eigenpairs import top_eigenpair
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.rows import TrainingInput, codes_of_findings
from semblance.core.tasks import SILENT, Reporter

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

#: 8 GiB for the rows and, in the worst case, five sums over cells of the same size.
MAX_VALUES = (8 << 30) // 8 // 6

_TIES = tr_lazy("Cases with equal bits are at distance 0; equal distances are ordered by the Euclidean one.")

#: Similar pairs a case takes part in by its own choice, and as many dissimilar ones.
EACH = 20


class WeightedBit(NamedTuple):
    """f(x) = +1 if ``direction`` . x > ``threshold``, else -1; ``weight`` is its alpha."""

    direction: Matrix
    threshold: float
    weight: float


@dataclass(frozen=True)
class BoostedBits:
    """The bits, F before the first and after each of them, and why the rounds ended.

    ``merged``: from which round on cells were no longer split, "" if that was not necessary.
    """

    bits: tuple[WeightedBit, ...]
    objectives: list[float]
    stopped: str
    merged: str = ""


@dataclass(frozen=True)
class _DirectionSplit:
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
    distance: Callable[[Sequence[WeightedBit]], Distance],
) -> BoostedBits:
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
    bits: list[WeightedBit] = []
    objectives = [weights.objective]
    merged = ""

    def ended(reason: str) -> BoostedBits:
        return BoostedBits(tuple(bits), objectives, reason, merged)

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
        bits.append(WeightedBit(cut.direction, cut.threshold, weight))
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


def best_split(weights: CellPairs | DensePairs, X: Matrix) -> _DirectionSplit | None:
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
            return _DirectionSplit(direction, threshold, projection > threshold, similar, dissimilar)
    return None


def _weight(weights: CellPairs | DensePairs, cut: _DirectionSplit, exact: bool) -> float:
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


def _point(
    bits: list[WeightedBit], objective: float, distance: Callable[[Sequence[WeightedBit]], Distance]
) -> TrainingPoint:
    count = len(bits)
    return TrainingPoint(count, objective, lambda: distance(bits[:count]))


class BitSpace(Protocol):
    """Where the bits are learnt: ``columns`` (n, r) of the training rows, and what a bit on them means."""

    columns: Matrix

    def distance(self, bits: Sequence[WeightedBit]) -> Distance:
        """The distance between training rows that these bits make."""


class _RowSpan:
    """The rows themselves; beyond n columns all projections of the rows are reached from their span."""

    def __init__(self, X: Matrix) -> None:
        self._basis: Matrix | None = None
        self.columns = X
        if X.shape[1] > len(X):
            self._basis, columns = np.linalg.qr(X.T)
            self.columns = np.ascontiguousarray(columns.T)

    def distance(self, bits: Sequence[WeightedBit]) -> BitDistance:
        directions, thresholds, weights = stack_bits(bits)
        return BitDistance(
            directions if self._basis is None else self._basis @ directions, thresholds, weights
        )


def stack_bits(bits: Sequence[WeightedBit]) -> tuple[Matrix, Matrix, Matrix]:
    """Directions (r, T) as columns, thresholds (T,), weights (T,)."""
    return (
        np.stack([bit.direction for bit in bits], axis=1),
        np.array([bit.threshold for bit in bits]),
        np.array([bit.weight for bit in bits]),
    )


class BDM(declarations.BDM, Learner):
    """Each round adds the bit that best keeps similar cases together and parts dissimilar ones.

    Pairs overrule visual neighbours, and those overrule findings. The reporter receives a
    :class:`TrainingPoint` after every round. Fitted: ``distance_``, ``objectives_`` (F before the first and
    after every round), ``stopped_`` (why it ended).

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("bdm", rounds=20, random_state=0).fit(X, y)
        >>> bits = learner.transform(X)
        >>> bits.shape[1] <= 20
        True
        >>> learner.objectives_[0] > learner.objectives_[-1]
        True
    """

    #: Pairs change the similarity that findings give; all pairs are compared.
    _learns_from_tuples: ClassVar[bool] = False

    def _fit(self, data: TrainingInput) -> None:
        rows, reporter = data.X, data.reporter
        self._check_memory(*rows.shape)
        similarity, counts = self._constraints(data)
        space = self._space(rows)
        boosted = run_rounds(
            similarity,
            space.columns,
            rounds=self.rounds,
            exact=self.step == "exact",
            title=self.title,
            reporter=reporter,
            distance=space.distance,
        )
        merged = (boosted.merged,) if boosted.merged else ()
        notes = (boosted.stopped, *merged, *self._notes(space), _TIES)
        self.distance_ = space.distance(boosted.bits)
        self.objectives_: list[float] = boosted.objectives
        self.stopped_: str = boosted.stopped
        self._card: MetricCard = begin_card(
            self, data, constraints=counts, notes=notes, rounds=len(boosted.bits)
        )

    def _visual_neighbours(self) -> int:
        return 0

    def _check_memory(self, n: int, d: int) -> None:
        if n * d > MAX_VALUES:
            raise BadInput(
                tr_lazy(
                    "{n:,} cases of {d:,} features would take {value:.0f} GiB of memory.",
                    n=n,
                    d=d,
                    value=6 * 8 * n * d / 2**30,
                ),
                tr_lazy(
                    "Train on at most {max_values:,} cases, or put the step pca in front.",
                    max_values=MAX_VALUES // d,
                ),
            )

    def _space(self, rows: Matrix) -> BitSpace:
        return _RowSpan(rows)

    def _notes(self, space: BitSpace) -> tuple[str, ...]:
        return ()

    def _constraints(self, data: TrainingInput) -> tuple[Similarity, dict[str, int]]:
        n, y, pairs = len(data.X), data.y, data.pairs
        if y is None and pairs is None:
            raise BadInput(
                tr_lazy("{title} learns from findings or pairs.", title=self.title),
                "Give it at least one of them.",
            )
        similarity, names = no_findings(n), None
        if y is not None:
            codes, names = codes_of_findings(n, y)
            similarity = Similarity(codes, similarity.changed)
        visual = {}
        if self._visual_neighbours():
            before = count_pairs(similarity)["similar"]
            similarity = similarity.with_similar(
                visual_neighbour_pairs(data.X, self._visual_neighbours(), data.reporter)
            )
            visual = {"visual": count_pairs(similarity)["similar"] - before}
        if pairs is not None:
            similarity = similarity.with_pairs(pairs)
        check_usable(similarity, names if pairs is None else None)
        return similarity, count_pairs(similarity) | visual


class BDMV(declarations.BDMV, BDM):
    """BDM with the nearest Euclidean neighbours as similar pairs too, so that the cases found look like the query.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("bdm_v", visual_neighbours=3, rounds=20, random_state=0).fit(X, y)
        >>> learner.metric().card.constraints["visual"] > 0
        True
    """

    def _visual_neighbours(self) -> int:
        return self.visual_neighbours


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
