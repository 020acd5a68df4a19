"""The agreement of judgements: the reliability of each, and the direction that separates them.

Both are regressions of +1 (like the query) and -1 (not) on the coordinates, evaluated by their leave-one-out
predictions (in closed form: Allen 1974, PRESS). Their ridge is the one that predicts best, so the share of wrong
answers need not be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.relevance_feedback.quadratic_form import span_basis
from semblance.core.metrics.relevance_feedback.triplet_learning import DifferencePairs, Rows

#: Ridges tried, as shares of the number of cases; of the smooth regression, noise beside a kernel of 1.
_RIDGES = np.geomspace(1e-3, 3.0, 12)
_NOISES = (0.1, 0.3, 1.0, 3.0, 10.0)
#: The kernel's squared width: the median squared distance of two cases in click coordinates.
_WIDTH = 2.0
#: With fewer cases nothing is predicted; with more, parts are processed one by one.
FEWEST, _MOST = 8, 400
#: Fewer queries than this cannot agree.
FEWEST_PARTS = 3
#: Times 1 / sqrt(n): the share of variance that may be predicted by chance.
CHANCE = 1.5
#: The range of reliabilities, because no prediction is certain.
_SURE = 0.98


def agreement(points: Matrix, parts: Sequence[tuple[Rows, Matrix]]) -> float:
    """The agreement of ``parts`` of triplets on their mean, relative to that by chance.

    Each part, such as the triplets (t, 3) of one query with weights (t,), asks for a change A_g, the mean of
    its A as in :mod:`semblance.core.metrics.relevance_feedback.triplet_learning`. With r the mean of
    <A_g, A_h> over that of |A_g|^2 this is G r / (1 - r): the signal of the mean of G parts
    over its noise. 0 for fewer than FEWEST_PARTS.
    """
    if len(parts) < FEWEST_PARTS:
        return 0.0
    basis = span_basis(points)
    inside = points @ basis.T
    total, own = np.zeros((len(basis), len(basis))), 0.0
    for triplets, weights in parts:
        used, rows = np.unique(triplets, return_inverse=True)
        pairs = DifferencePairs.of(inside[used], rows.reshape(-1, 3), weights)
        change = pairs.summed(pairs.weights / weights.sum())
        total += change
        own += float((change**2).sum())
    return agreement_of_sums(total, own, len(parts))


def agreement_of_sums(total: Matrix, own: float, parts: int) -> float:
    """The agreement of so many ``parts``: ``total`` (m, m) the sum of their A_g, ``own`` of their |A_g|^2."""
    if parts < FEWEST_PARTS:
        return 0.0
    across = (float((total**2).sum()) - own) / (parts * (parts - 1))
    share = min(max(across / (own / parts), 0.0), 0.99) if own > 0.0 else 0.0
    return parts * share / (1.0 - share)


@dataclass(frozen=True, eq=False)
class SeparatingDirection:
    """``unit`` (m,) of length 1, and the share (0..1) of the answers' variance that it predicts."""

    unit: Matrix
    share: float


def judgement_reliabilities(points: Matrix, signs: Matrix) -> Matrix:
    """(n,) the probability that each of the ``signs`` (n,) of ``points`` (n, m) is right, by the prediction from the
    others.

    A smooth regression: a Gaussian kernel with the noise level that predicts best. 1 for all if there are fewer than
    FEWEST of one query or all are equal.
    """
    out = np.ones(len(signs))
    parts = -(-len(signs) // _MOST)
    for part in range(parts):
        rows = np.arange(part, len(signs), parts)
        if len(rows) >= FEWEST and len(np.unique(signs[rows])) > 1:
            predicted = _smooth(points[rows], signs[rows])
            probability = np.clip((1.0 + predicted) / 2.0, 1.0 - _SURE, _SURE)
            out[rows] = np.where(signs[rows] > 0.0, probability, 1.0 - probability)
    return out


def _smooth(points: Matrix, signs: Matrix) -> Matrix:
    squares = np.einsum("ij,ij->i", points, points)
    squared = np.maximum(squares[:, np.newaxis] - 2.0 * points @ points.T + squares, 0.0)
    values, vectors = np.linalg.eigh(np.exp(-squared / _WIDTH))
    values = np.maximum(values, 0.0)
    centred = signs - signs.mean()
    turned = vectors.T @ centred
    best, out = np.inf, signs
    for noise in _NOISES:
        inverse = 1.0 / (values + noise)
        error = (vectors @ (inverse * turned)) / ((vectors**2) @ inverse)
        if float(error @ error) < best:
            best, out = float(error @ error), signs - error
    return out


def separating_direction(points: Matrix, signs: Matrix, weights: Matrix) -> SeparatingDirection | None:
    """The direction along which ``signs`` (n,) of ``points`` (n, m) differ most surely; ``None`` without.

    ``weights`` (n,) of the points. CHANCE / sqrt(n), the share predicted by chance, is subtracted from the predicted
    share of the variance.
    """
    n = len(signs)
    weights = weights / weights.mean()
    root = np.sqrt(weights)
    A = (points - weights @ points / n) * root[:, np.newaxis]
    b = (signs - weights @ signs / n) * root
    if n < FEWEST or not (b @ b) > 0.0:
        return None
    U, S, Vt = np.linalg.svd(A, full_matrices=False)
    turned = U.T @ b
    best, slope = np.inf, np.zeros(points.shape[1])
    for ridge in _RIDGES * n:
        filtered = S**2 / (S**2 + ridge)
        own = np.minimum((U**2) @ filtered + 1.0 / n, 0.99)
        error = (b - U @ (filtered * turned)) / (1.0 - own)
        if float(error @ error) < best:
            best, slope = float(error @ error), Vt.T @ (S / (S**2 + ridge) * turned)
    share = 1.0 - best / (float(b @ b) * (n / (n - 1.0)) ** 2) - CHANCE / np.sqrt(n)
    length = float(np.linalg.norm(slope))
    return SeparatingDirection(slope / length, float(share)) if share > 0.0 and length > 0.0 else None
