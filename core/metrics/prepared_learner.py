"""What learners share that start from whitened features, or end between what they learnt and the plain distance."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.linear_learner import LinearLearner, RowSpace
from semblance.core.metrics.numerics.covariance import (
    Codes,
    Moments,
    ShrunkRoots,
    covariance,
    fourth_moment,
    ledoit_wolf,
)
from semblance.core.metrics.numerics.eigenpairs import psd_root
from semblance.core.metrics.training import TrainingPoint
from semblance.core.metrics.training_data.rows import TrainingInput, codes_of_findings
from semblance.core.metrics.training_data.training_sample import stratified_sample
from semblance.core.metrics.training_data.validation import Rows, best_shrinkage, hold_out_rows
from semblance.core.tasks import PartReporter, Reporter

#: Directions kept of more whitened features. What takes d^3 then takes milliseconds.
_MOST_DIRECTIONS = 128
#: Shares of the plain distance that are compared.
SHARES = (0.0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95, 1.0)
#: Nearest cases that count, as in the scores of retrieval.
_NEAREST = 10
#: Share of the cases held out in a split, and the fewest; cases that are fitted at most.
_HELD_OUT, _FEWEST, _MOST_FITTED = 0.35, 12, 800
#: Splits, by the number of cases up to which there are so many.
_SPLITS = ((200, 4), (400, 3))
_SPLITS_OF_MANY = 2


class PlainShare(NamedTuple):
    """The ``share`` of the plain distance, which ``scale`` brings to the mean distance of what was learnt."""

    share: float = 0.0
    scale: float = 1.0

    def mixed(self, L: Matrix) -> Matrix:
        """(r, d) -> (d or r, d): the root of (1 - share) L'L + share scale I."""
        d = L.shape[1]
        if self.share == 0.0:
            return np.ascontiguousarray(L)
        if self.share == 1.0:
            plain: Matrix = np.sqrt(self.scale) * np.eye(d)
            return plain
        M = (1.0 - self.share) * (L.T @ L)
        M[np.diag_indices(d)] += self.share * self.scale
        return psd_root(M)


