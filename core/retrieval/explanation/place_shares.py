"""The exact shares of an image's places in a distance.

The numbers of an encoder are averages over places, so they are sums over places, and so is what linear steps and the
division by a length make of them. A distance z . g, with z the difference of two rows after the steps and g how much
each of its numbers counts for this pair, is therefore a sum over the places of either image (Stylianou et al. 2019,
arXiv 1901.00536; Zhu et al. 2019, arXiv 1909.12977).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from semblance.core.features.encoder.efficientnet import EXPONENT, GRID, LEAST, LEVELS, level_map
from semblance.core.features.places import Floats
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.bits import BitDistance
from semblance.core.metrics.distances.city_block import CityBlockDistance
from semblance.core.metrics.distances.linear import LinearDistance, LinearEmbeddingDistance
from semblance.core.metrics.distances.refined import RefinedDistance
from semblance.core.metrics.distances.stumps import SignedDistance, StumpDistance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.steps.scaling import L2, Impute
from semblance.core.metrics.steps.step import Step

#: The maps of the network that the features and the levels are averages of.
FEATURE_MAPS = ("head",)
LEVEL_MAPS = (*(level_map(level) for level in LEVELS), "head")


def features_by_place(maps: Mapping[str, Floats]) -> Matrix:
    """(196, 1280) float64: what each place of a 14 x 14 grid adds to the features; of the head's ``maps`` of one image,
    (1280, 7, 7), each of whose places covers four."""
    head = maps["head"].astype(np.float64)
    return _on_grid(head / head[0].size)


def levels_by_place(maps: Mapping[str, Floats]) -> Matrix:
    """(196, 3456) float64: what each place adds to the levels, of the maps of one image by name, each (c, h, w).

    The generalised mean g = (mean of x^3)^(1/3) is the sum of x^3 / (n g^2) over n places.
    """
    parts = []
    for name in LEVEL_MAPS:
        values = maps[name].astype(np.float64)
        powers = np.maximum(values, LEAST) ** EXPONENT
        generalised = powers.mean(axis=(1, 2), keepdims=True) ** (1.0 / EXPONENT)
        for shares in (values, powers / generalised ** (EXPONENT - 1.0)):
            by_place = _on_grid(shares / shares[0].size)
            parts.append(by_place / max(float(np.linalg.norm(by_place.sum(axis=0))), 1e-12))
    return np.concatenate(parts, axis=1)


def _on_grid(values: Matrix) -> Matrix:
    """(c, h, w), h and w half of, equal to, or several times the grid's 14 -> (196, c) with the same sums over c."""
    channels, rows, columns = values.shape
    if rows < GRID:
        times = GRID // rows
        values = np.repeat(np.repeat(values, times, axis=1), times, axis=2) / times**2
    else:
        values = values.reshape(channels, GRID, rows // GRID, GRID, columns // GRID).sum(axis=(2, 4))
    return np.ascontiguousarray(values.reshape(channels, -1).T)


def through_steps(steps: Sequence[Step], parts: Matrix) -> Matrix | None:
    """(p, d) parts that sum to a row (d,) -> (p, m) that sum to what ``steps`` make of the row; ``None`` if one of them
    is neither linear nor divides by a length. What a step adds to any row is spread evenly."""
    for step in steps:
        if isinstance(step, L2):
            parts = parts / (float(np.linalg.norm(parts.sum(axis=0))) or 1.0)
        elif step.linear:
            constant = step.transform(np.zeros((1, parts.shape[1])))
            parts = step.transform(parts) - constant * (1.0 - 1.0 / len(parts))
        elif not isinstance(step, Impute):
            # No number of an encoder is missing, so nothing is imputed.
            return None
    return parts


def weight_of_differences(distance: Distance, q: Matrix, x: Matrix) -> Matrix | None:
    """(m,) g with (q - x) . g = the distance of the rows ``q`` and ``x`` (m,) after the steps, before a negative sum is
    raised to 0; ``None`` for a distance that is no function of projections.

    A bit on which the two differ, and a vote, count for each number as it moves the projection to the other side.
    """
    z = q - x
    if isinstance(distance, StumpDistance):
        along = q @ distance.directions - x @ distance.directions
        return distance.directions @ _quotient(
            np.where(along * along >= distance.thresholds, distance.weights, 0.0), along
        )
    if isinstance(distance, SignedDistance):
        return np.asarray((distance.signs * (distance.L @ z)) @ distance.L)
    if isinstance(distance, CityBlockDistance):
        return np.asarray(np.sign(z) * np.abs(z).sum())
    if not distance.embeds:
        return None
    pair = distance.embed(np.stack([q, x]))
    return _pulled_back(distance, q, x, pair[0] - pair[1])


def _pulled_back(distance: Distance, q: Matrix, x: Matrix, h: Matrix) -> Matrix | None:
    """(m,) g with (q - x) . g = (e(q) - e(x)) . h, where e is the embedding of ``distance``."""
    if isinstance(distance, LinearDistance):
        return distance.pull_back(h)
    if isinstance(distance, BitDistance):
        pair = distance.embed(np.stack([q, x]))
        along = q @ distance.directions - x @ distance.directions
        return distance.directions @ _quotient((pair[0] - pair[1]) * h, along)
    if isinstance(distance, LinearEmbeddingDistance):
        return _pulled_back(distance.base, q, x, h @ distance.L)
    if isinstance(distance, RefinedDistance):
        stretch = np.sqrt(1.0 + distance.gains) - 1.0
        inner = h + (stretch * (distance.directions @ h)) @ distance.directions
        own = len(inner) - len(distance.weights)
        base = _pulled_back(distance.base, q, x, distance.scale * inner[:own])
        return None if base is None else base + distance.weights * inner[own:]
    return None


def _quotient(amounts: Matrix, along: Matrix) -> Matrix:
    """``amounts`` / ``along``, 0 where there is no amount."""
    return np.divide(amounts, along, out=np.zeros_like(amounts), where=(amounts != 0.0) & (along != 0.0))


def shares_by_place(metric: Metric, query: Matrix, case: Matrix) -> tuple[Matrix, Matrix, float] | None:
    """The shares of the places of the query (p,) and of the case (p,) in their distance, and the distance.

    ``query`` and ``case`` (p, d) sum to the features of both. The shares of either image sum to the distance: those of
    the query are (e_a - e_x / p) . g, with e_a a place after the steps, e_x the whole case and g the weight of the
    difference. ``None`` if a step or the distance has no exact shares.
    """
    parts = through_steps(metric.steps, query), through_steps(metric.steps, case)
    if parts[0] is None or parts[1] is None:
        return None
    q, x = parts[0].sum(axis=0), parts[1].sum(axis=0)
    weight = weight_of_differences(metric.distance, q, x)
    if weight is None:
        return None
    places = len(query)
    distance = float(metric.distance.between(q[np.newaxis], x[np.newaxis])[0, 0])
    own = (parts[0] - x / places) @ weight, (q / places - parts[1]) @ weight
    # Of a distance that would be negative nothing is left to share.
    return (own[0], own[1], distance) if distance > 0.0 else (own[0] * 0.0, own[1] * 0.0, distance)


def agreeing_by_place(metric: Metric, query: Matrix, case: Matrix) -> tuple[Matrix, Matrix] | None:
    """The shares (p,) of the places of the query and of the case in the weight of the bits on which both agree, 4 alpha
    each; ``None`` for a metric without bits, or as :func:`shares_by_place`.

    A place has the share of a bit that it has in how far the image lies beyond the threshold, u . e_a - b / p.
    """
    of_query, of_case = through_steps(metric.steps, query), through_steps(metric.steps, case)
    distance = metric.distance
    if of_query is None or of_case is None or not isinstance(distance, BitDistance):
        return None
    bits = distance.bits(np.stack([of_query.sum(axis=0), of_case.sum(axis=0)]))
    amounts = np.where(bits[0] == bits[1], 4.0 * distance.weights, 0.0)
    found = []
    for one in (of_query, of_case):
        beyond = one @ distance.directions - distance.thresholds / len(one)
        found.append(beyond @ _quotient(amounts, beyond.sum(axis=0)))
    return found[0], found[1]
