"""Search by place: how well each place of a query is found again somewhere in an image, on average.

The distance of an image is the mean, over the places of the query, of the squared Euclidean distance from the place to
its best match among those of the image, all of length 1: 2 less twice the mean best cosine. That is the late
interaction of O. Khattab and M. Zaharia, "ColBERT", SIGIR 2020, equation 3. In many images candidates are found as in
K. Santhanam et al., "PLAID", CIKM 2022, section 4: each place of an image is coded by its nearest centroid, and a query
is compared with the centroids first; the candidates are then compared in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.places import Codes, Floats, unit_codes
from semblance.core.metrics.numerics.k_means import k_means, nearest_centres
from semblance.core.retrieval.candidate_index import RECALL_AT
from semblance.core.retrieval.index import Matrix, NearestRows, Rows, check_filter
from semblance.core.tasks import SILENT, Reporter

#: A region of more places is represented by so many of them, evenly chosen.
MOST_PLACES = 32
#: Images compared at once: their places as float32 stay in the cache.
_BLOCK = 16
#: The largest error of a similarity in float32, generously: 64 products and the mean.
_ERROR = 1e-5
#: Centroids that places are coded by, places for each that they are found from, and rounds of k-means.
CENTROIDS, _PER_CENTROID, _ROUNDS = 4096, 32, 6
#: Centroids nearest to a place of the query whose images are looked up.
_LOOKED_UP = 64
#: Places coded at once.
_CODED = 1 << 17


@dataclass(frozen=True, eq=False)
class PlaceQuery:
    """The ``places`` (q, m) of a query, of length 1 or 0, and their ``weights`` (q,), of sum 1.

    A place with a negative weight lowers the similarity of images that contain it; the weights then have another sum.
    """

    places: Floats
    weights: Matrix

    @classmethod
    def of(cls, codes: Codes, weights: npt.NDArray[np.floating] | None = None) -> Self:
        """The coded places (q, m), each of the same weight without ``weights`` (q,), none negative, not all 0."""
        if weights is None or not weights.sum() > 0.0:
            weights = np.ones(len(codes))
        return cls(unit_codes(codes), np.asarray(weights, dtype=np.float64) / weights.sum())

    def __len__(self) -> int:
        return len(self.places)

    @property
    def coordinates(self) -> Matrix:
        """(q * m,) the places one after the other, each times the root of its weight; see
        :meth:`PlaceIndex.matched`."""
        found: Matrix = (self.places.astype(np.float64) * np.sqrt(self.weights)[:, np.newaxis]).reshape(-1)
        return found


def evenly_sampled(numbers: Rows, most: int = MOST_PLACES) -> Rows:
    """At most so many of ``numbers`` (p,), evenly spread over them."""
    if len(numbers) <= most:
        return numbers
    found: Rows = numbers[np.linspace(0, len(numbers) - 1, most).round().astype(np.intp)]
    return found


@dataclass(frozen=True, eq=False)
class BestMatches:
    """Where the q places of a query are found in r images: the best ``places`` (r, q), by number, and their
    ``cosines`` (r, q)."""

    places: npt.NDArray[np.intp]
    cosines: Matrix


@dataclass(frozen=True, eq=False)
class CodedPlaces:
    """The images that have a place nearest to each of the ``centroids`` (c, m), of length 1: ``images`` (t,) from
    ``starts[i]`` to ``starts[i + 1]``, each once; ``starts`` (c + 1,)."""

    centroids: Floats
    images: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]

    @classmethod
    def made(cls, codes: Codes, reporter: Reporter = SILENT, *, centroids: int = CENTROIDS) -> Self:
        """Those of the places of images (n, p, m), by k-means in two steps on a sample; seeded.

        The first step has the root of the number of ``centroids``. A place is coded by a centroid below the one of the
        first step that is nearest to it, which takes a thirtieth of the time of comparing it with all.
        """
        rng = np.random.default_rng(0)
        n, p, m = codes.shape
        flat = codes.reshape(-1, m)
        sample = np.sort(rng.choice(len(flat), min(len(flat), centroids * _PER_CENTROID), replace=False))
        points = unit_codes(flat[sample])
        first = k_means(points, max(1, round(centroids**0.5)), rng, _ROUNDS)
        nearest = nearest_centres(points, first)[0]
        below = []
        for number in range(len(first)):
            reporter.check_cancelled()
            own = points[nearest == number]
            share = max(1, round(centroids * len(own) / len(points)))
            below.append(k_means(own, share, rng, _ROUNDS) if len(own) else first[number : number + 1])
        ends = np.cumsum([len(one) for one in below])
        keys = []
        for start in range(0, n, max(1, _CODED // p)):
            reporter.check_cancelled()
            reporter.progress(start, n, "Preparing the search by place")
            part = unit_codes(codes[start : start + max(1, _CODED // p)]).reshape(-1, m)
            nearest = nearest_centres(part, first)[0]
            label = np.empty(len(part), dtype=np.int64)
            for number, centres in enumerate(below):
                of_first = np.flatnonzero(nearest == number)
                if len(of_first):
                    label[of_first] = nearest_centres(part[of_first], centres)[0]
                    label[of_first] += ends[number] - len(centres)
            keys.append(np.unique(label * n + np.arange(len(part)) // p + start))
        key = np.sort(np.concatenate(keys)) if keys else np.empty(0, dtype=np.int64)
        label, images = np.divmod(key, max(1, n))
        found = np.concatenate(below)
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        return cls(found, images.astype(np.int32), np.searchsorted(label, np.arange(len(found) + 1)))

    def similarities(self, query: PlaceQuery, n: int) -> Floats:
        """(n,) approximately the similarity of each of n images to ``query``."""
        products = query.places @ self.centroids.T
        found, of_place = np.zeros(n, dtype=np.float32), np.empty(n, dtype=np.float32)
        few = min(_LOOKED_UP, products.shape[1] - 1)
        for product, weight in zip(products, query.weights.tolist(), strict=True):
            near = np.argpartition(-product, few)[: few + 1]
            near = near[np.argsort(product[near], kind="stable")]
            # Images without any of the nearest centroids have at most the next one.
            of_place.fill(product[near[0]])
            for one in near.tolist():
                of_place[self.images[self.starts[one] : self.starts[one + 1]]] = product[one]
            of_place *= np.float32(weight)
            found += of_place
        return found


class PlaceIndex:
    """The places of n images, compared with those of a query in float64 where they decide the order.

    ``codes`` (n, p, m) may be mapped from a file: a search of all reads each byte once, in blocks of a few images.
    Images at equal distance are ordered by row number. With ``coded`` places only candidates are compared; an image
    that is not among them is missed.
    """

    def __init__(
        self,
        codes: Codes,
        *,
        inverse_lengths: Floats | None = None,
        coded: CodedPlaces | None = None,
        candidates: int = 0,
    ) -> None:
        """``inverse_lengths`` (n, p): those of an earlier index of the same ``codes``. ``candidates``: how many are
        compared for the first 20, more for more; 0 compares all.

        Raises:
            BadInput: not the codes of places.
        """
        if codes.ndim != 3 or codes.dtype != np.int8:
            raise BadInput("An index of places needs their codes, one row an image.")
        self.codes, self.coded, self.candidates = codes, coded, candidates if coded is not None else 0
        if inverse_lengths is not None and inverse_lengths.shape == codes.shape[:2]:
            self.__dict__["inverse_lengths"] = inverse_lengths

    def __len__(self) -> int:
        return len(self.codes)

    def with_candidates(self, candidates: int) -> PlaceIndex:
        """The same images with another number of candidates; 0 compares all."""
        return PlaceIndex(
            self.codes, inverse_lengths=self.inverse_lengths, coded=self.coded, candidates=candidates
        )

    @cached_property
    def inverse_lengths(self) -> Floats:
        """(n, p) 1 over the length of each coded place; 0 for one without a length."""
        found = np.zeros(self.codes.shape[:2], dtype=np.float32)
        for part in self._parts():
            block = self.codes[part].astype(np.float32)
            squared = np.einsum("npm,npm->np", block, block)
            np.divide(1.0, np.sqrt(squared), out=found[part], where=squared > 0.0)
        return found

    def codes_of(self, row: int) -> Codes:
        """(p, m) the coded places of an image."""
        found: Codes = np.asarray(self.codes[row])
        return found

    def search(
        self, query: PlaceQuery, k: int = 20, allowed: npt.NDArray[np.bool_] | None = None
    ) -> NearestRows:
        """The ``k`` images nearest to ``query``, fewer where fewer of them are ``allowed`` (n,).

        Raises:
            BadInput: a query or a filter that does not fit the index.
        """
        self._check(query)
        check_filter(allowed, len(self))
        rows = None if allowed is None else np.flatnonzero(allowed)
        count = len(self) if rows is None else len(rows)
        k = min(k, count)
        if k < 1:
            return NearestRows(np.empty(0, dtype=np.int64), np.empty(0))
        number = self.candidates + 2 * max(0, k - RECALL_AT)
        if self.coded is not None and self.candidates and number < count:
            near = self.coded.similarities(query, len(self))
            near = near if rows is None else near[rows]
            best = np.sort(np.argpartition(-near, number - 1)[:number])
            rows = best if rows is None else rows[best]
        similarities = self._similarities(query, rows)
        least = np.partition(similarities, len(similarities) - k)[len(similarities) - k]
        close = np.flatnonzero(similarities >= least - 2.0 * _ERROR * self._reach(query))
        found: Rows = (close if rows is None else rows[close]).astype(np.int64)
        distances = self.distances(query, found)
        order = np.lexsort((found, distances))[:k]
        return NearestRows(found[order], distances[order])

    def distances(self, query: PlaceQuery, rows: Rows) -> Matrix:
        """(r,) distances of ``query`` to some ``rows`` (r,), as :meth:`search` gives them.

        Raises:
            BadInput: a query that does not fit the index.
        """
        found: Matrix = 2.0 * query.weights.sum() - 2.0 * (
            self.best_matches(query, rows).cosines @ query.weights
        )
        return found

    def nearly_exact_distances(self, query: PlaceQuery, rows: Rows | None = None) -> Matrix:
        """(r,) distances of ``query`` to some ``rows`` (r,), or to all images, with an error up to 2e-5.

        Raises:
            BadInput: a query that does not fit the index.
        """
        self._check(query)
        found: Matrix = 2.0 * query.weights.sum() - 2.0 * self._similarities(query, rows).astype(np.float64)
        return found

    def best_matches(
        self, query: PlaceQuery, rows: Rows, among: Sequence[npt.NDArray[np.intp] | None] | None = None
    ) -> BestMatches:
        """The best match of each place of ``query`` in some ``rows`` (r,); of equal ones the first. ``among``: for each
        row the numbers of the places that count, ``None`` for all.

        Raises:
            BadInput: a query that does not fit the index.
        """
        self._check(query)
        places = np.empty((len(rows), len(query)), dtype=np.intp)
        cosines = np.empty((len(rows), len(query)))
        for at, cosine in self._cosines(query, rows):
            if among is not None and (some := among[at]) is not None:
                cosine = np.where(np.isin(np.arange(len(cosine)), some)[:, np.newaxis], cosine, -np.inf)
            places[at] = cosine.argmax(axis=0)
            cosines[at] = cosine[places[at], np.arange(len(query))]
        return BestMatches(places, cosines)

    def matched(
        self, query: PlaceQuery, rows: Rows, among: Sequence[npt.NDArray[np.intp] | None] | None = None
    ) -> Matrix:
        """(r, q * m) the best matches of ``query`` in some ``rows`` (r,), of length 1, each times the root of the
        weight: the squared Euclidean distance from :attr:`PlaceQuery.coordinates` is the distance of the image.

        ``among`` as :meth:`best_matches` takes it. No weight may be negative.

        Raises:
            BadInput: a query that does not fit the index.
        """
        places = self.best_matches(query, rows, among).places
        found = np.empty((len(rows), query.places.size))
        roots = np.sqrt(query.weights)[:, np.newaxis]
        for at, row in enumerate(rows.tolist()):
            found[at] = (unit_codes(self.codes[row][places[at]]) * roots).reshape(-1)
        return found

    def maps(self, query: PlaceQuery, rows: Rows) -> Matrix:
        """(r, p) for each place of some ``rows`` (r,) the weighted mean of its cosines with all places of ``query``.

        Raises:
            BadInput: a query that does not fit the index.
        """
        self._check(query)
        found = np.empty((len(rows), self.codes.shape[1]))
        for at, cosine in self._cosines(query, rows):
            found[at] = cosine @ query.weights
        return found

    def _cosines(self, query: PlaceQuery, rows: Rows) -> Iterator[tuple[int, Matrix]]:
        """For each of ``rows`` its number among them, and (p, q) the cosines of its places with those of the query.

        One by one, so that equal images have equal cosines to the last digit.
        """
        wide = query.places.astype(np.float64).T
        for at, row in enumerate(rows.tolist()):
            codes = self.codes[row].astype(np.float64)
            length = np.sqrt(np.einsum("pm,pm->p", codes, codes))
            yield at, (codes @ wide) / np.maximum(length, 1e-12)[:, np.newaxis]

    def _similarities(self, query: PlaceQuery, rows: Rows | None) -> Floats:
        """(r,) similarities of some ``rows`` (r,), or of all, in float32."""
        n, (p, m), q = len(self) if rows is None else len(rows), self.codes.shape[1:], len(query)
        found = np.empty(n, dtype=np.float32)
        block = np.empty((_BLOCK * p, m), dtype=np.float32)
        products = np.empty(q * _BLOCK * p, dtype=np.float32)
        weights = query.weights.astype(np.float32)
        for start in range(0, n, _BLOCK):
            part = slice(start, start + _BLOCK) if rows is None else rows[start : start + _BLOCK]
            codes = self.codes[part].reshape(-1, m)
            some, product = block[: len(codes)], products[: q * len(codes)].reshape(q, len(codes))
            np.copyto(some, codes)
            np.dot(query.places, some.T, out=product)
            product *= self.inverse_lengths[part].reshape(-1)
            best = product.reshape(q, -1, p).max(axis=2)
            found[start : start + _BLOCK] = weights @ best
        return found

    def _parts(self) -> Iterator[slice]:
        for start in range(0, len(self), _BLOCK):
            yield slice(start, start + _BLOCK)

    @staticmethod
    def _reach(query: PlaceQuery) -> float:
        return float(np.abs(query.weights).sum())

    def _check(self, query: PlaceQuery) -> None:
        """
        Raises:
            BadInput: the query does not fit the index.
        """
        if query.places.ndim != 2 or query.places.shape[1] != self.codes.shape[2] or not len(query):
            raise BadInput("The places of the query do not fit the index.")