class PreparedLearner(Learner):
    """A learner of a linear map whose parameters ``whiten`` and ``plain`` say what is done before and after it.

    Before: the features are whitened by the scatter within findings, shrunk as much as finds most on cases set aside.
    After: M becomes (1 - s) M + s I, each first brought to the same mean distance. The learner is fitted again on parts
    of the cases, and s is what retrieves most inside the others, the mean of the findings; whole patients are in one
    part. Both need findings alone: with given pairs or triplets, and with whiten = false, plain = 0, the learner is
    that of its paper.
    """

    whiten: bool = False
    plain: float = 0.0
    #: What the card says of them.
    _preparation: tuple[str, ...] = ()

    def _fit_exactly(self, data: TrainingInput) -> None:
        """What :meth:`_fit` does for the learner of the paper."""
        raise NotImplementedError

    def _can_prepare(self) -> bool:
        """Whether the result is a linear map of the features, of no wanted number of dimensions."""
        return not getattr(self, "components", 0)

    def _take(self, before: Matrix | None, learnt: Matrix, plain: PlainShare) -> None:
        """Set what is fitted: ``learnt`` (r, d) after ``before`` (w, d) and all, and ``plain`` mixed in."""
        self.distance_ = LinearDistance(learnt.shape[1], plain.mixed(learnt))

    def _fit(self, data: TrainingInput) -> None:
        prepares = (self.whiten or self.plain != 0.0) and self._can_prepare()
        if not prepares or data.y is None or data.pairs is not None or data.triplets is not None:
            self._fit_exactly(data)
            return
        codes = codes_of_findings(len(data.X), data.y)[0]
        space = RowSpace(data.X)
        rows = space.rows
        white = _Whitening(rows, codes, data) if self.whiten else None
        known = codes >= 0
        before = None if white is None else white.map(rows[known], codes[known])
        here = data
        if before is not None:
            points = _MappedPoints(data.reporter, space.map(before))
            here = dataclasses.replace(data, X=rows @ before.T, reporter=points)
        self._fit_exactly(here)
        learnt = _map_of(self)
        notes = () if white is None else white.notes
        share = self.plain
        if share < 0.0:
            share, why = self._chosen_share(rows, codes, white, data)
            notes += why
        elif share > 0.0:
            notes += _share_note(share)
        if before is None and share == 0.0:
            return
        whole = learnt if before is None else space.map(learnt @ before)
        plain = PlainShare(share, _scale(whole, data.X[codes >= 0]))
        self._take(None if before is None else space.map(before), whole, plain)
        self._preparation = notes
        self._card = dataclasses.replace(self._card, notes=(*self._card.notes, *notes))

    def _choices(self) -> dict[str, Any]:
        """Parameters that the fit has chosen, so that the fits on parts need not choose them again."""
        return {}

    def _of_paper(self) -> Self:
        """An unfitted learner of the same parameters but for those of preparation and those chosen."""
        parameters = self.get_params(deep=False)
        exact = {"whiten": False, "plain": 0.0, **self._choices()}
        return self.__class__(**{name: exact.get(name, value) for name, value in parameters.items()})

    def _chosen_share(
        self, rows: Matrix, codes: Codes, white: _Whitening | None, data: TrainingInput
    ) -> tuple[float, tuple[str, ...]]:
        """That of :data:`SHARES` with which most is retrieved inside held-out parts of ``rows`` (n, w), and a note."""
        known = np.flatnonzero(codes >= 0)
        groups = None if data.groups is None else np.asarray(data.groups)
        findings = np.asarray(data.y, dtype=object)
        found = []
        splits = next((count for most, count in _SPLITS if len(known) <= most), _SPLITS_OF_MANY)
        for turn in range(splits):
            data.reporter.check_cancelled()
            rng = np.random.default_rng([data.seed, 17, turn])
            fitted, held = hold_out_rows(
                len(known), None if groups is None else groups[known], _HELD_OUT, rng
            )
            fitted, held = known[fitted], known[held]
            if len(fitted) > _MOST_FITTED:
                units = None if groups is None else groups[fitted]
                fitted = fitted[stratified_sample(codes[fitted], _MOST_FITTED, data.seed, units)]
            sizes = np.bincount(codes[held])
            if len(held) < _FEWEST or (sizes > 1).sum() < 2:
                continue
            before = None if white is None else white.map(rows[fitted], codes[fitted])
            X = rows[fitted] if before is None else rows[fitted] @ before.T
            twin = self._of_paper()
            part = dataclasses.replace(
                data,
                X=X,
                y=findings[fitted],
                groups=None if groups is None else groups[fitted],
                reporter=PartReporter(data.reporter, stops_early=False),
            )
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    twin._fit_exactly(part)
            except (BadInput, np.linalg.LinAlgError):
                continue
            learnt = _map_of(twin)
            whole = learnt if before is None else learnt @ before
            found.append(_accuracies(whole, rows[fitted], rows[held], codes[held]))
        if not found:
            return 0.0, ()
        share = SHARES[best_place(np.array(found))]
        return share, _share_note(share, tr_lazy(", chosen on cases set aside")) if share else ()


class PreparedLinearLearner(PreparedLearner, LinearLearner):
    """A :class:`PreparedLearner` that is a :class:`LinearLearner`."""

    def _fit_exactly(self, data: TrainingInput) -> None:
        # That of the next class: LinearLearner, or one between.
        super(PreparedLearner, self)._fit(data)

    def _take(self, before: Matrix | None, learnt: Matrix, plain: PlainShare) -> None:
        self.L_ = plain.mixed(learnt)


class _Whitening:
    """The inverse root of the scatter within findings, shrunk by what is best on cases set aside."""

    def __init__(self, rows: Matrix, codes: Codes, data: TrainingInput) -> None:
        self._classes = int(codes.max(initial=-1)) + 1
        self.notes: tuple[str, ...] = ()

        def map_of(part: Rows) -> Callable[[float], Matrix]:
            roots = self._roots(rows[part], codes[part])
            return lambda shrinkage: roots.root(shrinkage)[0]

        found = best_shrinkage(rows, codes, data.groups, data.seed, map_of)
        self._shrinkage = found
        if found is not None:
            self.notes = (
                tr_lazy(
                    "Features whitened first by the scatter within findings, shrunk by {share:g}, chosen on cases set "
                    "aside.",
                    share=found,
                ),
            )

    def _roots(self, rows: Matrix, codes: Codes) -> ShrunkRoots:
        moments = Moments.of(rows, codes, self._classes)

        def estimate() -> float:
            return ledoit_wolf(moments.covariance, moments.n, fourth_moment(rows, codes, moments.means))

        return ShrunkRoots(moments.covariance, estimate)

    def map(self, rows: Matrix, codes: Codes) -> Matrix | None:
        """(w, w) of rows (n, w), which keeps their mean square; ``None`` where nothing could be chosen.

        Of more than :data:`_MOST_DIRECTIONS` those are left that differ most afterwards.
        """
        if self._shrinkage is None:
            return None
        white: Matrix = self._roots(rows, codes).root(self._shrinkage)[0]
        if len(white) > _MOST_DIRECTIONS:
            # Within findings all directions vary alike now, so those of most variance are those between findings.
            whitened = rows @ white.T
            directions = np.linalg.eigh(covariance(whitened - whitened.mean(axis=0)))[1]
            white = directions[:, -_MOST_DIRECTIONS:].T @ white
        spread = _spread(white, rows)
        return white * np.sqrt(_spread(None, rows) / spread) if spread > 0.0 else None


