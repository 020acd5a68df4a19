"""Kernel BDM: boosted bits on kernel values instead of features.

Yang, Jin, Mummert, Sukthankar, Goode, Zheng, Hoi, Satyanarayanan: A Boosting Framework for Visuality-
Preserving Distance Metric Learning and Its Application to Medical Image Retrieval. IEEE Transactions on
Pattern Analysis and Machine Intelligence 32(1), 2010; 3.4, the second case of f(x).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.bits import BitDistance, Kernel, KernelBitDistance, lengths
from semblance.core.metrics.estimators.bdm import BDMV, BitSpace, WeightedBit, stack_bits
from semblance.core.metrics.training_data.rows import check_different

#: Kernel values of all training cases with the landmarks, 8 bytes each: 2 GiB.
MAX_KERNEL_VALUES = 1 << 28
#: Landmarks between which the median distance is taken.
_MEDIAN_OF = 1_000
#: A direction of the landmarks' kernel matrix with a smaller share of its largest eigenvalue is rounding.
_NO_EIGENVALUE = 1e-10


class BDMKernel(declarations.BDMKernel, BDMV):
    """The eigenproblem is that of K (L- - L+) K and a bit is f(x) = [sum_i u_i k(x, x_i) > b].

    Sums over the landmarks, which are all training cases where these are few. u is kept off the null space
    of K, where projections would be rounding.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("bdm_kernel", kernel="rbf", rounds=20, random_state=0).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _check_memory(self, n: int, d: int) -> None:
        super()._check_memory(n, d)
        landmarks = min(n, self.landmarks)
        if n * landmarks > MAX_KERNEL_VALUES:
            raise BadInput(
                tr_lazy(
                    "{n:,} cases by {landmarks:,} landmarks would take {n2:.1f} GiB of memory.",
                    n=n,
                    landmarks=landmarks,
                    n2=8 * n * landmarks / 2**30,
                ),
                tr_lazy(
                    "Ask for at most {max_kernel_values:,} landmarks, or train on fewer cases.",
                    max_kernel_values=MAX_KERNEL_VALUES // n,
                ),
            )

    def _space(self, rows: Matrix) -> BitSpace:
        check_different(rows)
        landmarks = rows
        if len(rows) > self.landmarks:
            rng = np.random.default_rng(self.random_state or 0)
            landmarks = rows[np.sort(rng.choice(len(rows), self.landmarks, replace=False))]
        return _KernelValues(self._kernel(rows, landmarks), rows, landmarks)

    def _notes(self, space: BitSpace) -> tuple[str, ...]:
        assert isinstance(space, _KernelValues)
        kernel = space.kernel
        degree = tr_lazy(" of degree {degree}", degree=kernel.degree) if kernel.name == "polynomial" else ""
        return (
            tr_lazy(
                "Kernel {kernel}{degree}, gamma {gamma:.3g}, {n} landmarks.",
                kernel=kernel.name,
                degree=degree,
                gamma=kernel.gamma,
                n=len(space.landmarks),
            ),
        )

    def _kernel(self, rows: Matrix, landmarks: Matrix) -> Kernel:
        """gamma = 1/d at unit variance; by the median, the typical exponent is 1/2 (laplacian: 1)."""
        spread = float(rows.var(axis=0).mean())
        gamma = 1.0 / (rows.shape[1] * (spread**0.5 if self.kernel == "laplacian" else spread))
        if self.width == "median":
            some = landmarks[:_MEDIAN_OF]
            between = lengths(self.kernel, some, some)[np.triu_indices(len(some), 1)]
            between = between[between > 0.0]
            if len(between):
                gamma = (1.0 if self.kernel == "laplacian" else 0.5) / float(np.median(between))
        return Kernel(self.kernel, gamma, self.degree)


class _KernelValues:
    """``columns`` (n, r) = K V, V an orthonormal basis of what the landmarks' kernel matrix reaches."""

    def __init__(self, kernel: Kernel, rows: Matrix, landmarks: Matrix) -> None:
        from scipy.linalg import eigh

        self.kernel = kernel
        self.landmarks = landmarks
        among = kernel.values(landmarks, landmarks)
        values, vectors = eigh(0.5 * (among + among.T), check_finite=False)
        self._basis: Matrix = vectors[:, values > _NO_EIGENVALUE * values[-1]]
        self.columns: Matrix = kernel.values(rows, landmarks) @ self._basis

    def distance(self, bits: Sequence[WeightedBit]) -> KernelBitDistance:
        directions, thresholds, weights = stack_bits(bits)
        return KernelBitDistance(
            self.kernel, self.landmarks, BitDistance(self._basis @ directions, thresholds, weights)
        )
