"""BDM and BDM+V: boosted bits, and a weighted Hamming distance on them.

Yang, Jin, Mummert, Sukthankar, Goode, Zheng, Hoi, Satyanarayanan: A Boosting Framework for Visuality-
Preserving Distance Metric Learning and Its Application to Medical Image Retrieval. IEEE Transactions on
Pattern Analysis and Machine Intelligence 32(1), 2010. Equation numbers are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from core.constraints import (
    Similarity,
    check_usable,
    count_pairs,
    finding_codes,
    from_findings,
    no_findings,
    set_pairs,
    set_visual,
    visual_pairs,
)
from core.errors import BadInput
from core.metrics.boosting.dense_bits import Bits, DensePairs
from core.metrics.card import MetricCard
from core.metrics.distance import Matrix
from core.metrics.distances.bits import BitDistance
from core.metrics.inputs.rows import as_rows
from core.metrics.learner import Learner
from core.metrics.metric import Metric
from core.metrics.training import TrainingPoint, begin_card
from core.parameters import Parameter
from core.tasks import SILENT, Reporter

#: Share of both sums added to each before their ratio is taken: separable data drives one of them to 0.
SMOOTHING = 1e-3
#: The paper stops at this relative change of the objective.
SMALLEST_CHANGE = 1e-5
#: Share of the objective at the start below which nothing is left to gain.
SMALLEST_OBJECTIVE = 1e-9
#: Projections closer than this share of the largest are the same: equal rows may differ in rounding.
_DISTINCT = 1e-10
_FURTHER_EIGENVECTORS = 20
#: 2 GiB for the weights of all pairs.
MAX_CASES = 16_000

_TIES = "Cases with equal bits are at distance 0; equal distances are ordered by the Euclidean one."


class _Bit(NamedTuple):
    direction: Matrix
    threshold: float
    weight: float


@dataclass(frozen=True)
class _Cut:
    direction: Matrix
    threshold: float
    bits: Bits
    #: f'L(S+)f and f'L(S-)f.
    similar: float
    dissimilar: float


class BDM(Learner):
    """Each round adds the bit that best keeps similar cases together and parts dissimilar ones."""

    name: ClassVar[str] = "bdm"
    title: ClassVar[str] = "BDM"
    paper: ClassVar[str] = (
        "Yang et al. 2010, A Boosting Framework for Visuality-Preserving Distance Metric Learning"
    )
    summary: ClassVar[str] = "Ranks by meaning: boosted bits, robust and fast, for up to some thousand cases."
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("rounds", 200, "How many bits are learnt at most.", minimum=1, maximum=2000, paper=312),
        Parameter(
            "step",
            "paper",
            "How far each bit counts: the paper's bound, or the exact minimum (fewer rounds).",
            choices=("paper", "exact"),
            paper="paper",
        ),
    )
    accepts: ClassVar[frozenset[str]] = frozenset({"findings", "pairs"})

    def __init__(self, rounds: int = 200, step: str = "paper", random_state: int | None = None) -> None:
        self.rounds = rounds
        self.step = step
        self.random_state = random_state

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        pairs: npt.NDArray[np.int64] | None = None,
        triplets: npt.NDArray[np.int64] | None = None,
        groups: npt.ArrayLike | None = None,
        reporter: Reporter | None = None,
    ) -> Self:
        """See :meth:`Learner.fit`; ``pairs`` overrule visual neighbours, and those overrule findings.

        ``reporter`` receives a :class:`TrainingPoint` after every round. Fitted: ``distance_``,
        ``objectives_`` (F before the first and after every round), ``stopped_`` (why it ended).
        """
        from threadpoolctl import threadpool_limits

        self._check_parameters()
        rows = as_rows(X)
        similarity, counts = self._constraints(rows, y, pairs)
        reporter = reporter or SILENT
        # More threads slow small eigenproblems a hundredfold on a busy machine.
        with threadpool_limits(limits=1, user_api="blas"):
            bits, objectives, stopped = self._boost(rows, similarity, reporter)
        self.distance_ = _distance(bits)
        self.objectives_: list[float] = objectives
        self.stopped_: str = stopped
        self.n_features_: int = rows.shape[1]
        self._card: MetricCard = begin_card(
            self, len(rows), y=y, groups=groups, constraints=counts, notes=(stopped, _TIES), rounds=len(bits)
        )
        return self

    def metric(self) -> Metric:
        return Metric((), self.distance_, self._card)

    def _visual_neighbours(self) -> int:
        return 0

    def _constraints(
        self, X: Matrix, y: npt.ArrayLike | None, pairs: npt.NDArray[np.int64] | None
    ) -> tuple[Similarity, dict[str, int]]:
        n = len(X)
        if n > MAX_CASES:
            raise BadInput(
                f"{n} training cases are too many for {self.title}.",
                f"Train on a part of them, at most {MAX_CASES}.",
            )
        if y is None and pairs is None:
            raise BadInput(f"{self.title} learns from findings or pairs.", "Give it at least one of them.")
        names = None
        if y is None:
            similarity = no_findings(n)
        else:
            codes, names = finding_codes(y)
            if len(codes) != n:
                raise BadInput(f"There are {n} cases but {len(codes)} findings.", "Give one finding a case.")
            similarity = from_findings(y)
        visual = 0
        if self._visual_neighbours():
            visual = set_visual(similarity, visual_pairs(X, self._visual_neighbours()))
        if pairs is not None:
            set_pairs(similarity, pairs)
        check_usable(similarity, names if pairs is None else None)
        counts = count_pairs(similarity)
        return similarity, counts | {"visual": visual} if self._visual_neighbours() else counts

    def _boost(
        self, X: Matrix, similarity: Similarity, reporter: Reporter
    ) -> tuple[list[_Bit], list[float], str]:
        """The bits, the objective from before the first to after the last, and why it stopped."""
        # Beyond n columns all projections of the rows are reached from the span of the rows.
        basis, columns = (None, X) if X.shape[1] <= len(X) else np.linalg.qr(X.T)
        columns = X if basis is None else np.ascontiguousarray(columns.T)
        reporter.progress(0, self.rounds, self.title)
        weights = DensePairs(similarity, columns)
        bits: list[_Bit] = []
        objectives = [weights.objective]
        while len(bits) < self.rounds:
            reporter.check_cancelled()
            if bits and reporter.stop_requested:
                return bits, objectives, f"Stopped on request after {len(bits)} rounds."
            cut = best_cut(weights, columns)
            if cut is None:
                break
            weight = self._weight(weights, cut)
            weights.add_bit(cut.bits, weight)
            if not weights.objective < objectives[-1]:
                break
            direction = cut.direction if basis is None else basis @ cut.direction
            bits.append(_Bit(direction, cut.threshold, weight))
            objectives.append(weights.objective)
            reporter.progress(len(bits), self.rounds, self.title)
            reporter.partial(_point(bits, weights.objective))
            if weights.objective < SMALLEST_OBJECTIVE * objectives[0]:
                return (
                    bits,
                    objectives,
                    f"Stopped after {len(bits)} rounds: the objective is down to nothing.",
                )
            if objectives[-2] - objectives[-1] < SMALLEST_CHANGE * objectives[-2]:
                return (
                    bits,
                    objectives,
                    f"Stopped after {len(bits)} rounds: the objective hardly fell any more.",
                )
        if not bits:
            raise BadInput(
                "No threshold on these features keeps similar cases closer than dissimilar ones.",
                "Try other features, or check the findings.",
            )
        if len(bits) < self.rounds:
            return bits, objectives, f"Stopped after {len(bits)} rounds: no further bit helps."
        return bits, objectives, f"All {len(bits)} rounds."

    def _weight(self, weights: DensePairs, cut: _Cut) -> float:
        """alpha of the new bit: the minimum of the paper's bound (Eq. 11), or of F itself."""
        if self.step == "paper":
            return smoothed_log_ratio(cut.dissimilar, cut.similar) / 16.0
        a, b = weights.across(cut.bits)
        gain = float(b @ (weights.similar - a))
        loss = float(a @ (weights.dissimilar - b))
        return smoothed_log_ratio(gain, loss) / 8.0


