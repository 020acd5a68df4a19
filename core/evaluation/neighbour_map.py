"""A flat map that keeps neighbours together: t-SNE, its forces summed by interpolation on a grid.

van der Maaten and Hinton, Visualizing Data using t-SNE, JMLR 9 (2008); the grid after Linderman et al., Fast
interpolation-based t-SNE, Nature Methods 16 (2019); start, learning rate and exaggeration after Kobak and
Berens, The art of using t-SNE, Nature Communications 10 (2019), and Belkina et al., ibid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
_Spectrum = npt.NDArray[np.complexfloating]

#: Rounds with attraction exaggerated, rounds in all, and by how much.
EARLY, ROUNDS, EXAGGERATION = 250, 750, 12.0
#: Nearest neighbours that attract, for each unit of perplexity.
_PER_PERPLEXITY = 3
#: Width of a grid interval at most, fewest and most intervals, and points of interpolation in each.
_INTERVAL, _FEWEST, _MOST, _NODES = 1.0, 24, 120, 3


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
    """From the k nearest (n, k) of n cases and their squared distances (n, k); k is 3 x perplexity at best.

    Each case's Gaussian is as wide as gives it that perplexity (found by bisection), or one it can have.
    """
    from scipy.sparse import csr_array

    n, k = neighbours.shape
    target = np.log(min(perplexity, max(1.5, k / _PER_PERPLEXITY)))
    shifted = distances - distances[:, :1]
    scale = shifted.mean(axis=1, keepdims=True)
    shifted = shifted / np.where(scale > 0, scale, 1.0)
    beta, low, high = np.ones(n), np.zeros(n), np.full(n, np.inf)
    p = np.empty((n, k))
    for _ in range(60):
        np.exp(-shifted * beta[:, None], out=p)
        total = p.sum(axis=1)
        entropy = np.log(total) + beta * (p * shifted).sum(axis=1) / total
        wide = entropy > target
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    p /= p.sum(axis=1, keepdims=True)
    one_way = csr_array((p.ravel(), neighbours.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    both = (one_way + one_way.T).tocsr()
    return Attraction(
        both.indptr.astype(np.int64), both.indices.astype(np.int64), both.data / both.data.sum()
    )


def rounds(table: Attraction, start: Matrix, n_rounds: int = ROUNDS) -> Iterator[Matrix]:
    """The map (n, 2) after every round, beginning from ``start`` (n, 2); the array is used again.

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
        agree = np.sign(slope) == np.sign(step)
        gains = np.maximum(np.where(agree, gains * 0.8, gains + 0.2), 0.01)
        step = momentum * step - rate * gains * slope
        y += step
        y -= y.mean(axis=0)
        yield y


def gradient(table: Attraction, y: Matrix, exaggeration: float = 1.0) -> Matrix:
    """(n, 2) gradient of the Kullback-Leibler divergence (Eq. 5 of the paper) at the map ``y`` (n, 2)."""
    push, total = repulsion(y)
    return 4.0 * (exaggeration * _pull(table, y) - push / max(total, 1e-300))


def _pull(table: Attraction, y: Matrix) -> Matrix:
    """(n, 2) sums over neighbours of p w (y_i - y_j), w = 1 / (1 + |y_i - y_j|^2)."""
    counts = np.diff(table.starts)
    out = np.empty_like(y)
    away = [np.repeat(y[:, axis], counts) - y[table.columns, axis] for axis in range(2)]
    force = table.weights / (1.0 + away[0] ** 2 + away[1] ** 2)
    for axis in range(2):
        sums = np.concatenate([[0.0], np.cumsum(force * away[axis])])
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
    push = np.stack([y[:, 0] * charge - first, y[:, 1] * charge - second], axis=1)
    return push, total


class _Grid:
    """Points of interpolation around a map, and how each case is spread on them."""

    def __init__(self, y: Matrix) -> None:
        from scipy.fft import next_fast_len, rfft2

        low, high = float(y.min()), float(y.max())
        wide = max(high - low, 1e-12)
        n = int(np.clip(np.ceil(wide / _INTERVAL), _FEWEST, _MOST))
        self._size = n * _NODES
        interval = wide / n
        self._step = interval / _NODES
        inner = (np.arange(_NODES) + 0.5) / _NODES
        weights, places = [], []
        for axis in range(2):
            along = (y[:, axis] - low) / interval
            box = np.clip(along.astype(np.int64), 0, n - 1)
            within = along - box
            weights.append(_lagrange(within, inner))
            places.append(box * _NODES)
        self._flat, self._weight = [], []
        for i in range(_NODES):
            for j in range(_NODES):
                self._flat.append((places[0] + i) * self._size + places[1] + j)
                self._weight.append(weights[0][i] * weights[1][j])

        # Single precision: what interpolation leaves out is larger by far.
        full = next_fast_len(2 * self._size, real=True)
        away = (np.minimum(np.arange(full), full - np.arange(full)) * self._step).astype(np.float32)
        near = 1.0 / (1.0 + away[:, None] ** 2 + away**2)
        self._full = full
        self._kernels = {1: rfft2(near), 2: rfft2(near * near)}

    def spread(self, charge: Matrix) -> _Spectrum:
        """A charge of every case (n,), put on the grid and turned into waves."""
        from scipy.fft import rfft2

        size = self._size
        held = np.zeros(size * size)
        for flat, weight in zip(self._flat, self._weight, strict=True):
            held += np.bincount(flat, weight * charge, size * size)
        waves: _Spectrum = rfft2(held.astype(np.float32).reshape(size, size), (self._full, self._full))
        return waves

    def gather(self, waves: _Spectrum, power: int) -> Matrix:
        """(n,) sums over all cases of their charge / (1 + |y_i - y_j|^2)^power; ``power`` is 1 or 2."""
        from scipy.fft import irfft2

        size = self._size
        field = irfft2(waves * self._kernels[power], (self._full, self._full))
        values = np.ascontiguousarray(field[:size, :size]).ravel()
        found = np.zeros(len(self._flat[0]))
        for flat, weight in zip(self._flat, self._weight, strict=True):
            found += weight * values[flat]
        return found


def _lagrange(at: Matrix, nodes: Matrix) -> list[Matrix]:
    """The polynomial of each node, one there and zero at the others, at (n,) places."""
    out = []
    for i, node in enumerate(nodes):
        value = np.ones(len(at))
        for j, other in enumerate(nodes):
            if i != j:
                value *= (at - other) / (node - other)
        out.append(value)
    return out
