"""A threshold on the squared projections of pairs, and how good it is (Bi et al. 2011, 3.1, option 2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from semblance.core.metrics.distance import Matrix

#: Projections closer than this share of their range are the same: equal rows may differ in rounding.
DISTINCT = 1e-11
#: Z that differ by less are equal but for rounding.
EQUAL = 1e-12


class Stump(NamedTuple):
    """h = [(u.z)^2 >= threshold], its alpha, and Z = eps0 + eps+ e^alpha + eps- e^-alpha."""

    threshold: float
    alpha: float
    z: float


def least_z(gain: Matrix, loss: Matrix) -> Matrix:
    """The least Z over all alpha > 0: 1 - (sqrt(gain) - sqrt(loss))^2, 1 where the loss is the larger."""
    better: Matrix = np.maximum(np.sqrt(gain) - np.sqrt(loss), 0.0)
    return 1.0 - better * better


def alpha_and_z(gain: Matrix, loss: Matrix, count: float) -> tuple[Matrix, Matrix]:
    """|alpha| and Z of cuts; 0 and 1 where the loss is no smaller than the gain.

    ``gain`` is the weight of the triplets a cut orders rightly, eps- for a positive alpha; ``loss`` that of
    those it orders wrongly, eps+. In alpha both are smoothed by 1/m, m = ``count`` triplets.
    """
    gain, loss = np.maximum(gain, 0.0), np.maximum(loss, 0.0)
    alpha = 0.5 * np.log((gain + 1.0 / count) / (loss + 1.0 / count))
    z = 1.0 + loss * np.expm1(alpha) + gain * np.expm1(-alpha)
    helps = (gain > loss) & (z < 1.0)
    return np.where(helps, alpha, 0.0), np.where(helps, z, 1.0)


def best_stump_of(thresholds: Matrix, gain: Matrix, loss: Matrix, sign: float, count: float) -> Stump | None:
    """The cut with the least Z of those at ``thresholds``, alpha of this ``sign``; ``None``: none helps."""
    alpha, z = alpha_and_z(gain, loss, count)
    z = np.where(thresholds > 0.0, z, 1.0)
    place = int(z.argmin()) if len(z) else -1
    if place < 0 or not z[place] < 1.0:
        return None
    return Stump(float(thresholds[place]), sign * float(alpha[place]), float(z[place]))


def gaussian_threshold(similar: Matrix, dissimilar: Matrix) -> float:
    """Where two Gaussians fitted to the pairs' q meet between their means, else midway.

    Both arguments are (count, sum of q, sum of q^2) over unweighted pairs.
    """
    (low, low_var), (high, high_var) = sorted(
        (float(sums[1] / sums[0]), max(float(sums[2] / sums[0] - (sums[1] / sums[0]) ** 2), 0.0))
        for sums in (similar, dissimilar)
    )
    middle = 0.5 * (low + high)
    if low_var <= 0.0 or high_var <= 0.0 or low == high:
        return middle
    # In units of the distance of the means, so that no scale of the features is too large to square.
    unit = high - low
    a_var, b_var = low_var / unit**2, high_var / unit**2
    coefficients = [
        1.0 / a_var - 1.0 / b_var,
        2.0 / b_var,
        -1.0 / b_var + math.log(a_var / b_var),
    ]
    roots = np.roots(coefficients)
    real = sorted(float(root.real) for root in roots if abs(root.imag) < 1e-9 and 0.0 < root.real < 1.0)
    return low + unit * real[0] if real else middle
