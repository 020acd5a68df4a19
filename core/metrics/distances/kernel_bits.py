"""Weighted Hamming distance of bits learned on kernel values (Yang et al. 2010, 3.4, the kernel trick)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Distance, Matrix, Part
from semblance.core.metrics.distances.bits import BitDistance
from semblance.core.metrics.numerics.kernels import Kernel


class KernelBitDistance(Distance):
    """The distance ``bits`` of (k(x, z_1), ..., k(x, z_r)), z the stored training ``rows`` (r, d)."""

    kind: ClassVar[str] = "kernel_bits"
    ties = True

    def __init__(self, kernel: Kernel, rows: Matrix, bits: BitDistance) -> None:
        self.kernel = kernel
        self.rows = rows
        self.bits = bits

    @property
    def n_features(self) -> int:
        """d, the columns of the stored rows."""
        return int(self.rows.shape[1])

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, T): the embedding of the bits of the kernel values."""
        return self.bits.embed(self.kernel.values(X, self.rows))

    def between(self, Q: Matrix, X: Matrix) -> Matrix:
        """(q, d), (n, d) -> (q, n): the distance of the bits of the kernel values."""
        return self.bits.between(self.kernel.values(Q, self.rows), self.kernel.values(X, self.rows))

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[Part]:
        """One part a bit, numbered from 1."""
        from_q, from_x = self.kernel.values(np.stack([q, x]), self.rows)
        return self.bits.parts(from_q, from_x, names)

    def settings(self) -> dict[str, Any]:
        """Those of the kernel."""
        return self.kernel.settings()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The stored rows, and the arrays of the bits."""
        return {"rows": self.rows, **self.bits.arrays()}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: no kernel, no rows, or bits that do not fit the rows.
        """
        kernel = Kernel.restore(settings)
        bits = BitDistance.restore({}, {name: array for name, array in arrays.items() if name != "rows"})
        rows = arrays.get("rows")
        if rows is None or rows.ndim != 2 or rows.dtype != np.float64 or rows.shape[1] == 0:
            raise BadInput("A kernel distance without the rows it compares with.")
        if len(rows) != bits.n_features:
            raise BadInput("The arrays of a kernel distance do not fit together.")
        return cls(kernel, rows, bits)
