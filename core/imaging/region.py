"""A part of a picture, in pixels of that picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from core.errors import BadInput


@dataclass(frozen=True)
class Region:
    """A rectangle: left ``x``, top ``y``, ``width`` and ``height`` in pixels (x right, y down)."""

    x: int
    y: int
    width: int
    height: int

    def clipped(self, height: int, width: int) -> Region:
        """The part inside a picture of ``height`` x ``width`` pixels.

        Raises:
            BadInput: nothing of the region lies inside.
        """
        left, top = max(0, self.x), max(0, self.y)
        right, bottom = min(width, self.x + self.width), min(height, self.y + self.height)
        if right <= left or bottom <= top:
            raise BadInput(
                f"The region {self.x},{self.y},{self.width},{self.height} lies outside the picture "
                f"of {width} x {height} pixels.",
                "Draw a region that touches the picture.",
            )
        return Region(left, top, right - left, bottom - top)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "rectangle", **asdict(self)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Region:
        return Region(int(data["x"]), int(data["y"]), int(data["width"]), int(data["height"]))

    @staticmethod
    def parse(text: str) -> Region:
        """From ``x,y,w,h`` as typed on the command line.

        Raises:
            BadInput: not four whole numbers, or an empty rectangle.
        """
        try:
            x, y, width, height = (int(part) for part in text.split(","))
        except ValueError:
            raise BadInput(
                f"The region '{text}' is not x,y,w,h in whole pixels.", "Write it like 20,30,128,96."
            ) from None
        if width <= 0 or height <= 0:
            raise BadInput(f"The region '{text}' is empty.", "Width and height must be above 0.")
        return Region(x, y, width, height)
