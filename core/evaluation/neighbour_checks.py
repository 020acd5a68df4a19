"""What the neighbours of cases say of them: cases far from all others, and findings that the neighbours contradict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: Neighbours of a case: the last one decides how far it lies from the others, the first VOTERS about its finding.
#: So a few images from elsewhere do not hide each other.
OUTLIER_NEIGHBOUR, VOTERS = 10, 15
#: A case is an outlier beyond so many robust standard deviations (Iglewicz and Hoaglin 1993). A bound by rank would
#: list the same share of every library, however clean it is.
OUTLIER_Z = 3.5
#: Fewer cases do not tell which distance is usual.
MIN_CASES = 30
#: A finding is doubtful if at most this share of the neighbours have it, and another has at least what is usual for
#: its own cases, or this share.
OWN_VOTES, OTHER_VOTES = 0.15, 0.8
_MAD_TO_SD = 1.4826
_BLOCK_VALUES = 4_000_000


@dataclass(frozen=True)
class DoubtfulFinding:
    """The case at ``place``, the finding ``suggested`` of most neighbours, and the votes for both of ``voters``."""

    place: int
    suggested: str
    own_votes: int
    votes: int
    voters: int


def nearest_of_other_units(X: Matrix, units: npt.NDArray[np.int64], k: int) -> tuple[Rows, Matrix]:
    """The places (n, k) and Euclidean distances (n, k) of the nearest rows of ``X`` (n, m) of another unit.

    Ascending. Where a row has fewer than ``k`` such rows, the places are -1 and the distances infinite.
    """
    n = len(X)
    width = min(k, n)
    places, distances = np.full((n, k), -1, dtype=np.intp), np.full((n, k), np.inf)
    squares = np.einsum("ij,ij->i", X, X)
    step = max(1, _BLOCK_VALUES // max(n, 1))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        between = squares[rows, None] + squares - 2.0 * X[rows] @ X.T
        between[units[rows, None] == units] = np.inf
        first = np.argpartition(between, width - 1, axis=1)[:, :width]
        values = np.take_along_axis(between, first, axis=1)
        order = np.argsort(values, axis=1, kind="stable")
        values = np.take_along_axis(values, order, axis=1)
        is_other = np.isfinite(values)
        places[rows, :width] = np.where(is_other, np.take_along_axis(first, order, axis=1), -1)
        distances[rows, :width] = np.where(is_other, np.sqrt(np.maximum(values, 0.0)), np.inf)
    return places, distances


def outlier_scores(distances: Matrix) -> npt.NDArray[np.float64]:
    """(n,) robust standard deviations by which the logarithm of each distance (n,) exceeds the median.

    0 for distances that are not finite, and for all where they do not differ.
    """
    out = np.zeros(len(distances))
    known = np.isfinite(distances) & (distances > 0)
    if not known.any():
        return out
    logs = np.log(distances[known])
    deviations = logs - np.median(logs)
    spread = _MAD_TO_SD * float(np.median(np.abs(deviations)))
    if spread > 0:
        out[known] = deviations / spread
    return out


def doubtful_findings(y: npt.NDArray[np.str_], neighbours: Rows) -> list[DoubtfulFinding]:
    """Cases whose finding ``y`` (n,) hardly any of their ``neighbours`` (n, k) has, while most have one other.

    The neighbours are of other units, so each vote is leave-one-out. As in confident learning (Northcutt et al.
    2021) another finding counts as found where its share reaches the mean share that its own cases have.
    """
    names, codes = np.unique(y, return_inverse=True)
    known = neighbours >= 0
    voters = known.sum(axis=1)
    votes = np.stack(
        [((codes[neighbours] == code) & known).sum(axis=1) for code in range(len(names))], axis=1
    )
    shares = votes / np.maximum(voters, 1)[:, None]
    own = np.take_along_axis(shares, codes[:, None], axis=1)[:, 0]
    usual = np.array([own[codes == code].mean() for code in range(len(names))])
    others = shares.copy()
    np.put_along_axis(others, codes[:, None], -1.0, axis=1)
    best = others.argmax(axis=1)
    share = np.take_along_axis(others, best[:, None], axis=1)[:, 0]
    doubtful = (voters >= VOTERS) & (own <= OWN_VOTES) & (share >= np.minimum(usual[best], OTHER_VOTES))
    return [
        DoubtfulFinding(
            place,
            str(names[best[place]]),
            int(votes[place, codes[place]]),
            int(votes[place, best[place]]),
            int(voters[place]),
        )
        for place in np.flatnonzero(doubtful).tolist()
    ]
