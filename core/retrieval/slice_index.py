"""Images and volumes searched together by place: of a volume the slice counts that is most like the query.

Slices keep the signs of their places (:mod:`semblance.core.features.slice_descriptions`). Their best slices are found
by counting bits that differ from the signs of the query's places, and are then compared with these places as they are:
the similarity of a place to a place of the query is the share of the query's numbers, by size, whose signs agree, less
the share whose signs do not. It is 1 where all agree, and close to the cosine.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.features.places import Codes, Floats
from semblance.core.features.slice_descriptions import (
    WHOLE,
    SignCodes,
    SliceDescriptions,
    sign_codes,
    signs,
    whole_rows,
)
from semblance.core.retrieval.index import Matrix, NearestRows, Rows, check_filter
from semblance.core.retrieval.place_index import PlaceIndex, PlaceQuery, evenly_sampled

#: Slices of a volume that are compared as they are, of those with fewest differing bits.
_COMPARED = 3
#: Places of a query whose bits are counted.
_COUNTED = 24
#: Slices compared at once: their places stay in the cache; and volumes, whose wholes are in memory as float32.
_BLOCK, _VOLUMES = 128, 64
#: So many slices of a volume are searched with at most, evenly chosen.
MOST_SLICES = 32


@dataclass(frozen=True, eq=False)
class VolumeQuery(PlaceQuery):
    """A volume as the query: some of its slices as ``wholes`` (s, w).

    The places are those of the slice on which results open, which is nearest to the one at ``shown``. ``in_order``:
    whether the slices that match follow each other.
    """

    wholes: Codes
    shown: int
    in_order: bool = False


@dataclass(frozen=True, eq=False)
class SlicesInSpace:
    """The slices of v volumes, one after the other.

    ``starts`` (v + 1,): where the slices of each begin. ``numbers`` (s,): their numbers in their volume. ``wholes``
    (s, WHOLE): each as a whole, with zeros beyond the ``widths`` (v,) of its volume. ``grids``: for each kind of grid
    its rows and columns, the slices on it (g,) and their places (g, rows * columns).
    """

    starts: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    wholes: Codes
    widths: npt.NDArray[np.int64]
    grids: tuple[tuple[tuple[int, int], Rows, SignCodes], ...]

    @classmethod
    def of(cls, volumes: list[SliceDescriptions]) -> SlicesInSpace:
        """Those of all ``volumes``."""
        starts = np.cumsum([0, *(len(one.slices) for one in volumes)])
        numbers = np.concatenate([np.empty(0, np.int64), *(one.slices for one in volumes)])
        widths = np.array([one.wholes.shape[1] for one in volumes], dtype=np.int64)
        wholes = np.zeros((len(numbers), WHOLE), dtype=np.int8)
        for at, one in enumerate(volumes):
            wholes[starts[at] : starts[at + 1], : widths[at]] = one.wholes
        shapes = sorted({one.places.shape[1:] for one in volumes})
        grids = []
        for shape in shapes:
            chosen = [at for at, one in enumerate(volumes) if one.places.shape[1:] == shape]
            rows = np.concatenate([np.arange(starts[at], starts[at + 1]) for at in chosen])
            places = np.concatenate([volumes[at].places.reshape(-1, shape[0] * shape[1]) for at in chosen])
            grids.append((shape, rows, places))
        return cls(starts, numbers.astype(np.int64), wholes, widths, tuple(grids))

    @property
    def nbytes(self) -> int:
        """Bytes of the places and wholes."""
        return self.wholes.nbytes + sum(places.nbytes for _, _, places in self.grids)

    @cached_property
    def _at(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(s,) the grid of each slice, and its row there."""
        grid, row = np.empty(len(self.numbers), np.int64), np.empty(len(self.numbers), np.int64)
        for number, (_, rows, _) in enumerate(self.grids):
            grid[rows], row[rows] = number, np.arange(len(rows))
        return grid, row

    def wholes_of(self, volume: int) -> Codes:
        """(s, w) the slices of a volume as wholes."""
        found: Codes = self.wholes[self.starts[volume] : self.starts[volume + 1], : self.widths[volume]]
        return found

    def in_order(self, query: VolumeQuery) -> _FoundSlices:
        """Of each volume the slice on the best monotone path that matches the slice shown of ``query``, and the mean
        cosine along the path."""
        return self._late_interaction(query, _in_order)

    def anywhere(self, query: VolumeQuery) -> _FoundSlices:
        """As :meth:`in_order`, of the best slice of all for each slice of ``query``."""
        return self._late_interaction(query, _anywhere)

    def _late_interaction(
        self, query: VolumeQuery, matching: Callable[[Floats, int], tuple[Rows, Matrix]]
    ) -> _FoundSlices:
        slices, similar = np.empty(len(self.widths), np.int64), np.empty(len(self.widths))
        for width in np.unique(np.minimum(self.widths, query.wholes.shape[1])).tolist():
            rows = whole_rows(query.wholes, width)
            chosen = np.flatnonzero(np.minimum(self.widths, query.wholes.shape[1]) == width)
            for start in range(0, len(chosen), _VOLUMES):
                some = chosen[start : start + _VOLUMES]
                spans = [(int(self.starts[at]), int(self.starts[at + 1])) for at in some.tolist()]
                parts = whole_rows(np.concatenate([self.wholes[begin:end] for begin, end in spans]), width)
                ends = np.cumsum([0, *(end - begin for begin, end in spans)])
                matched, means = matching(_padded(rows @ parts.T, ends), query.shown)
                slices[some], similar[some] = self.starts[some] + matched, means
        return _FoundSlices(slices, similar)

    def places_of(self, slice_: int) -> tuple[tuple[int, int], SignCodes]:
        """Rows and columns of the grid of a slice, and its places (p,)."""
        grid, row = (int(one[slice_]) for one in self._at)
        shape, _, places = self.grids[grid]
        return shape, places[row]

    def differing(self, query: PlaceQuery) -> Floats:
        """(s,) for each slice the mean, over some places of ``query``, of the least share of bits that differ."""
        some = evenly_sampled(np.arange(len(query)), _COUNTED)
        codes, weights = sign_codes(query.places[some]), query.weights[some]
        weights = weights / np.abs(weights).sum()
        found = np.zeros(len(self.numbers), dtype=np.float32)
        width = query.places.shape[1]
        for _, rows, places in self.grids:
            different = np.empty((_BLOCK, places.shape[1]), dtype=np.uint64)
            counts = np.empty(different.shape, dtype=np.uint8)
            for start in range(0, len(rows), _BLOCK):
                block = places[start : start + _BLOCK]
                total = np.zeros(len(block), dtype=np.float32)
                for code, weight in zip(codes, weights.tolist(), strict=True):
                    np.bitwise_xor(block, code, out=different[: len(block)])
                    np.bitwise_count(different[: len(block)], out=counts[: len(block)])
                    total += np.float32(weight / width) * counts[: len(block)].min(axis=1)
                found[rows[start : start + _BLOCK]] = total
        return found

    def similarities(self, query: PlaceQuery, slices: Rows) -> Matrix:
        """(r,) the similarity of some ``slices`` (r,) to ``query``."""
        found = np.empty(len(slices))
        grid, row = self._at
        scaled = _scaled(query).T
        for number, (_, _, places) in enumerate(self.grids):
            chosen = np.flatnonzero(grid[slices] == number)
            for start in range(0, len(chosen), _BLOCK // 8):
                part = chosen[start : start + _BLOCK // 8]
                codes = places[row[slices[part]]]
                products = signs(codes, len(scaled)) @ scaled
                found[part] = products.max(axis=1) @ query.weights
        return found

    def cosines(self, query: PlaceQuery, slice_: int) -> tuple[tuple[int, int], Matrix]:
        """Rows and columns of the grid of a slice, and (p, q) the similarities of its places to those of ``query``."""
        shape, codes = self.places_of(slice_)
        scaled = _scaled(query).T
        return shape, np.asarray(signs(codes, len(scaled)) @ scaled, dtype=np.float64)


def _padded(similar: Floats, ends: npt.NDArray[np.int64]) -> Floats:
    """(v, q, s) the similarities (q, t) to the slices of v volumes, one after the other; beyond a volume so little that
    no path goes there."""
    found = np.full((len(ends) - 1, len(similar), int(np.diff(ends).max())), -1e6, dtype=np.float32)
    for at, (begin, end) in enumerate(itertools.pairwise(ends.tolist())):
        found[at, :, : end - begin] = similar[:, begin:end]
    return found


def _anywhere(similar: Floats, shown: int) -> tuple[Rows, Matrix]:
    """(v,) the best slice for that at ``shown``, and the mean, over all, of the similarity of their best."""
    return similar[:, shown].argmax(axis=1), similar.max(axis=2).mean(axis=1, dtype=np.float64)


def _in_order(similar: Floats, shown: int) -> tuple[Rows, Matrix]:
    """As :func:`_anywhere`, for slices that follow each other as those of the query do, or all the other way."""
    found = [_monotone(similar, shown), _monotone(similar[:, ::-1], similar.shape[1] - 1 - shown)]
    is_turned = found[1][1] > found[0][1]
    slices = np.where(is_turned, found[1][0], found[0][0])
    return slices, np.maximum(found[0][1], found[1][1]) / similar.shape[1]


def _monotone(similar: Floats | Matrix, shown: int) -> tuple[Rows, Matrix]:
    """(v,) the slice for that at ``shown`` on the path of the largest sum whose slices never go back, and the sum."""
    # The best sum that begins, and that ends, with a slice for the one shown.
    similar = similar.astype(np.float64)
    up = similar[:, 0]
    for at in range(1, shown + 1):
        up = similar[:, at] + np.maximum.accumulate(up, axis=1)
    down = similar[:, -1]
    for at in range(similar.shape[1] - 2, shown - 1, -1):
        down = similar[:, at] + np.maximum.accumulate(down[:, ::-1], axis=1)[:, ::-1]
    both = up + down - similar[:, shown]
    best = both.argmax(axis=1)
    return best, both[np.arange(len(both)), best]


def _scaled(query: PlaceQuery) -> Floats:
    """(q, m) the places of ``query``, so that the product with equal signs of length 1 is 1."""
    sums = np.abs(query.places).sum(axis=1, keepdims=True)
    return np.asarray(
        query.places * (query.places.shape[1] ** 0.5 / np.maximum(sums, 1e-12)), dtype=np.float32
    )


@dataclass(frozen=True, eq=False)
class _FoundSlices:
    """Of v volumes the most similar ``slices`` (v,), among all slices, and their ``similarities`` (v,)."""

    slices: Rows
    similarities: Matrix


class SliceIndex(PlaceIndex):
    """As :class:`semblance.core.retrieval.place_index.PlaceIndex`, of images some of which represent volumes.

    The distance of a volume is that of its most similar slice.
    """

    def __init__(self, images: PlaceIndex, slices: SlicesInSpace, volumes: Mapping[int, int]) -> None:
        """``volumes``: row in ``images`` -> number of its volume among ``slices``."""
        super().__init__(
            images.codes,
            inverse_lengths=images.inverse_lengths,
            coded=images.coded,
            candidates=images.candidates,
        )
        self._images, self.slices = images, slices
        #: (n,) the number of the volume of each row; -1 for an image.
        self._volume = np.full(len(images), -1, dtype=np.int64)
        for row, volume in volumes.items():
            self._volume[row] = volume
        self._latest: tuple[PlaceQuery, _FoundSlices] | None = None

    def with_candidates(self, candidates: int) -> SliceIndex:
        """The same with another number of candidates among the images; 0 compares all."""
        volumes = {row: int(self._volume[row]) for row in np.flatnonzero(self._volume >= 0).tolist()}
        return SliceIndex(self._images.with_candidates(candidates), self.slices, volumes)

    def search(
        self, query: PlaceQuery, k: int = 20, allowed: npt.NDArray[np.bool_] | None = None
    ) -> NearestRows:
        """The ``k`` images and volumes nearest to ``query``, fewer where fewer of them are ``allowed`` (n,).

        Raises:
            BadInput: a query or a filter that does not fit the index.
        """
        self._check(query)
        check_filter(allowed, len(self))
        is_image = self._volume < 0
        among = is_image if allowed is None else is_image & allowed
        images = self._images.search(query, k, among)
        rows = np.flatnonzero(~is_image if allowed is None else ~is_image & allowed)
        every = np.concatenate([images.rows, rows]).astype(np.int64)
        near = np.concatenate([images.distances, self.distances(query, rows)])
        order = np.lexsort((every, near))[:k]
        return NearestRows(every[order], near[order])

    def distances(self, query: PlaceQuery, rows: Rows) -> Matrix:
        """(r,) distances of ``query`` to some ``rows`` (r,), as :meth:`search` gives them."""
        return self._distances(query, rows, self._images.distances)

    def nearly_exact_distances(self, query: PlaceQuery, rows: Rows | None = None) -> Matrix:
        """(r,) as :meth:`distances`, or of all; those of images with an error up to 2e-5."""
        rows = np.arange(len(self)) if rows is None else rows
        return self._distances(query, rows, self._images.nearly_exact_distances)

    def matched(
        self, query: PlaceQuery, rows: Rows, among: Sequence[npt.NDArray[np.intp] | None] | None = None
    ) -> Matrix:
        """(r, q * m) as :meth:`PlaceIndex.matched`, of a slice the signs of its places."""
        found = super().matched(query, rows, among)
        places = self.best_matches(query, rows, among).places
        roots = np.sqrt(query.weights)[:, np.newaxis]
        for at, volume in enumerate(self._volume[rows].tolist()):
            if volume >= 0:
                codes = self._on_grid(*self.slices.places_of(int(self._found(query).slices[volume])))
                found[at] = (signs(codes[places[at]], query.places.shape[1]) * roots).reshape(-1)
        return found

    def volume_of(self, row: int) -> int | None:
        """The number of the volume of a row; ``None`` for an image."""
        found = int(self._volume[row])
        return None if found < 0 else found

    @property
    def has_slices(self) -> npt.NDArray[np.bool_]:
        """(n,) whether a row is a volume whose slices are described."""
        return self._volume >= 0

    def slice_numbers(self, query: PlaceQuery, rows: Rows) -> list[int | None]:
        """For each of some ``rows`` the slice of the volume that is most like ``query``, from 0; ``None`` for an
        image."""
        volumes = self._volume[rows].tolist()
        if max(volumes, default=-1) < 0:
            return [None] * len(volumes)
        slices = self._found(query).slices
        return [None if one < 0 else int(self.slices.numbers[slices[one]]) for one in volumes]

    def _distances(
        self, query: PlaceQuery, rows: Rows, of_images: Callable[[PlaceQuery, Rows], Matrix]
    ) -> Matrix:
        self._check(query)
        found, volume = np.empty(len(rows)), self._volume[rows]
        if (volume < 0).any():
            found[volume < 0] = of_images(query, rows[volume < 0])
        if (volume >= 0).any():
            similar = self._found(query).similarities[volume[volume >= 0]]
            found[volume >= 0] = 2.0 * query.weights.sum() - 2.0 * similar
        return found

    def _cosines(self, query: PlaceQuery, rows: Rows) -> Iterator[tuple[int, Matrix]]:
        """As :meth:`PlaceIndex._cosines`; of a volume those of its most similar slice, on the grid of images."""
        volume = self._volume[rows]
        images = np.flatnonzero(volume < 0)
        for at, cosine in super()._cosines(query, rows[images]):
            yield int(images[at]), cosine
        for at in np.flatnonzero(volume >= 0).tolist():
            shape, cosine = self.slices.cosines(query, int(self._found(query).slices[volume[at]]))
            yield at, self._on_grid(shape, cosine)

    def _on_grid(self, shape: tuple[int, int], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(p, ...) ``values`` (rows * columns, ...) of a coarser grid, repeated on that of images."""
        times = round((self.codes.shape[1] / len(values)) ** 0.5)
        if times == 1:
            return values
        on_grid = values.reshape(*shape, *values.shape[1:])
        return on_grid.repeat(times, axis=0).repeat(times, axis=1).reshape(-1, *values.shape[1:])

    def _found(self, query: PlaceQuery) -> _FoundSlices:
        """The most similar slice of each volume; kept for the last query."""
        if self._latest is None or self._latest[0] is not query:
            self._latest = query, self._best_slices(query)
        return self._latest[1]

    def _best_slices(self, query: PlaceQuery) -> _FoundSlices:
        if isinstance(query, VolumeQuery):
            # The slice shown is found by its places, which say more of the level, unless the order does.
            if query.in_order:
                return self.slices.in_order(query)
            by_places = self._best_slices(PlaceQuery(query.places, query.weights))
            return _FoundSlices(by_places.slices, self.slices.anywhere(query).similarities)
        starts, differing = self.slices.starts, self.slices.differing(query)
        chosen, ends = [], []
        for start, end in itertools.pairwise(starts.tolist()):
            few = min(_COMPARED, end - start)
            chosen.append(start + np.sort(np.argpartition(differing[start:end], few - 1)[:few]))
            ends.append(few)
        slices = np.concatenate([np.empty(0, np.int64), *chosen])
        similar = self.slices.similarities(query, slices)
        best = [
            begin + int(similar[begin:end].argmax())
            for begin, end in itertools.pairwise(np.cumsum([0, *ends]).tolist())
        ]
        return _FoundSlices(slices[best], similar[best])
