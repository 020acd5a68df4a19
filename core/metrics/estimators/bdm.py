"""BDM and BDM+V: boosted bits, and a weighted Hamming distance on them.

Yang, Jin, Mummert, Sukthankar, Goode, Zheng, Hoi, Satyanarayanan: A Boosting Framework for Visuality-
Preserving Distance Metric Learning and Its Application to Medical Image Retrieval. IEEE Transactions on
Pattern Analysis and Machine Intelligence 32(1), 2010. Equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np

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
from semblance.core.metrics.boosting.bdm_boosting import Bit, run_rounds
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.bits import BitDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.training import begin_card
from semblance.core.metrics.training_data.labelled_rows import codes_of_findings
from semblance.core.metrics.training_data.training_input import TrainingInput

#: 8 GiB for the rows and, in the worst case, five sums over cells of the same size.
MAX_VALUES = (8 << 30) // 8 // 6

_TIES = tr_lazy("Cases with equal bits are at distance 0; equal distances are ordered by the Euclidean one.")


class BitSpace(Protocol):
    """Where the bits are learnt: ``columns`` (n, r) of the training rows, and what a bit on them means."""

    columns: Matrix

    def distance(self, bits: Sequence[Bit]) -> Distance:
        """The distance between training rows that these bits make."""


class _RowSpan:
    """The rows themselves; beyond n columns all projections of the rows are reached from their span."""

    def __init__(self, X: Matrix) -> None:
        self._basis: Matrix | None = None
        self.columns = X
        if X.shape[1] > len(X):
            self._basis, columns = np.linalg.qr(X.T)
            self.columns = np.ascontiguousarray(columns.T)

    def distance(self, bits: Sequence[Bit]) -> BitDistance:
        directions, thresholds, weights = stack_bits(bits)
        return BitDistance(
            directions if self._basis is None else self._basis @ directions, thresholds, weights
        )


def stack_bits(bits: Sequence[Bit]) -> tuple[Matrix, Matrix, Matrix]:
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
            self,
            data,
            constraints=counts,
            notes=notes,
            rounds=len(boosted.bits),
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
