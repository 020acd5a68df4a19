"""A part of the training cases that a learner holds out to choose its own parameters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

Rows = npt.NDArray[np.intp]

#: Maximum number of queries, and of cases in the gallery.
_MAX_QUERIES, _MAX_GALLERY = 400, 1200
_NEAREST = (1, 3, 5)
_NEAREST_OF_EACH = (1, 3)


def hold_out_rows(
    n: int, groups: npt.ArrayLike | None, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Rows to fit on and query rows, about ``share`` of ``n``; no patient of ``groups`` (n,) is in both."""
    names = [None] * n if groups is None else np.asarray(groups).tolist()
    keys = [("case", row) if name in (None, "") else ("patient", name) for row, name in enumerate(names)]
    numbers: dict[tuple[str, object], int] = {}
    codes = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    turn = rng.permutation(len(numbers))[codes]
    order = np.argsort(turn, kind="stable")
    size = min(_MAX_QUERIES, max(1, round(share * n)))
    # Whole patients only: all cases of the last patient are queries.
    cut = int(np.searchsorted(turn[order], turn[order[size - 1]], side="right"))
    return np.sort(order[cut:]), np.sort(order[:cut])


def gallery_sample(fitted: Rows) -> Rows:
    """The gallery of :func:`error_of`: evenly spaced ones of the rows ``fitted``."""
    return fitted[:: max(1, -(-len(fitted) // _MAX_GALLERY))]


def error_of(Z: Matrix, codes: npt.NDArray[np.int64], fitted: Rows, queries: Rows) -> float:
    """Mean error of k-NN (k = 1, 3, 5) and class-conditional k-NN (k = 1, 3) on the rows ``queries``.

    ``Z`` (n, p) rows after the map, ``codes`` (n,) their findings; the rows ``fitted`` are the gallery. Findings with
    equally many votes share the credit.
    """
    fitted = gallery_sample(fitted)
    A, B = Z[queries], Z[fitted]
    distances = A @ (-2.0 * B.T)
    distances += np.einsum("ij,ij->i", B, B)
    known, answers = np.unique(codes[fitted], return_inverse=True)
    place = np.minimum(np.searchsorted(known, codes[queries]), len(known) - 1)
    truth = np.where(known[place] == codes[queries], place, -1)
    # The nearest of all are among the nearest of each finding.
    near = np.full((len(queries), len(known), max(_NEAREST)), np.inf)
    for finding in range(len(known)):
        own = distances[:, answers == finding]
        if own.shape[1] > near.shape[2]:
            own = np.partition(own, near.shape[2] - 1, axis=1)[:, : near.shape[2]]
        near[:, finding, : own.shape[1]] = np.sort(own, axis=1)
    order = np.argsort(near.reshape(len(queries), -1), axis=1, kind="stable")[:, : max(_NEAREST)]
    voters = order // near.shape[2]
    errors = []
    for k in _NEAREST:
        count = min(k, len(fitted))
        counts = (voters[:, :count, np.newaxis] == np.arange(len(known))).sum(axis=1)
        errors.append(1.0 - _credit(counts == counts.max(axis=1, keepdims=True), truth))
    finite = np.isfinite(near)
    for k in _NEAREST_OF_EACH:
        total = np.where(finite, near, 0.0)[..., :k].sum(axis=2)
        mean = total / finite[..., :k].sum(axis=2)
        errors.append(1.0 - _credit(mean == mean.min(axis=1, keepdims=True), truth))
    return float(np.mean(errors))


def _credit(winners: npt.NDArray[np.bool_], truth: Rows) -> float:
    right = np.where(truth >= 0, winners[np.arange(len(truth)), np.maximum(truth, 0)], False)
    return float(np.mean(right / winners.sum(axis=1)))
