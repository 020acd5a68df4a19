"""Segment a mass from a click or a rough region."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Polygon
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy

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


#: Approximate longest side of the working image; larger parts are reduced by averaging blocks.
WORKING = 256
#: Expected radii that a click tries, as shares of the image's shorter side.
CLICK_RADII = (0.06, 0.085, 0.12, 0.17, 0.24, 0.34)
#: The same where a whole breast is shown: masses of MIAS have 0.016 to 0.08.
WHOLE_BREAST_RADII = (0.015, 0.021, 0.03, 0.042, 0.06, 0.085)
#: Share of a whole mammogram, at least, that is darker than a tenth of its brightest parts.
_BACKGROUND, _DARK = 0.3, 0.1

# These were chosen on every second of the 50 BUSI images with masks; the benchmark scores the others.
CLICK = ContourWeights(edge=1.0, grey=1.0, size=0.3, bend=0.05)
BOX = ContourWeights(edge=1.0, grey=3.0, size=2.0, bend=0.05)
#: Deviation of the Gaussian before sampling, as a share of the expected radius.
SMOOTHING = 0.06
#: A mass fills this share of the half width and height of the rectangle drawn around it.
FILLED = 0.95
#: A click in noise or a smooth slope gives lines of less contrast and of smaller steps. Of 93 masses of BUSI and
#: mini-MIAS that a click outlines, two have less.
LEAST_CONTRAST, LEAST_EDGE = 1.1, 0.2
#: How much more a larger line counts among those a click tries: clarity grows with radius to this power.
LARGER = 0.3
#: Deviation, in directions of the line, of the smoothing of its radii.
_ROUNDED = 1.0


@dataclass(frozen=True)
class _FoundContour:
    """A line in an image: ``centre`` (x, y), whole numbers at the middles of pixels, and ``axes``, the
    expected half width and half height."""

    centre: tuple[float, float]
    axes: tuple[float, float]
    line: Contour

    @property
    def clarity(self) -> float:
        size = math.sqrt(self.axes[0] * self.axes[1])
        return float(self.line.edge * max(self.line.contrast, 0.0) * size**LARGER)

    def corners(self) -> Floats:
        """(n, 2) corners (x, y), from the image's corner."""
        from scipy import ndimage

        rounded = ndimage.gaussian_filter1d(self.line.radii, _ROUNDED, mode="wrap")
        turn = angles()
        x = self.centre[0] + 0.5 + self.axes[0] * rounded * np.cos(turn)
        y = self.centre[1] + 0.5 + self.axes[1] * rounded * np.sin(turn)
        return np.stack([x, y], axis=1)


class NoOutline(BadInput):
    """There is no outline at the requested position."""


def segment_at(image: Image, x: float, y: float, *, clear: bool = False) -> Region:
    """The mass around the pixel (``x``, ``y``), brighter or darker than its surroundings.

    A smooth closed line that every ray from the click meets once. Of six radii the clearest line counts: small ones
    where wide black margins indicate a whole mammogram, larger ones elsewhere. ``clear``: only a line that separates
    two greys is accepted.

    Never empty, the same for the same image, and quick whatever the image's size: about :data:`WORKING` x
    :data:`WORKING` pixels are examined for each radius.

    Raises:
        BadInput: the click lies outside the image.
        NoOutline: ``clear``, and no line separates two greys.
    """
    if not (0 <= x < image.width and 0 <= y < image.height):
        raise BadInput(
            tr_lazy(
                "The click {x:g},{y:g} lies outside the image of {width} x {height} pixels.",
                x=x,
                y=y,
                width=image.width,
                height=image.height,
            ),
            "Click on the mass.",
        )
    shares = WHOLE_BREAST_RADII if _is_whole_breast(image) else CLICK_RADII
    tried = [max(share * min(image.width, image.height), 1.0) for share in shares]
    found = [_best_contour_around(image, (x, y), (radius, radius), CLICK, None) for radius in tried]
    best = max(found, key=lambda one: one.clarity)
    if clear and (best.line.contrast < LEAST_CONTRAST or best.line.edge < LEAST_EDGE):
        raise NoOutline(
            tr_lazy("The grey inside and outside hardly differs here."),
            "Click on the middle of the mass, or drag a rectangle around it.",
        )
    return _to_region(image, best, None)


