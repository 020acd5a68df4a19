"""The closed contour around a centre that separates a mass from its surroundings, one radius per direction.

After S. Timp and N. Karssemeijer, "A new 2D segmentation method based on dynamic programming applied to
computer aided detection in mammography", Medical Physics 31(5), 2004: the image is sampled along rays, and
dynamic programming finds the cheapest closed line. The cost is theirs of edges, and for the grey values the
one of T. F. Chan and L. A. Vese, "Active contours without edges", IEEE Trans. Image Processing 10(2), 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DIRECTIONS = 72
STEPS = 48
#: Radii that are sampled, as multiples of the expected one.
NEAREST, FARTHEST = 0.2, 1.8

_ROUNDS = 3


@dataclass(frozen=True)
class ContourWeights:
    """``edge``: of the step of grey along the ray; ``grey``: of the fit to the means inside and outside;
    ``size``: of the squared difference from the expected radius; ``bend``: of a change of radius by one step
    from one direction to the next."""

    edge: float = 1.0
    grey: float = 1.0
    size: float = 0.3
    bend: float = 0.05


@dataclass(frozen=True)
class Contour:
    """``radii`` (DIRECTIONS,) as multiples of the expected radii; ``contrast``: how far the grey outside and
    inside differ, in deviations of both; ``edge``: mean step of grey along the line."""

    radii: Floats
    contrast: float
    edge: float


def angles() -> Floats:
    """(DIRECTIONS,) radians, clockwise on the screen from the right."""
    return np.asarray(np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS), dtype=np.float64)


def radii() -> Floats:
    """(STEPS,) multiples of the expected radius."""
    return np.asarray(np.linspace(NEAREST, FARTHEST, STEPS), dtype=np.float64)


def sample_rays(plane: Floats, centre: tuple[float, float], axes: tuple[float, float]) -> Floats:
    """(DIRECTIONS, STEPS) of ``plane`` (h, w) on rays around ``centre`` (x, y), whole numbers at the middles
    of pixels; ``axes``: the expected half width and half height. Outside, the nearest pixel counts."""
    from scipy import ndimage

    turn, out = angles()[:, None], radii()[None, :]
    x = centre[0] + axes[0] * out * np.cos(turn)
    y = centre[1] + axes[1] * out * np.sin(turn)
    rays: Floats = ndimage.map_coordinates(plane, [y, x], order=1, mode="nearest")
    return rays


def best_contour(
    rays: Floats, bright: bool, weights: ContourWeights, farthest: Floats | None = None
) -> Contour:
    """The closed contour of least cost through ``rays``; ``bright``: the mass is brighter than its surroundings.

    ``farthest`` (DIRECTIONS,): the largest allowed radii, as multiples.
    """
    values = rays if bright else -rays
    scale = float(values.std()) or 1.0
    values = (values - values.mean()) / scale
    places = radii()
    # Falls outwards where a mass ends.
    step = -np.gradient(values, axis=1) * (STEPS / 8)
    fixed = weights.size * (places - 1.0) ** 2 - weights.edge * step
    if farthest is not None:
        fixed = np.where(places[None, :] > np.maximum(farthest, places[0])[:, None], np.inf, fixed)
    inside, outside = _means(values, np.argmin(np.abs(places - 1.0)) * np.ones(DIRECTIONS, dtype=int))
    chosen = np.zeros(DIRECTIONS, dtype=np.intp)
    for _ in range(_ROUNDS):
        # The cost of moving the line outwards by one step: the ring then counts as inside, not outside.
        ring = ((values - inside) ** 2 - (values - outside) ** 2) * places / STEPS
        cost = fixed + weights.grey * np.cumsum(ring, axis=1)
        line = cheapest_closed_path(cost, weights.bend)
        if np.array_equal(line, chosen):
            break
        chosen = line
        inside, outside = _means(values, chosen)
    spread = _spread(values, chosen, inside, outside)
    edge = float(step[np.arange(DIRECTIONS), chosen].mean())
    return Contour(places[chosen], (inside - outside) / spread, edge)


def cheapest_closed_path(cost: Floats, bend: float) -> npt.NDArray[np.intp]:
    """(n,) for each row of ``cost`` (n, m) the column of the closed path of least cost, which moves by at most one
    column from row to row and from the last row to the first; a move costs ``bend``.

    Exact: the paths from all m starting columns are computed together.
    """
    rows, columns = cost.shape
    # total[s, c]: least cost of a path from column s of the first row to column c of this row.
    total = np.full((columns, columns + 2), np.inf)
    total[:, 1:-1][np.diag_indices(columns)] = cost[0]
    previous = np.zeros((rows, columns, columns), dtype=np.int8)
    for row in range(1, rows):
        unmoved, up, down = total[:, 1:-1], total[:, :-2] + bend, total[:, 2:] + bend
        best = np.minimum(np.minimum(unmoved, up), down)
        moved = best < unmoved
        previous[row] = moved
        previous[row] += moved & (best < up)
        total[:, 1:-1] = best + cost[row]
    ends = np.full(columns, np.inf)
    where = np.zeros(columns, dtype=np.intp)
    for move in (0, -1, 1):
        starts = np.arange(max(0, -move), min(columns, columns - move))
        closing = total[starts, 1 + starts + move] + (bend if move else 0.0)
        better = closing < ends[starts]
        ends[starts[better]] = closing[better]
        where[starts[better]] = starts[better] + move
    start = int(ends.argmin())
    path = np.zeros(rows, dtype=np.intp)
    column = int(where[start])
    for row in range(rows - 1, -1, -1):
        path[row] = column
        column += (0, -1, 1)[previous[row, start, column]]
    return path


def _means(values: Floats, line: npt.NDArray[np.intp]) -> tuple[float, float]:
    """Mean grey inside the line, and outside it up to where rays end; rings weighted by their length."""
    places = radii()
    within = np.arange(STEPS)[None, :] <= line[:, None]
    weight = np.broadcast_to(places, values.shape)
    inside = float((values * weight)[within].sum() / weight[within].sum())
    outside_weights = ~within
    if not outside_weights.any():
        return inside, float(values[:, -1].mean())
    return inside, float((values * weight)[outside_weights].sum() / weight[outside_weights].sum())


def _spread(values: Floats, line: npt.NDArray[np.intp], inside: float, outside: float) -> float:
    within = np.arange(STEPS)[None, :] <= line[:, None]
    return float(np.sqrt(np.mean((values - np.where(within, inside, outside)) ** 2))) + 1e-6
