"""Projections of cases to a plane: principal axes or landmark scaling first, then a neighbour map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.neighbour_map import ROUNDS, attraction, rounds
from semblance.core.language import tr_lazy
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

#: (a,), (b,) places of cases -> (a, b) squared distances.
Between = Callable[[Rows, Rows], Matrix]

#: Maximum number of cases with forces; the others are placed between their nearest ones. With and without coordinates.
MAX_MOVED, MAX_SCANNED = 10_000, 3_000
#: Number of landmarks for a metric without coordinates, and of cases for the principal axes.
LANDMARKS, AXES_SAMPLE = 200, 5_000
PERPLEXITY = 30.0
#: Number of nearest cases with forces between which another case is placed.
_ANCHORS = 5
#: Number of squared distances in memory.
_BLOCK = 4_000_000
#: Number of queries for neighbour preservation, and of their nearest cases.
_QUERIES, NEAREST = 500, 10


@dataclass(frozen=True, eq=False)
class Plane:
    """(n, 2) ``places`` and the ``share`` of the spread they show, 0 to 1 (``None``: not known)."""

    places: Matrix
    share: float | None


def principal_axes(coordinates: Matrix, *, seed: int = 0) -> Plane:
    """The two principal components of (n, m) coordinates; of many cases the axes are a sample's."""
    n = len(coordinates)
    chosen = _sample(n, AXES_SAMPLE, seed)
    sample = coordinates[chosen].astype(np.float64)
    mean_point = sample.mean(axis=0)
    sample -= mean_point
    _, strength, axes = np.linalg.svd(sample, full_matrices=False)
    total = float((strength**2).sum())
    share = float((strength[:2] ** 2).sum()) / total if total > 0 else None
    axes = axes[:2]
    # The sign of a component is arbitrary; this choice does not change from run to run.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.where(np.take_along_axis(axes, largest[:, None], axis=1) < 0, -1.0, 1.0)
    out = np.zeros((n, 2))
    for start in range(0, n, 8192):
        block = coordinates[start : start + 8192].astype(np.float64) - mean_point
        out[start : start + 8192, : len(axes)] = block @ axes.T
    return Plane(out, share)


def landmark_scaling(n: int, between: Between, *, seed: int = 0, reporter: Reporter = SILENT) -> Plane:
    """Classical scaling of a few landmarks, and every case placed by its distances to them.

    de Silva and Tenenbaum, Sparse multidimensional scaling using landmark points, Stanford (2004).
    """
    chosen = _sample(n, LANDMARKS, seed)
    inner = between(chosen, chosen)
    means = inner.mean(axis=0)
    centred = -0.5 * (inner - means - means[:, None] + inner.mean())
    values, vectors = np.linalg.eigh(centred)
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    positive = float(np.linalg.eigvalsh(centred).clip(min=0).sum())
    share = float(values.clip(min=0).sum()) / positive if positive > 0 else None
    signs = np.where(np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0) < 0, -1.0, 1.0)
    projection = (vectors * signs / np.sqrt(np.where(values > 0, values, np.inf))).T
    out = np.zeros((n, 2))
    for part in _blocks(n, len(chosen)):
        reporter.check_cancelled()
        out[part, : len(projection)] = (
            -0.5 * (between(np.arange(part.start, part.stop), chosen) - means) @ projection.T
        )
    return Plane(out, share)


def nearest_neighbours(
    queries: Rows, among: Rows, k: int, between: Between, reporter: Reporter = SILENT, what: str = ""
) -> tuple[Rows, Matrix]:
    """The ``k`` nearest of ``queries`` (q,) in ``among`` (a,), themselves left out: places in ``among``
    (q, k) from near to far, and squared distances (q, k)."""
    found, distances = np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
    for part in _blocks(len(queries), len(among)):
        reporter.check_cancelled()
        reporter.progress(part.start, len(queries), what)
        table = between(queries[part], among)
        table[queries[part][:, None] == among] = np.inf
        near = np.argpartition(table, k - 1, axis=1)[:, :k]
        values = np.take_along_axis(table, near, axis=1)
        order = np.argsort(values, axis=1, kind="stable")
        found[part] = np.take_along_axis(near, order, axis=1)
        distances[part] = np.take_along_axis(values, order, axis=1)
    return found, distances