def segment_in(image: Image, region: Region) -> Region:
    """The mass inside the rectangle of ``region``; no part of it is outside.

    Raises:
        BadInput: the region lies outside the image.
    """
    box = region.clipped(image.height, image.width)
    centre = (box.x + (box.width - 1) / 2, box.y + (box.height - 1) / 2)
    axes = (max(FILLED * box.width / 2, 1.0), max(FILLED * box.height / 2, 1.0))
    turn = angles()
    farthest = 1 / (FILLED * np.maximum(np.abs(np.cos(turn)), np.abs(np.sin(turn))))
    found = _best_contour_around(image, centre, axes, BOX, farthest)
    return _to_region(image, found, box)


def _is_whole_breast(image: Image) -> bool:
    every = max(1, max(image.height, image.width) // WORKING)
    grey = replace(image, pixels=image.pixels[::every, ::every]).grey()
    return bool(np.mean(grey < _DARK * np.percentile(grey, 99)) >= _BACKGROUND)


def _best_contour_around(
    image: Image,
    centre: tuple[float, float],
    axes: tuple[float, float],
    weights: ContourWeights,
    farthest: Floats | None,
) -> _FoundContour:
    """The clearest line around ``centre``, bright or dark."""
    from scipy import ndimage

    plane, (left, top), block = _cut_out(image, centre, max(axes))
    sigma = SMOOTHING * min(axes) / block
    smooth = ndimage.gaussian_filter(plane, sigma, mode="nearest", truncate=3.0)
    # The middle of block i lies at pixel left + block * i + (block - 1) / 2.
    shift = (block - 1) / 2
    inside = ((centre[0] - left - shift) / block, (centre[1] - top - shift) / block)
    rays = sample_rays(smooth, inside, (axes[0] / block, axes[1] / block))
    lines = [best_contour(rays, bright, weights, farthest) for bright in (True, False)]
    return _FoundContour(centre, axes, max(lines, key=lambda line: line.edge))


def _cut_out(image: Image, centre: tuple[float, float], reach: float) -> tuple[Floats, tuple[int, int], int]:
    """Grey around ``centre``, the pixel (x, y) of its corner, and how many pixels a side were averaged.

    The part is as wide on the left as on the right and as high above as below, so that a turned image
    gives the turned part.
    """
    far = FARTHEST * reach + 2
    block = math.ceil(2 * far / WORKING) | 1
    (left, across), (top, down) = (_blocks(middle, far, block) for middle in centre)
    columns = np.clip(np.arange(left, left + across * block), 0, image.width - 1)
    rows = np.clip(np.arange(top, top + down * block), 0, image.height - 1)
    x0, x1, y0, y1 = columns[0], columns[-1] + 1, rows[0], rows[-1] + 1
    cut = image.cropped(Region(int(x0), int(y0), int(x1 - x0), int(y1 - y0))).grey().astype(np.float64)
    if not np.isfinite(cut).all():
        raise BadInput(
            tr_lazy("{image} contains values that are not finite numbers.", image=image.name or "The image"),
            "Replace NaN and infinite values by ordinary ones, then import it again.",
        )
    plane = cut[np.ix_(rows - y0, columns - x0)]
    if block > 1:
        plane = plane.reshape(down, block, across, block).mean(axis=(1, 3))
    # Enough digits that 8-bit, 16-bit and float images of the same content are segmented the same.
    return np.round(plane, 6), (left, top), block


def _blocks(middle: float, far: float, block: int) -> tuple[int, int]:
    """The first pixel and the number of blocks (each of ``block`` pixels, odd) that reach ``far`` to both
    sides of ``middle``: an odd number around a pixel's middle, an even one around a border of pixels."""
    halves = round(2 * middle) + 1
    number = 2 * math.ceil(far / block) + 2 - halves % 2
    return (halves - number * block + (halves - number) % 2) // 2, number


def _to_region(image: Image, found: _FoundContour, within: Region | None) -> Region:
    """The line as a region inside ``within`` and the image."""
    corners = found.corners()
    part = within or Region(0, 0, image.width, image.height)
    low, high = (part.x, part.y), (part.x + part.width, part.y + part.height)
    corners = np.clip(corners, low, high)
    left, top = (int(value) for value in np.floor(corners.min(axis=0)))
    right, bottom = (int(value) for value in np.ceil(corners.max(axis=0)))
    outline = Polygon(tuple((float(x - left), float(y - top)) for x, y in corners))
    region = Region(left, top, max(1, right - left), max(1, bottom - top), outline)
    if outline.mask(region.height, region.width).any():
        return region
    # So small a line meets no pixel's middle.
    x, y = (int(min(max(value + 0.5, 0), side - 1)) for value, side in zip(found.centre, high, strict=True))
    return Region(x, y, 1, 1)
