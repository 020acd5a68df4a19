"""Cases on a plane: principal axes or landmarks at once, then a map that keeps neighbours together."""

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

#: Cases with forces of their own; the others are placed by their nearest among them.
MOST_MOVED, MOST_SCANNED = 10_000, 3_000
#: Landmarks of the first map where a metric has no coordinates, and coordinates whose axes are looked for.
LANDMARKS, AXES_OF = 200, 5_000
PERPLEXITY = 30.0
#: Nearest moved cases between which another is placed.
_PLACED_BY = 5
#: Squared distances held at once.
_BLOCK = 4_000_000
#: Cases asked how many of their nearest the map keeps, and how many nearest.
_ASKED, NEAREST = 500, 10


@dataclass(frozen=True, eq=False)
class Plane:
    """(n, 2) ``places`` and the ``share`` of the spread they show, 0 to 1 (``None``: not known)."""

    places: Matrix
    share: float | None


def principal_axes(coordinates: Matrix, *, seed: int = 0) -> Plane:
    """The two principal components of (n, m) coordinates; of many cases the axes are a sample's."""
    n = len(coordinates)
    chosen = _sample(n, AXES_OF, seed)
    some = coordinates[chosen].astype(np.float64)
    middle = some.mean(axis=0)
    some -= middle
    _, strength, axes = np.linalg.svd(some, full_matrices=False)
    total = float((strength**2).sum())
    share = float((strength[:2] ** 2).sum()) / total if total > 0 else None
    axes = axes[:2]
    # A component's sign is nobody's; this one does not change from run to run.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.where(np.take_along_axis(axes, largest[:, None], axis=1) < 0, -1.0, 1.0)
    out = np.zeros((n, 2))
    for start in range(0, n, 8192):
        block = coordinates[start : start + 8192].astype(np.float64) - middle
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
    back = (vectors * signs / np.sqrt(np.where(values > 0, values, np.inf))).T
    out = np.zeros((n, 2))
    for part in _blocks(n, len(chosen)):
        reporter.check_cancelled()
        out[part, : len(back)] = -0.5 * (between(np.arange(part.start, part.stop), chosen) - means) @ back.T
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

    At most ``most`` cases, a seeded sample, attract and repel; each of the others lies between its nearest
    among those, the nearer the heavier.
    """

    def __init__(
        self, start: Matrix, between: Between, *, most: int, seed: int = 0, reporter: Reporter = SILENT
    ) -> None:
        """``start`` (n, 2) is the first map."""
        n = len(start)
        self.moved = _sample(n, most, seed)
        k = min(round(3 * PERPLEXITY), len(self.moved) - 1)
        near, distances = nearest_neighbours(
            self.moved, self.moved, k, between, reporter, tr_lazy("Finding neighbours")
        )
        self._table = attraction(near, distances, PERPLEXITY)
        self._start = start[self.moved]
        self._n = n
        self._others = np.setdiff1d(np.arange(n), self.moved)
        by = min(_PLACED_BY, len(self.moved))
        if len(self._others):
            self._by, away = nearest_neighbours(
                self._others, self.moved, by, between, reporter, tr_lazy("Placing the other cases")
            )
            weight = 1.0 / (np.sqrt(away.clip(min=0)) + 1e-9 + 0.1 * np.sqrt(away.clip(min=0)).mean())
            self._weight = weight / weight.sum(axis=1, keepdims=True)

    @property
    def rounds(self) -> int:
        """How many there will be."""
        return ROUNDS

    def grow(self) -> Iterator[Callable[[], Matrix]]:
        """After every round a function that gives the whole map (n, 2) as it is then."""
        for moved in rounds(self._table, self._start):
            yield partial(self._whole, moved)

    def _whole(self, moved: Matrix) -> Matrix:
        # Held so that it is wide rather than tall, as screens are, and not mirrored against the first map.
        axes = np.linalg.eigh(moved.T @ moved)[1][:, ::-1]
        moved = moved @ axes
        moved = moved * np.where((moved * self._start).sum(axis=0) < 0, -1.0, 1.0)
        out = np.empty((self._n, 2))
        out[self.moved] = moved
        if len(self._others):
            out[self._others] = np.einsum("nk,nkd->nd", self._weight, moved[self._by])
        return out


def neighbour_preservation(places: Matrix, between: Between, *, seed: int = 0) -> float | None:
    """The share of the ten nearest cases that are among the ten nearest on the map too, of a seeded sample of
    cases; ``None`` for fewer than twelve cases."""
    n = len(places)
    if n < NEAREST + 2:
        return None
    asked, everyone = _sample(n, _ASKED, seed), np.arange(n)

    def on_map(a: Rows, b: Rows) -> Matrix:
        away: Matrix = ((places[a][:, None] - places[b]) ** 2).sum(axis=2)
        return away

    near, _ = nearest_neighbours(asked, everyone, NEAREST, between)
    seen, _ = nearest_neighbours(asked, everyone, NEAREST, on_map)
    kept = [len(np.intersect1d(a, b)) for a, b in zip(near, seen, strict=True)]
    return float(np.mean(kept)) / NEAREST


def euclidean_distances(coordinates: Matrix) -> Between:
    """Squared Euclidean distances between rows of (n, m) coordinates, good to single precision."""
    single = np.ascontiguousarray(coordinates - coordinates.mean(axis=0), dtype=np.float32)
    squares = np.einsum("ij,ij->i", single, single)

    def between(a: Rows, b: Rows) -> Matrix:
        # All of them, the usual case, are not copied.
        other = single if len(b) == len(single) else single[b]
        table = single[a] @ other.T
        table *= -2
        table += squares[a][:, None]
        table += squares[b]
        return table.clip(min=0).astype(np.float64)

    return between


def _sample(n: int, most: int, seed: int) -> Rows:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
