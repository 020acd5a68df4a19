"""The points of a map and the visible part of the plane, without Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.app.evaluation.map.map_raster import inside_outline

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
