"""The nearest cases of many queries, block by block, with ties that do not depend on the order of rows.

Learned distances tie often (BDM has few codes). A second distance, the Euclidean one, breaks ties if it is given.
Cases that still tie count in expectation over their random order. So no score depends on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.metrics.distance import Distance
    from semblance.core.metrics.metric import Metric

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: Distances that differ by less than this share of the largest one are equal up to rounding.
TIE = 1e-12
#: Maximum number of float64 values in a temporary array (16 MiB).
BLOCK = 2_000_000


class PairDistances(Protocol):
    """Squared distances from queries to a gallery."""

    @property
    def n_queries(self) -> int:
        """q, the number of queries."""

    @property
    def n_gallery(self) -> int:
        """n, the number of cases in the gallery."""

    @property
    def width(self) -> int:
        """Number of values in memory to compare one pair."""

    @property
    def lesions(self) -> Rows | None:
        """(n,) numbers, equal for the cases of the gallery that are of one lesion; ``None``: each is of another."""

    def rough(self, queries: Rows) -> tuple[Matrix, float]:
        """(b, n) distances of some queries to the whole gallery, and their largest possible error."""

    def exact(self, queries: Rows, gallery: Rows) -> Matrix:
        """(b, w) distances of queries (b,) to their gallery rows (b, w), by direct difference."""

    def second(self, queries: Rows, gallery: Rows) -> Matrix | None:
        """(b, w) distances that break ties of :meth:`exact`, or ``None``."""

    def among(self, gallery: Rows) -> PairDistances:
        """The distances to some rows of the gallery, without a second distance."""


class GivenDistances:
    """Distances that are given: ``first`` (q, n), and ``second`` of the same shape to break ties.

    ``lesions`` (n,) as :attr:`PairDistances.lesions`.
    """

    def __init__(self, first: Matrix, second: Matrix | None = None, lesions: Rows | None = None) -> None:
        self._first, self._second, self.lesions = first, second, lesions
        self.n_queries, self.n_gallery = first.shape
        self.width = 1

    def rough(self, queries: Rows) -> tuple[Matrix, float]:
        """The given distances (b, n), exact."""
        return self._first[queries], 0.0

    def exact(self, queries: Rows, gallery: Rows) -> Matrix:
        """(b, w) the given distances, as :meth:`PairDistances.exact`."""
        return self._first[queries[:, None], gallery]

    def second(self, queries: Rows, gallery: Rows) -> Matrix | None:
        """(b, w) distances that break ties, or ``None``."""
        return None if self._second is None else self._second[queries[:, None], gallery]

    def among(self, gallery: Rows) -> GivenDistances:
        """The distances to the rows ``gallery`` (g,), without a second distance."""
        return GivenDistances(self._first[:, gallery], None, _some(self.lesions, gallery))


class EmbeddedDistances:
    """Squared Euclidean distances between embeddings, ties broken by those between ``second`` rows.

    ``queries`` (q, m) and ``gallery`` (n, m); ``second`` is the pair of (q, d) and (n, d) rows; ``lesions`` (n,)
    as :attr:`PairDistances.lesions`.
    """

    def __init__(
        self,
        queries: Matrix,
        gallery: Matrix,
        second: tuple[Matrix, Matrix] | None = None,
        lesions: Rows | None = None,
    ) -> None:
        self._q, self._x, self._second, self.lesions = queries, gallery, second, lesions
        self.n_queries, self.n_gallery = len(queries), len(gallery)
        self.width = max(queries.shape[1], second[0].shape[1] if second else 1, 1)
        self._norms = np.einsum("ij,ij->i", gallery, gallery)

    def rough(self, queries: Rows) -> tuple[Matrix, float]:
        """Distances (b, n) by the expansion |x|^2 - 2xq + |q|^2, and its largest rounding error."""
        q = self._q[queries]
        norms = np.einsum("ij,ij->i", q, q)
        distances = q @ self._x.T
        distances *= -2.0
        distances += self._norms
        distances += norms[:, None]
        largest = norms.max(initial=0.0) + self._norms.max(initial=0.0)
        return distances, 8.0 * np.finfo(np.float64).eps * (q.shape[1] + 4) * float(largest)

    def exact(self, queries: Rows, gallery: Rows) -> Matrix:
        """(b, w) squared Euclidean distances of embeddings, as :meth:`PairDistances.exact`."""
        return _between(self._q, self._x, queries, gallery)

    def second(self, queries: Rows, gallery: Rows) -> Matrix | None:
        """(b, w) distances that break ties, or ``None``."""
        return None if self._second is None else _between(*self._second, queries, gallery)

    def among(self, gallery: Rows) -> EmbeddedDistances:
        """The distances to the rows ``gallery`` (g,), without a second distance."""
        return EmbeddedDistances(self._q, self._x[gallery], None, _some(self.lesions, gallery))


class ScannedDistances:
    """Distances without embeddings: of ``queries`` (q, d) to ``gallery`` (n, d), by the ``distance`` itself.

    ``second`` is the pair of (q, m) and (n, m) rows whose Euclidean distance breaks ties; ``lesions`` (n,) as
    :attr:`PairDistances.lesions`.
    """

    def __init__(
        self,
        distance: Distance,
        queries: Matrix,
        gallery: Matrix,
        second: tuple[Matrix, Matrix] | None = None,
        lesions: Rows | None = None,
    ) -> None:
        self._distance, self._q, self._x, self._second = distance, queries, gallery, second
        self.lesions = lesions
        self.n_queries, self.n_gallery = len(queries), len(gallery)
        self.width = max(1, queries.shape[1])

    def rough(self, queries: Rows) -> tuple[Matrix, float]:
        """Distances (b, n) of the metric itself, exact."""
        return self._distance.between(self._q[queries], self._x), 0.0

    def exact(self, queries: Rows, gallery: Rows) -> Matrix:
        """(b, w) distances of a metric without an embedding, as :meth:`PairDistances.exact`."""
        pairs = zip(queries.tolist(), gallery, strict=True)
        between = self._distance.between
        return np.concatenate([between(self._q[q : q + 1], self._x[rows]) for q, rows in pairs])

    def second(self, queries: Rows, gallery: Rows) -> Matrix | None:
        """(b, w) distances that break ties, or ``None``."""
        return None if self._second is None else _between(*self._second, queries, gallery)

    def among(self, gallery: Rows) -> ScannedDistances:
        """The distances to the rows ``gallery`` (g,), without a second distance."""
        lesions = _some(self.lesions, gallery)
        return ScannedDistances(self._distance, self._q, self._x[gallery], None, lesions)


def _some(lesions: Rows | None, gallery: Rows) -> Rows | None:
    return None if lesions is None else lesions[gallery]


def _between(q: Matrix, x: Matrix, queries: Rows, gallery: Rows) -> Matrix:
    difference = x[gallery]
    difference -= q[queries][:, None, :]
    distances: Matrix = np.einsum("ijk,ijk->ij", difference, difference)
    return distances


@dataclass(frozen=True, eq=False)
class NearestRanks:
    """The first ``K`` ranks of some queries.

    ``queries`` (b,); ``share`` (b, K, c): the expected share of each finding at each rank, 0 beyond the
    gallery; ``distance`` (b, K), infinite beyond the gallery; ``size`` (b,): cases in the gallery.
    ``first`` and ``tied`` (b, K): the first rank of the cases that tie with that rank (0 the nearest), and their
    number. Their order is random, their shares equal. ``cases`` (b, K), where they are asked for: the case at each
    rank, tied ones in their order in the gallery; -1 beyond it.
    """

    queries: Rows
    share: Matrix
    distance: Matrix
    size: Rows
    first: Rows
    tied: Rows
    cases: Rows | None = None


def ranked_blocks(
    distances: PairDistances,
    findings: Rows,
    n_findings: int,
    k: int,
    *,
    query_patients: Rows | None = None,
    gallery_patients: Rows | None = None,
    reporter: Reporter = SILENT,
    names_cases: bool = False,
) -> Iterator[NearestRanks]:
    """The ``k`` nearest of every query, a block of queries at a time.

    ``findings`` (n,) number the findings of the gallery. Cases of the query's own patient are left
    out. To leave out only the query itself, if patients are unknown, give every row its own number. Of each
    of the lesions of ``distances`` only the nearest case to a query is in its gallery.
    """
    repeated = None if distances.lesions is None else _RepeatedLesions(distances.lesions)
    k = min(k, distances.n_gallery)
    step = max(1, BLOCK // max(1, distances.n_gallery))
    for start in range(0, distances.n_queries, step):
        reporter.check_cancelled()
        queries = np.arange(start, min(start + step, distances.n_queries))
        rough, slack = distances.rough(queries)
        if query_patients is not None and gallery_patients is not None:
            rough[query_patients[queries][:, None] == gallery_patients] = np.inf
        if repeated is not None:
            repeated.leave_nearest(rough)
        size = np.isfinite(rough).sum(axis=1)
        kth = np.partition(rough, k - 1, axis=1)[:, k - 1]
        reach = kth + 2.0 * slack + 4.0 * TIE * np.abs(kth)
        near = np.minimum((rough <= reach[:, None]).sum(axis=1), size)
        # Rows with many ties need many more candidates, so they are ranked separately.
        for rows in _similar_runs(near, max(distances.width, n_findings)):
            width = max(1, int(near[rows].max()))
            yield _rank(
                distances, queries[rows], rough[rows], size[rows], width, findings, n_findings, k, names_cases
            )


class _RepeatedLesions:
    """The cases of a gallery, by their ``lesions`` (n,), whose lesion has other cases too."""

    def __init__(self, lesions: Rows) -> None:
        _, codes, counts = np.unique(lesions, return_inverse=True, return_counts=True)
        several = np.flatnonzero(counts[codes] > 1)
        #: (m,) these cases, those of one lesion side by side, and where each lesion begins.
        self.cases = several[np.argsort(codes[several], kind="stable")]
        self.starts = np.flatnonzero(np.diff(codes[self.cases], prepend=-1))

    def leave_nearest(self, distances: Matrix) -> None:
        """Set all but the smallest distance (b, n) to each lesion to infinity."""
        if not len(self.cases):
            return
        there = distances[:, self.cases]
        sizes = np.diff(self.starts, append=len(self.cases))
        nearest = np.repeat(np.minimum.reduceat(there, self.starts, axis=1), sizes, axis=1)
        is_nearest = there <= nearest
        # Of equally near copies only the first counts.
        before = np.cumsum(is_nearest, axis=1)
        first: Rows = np.repeat(before[:, self.starts] - is_nearest[:, self.starts], sizes, axis=1)
        distances[:, self.cases] = np.where(is_nearest & (before - first == 1), there, np.inf)


def _similar_runs(near: Rows, width: int) -> Iterator[Rows]:
    """Groups of rows with similar numbers of candidates that fit in a block."""
    order = np.argsort(near, kind="stable")
    start = 0
    while start < len(order):
        smallest = int(near[order[start]])
        end = int(np.searchsorted(near[order], max(64, 2 * smallest), side="right"))
        end = min(end, start + max(1, BLOCK // (width * max(1, int(near[order[end - 1]])))))
        yield order[start:end]
        start = end


def _rank(
    distances: PairDistances,
    queries: Rows,
    rough: Matrix,
    size: Rows,
    width: int,
    findings: Rows,
    n_findings: int,
    k: int,
    names_cases: bool,
) -> NearestRanks:
    if width < rough.shape[1]:
        gallery = np.argpartition(rough, width - 1, axis=1)[:, :width]
    else:
        gallery = np.broadcast_to(np.arange(width), rough.shape)
    exact = distances.exact(queries, gallery)
    exact[np.isinf(np.take_along_axis(rough, gallery, axis=1))] = np.inf
    order = np.argsort(exact, axis=1, kind="stable")
    exact, gallery = np.take_along_axis(exact, order, axis=1), np.take_along_axis(gallery, order, axis=1)
    tie = tie_numbers(exact)
    tied = np.flatnonzero((np.diff(tie[:, : k + 1], axis=1) == 0).any(axis=1))
    second = distances.second(queries[tied], gallery[tied]) if len(tied) else None
    if second is not None:
        order = np.lexsort((second, tie[tied]), axis=1)
        second = np.take_along_axis(second, order, axis=1)
        exact[tied] = np.take_along_axis(exact[tied], order, axis=1)
        gallery[tied] = np.take_along_axis(gallery[tied], order, axis=1)
        is_new = (np.diff(tie[tied], axis=1) > 0) | (
            np.diff(second, axis=1) > TIE * second.max(axis=1)[:, None]
        )
        tie[tied, 1:] = np.cumsum(is_new, axis=1)
    number = tie + np.arange(len(tie))[:, None] * width
    finite = np.isfinite(exact)
    cells = number[finite] * n_findings + findings[gallery[finite]]
    table = np.bincount(cells, minlength=number.size * n_findings).reshape(number.size, n_findings)
    count = table.sum(axis=1)
    share, distance = np.zeros((len(queries), k, n_findings)), np.full((len(queries), k), np.inf)
    n_ranks = min(k, width)
    group = number[:, :n_ranks]
    share[:, :n_ranks] = np.where(
        finite[:, :n_ranks, None], table[group] / np.maximum(count[group], 1.0)[..., None], 0.0
    )
    distance[:, :n_ranks] = exact[:, :n_ranks]
    first_of_tie, tied = np.tile(np.arange(k), (len(queries), 1)), np.ones((len(queries), k), dtype=np.intp)
    tied[:, :n_ranks] = np.maximum(count[group], 1)
    same_tie = np.diff(group, axis=1) == 0
    first_of_tie[:, 1:n_ranks][same_tie] = 0
    first_of_tie[:, :n_ranks] = np.maximum.accumulate(first_of_tie[:, :n_ranks], axis=1)
    cases = None
    if names_cases:
        order = np.lexsort((gallery, tie), axis=1)[:, :n_ranks]
        cases = np.full((len(queries), k), -1, dtype=np.intp)
        cases[:, :n_ranks] = np.where(
            np.take_along_axis(finite, order, axis=1), np.take_along_axis(gallery, order, axis=1), -1
        )
    return NearestRanks(queries, share, distance, size, first_of_tie, tied, cases)


def tie_numbers(ascending: Matrix) -> Rows:
    """(b, w) 0, 1, ... per row, the same for distances that tie; infinite ones never tie."""
    largest = np.where(np.isfinite(ascending), ascending, 0.0).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore"):
        is_new = ~(np.diff(ascending, axis=1) <= TIE * largest[:, None])
    tie = np.zeros(ascending.shape, dtype=np.intp)
    np.cumsum(is_new, axis=1, out=tie[:, 1:])
    return tie


def metric_distances(
    metric: Metric, Q: Matrix, X: Matrix, lesions: Rows | None = None
) -> EmbeddedDistances | ScannedDistances:
    """Distances of ``metric`` from rows (q, d) to rows (n, d), as extracted, of which the ``lesions`` (n,) are.

    If distances of this kind tie, the Euclidean distance after the steps breaks the ties.

    Raises:
        BadInput: rows the metric cannot take.
    """
    return distances_after_steps(metric.distance, metric.transform(Q), metric.transform(X), lesions)


def distances_after_steps(
    distance: Distance, Q: Matrix, X: Matrix, lesions: Rows | None = None
) -> EmbeddedDistances | ScannedDistances:
    """The distances of rows (q, m) and (n, m) after the steps; ``lesions`` (n,) as
    :attr:`PairDistances.lesions`."""
    second = (Q, X) if distance.ties else None
    if not distance.embeds:
        return ScannedDistances(distance, Q, X, second, lesions)
    return EmbeddedDistances(distance.embed(Q), distance.embed(X), second, lesions)
