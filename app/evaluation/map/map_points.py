"""The points of a map, and which part of the plane is seen: arithmetic without a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.app.evaluation.map.map_raster import inside_outline

Rows = npt.NDArray[np.int64]
Points = npt.NDArray[np.float32]
NONE = -1
#: Room around the outermost points, as a share of the view.
_MARGIN = 0.06


@dataclass(frozen=True)
class Seen:
    """What is seen: the place in the middle and how many pixels a unit takes; y grows upwards."""

    x: float
    y: float
    unit: float
    width: int
    height: int

    def to_pixels(self, places: Points) -> Points:
        """(n, 2) places -> (n, 2) pixels."""
        out = np.empty((len(places), 2), dtype=np.float32)
        out[:, 0] = (places[:, 0] - self.x) * self.unit + self.width / 2
        out[:, 1] = self.height / 2 - (places[:, 1] - self.y) * self.unit
        return out

    def place_at(self, x: float, y: float) -> tuple[float, float]:
        return (x - self.width / 2) / self.unit + self.x, (self.height / 2 - y) / self.unit + self.y

    def zoomed(self, factor: float, x: float, y: float) -> Seen:
        """Nearer by ``factor``; what is under the pixel (x, y) stays there."""
        at = self.place_at(x, y)
        unit = self.unit * factor
        return Seen(
            at[0] - (x - self.width / 2) / unit,
            at[1] - (self.height / 2 - y) / unit,
            unit,
            self.width,
            self.height,
        )

    def moved(self, right: float, down: float) -> Seen:
        """By so many pixels."""
        return Seen(self.x - right / self.unit, self.y + down / self.unit, self.unit, self.width, self.height)

    @classmethod
    def all_of(cls, places: Points, width: int, height: int) -> Seen:
        """Every point in the view, both axes alike."""
        if not len(places):
            return cls(0.0, 0.0, 1.0, width, height)
        low, high = places.min(axis=0).astype(float), places.max(axis=0).astype(float)
        middle, extent = (low + high) / 2, np.maximum(high - low, 1e-9)
        room = np.array([width, height]) * (1 - 2 * _MARGIN)
        return cls(float(middle[0]), float(middle[1]), float((room / extent).min()), width, height)


class MapPoints:
    """Cases (n,) by catalogue row, ascending, at ``pixels`` (n, 2) as they are seen."""

    def __init__(self, rows: Rows, places: Points) -> None:
        self.rows, self.places = rows, places
        self.pixels: Points = np.zeros_like(places)

    def __len__(self) -> int:
        return len(self.rows)

    def look(self, seen: Seen) -> None:
        self.pixels = seen.to_pixels(self.places)

    def place_of(self, row: int) -> int:
        """Where a case stands among the points, -1 where it does not."""
        place = int(np.searchsorted(self.rows, row))
        return place if place < len(self) and self.rows[place] == row else NONE

    def nearest(self, x: float, y: float, within: float, among: npt.NDArray[np.bool_] | None = None) -> int:
        """The point nearest to a pixel, -1 where none is ``within`` so many pixels."""
        if not len(self):
            return NONE
        away = (self.pixels[:, 0] - x) ** 2 + (self.pixels[:, 1] - y) ** 2
        if among is not None:
            away = np.where(among, away, np.inf)
        place = int(away.argmin())
        return place if away[place] <= within * within else NONE

    def beside(
        self, x: float, y: float, right: int, down: int, among: npt.NDArray[np.bool_] | None = None
    ) -> int:
        """The nearest point in a direction from a pixel, within 45 degrees of it; -1 where there is none."""
        dx, dy = self.pixels[:, 0] - x, self.pixels[:, 1] - y
        along = dx * right + dy * down
        across = np.abs(dx * down) + np.abs(dy * right)
        there = (along > 0.5) & (across <= along)
        if among is not None:
            there &= among
        if not there.any():
            return NONE
        # What lies straight ahead is meant rather than what is a little nearer aside.
        cost = np.where(there, along + 2 * across, np.inf)
        return int(cost.argmin())

    def inside(self, outline: Points) -> npt.NDArray[np.bool_]:
        """(n,) those within an outline (c, 2) of pixels."""
        return inside_outline(self.pixels[:, 0], self.pixels[:, 1], outline)