class NeighbourMap:
    """A neighbour map of n cases that grows round by round.

    At most ``maximum`` cases, a seeded sample, attract and repel. Each other case is placed between the nearest of
    these, weighted by nearness.
    """

    def __init__(
        self, start: Matrix, between: Between, *, maximum: int, seed: int = 0, reporter: Reporter = SILENT
    ) -> None:
        """``start`` (n, 2) is the first map."""
        n = len(start)
        self.moved = _sample(n, maximum, seed)
        k = min(round(3 * PERPLEXITY), len(self.moved) - 1)
        near, distances = nearest_neighbours(
            self.moved, self.moved, k, between, reporter, tr_lazy("Finding neighbours")
        )
        self._table = attraction(near, distances, PERPLEXITY)
        self._start = start[self.moved]
        self._n = n
        self._others = np.setdiff1d(np.arange(n), self.moved)
        n_anchors = min(_ANCHORS, len(self.moved))
        if len(self._others):
            self._anchors, distances = nearest_neighbours(
                self._others, self.moved, n_anchors, between, reporter, tr_lazy("Placing the other cases")
            )
            weight = 1.0 / (
                np.sqrt(distances.clip(min=0)) + 1e-9 + 0.1 * np.sqrt(distances.clip(min=0)).mean()
            )
            self._weight = weight / weight.sum(axis=1, keepdims=True)

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return ROUNDS

    def grow(self) -> Iterator[Callable[[], Matrix]]:
        """After every round a function that gives the whole map (n, 2) as it is then."""
        for moved in rounds(self._table, self._start):
            yield partial(self._full_map, moved)

    def _full_map(self, moved: Matrix) -> Matrix:
        # Turned so that it is wider than high, like screens, and not mirrored against the first map.
        axes = np.linalg.eigh(moved.T @ moved)[1][:, ::-1]
        moved = moved @ axes
        moved = moved * np.where((moved * self._start).sum(axis=0) < 0, -1.0, 1.0)
        out = np.empty((self._n, 2))
        out[self.moved] = moved
        if len(self._others):
            out[self._others] = np.einsum("nk,nkd->nd", self._weight, moved[self._anchors])
        return out


def neighbour_preservation(places: Matrix, between: Between, *, seed: int = 0) -> float | None:
    """The share of the ten nearest cases that are among the ten nearest on the map too, of a seeded sample of
    cases; ``None`` for fewer than twelve cases."""
    n = len(places)
    if n < NEAREST + 2:
        return None
    queries, everyone = _sample(n, _QUERIES, seed), np.arange(n)

    def on_map(a: Rows, b: Rows) -> Matrix:
        distances: Matrix = ((places[a][:, None] - places[b]) ** 2).sum(axis=2)
        return distances

    near, _ = nearest_neighbours(queries, everyone, NEAREST, between)
    near_on_map, _ = nearest_neighbours(queries, everyone, NEAREST, on_map)
    shared = [len(np.intersect1d(a, b)) for a, b in zip(near, near_on_map, strict=True)]
    return float(np.mean(shared)) / NEAREST


def euclidean_distances(coordinates: Matrix) -> Between:
    """Squared Euclidean distances between rows of (n, m) coordinates, good to single precision."""
    coordinates32 = np.ascontiguousarray(coordinates - coordinates.mean(axis=0), dtype=np.float32)
    squares = np.einsum("ij,ij->i", coordinates32, coordinates32)

    def between(a: Rows, b: Rows) -> Matrix:
        # In the usual case of all rows nothing is copied.
        other = coordinates32 if len(b) == len(coordinates32) else coordinates32[b]
        table = coordinates32[a] @ other.T
        table *= -2
        table += squares[a][:, None]
        table += squares[b]
        return table.clip(min=0).astype(np.float64)

    return between


def _sample(n: int, maximum: int, seed: int) -> Rows:
    if n <= maximum:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, maximum, replace=False))


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
