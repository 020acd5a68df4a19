"""A small convolutional network as a distance between square images; numpy alone runs it."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Distance, DistancePart, Matrix

#: Images processed together: each needs 25 shifted copies in memory.
_BLOCK = 64
_POOL = 2
_PLACES = (
    ("upper left", "upper middle", "upper right"),
    ("middle left", "centre", "middle right"),
    ("lower left", "lower middle", "lower right"),
)

Layers = tuple[tuple[Matrix, Matrix], ...]


def side_after(side: int, kernels: tuple[int, ...]) -> int:
    """Side of the last maps of an image of ``side`` pixels, 0 where nothing is left of it."""
    for kernel in kernels:
        side = max(0, side - kernel + 1) // _POOL
    return side


class ConvolutionDistance(Distance):
    """d(x, x') = |V (f(x) - f(x'))|^2, f the last maps of convolutions (Im & Taylor, Eqs. 16, 17).

    ``layers``: of each the kernels (m, c, k, k) and biases (m,); a layer convolves, takes the largest of
    2 x 2 and sets what is negative to 0. ``V`` (p, m h h). A row is an image of ``side`` x ``side`` pixels,
    row by row, of which ``centre`` is taken and which is divided by ``scale`` first.
    """

    kind: ClassVar[str] = "convolution"

    def __init__(self, side: int, centre: float, scale: float, layers: Layers, V: Matrix) -> None:
        self.side, self.centre, self.scale = side, centre, scale
        self.layers, self.V = layers, V

    @property
    def n_features(self) -> int:
        """Pixels of an image, side times side."""
        return self.side * self.side

    def embed(self, X: Matrix) -> Matrix:
        """(n, side side) -> (n, p): V f(x), image by image, so that no image changes the numbers of another."""
        out = np.empty((len(X), len(self.V)))
        for start in range(0, len(X), _BLOCK):
            maps = self._maps(X[start : start + _BLOCK])
            # One image at a time, because its result must not depend on the other images of a batch.
            for row, flat in enumerate(maps.reshape(len(maps), -1), start):
                out[row] = self.V @ flat
        return out

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """One part for each ninth of the image: what the last maps there contribute, exactly.

        A pixel of the last maps sees a few pixels more of the image than its share; a part may be negative.
        """
        maps = self._maps(np.stack([q, x]))
        # As in `embed`, for the parts to sum to the very distance.
        e = self.V @ maps[0].reshape(-1) - self.V @ maps[1].reshape(-1)
        amounts = (maps[0] - maps[1]) * (e @ self.V).reshape(maps.shape[1:])
        by_pixel = amounts.sum(axis=0)
        thirds = ((np.arange(len(by_pixel)) + 0.5) * 3 / len(by_pixel)).astype(int)
        found = [
            (place, float(by_pixel[np.ix_(thirds == row, thirds == column)].sum()))
            for row, line in enumerate(_PLACES)
            for column, place in enumerate(line)
            if (thirds == row).any() and (thirds == column).any()
        ]
        # The rounding error is added to the largest part.
        rest = float(e @ e) - math.fsum(amount for _, amount in found)
        largest = max(range(len(found)), key=lambda place: abs(found[place][1]))
        return [
            DistancePart(place, amount + (rest if number == largest else 0.0))
            for number, (place, amount) in enumerate(found)
        ]

    def settings(self) -> dict[str, Any]:
        """Side, centre, scale and the number of layers."""
        return {"side": self.side, "centre": self.centre, "scale": self.scale, "layers": len(self.layers)}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """V, and the kernels and biases of every layer, numbered from 1."""
        stored: dict[str, npt.NDArray[Any]] = {"V": self.V}
        for number, (kernels, biases) in enumerate(self.layers, 1):
            stored |= {f"kernels{number}": kernels, f"biases{number}": biases}
        return stored

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: a size, range or layer that is missing, or layers that do not fit each other.
        """
        side, count = settings.get("side"), settings.get("layers")
        centre, scale = settings.get("centre"), settings.get("scale")
        if not isinstance(side, int) or not isinstance(count, int):
            raise BadInput("A convolutional distance without its size.")
        if not isinstance(centre, float) or not isinstance(scale, float):
            raise BadInput("A convolutional distance without its range of grey.")
        if not math.isfinite(centre) or not 0.0 < scale < math.inf:
            raise BadInput("A convolutional distance with an impossible range of grey.")
        layers: list[tuple[Matrix, Matrix]] = []
        channels = 1
        for number in range(1, count + 1):
            kernels, biases = arrays.get(f"kernels{number}"), arrays.get(f"biases{number}")
            if kernels is None or biases is None or kernels.ndim != 4 or biases.shape != kernels.shape[:1]:
                raise BadInput("A convolutional distance lacks a layer.")
            if kernels.shape[1:] != (channels, kernels.shape[2], kernels.shape[2]):
                raise BadInput("The layers of a convolutional distance do not fit each other.")
            layers.append((kernels, biases))
            channels = len(kernels)
        V = arrays.get("V")
        last = side_after(side, tuple(kernels.shape[2] for kernels, _ in layers))
        if V is None or V.ndim != 2 or not len(V) or V.shape[1] != channels * last * last or not last:
            raise BadInput("The map of a convolutional distance does not fit its layers.")
        if any(array.dtype != np.float64 for array in arrays.values()):
            raise BadInput("The numbers of a convolutional distance have another precision.")
        return cls(side, centre, scale, tuple(layers), V)

    def _maps(self, X: Matrix) -> Matrix:
        """(n, m, h, h) the last maps of rows (n, d)."""
        maps: Matrix = ((X - self.centre) / self.scale).reshape(len(X), 1, self.side, self.side)
        for kernels, biases in self.layers:
            maps = _pooled(_convolved(maps, kernels))
            # After pooling: neither changes which of four is the largest.
            maps += biases[:, np.newaxis, np.newaxis]
            np.maximum(maps, 0.0, out=maps)
        return maps


def _convolved(maps: Matrix, kernels: Matrix) -> Matrix:
    """(n, c, h, h), (m, c, k, k) -> (n, m, h - k + 1, h - k + 1), as torch's ``conv2d``."""
    n, channels, h, _ = maps.shape
    m, _, k, _ = kernels.shape
    width = h - k + 1
    shifted = np.empty((n, channels, k, k, width, width))
    for row in range(k):
        for column in range(k):
            shifted[:, :, row, column] = maps[:, :, row : row + width, column : column + width]
    out: Matrix = np.matmul(kernels.reshape(m, -1), shifted.reshape(n, -1, width * width))
    return out.reshape(n, m, width, width)


def _pooled(maps: Matrix) -> Matrix:
    """The largest of each 2 x 2; a last row or column without a neighbour is left out."""
    even = maps.shape[-1] // _POOL * _POOL
    rows = np.maximum(maps[..., 0:even:2, :even], maps[..., 1:even:2, :even])
    out: Matrix = np.maximum(rows[..., 0::2], rows[..., 1::2])
    return out