class _MappedPoints(Reporter):
    """Passes everything on, and points of the curve as distances of the features before the map L (w, d)."""

    def __init__(self, whole: Reporter, L: Matrix) -> None:
        self._whole, self._L = whole, L

    def progress(self, done: int, total: int | None, what: str) -> None:
        self._whole.progress(done, total, what)

    def partial(self, result: object) -> None:
        if isinstance(result, TrainingPoint):
            point = result
            result = TrainingPoint(point.round, point.objective, lambda: self._before(point))
        self._whole.partial(result)

    def _before(self, point: TrainingPoint) -> LinearDistance:
        L = getattr(point.distance, "L", None)
        whole = self._L if L is None else L @ self._L
        return LinearDistance(whole.shape[1], whole)

    def check_cancelled(self) -> None:
        self._whole.check_cancelled()

    @property
    def stop_requested(self) -> bool:
        return self._whole.stop_requested


def _scale(L: Matrix, rows: Matrix) -> float:
    plain, learnt = _spread(None, rows), _spread(L, rows)
    return learnt / plain if learnt > 0.0 and plain > 0.0 else 1.0


def _spread(L: Matrix | None, rows: Matrix) -> float:
    """The variance of rows (n, w) after L, summed over the columns."""
    return float((rows if L is None else rows @ L.T).var(axis=0).sum())


def _map_of(learner: Any) -> Matrix:
    """(r, d) the linear map that was fitted."""
    distance = learner.metric().distance
    return np.eye(distance.n_features) if distance.L is None else distance.L


def _accuracies(L: Matrix, fitted: Matrix, held: Matrix, codes: Codes) -> npt.NDArray[np.float64]:
    """For each of :data:`SHARES` the share of a case's finding among its nearest, inside ``held`` (v, w); the mean of
    the findings."""
    sizes = np.bincount(codes)
    present = int((sizes > 0).sum())
    nearest = min(_NEAREST, max(1, len(held) // (2 * present)))
    learnt, plain = _squared(held @ L.T), _squared(held)
    scales = max(_spread(L, fitted), 1e-300), max(_spread(None, fitted), 1e-300)
    out = []
    for share in SHARES:
        distances = learnt * ((1.0 - share) / scales[0]) + plain * (share / scales[1])
        np.fill_diagonal(distances, np.inf)
        near = np.argpartition(distances, nearest - 1, axis=1)[:, :nearest]
        right = (codes[near] == codes[:, np.newaxis]).mean(axis=1)
        counted = sizes > 1
        out.append((np.bincount(codes, right)[counted] / sizes[counted]).mean())
    return np.array(out)


def best_place(accuracies: npt.NDArray[np.float64]) -> int:
    """Which of the shares to take, from accuracies (splits, shares): 0 for what was learnt, the last for the plain
    distance.

    The best on average, of a curve that is smooth but for chance. Where what was learnt beats the plain distance, the
    smallest share that is no worse than the best by more than a standard error.
    """
    padded = np.pad(accuracies, ((0, 0), (1, 1)), mode="edge")
    smooth = 0.25 * padded[:, :-2] + 0.5 * padded[:, 1:-1] + 0.25 * padded[:, 2:]
    means = smooth.mean(axis=0)
    best = int(np.argmax(means))
    if len(smooth) < 2 or means[0] <= means[-1]:
        return best
    behind = smooth[:, [best]] - smooth
    errors = behind.std(axis=0, ddof=1) / np.sqrt(len(smooth))
    return int(np.flatnonzero(behind.mean(axis=0) <= errors)[0])


def _squared(Z: Matrix) -> Matrix:
    Z = Z - Z.mean(axis=0)
    lengths = np.einsum("ij,ij->i", Z, Z)
    distances: Matrix = lengths[:, np.newaxis] + lengths - 2.0 * (Z @ Z.T)
    return distances


def _share_note(share: float, how: str = "") -> tuple[str, ...]:
    """For the card."""
    if share == 1.0:
        return (
            tr_lazy(
                "This is the plain (Euclidean) distance: on cases set aside nothing that was learnt retrieved more."
            ),
        )
    return (tr_lazy("The plain (Euclidean) distance has a share of {share:.0%}{why}.", share=share, why=how),)
