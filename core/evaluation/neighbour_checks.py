"""Cases that are far from all others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

#: The neighbour whose distance counts, so that a few foreign images do not hide each other.
OUTLIER_NEIGHBOUR = 10
#: With more rows, each is compared with a random sample of this size.
MOST_COMPARED = 5_000
#: A case is an outlier beyond so many robust standard deviations (Iglewicz and Hoaglin 1993). A bound by rank would
#: list the same share of every library, however clean it is.
OUTLIER_Z = 3.5
#: With fewer cases, of a library or of a finding, the usual distance is not known.
MIN_CASES = 30
_MAD_TO_SD = 1.4826
_BLOCK_VALUES = 4_000_000


def distances_to_other_units(X: Matrix, units: npt.NDArray[np.int64], seed: int = 0) -> Matrix:
    """(n,) the Euclidean distance of each row of ``X`` (n, m) to its :data:`OUTLIER_NEIGHBOUR`-th nearest row of
    another unit, infinite without one; among :data:`MOST_COMPARED` rows drawn by ``seed`` where there are more."""
    n = len(X)
    rng = np.random.default_rng(seed)
    drawn = np.arange(n) if n <= MOST_COMPARED else np.sort(rng.choice(n, MOST_COMPARED, replace=False))
    rows = X.astype(np.float32)
    others, other_units = rows[drawn], units[drawn]
    squares = np.einsum("ij,ij->i", rows, rows)
    out = np.full(n, np.inf)
    last = min(OUTLIER_NEIGHBOUR, len(drawn)) - 1
    step = max(1, _BLOCK_VALUES // max(len(drawn), 1))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        between = squares[part, None] + squares[drawn] - 2.0 * rows[part] @ others.T
        between[units[part, None] == other_units] = np.inf
        between.partition(last, axis=1)
        out[part] = np.sqrt(np.maximum(between[:, last], 0.0))
    return out if last == OUTLIER_NEIGHBOUR - 1 else np.full(n, np.inf)


def outlier_scores(distances: Matrix, findings: npt.NDArray[np.str_]) -> npt.NDArray[np.float64]:
    """(n,) robust standard deviations by which the logarithm of each distance (n,) exceeds the median of its finding.

    ``findings`` (n,): some lie closely and others, such as photographs of hands, do not. Those of fewer than
    :data:`MIN_CASES` cases have the median of all. 0 for distances that are not finite, and for all where they do not
    differ.
    """
    out = np.zeros(len(distances))
    known = np.isfinite(distances) & (distances > 0)
    if not known.any():
        return out
    logs, codes = np.log(distances[known]), np.unique(findings[known], return_inverse=True)[1]
    deviations = logs - np.median(logs)
    for code in np.flatnonzero(np.bincount(codes) >= MIN_CASES):
        deviations[codes == code] = logs[codes == code] - np.median(logs[codes == code])
    spread = _MAD_TO_SD * float(np.median(np.abs(deviations)))
    if spread > 0:
        out[known] = deviations / spread
    return out
