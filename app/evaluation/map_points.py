"""The points of a map and the visible part of the plane, without Qt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Points = npt.NDArray[np.float32]
NONE = -1
#: Margin around the outermost points, as a share of the view.
_MARGIN = 0.06


@dataclass(frozen=True)
class MapViewport:
    """The visible part of the map: its centre ``x``, ``y``, the pixels per unit, and its size in pixels.
    ``y`` grows upwards."""

    x: float
    y: float
    unit: float
    width: int
    height: int

    def to_pixels(self, positions: Points) -> Points:
        """(n, 2) positions -> (n, 2) pixels."""
        out = np.empty((len(positions), 2), dtype=np.float32)
        out[:, 0] = (positions[:, 0] - self.x) * self.unit + self.width / 2
        out[:, 1] = self.height / 2 - (positions[:, 1] - self.y) * self.unit
        return out

    def position_at(self, x: float, y: float) -> tuple[float, float]:
        """The position on the map at the pixel (x, y)."""
        return (x - self.width / 2) / self.unit + self.x, (self.height / 2 - y) / self.unit + self.y

    def zoomed(self, factor: float, x: float, y: float) -> MapViewport:
        """The viewport enlarged by ``factor`` around the pixel (x, y)."""
        fixed = self.position_at(x, y)
        unit = self.unit * factor
        return MapViewport(
            fixed[0] - (x - self.width / 2) / unit,
            fixed[1] - (self.height / 2 - y) / unit,
            unit,
            self.width,
            self.height,
        )

    def panned(self, dx: float, dy: float) -> MapViewport:
        """The viewport with its content moved by pixels."""
        return MapViewport(
            self.x - dx / self.unit, self.y + dy / self.unit, self.unit, self.width, self.height
        )

    @classmethod
    def showing_all(cls, positions: Points, width: int, height: int) -> MapViewport:
        """The viewport that shows every point, with the same scale on both axes."""
        if not len(positions):
            return cls(0.0, 0.0, 1.0, width, height)
        low, high = positions.min(axis=0).astype(float), positions.max(axis=0).astype(float)
        middle, extent = (low + high) / 2, np.maximum(high - low, 1e-9)
        available = np.array([width, height]) * (1 - 2 * _MARGIN)
        return cls(float(middle[0]), float(middle[1]), float((available / extent).min()), width, height)


class MapPoints:
    """Cases (n,) by catalogue row, ascending, at ``pixels`` (n, 2) of the present viewport."""

    def __init__(self, rows: Rows, positions: Points) -> None:
        self.rows, self.positions = rows, positions
        self.pixels: Points = np.zeros_like(positions)

    def __len__(self) -> int:
        return len(self.rows)

    def project(self, viewport: MapViewport) -> None:
        """Compute ``pixels`` for ``viewport``."""
        self.pixels = viewport.to_pixels(self.positions)

    def index_of_row(self, row: int) -> int:
        """The index of the case with this catalogue row, or -1."""
        index = int(np.searchsorted(self.rows, row))
        return index if index < len(self) and self.rows[index] == row else NONE

    def nearest(
        self, x: float, y: float, radius: float, selectable: npt.NDArray[np.bool_] | None = None
    ) -> int:
        """The index of the point nearest to a pixel, or -1 if none is within ``radius`` pixels."""
        if not len(self):
            return NONE
        squared = (self.pixels[:, 0] - x) ** 2 + (self.pixels[:, 1] - y) ** 2
        if selectable is not None:
            squared = np.where(selectable, squared, np.inf)
        index = int(squared.argmin())
        return index if squared[index] <= radius * radius else NONE

    def nearest_in_direction(
        self, x: float, y: float, dx: int, dy: int, selectable: npt.NDArray[np.bool_] | None = None
    ) -> int:
        """The index of the nearest point within 45 degrees of a direction from a pixel, or -1."""
        to_x, to_y = self.pixels[:, 0] - x, self.pixels[:, 1] - y
        along = to_x * dx + to_y * dy
        across = np.abs(to_x * dy) + np.abs(to_y * dx)
        candidates = (along > 0.5) & (across <= along)
        if selectable is not None:
            candidates &= selectable
        if not candidates.any():
            return NONE
        # A point straight ahead is preferred to one that is a little nearer but to the side.
        cost = np.where(candidates, along + 2 * across, np.inf)
        return int(cost.argmin())

    def inside(self, outline: Points) -> npt.NDArray[np.bool_]:
        """(n,) whether each point lies inside an outline (c, 2) of pixels."""
        return inside_outline(self.pixels[:, 0], self.pixels[:, 1], outline)


Bytes = npt.NDArray[np.uint8]

#: Shapes of the findings in order; see :func:`shape_of`.
SHAPES = ("disc", "square", "triangle", "diamond", "plus", "cross", "wedge")
#: A point's width by how many there are, px at text scale 1.
_WIDTHS = ((2_000, 9), (10_000, 7), (40_000, 5))
_MIN_WIDTH = 3
#: Opacity of faded points, and the smallest coverage of a pixel that is drawn.
_FADED_OPACITY, _MIN_COVERAGE = 0.28, 0.2


def shape_of(code: int) -> str:
    """The shape of a finding on the map, or a disc without a finding. There are as many colours as shapes, so
    the eighth finding has the colour of the first and another shape."""
    return SHAPES[(code + code // len(SHAPES)) % len(SHAPES)] if code >= 0 else "disc"


def point_width(n: int, scale: float = 1.0) -> int:
    """The width of a point if ``n`` points are drawn, an odd number of pixels."""
    base_width = next((width for limit, width in _WIDTHS if n <= limit), _MIN_WIDTH)
    # Drawing time grows with the pixels of all points, so many points stay small on high-resolution screens.
    return max(_MIN_WIDTH, round(base_width * (scale if n <= _WIDTHS[-1][0] else min(scale, 1.5)))) | 1


@lru_cache(maxsize=64)
def shape_mask(shape: str, width: int) -> npt.NDArray[np.float32]:
    """The share of each pixel (width, width) that a shape covers, 0 to 1."""
    subpixels = 4
    offsets = (np.arange(width * subpixels) + 0.5) / subpixels - width / 2
    x, y = offsets[None, :], offsets[:, None]
    r = width / 2 - 0.25
    inside = {
        "disc": x**2 + y**2 <= r**2,
        "square": np.maximum(abs(x), abs(y)) <= r * 0.86,
        "triangle": (y <= r * 0.8) & (abs(x) <= (y + r) * 0.6),
        "wedge": (-y <= r * 0.8) & (abs(x) <= (r - y) * 0.6),
        "diamond": abs(x) + abs(y) <= r * 1.1,
        "plus": (np.minimum(abs(x), abs(y)) <= r * 0.34) & (np.maximum(abs(x), abs(y)) <= r),
        "cross": (np.minimum(abs(x + y), abs(x - y)) <= r * 0.45) & (np.maximum(abs(x), abs(y)) <= r * 0.9),
    }[shape]
    coverage: npt.NDArray[np.float32] = inside.reshape(width, subpixels, width, subpixels).mean(
        axis=(1, 3), dtype=np.float32
    )
    return coverage


def draw_points(
    size: tuple[int, int],
    x: npt.NDArray[np.float32],
    y: npt.NDArray[np.float32],
    kind: npt.NDArray[np.int16],
    colours: Bytes,
    shapes: tuple[str, ...],
    width: int,
    background: tuple[int, int, int],
    faded: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.uint32]:
    """(h, w) pixels 0xffRRGGBB of points at ``x``, ``y`` (n,) in pixels on the colour ``background`` (RGB).

    ``kind`` (n,) chooses among ``colours`` (c, 3, RGB) and ``shapes`` (c,); ``faded`` (n,) points are pale
    and drawn first. ``size`` is (w, h). Later points are drawn over earlier ones. Edges are smoothed
    against the background, which separates points that overlap.
    """
    w, h = size
    padded_width, padded_height = w + 2 * width, h + 2 * width
    image = np.full(
        padded_height * padded_width, _pack_rgb(np.array(background, dtype=np.float32)), dtype=np.uint32
    )
    left = np.rint(x - width / 2).astype(np.int64) + width
    top = np.rint(y - width / 2).astype(np.int64) + width
    indices = np.flatnonzero(
        (left >= 0) & (left <= padded_width - width) & (top >= 0) & (top <= padded_height - width)
    )
    table_rows = kind[indices].astype(np.int64)
    if faded is not None:
        order = np.argsort(~faded[indices], kind="stable")
        indices, table_rows = indices[order], table_rows[order]
        table_rows += len(shapes) * faded[indices]
    corner = top[indices] * padded_width + left[indices]
    masks = np.stack([shape_mask(shape, width) for shape in shapes])
    background_rgb = np.array(background, dtype=np.float32)
    blended = colours.astype(np.float32)[:, None, None, :] * masks[..., None] + background_rgb * (
        1 - masks[..., None]
    )
    faded_colours = blended * _FADED_OPACITY + background_rgb * (1 - _FADED_OPACITY)
    table = np.concatenate([_pack_rgb(blended), _pack_rgb(faded_colours)])
    is_covered = np.concatenate([masks, masks]) > _MIN_COVERAGE
    for row in range(width):
        for column in range(width):
            covered = is_covered[:, row, column]
            if not covered.any():
                continue
            pixel_values, flat_index = (
                table[:, row, column][table_rows],
                corner + (row * padded_width + column),
            )
            if covered.all():
                image[flat_index] = pixel_values
            else:
                selected = covered[table_rows]
                image[flat_index[selected]] = pixel_values[selected]
    return np.ascontiguousarray(
        image.reshape(padded_height, padded_width)[width : width + h, width : width + w]
    )


def _pack_rgb(rgb: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    rounded = np.rint(rgb).astype(np.uint32)
    packed: npt.NDArray[np.uint32] = (
        np.uint32(0xFF000000)
        | rounded[..., 0] << np.uint32(16)
        | rounded[..., 1] << np.uint32(8)
        | rounded[..., 2]
    )
    return packed


def inside_outline(
    x: npt.NDArray[np.float32], y: npt.NDArray[np.float32], outline: npt.NDArray[np.float32]
) -> npt.NDArray[np.bool_]:
    """(n,) whether each point lies in the closed ``outline`` (c, 2), by the even-odd rule."""
    inside = np.zeros(len(x), dtype=np.bool_)
    if len(outline) < 3:
        return inside
    low, padded_height = outline.min(axis=0), outline.max(axis=0)
    candidates = np.flatnonzero(
        (x >= low[0]) & (x <= padded_height[0]) & (y >= low[1]) & (y <= padded_height[1])
    )
    px, py = x[candidates], y[candidates]
    odd = np.zeros(len(candidates), dtype=np.bool_)
    ends = np.roll(outline, -1, axis=0)
    for (x0, y0), (x1, y1) in zip(outline.tolist(), ends.tolist(), strict=True):
        if y0 == y1:
            continue
        crosses = (py < y0) != (py < y1)
        odd ^= crosses & (px < (x1 - x0) * (py - y0) / (y1 - y0) + x0)
    inside[candidates] = odd
    return inside
