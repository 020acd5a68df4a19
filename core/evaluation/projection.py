"""The cases of a library in a plane that keeps neighbours together.

van der Maaten and Hinton, Visualizing Data using t-SNE, JMLR 9 (2008); the grid after Linderman et al., Fast
interpolation-based t-SNE, Nature Methods 16 (2019); start, learning rate and exaggeration after Kobak and
Berens, The art of using t-SNE, Nature Communications 10 (2019), and Belkina et al., ibid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
_Spectrum = npt.NDArray[np.complexfloating]

#: Rounds with exaggerated attraction, rounds in all, and the exaggeration.
EARLY, ROUNDS, EXAGGERATION = 250, 750, 12.0
#: Number of attracting neighbours for each unit of perplexity.
_NEIGHBOURS_PER_PERPLEXITY = 3
#: Maximum width of a grid interval, minimum and maximum number of intervals, and nodes in each.
_INTERVAL, _MIN_INTERVALS, _MAX_INTERVALS, _NODES = 1.0, 24, 120, 3

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
class Attraction:
    """A symmetric sparse table of n cases whose sum is 1 (Eq. 12 of the paper, symmetrised): ``starts``
    (n + 1,), ``columns`` (e,) and ``weights`` (e,), row by row."""

    starts: Rows
    columns: Rows
    weights: Matrix

    def __len__(self) -> int:
        return len(self.starts) - 1


def attraction(neighbours: Rows, distances: Matrix, perplexity: float = 30.0) -> Attraction:
    """The attraction of the k nearest (n, k) of n cases with squared distances (n, k); best with k = 3 x perplexity.

    The width of each case's Gaussian gives this perplexity, or the largest possible one; it is found by bisection.
    """
    from scipy.sparse import csr_array

    n, k = neighbours.shape
    target = np.log(min(perplexity, max(1.5, k / _NEIGHBOURS_PER_PERPLEXITY)))
    shifted = distances - distances[:, :1]
    scale = shifted.mean(axis=1, keepdims=True)
    shifted = shifted / np.where(scale > 0, scale, 1.0)
    beta, low, high = np.ones(n), np.zeros(n), np.full(n, np.inf)
    p = np.empty((n, k))
    for _ in range(60):
        np.exp(-shifted * beta[:, None], out=p)
        total = p.sum(axis=1)
        entropy = np.log(total) + beta * (p * shifted).sum(axis=1) / total
        too_wide = entropy > target
        low, high = np.where(too_wide, beta, low), np.where(too_wide, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    p /= p.sum(axis=1, keepdims=True)
    one_way = csr_array((p.ravel(), neighbours.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    symmetric = (one_way + one_way.T).tocsr()
    return Attraction(
        symmetric.indptr.astype(np.int64),
        symmetric.indices.astype(np.int64),
        symmetric.data / symmetric.data.sum(),
    )


def rounds(table: Attraction, start: Matrix, n_rounds: int = ROUNDS) -> Iterator[Matrix]:
    """The map (n, 2) after every round, beginning from ``start`` (n, 2). The array is reused.

    Gradient descent with momentum and gains, learning rate n / exaggeration (at least 50).
    """
    n = len(table)
    spread = start.std()
    y = start * (1e-4 / spread) if spread > 0 else start.copy()
    step, gains = np.zeros_like(y), np.ones_like(y)
    rate = max(50.0, n / EXAGGERATION)
    early = min(EARLY, n_rounds // 3)
    for number in range(n_rounds):
        exaggeration, momentum = (EXAGGERATION, 0.5) if number < early else (1.0, 0.8)
        slope = gradient(table, y, exaggeration)
        same_sign = np.sign(slope) == np.sign(step)
        gains = np.maximum(np.where(same_sign, gains * 0.8, gains + 0.2), 0.01)
        step = momentum * step - rate * gains * slope
        y += step
        y -= y.mean(axis=0)
        yield y


def gradient(table: Attraction, y: Matrix, exaggeration: float = 1.0) -> Matrix:
    """(n, 2) gradient of the Kullback-Leibler divergence (Eq. 5 of the paper) at the map ``y`` (n, 2)."""
    repulsive_force, total = repulsion(y)
    return 4.0 * (exaggeration * _attractive_force(table, y) - repulsive_force / max(total, 1e-300))


def _attractive_force(table: Attraction, y: Matrix) -> Matrix:
    """(n, 2) sums over neighbours of p w (y_i - y_j), w = 1 / (1 + |y_i - y_j|^2)."""
    counts = np.diff(table.starts)
    out = np.empty_like(y)
    difference = [np.repeat(y[:, axis], counts) - y[table.columns, axis] for axis in range(2)]
    force = table.weights / (1.0 + difference[0] ** 2 + difference[1] ** 2)
    for axis in range(2):
        sums = np.concatenate([[0.0], np.cumsum(force * difference[axis])])
        out[:, axis] = sums[table.starts[1:]] - sums[table.starts[:-1]]
    return out


def repulsion(y: Matrix) -> tuple[Matrix, float]:
    """(n, 2) sums over all others of w^2 (y_i - y_j), and the sum of w over all pairs.

    The kernels are interpolated by polynomials on a grid and convolved there by Fourier transforms, so the
    cost grows with n and not with its square.
    """
    grid = _Grid(y)
    ones = grid.spread(np.ones(len(y)))
    total = float(grid.gather(ones, power=1).sum()) - len(y)
    charge = grid.gather(ones, power=2)
    first, second = (grid.gather(grid.spread(y[:, axis]), power=2) for axis in range(2))
    repulsive_force = np.stack([y[:, 0] * charge - first, y[:, 1] * charge - second], axis=1)
    return repulsive_force, total


class _Grid:
    """The nodes of interpolation around a map, and the weights of each case on them."""

    def __init__(self, y: Matrix) -> None:
        from scipy.fft import next_fast_len, rfft2

        low, high = float(y.min()), float(y.max())
        width = max(high - low, 1e-12)
        n = int(np.clip(np.ceil(width / _INTERVAL), _MIN_INTERVALS, _MAX_INTERVALS))
        self._size = n * _NODES
        interval = width / n
        self._step = interval / _NODES
        inner = (np.arange(_NODES) + 0.5) / _NODES
        weights, nodes_at = [], []
        for axis in range(2):
            along = (y[:, axis] - low) / interval
            box = np.clip(along.astype(np.int64), 0, n - 1)
            offset = along - box
            weights.append(_lagrange_polynomials(offset, inner))
            nodes_at.append(box * _NODES)
        self._flat, self._weight = [], []
        for i in range(_NODES):
            for j in range(_NODES):
                self._flat.append((nodes_at[0] + i) * self._size + nodes_at[1] + j)
                self._weight.append(weights[0][i] * weights[1][j])

        # Single precision is enough, because the error of interpolation is larger.
        padded = next_fast_len(2 * self._size, real=True)
        difference = (np.minimum(np.arange(padded), padded - np.arange(padded)) * self._step).astype(
            np.float32
        )
        kernel = 1.0 / (1.0 + difference[:, None] ** 2 + difference**2)
        self._padded = padded
        self._kernels = {1: rfft2(kernel), 2: rfft2(kernel * kernel)}

    def spread(self, charge: Matrix) -> _Spectrum:
        """The Fourier transform of the charges (n,) on the grid."""
        from scipy.fft import rfft2

        size = self._size
        grid_charge = np.zeros(size * size)
        for flat, weight in zip(self._flat, self._weight, strict=True):
            grid_charge += np.bincount(flat, weight * charge, size * size)
        spectrum: _Spectrum = rfft2(
            grid_charge.astype(np.float32).reshape(size, size), (self._padded, self._padded)
        )
        return spectrum

    def gather(self, spectrum: _Spectrum, power: int) -> Matrix:
        """(n,) sums over all cases of their charge / (1 + |y_i - y_j|^2)^power; ``power`` is 1 or 2."""
        from scipy.fft import irfft2

        size = self._size
        field = irfft2(spectrum * self._kernels[power], (self._padded, self._padded))
        values = np.ascontiguousarray(field[:size, :size]).ravel()
        found = np.zeros(len(self._flat[0]))
        for flat, weight in zip(self._flat, self._weight, strict=True):
            found += weight * values[flat]
        return found


def _lagrange_polynomials(positions: Matrix, nodes: Matrix) -> list[Matrix]:
    """The Lagrange polynomial of each node at (n,) positions."""
    out = []
    for i, node in enumerate(nodes):
        value = np.ones(len(positions))
        for j, other in enumerate(nodes):
            if i != j:
                value *= (positions - other) / (node - other)
        out.append(value)
    return out


@dataclass(frozen=True, eq=False)
class MapPlaces:
    """(n, 2) ``places`` and the ``share`` of the spread they show, 0 to 1 (``None``: not known)."""

    places: Matrix
    share: float | None


def principal_axes(coordinates: Matrix, *, seed: int = 0) -> MapPlaces:
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
    return MapPlaces(out, share)


def landmark_scaling(n: int, between: Between, *, seed: int = 0, reporter: Reporter = SILENT) -> MapPlaces:
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
    return MapPlaces(out, share)


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