class BDMV(BDM):
    """BDM that also calls the nearest Euclidean neighbours similar, so that what it finds looks alike."""

    name: ClassVar[str] = "bdm_v"
    title: ClassVar[str] = "BDM+V"
    summary: ClassVar[str] = "Ranks by meaning and keeps visual likeness; the first to try on pictures."
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "visual_neighbours",
            5,
            "How many nearest neighbours of each case count as similar whatever their finding.",
            minimum=0,
            maximum=100,
            paper=5,
        ),
        *BDM.parameters,
    )

    def __init__(
        self,
        visual_neighbours: int = 5,
        rounds: int = 200,
        step: str = "paper",
        random_state: int | None = None,
    ) -> None:
        super().__init__(rounds, step, random_state)
        self.visual_neighbours = visual_neighbours

    def _visual_neighbours(self) -> int:
        return self.visual_neighbours


def smoothed_log_ratio(gain: float, loss: float) -> float:
    """ln((gain + e) / (loss + e)), e a small share of their sum."""
    e = SMOOTHING * (gain + loss)
    return math.log((gain + e) / (loss + e))


def best_cut(weights: DensePairs, X: Matrix) -> _Cut | None:
    """The cut of the top eigenvector's projection (Eq. 18) with the least bound (Eqs. 14, 17).

    Where none of its cuts improves the bound, the next eigenvectors are tried; ``None`` if none of theirs
    does either.
    """
    for direction in _eigenvectors(weights.curvature):
        projection = X @ direction
        cuts = weights.cuts(projection)
        ordered = projection[cuts.order]
        distinct = np.diff(ordered) > _DISTINCT * np.abs(projection).max()
        gain = np.where(distinct, np.sqrt(cuts.dissimilar) - np.sqrt(cuts.similar), 0.0)
        place = int(gain.argmax()) if len(gain) else 0
        if len(gain) and gain[place] > 0.0:
            threshold = 0.5 * float(ordered[place] + ordered[place + 1])
            similar, dissimilar = 4.0 * float(cuts.similar[place]), 4.0 * float(cuts.dissimilar[place])
            return _Cut(direction, threshold, projection > threshold, similar, dissimilar)
    return None


def _eigenvectors(curvature: Matrix) -> Iterator[Matrix]:
    """From the largest eigenvalue down; the sign is such that the largest entry is positive."""
    from scipy.linalg import eigh

    last = len(curvature) - 1
    top: Matrix = eigh(curvature, subset_by_index=[last, last], check_finite=False)[1]
    yield _oriented(top[:, 0])
    first = max(0, last - _FURTHER_EIGENVECTORS)
    if last > 0:
        vectors: Matrix = eigh(curvature, subset_by_index=[first, last - 1], check_finite=False)[1]
        for vector in vectors.T[::-1]:
            yield _oriented(vector)


def _oriented(vector: Matrix) -> Matrix:
    oriented: Matrix = vector * (1.0 if vector[np.abs(vector).argmax()] > 0 else -1.0)
    return oriented


def _distance(bits: list[_Bit]) -> BitDistance:
    directions = np.stack([bit.direction for bit in bits], axis=1)
    return BitDistance(
        directions, np.array([bit.threshold for bit in bits]), np.array([bit.weight for bit in bits])
    )


def _point(bits: list[_Bit], objective: float) -> TrainingPoint:
    count = len(bits)
    return TrainingPoint(count, objective, lambda: _distance(bits[:count]))
