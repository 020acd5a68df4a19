"""The network of ConvCCML: convolution, pooling, a linear map (Im & Taylor, Section IV)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.convolution import ConvolutionDistance, side_after

#: Side of the kernels of each layer, and maps a layer (the paper's).
KERNELS = (5, 3)
MAPS = 10
#: Larger images do not improve so small a network.
_LARGEST = 128
#: Median squared distance of two cases at the start.
_SPREAD = 10.0
_PAIRS, _SCALE_ROWS = 4000, 500
_BLOCK = 256


@dataclass(frozen=True)
class Images:
    """Rows as images: ``side`` pixels along each side; ``centre`` is taken off, ``scale`` divides."""

    side: int
    centre: float
    scale: float

    def tensor(self, torch: Any, X: Matrix) -> Any:
        """(n, d) -> (n, 1, side, side) float32."""
        scaled = ((X - self.centre) / self.scale).astype(np.float32)
        return torch.from_numpy(scaled.reshape(len(X), 1, self.side, self.side))


def as_images(title: str, X: Matrix, layers: int) -> Images:
    """How rows (n, d) are images for a network of ``layers``.

    Raises:
        BadInput: d is no square, or the image is too small or too large; ``title`` names the learner.
    """
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1]:
        raise BadInput(
            tr_lazy(
                "{title} looks at square images, and {shape} numbers a case are not a square one.",
                title=title,
                shape=X.shape[1],
            ),
            "Extract 'pixels' and use no step (--steps none): some steps leave columns out.",
        )
    if side_after(side, KERNELS[:layers]) == 0 or side > _LARGEST:
        smallest = next(s for s in range(1, _LARGEST) if side_after(s, KERNELS[:layers]))
        raise BadInput(
            tr_lazy(
                "{title} with layers={layers} cannot process images of {side} x {side} pixels.",
                title=title,
                layers=layers,
                side=side,
            ),
            tr_lazy(
                "Extract 'pixels' with a size from {value} to {largest}; 28 is usual.",
                value=max(8, smallest),
                largest=_LARGEST,
            ),
        )
    centre = float(X.mean())
    # A block at a time: many images fill the memory once as it is.
    squares = (
        float(np.square(X[start : start + _BLOCK] - centre).sum()) for start in range(0, len(X), _BLOCK)
    )
    # Equal images have no scale.
    return Images(side, centre, math.sqrt(math.fsum(squares) / X.size) or 1.0)


class Network:
    """Weights being trained; ``parameters`` are torch's tensors, the linear map V (p, f) the last."""

    def __init__(
        self, torch: Any, images: Images, layers: int, components: int, X: Matrix, seed: int
    ) -> None:
        """Random kernels; V is scaled so that cases of ``X`` lie about as far apart as softmax resolves."""
        self._torch, self._images, self._layers = torch, images, layers
        rng = np.random.default_rng([seed, 2])
        self.parameters: list[Any] = []
        channels = 1
        for kernel in KERNELS[:layers]:
            shape = (MAPS, channels, kernel, kernel)
            self._add(rng.normal(size=shape) * math.sqrt(2.0 / (channels * kernel * kernel)))
            self._add(np.zeros(MAPS))
            channels = MAPS
        width = MAPS * side_after(images.side, KERNELS[:layers]) ** 2
        self._add(rng.normal(size=(components, width)) / math.sqrt(width))
        some = X[rng.permutation(len(X))[:_SCALE_ROWS]]
        Z = self.embed(some)
        i, j = rng.integers(len(Z), size=(2, _PAIRS))
        median = float(np.median(np.square(Z[i] - Z[j]).sum(axis=1)[i != j]))
        if median <= 0.0:
            median = 2.0 * float(Z.var(axis=0).sum())
        if median > 0.0:
            with torch.no_grad():
                self.parameters[-1] *= math.sqrt(_SPREAD / median)

    def _add(self, values: Matrix) -> None:
        self.parameters.append(
            self._torch.from_numpy(values.astype(np.float32)).requires_grad_(requires_grad=True)
        )

    def forward(self, images: Any) -> Any:
        """(n, 1, side, side) -> (n, p), both torch's."""
        functional = self._torch.nn.functional
        maps = images
        for layer in range(self._layers):
            kernels, biases = self.parameters[2 * layer : 2 * layer + 2]
            maps = functional.max_pool2d(functional.relu(functional.conv2d(maps, kernels, biases)), 2)
        return functional.linear(maps.flatten(1), self.parameters[-1])

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, p), in the precision of training."""
        with self._torch.no_grad():
            blocks = [
                self.forward(self._images.tensor(self._torch, X[start : start + _BLOCK])).numpy()
                for start in range(0, len(X), _BLOCK)
            ]
        return np.concatenate(blocks).astype(np.float64)

    def frozen(self) -> ConvolutionDistance:
        """The distance as it is now; later training does not change it."""
        values = [tensor.detach().numpy().astype(np.float64) for tensor in self.parameters]
        layers = tuple((values[2 * n], values[2 * n + 1]) for n in range(self._layers))
        return ConvolutionDistance(
            self._images.side, self._images.centre, self._images.scale, layers, values[-1]
        )
