"""Which part of a picture is seen: pure arithmetic between picture pixels and the widget's."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: Widget pixels a picture pixel may become.
LARGEST = 64.0


@dataclass(frozen=True)
class Viewport:
    """A view of a picture of ``width`` x ``height`` pixels in a widget of ``across`` x ``down`` pixels.

    ``aspect`` is a picture pixel's height divided by its width. ``zoom`` is widget pixels per picture column,
    ``x``, ``y`` the picture point in the widget's middle; while ``fitted`` the whole picture stays in view
    when the widget changes its size. Coordinates count from the top left corner, x to the right, y down.
    """

    width: int
    height: int
    across: int = 1
    down: int = 1
    aspect: float = 1.0
    zoom: float = 1.0
    x: float = 0.0
    y: float = 0.0
    fitted: bool = True

    @property
    def fit_zoom(self) -> float:
        """The zoom that shows the whole picture."""
        return min(self.across / self.width, self.down / (self.height * self.aspect))

    def fit(self) -> Viewport:
        return replace(self, zoom=self.fit_zoom, x=self.width / 2, y=self.height / 2, fitted=True)

    def resized(self, across: int, down: int) -> Viewport:
        """In a widget of another size."""
        out = replace(self, across=max(1, across), down=max(1, down))
        return out.fit() if self.fitted else out.zoomed(1.0, out.across / 2, out.down / 2)

    def zoomed(self, by: float, left: float, top: float) -> Viewport:
        """Zoomed ``by`` a factor; what is at ``left``, ``top`` of the widget stays there.

        Never smaller than the whole picture (or its own size, where that is smaller than the widget).
        """
        least = min(self.fit_zoom, 1.0)
        zoom = min(max(self.zoom * by, least), max(LARGEST, self.fit_zoom))
        if by < 1 and zoom <= least == self.fit_zoom:
            return self.fit()
        # Not by to_picture(), whose whole pixels would drift in a long turn of the wheel.
        shorter = 1 / self.zoom - 1 / zoom
        x = self.x + (left - self.across / 2) * shorter
        y = self.y + (top - self.down / 2) * shorter / self.aspect
        return replace(self, zoom=zoom, fitted=False)._centred(x, y)

    def panned(self, right: float, down: float) -> Viewport:
        """The picture moved by so many widget pixels."""
        moved = replace(self, fitted=False)
        return moved._centred(self.x - right / self.zoom, self.y - down / (self.zoom * self.aspect))

    def _centred(self, x: float, y: float) -> Viewport:
        """The widget's middle never leaves the picture, so it cannot be lost."""
        return replace(self, x=min(max(x, 0.0), self.width), y=min(max(y, 0.0), self.height))

    @property
    def left(self) -> int:
        """Where the picture's left edge lies in the widget; whole, so that pixels stay sharp at 100 %."""
        return round(self.across / 2 - self.x * self.zoom)

    @property
    def top(self) -> int:
        return round(self.down / 2 - self.y * self.zoom * self.aspect)

    def to_picture(self, left: float, top: float) -> tuple[float, float]:
        return (left - self.left) / self.zoom, (top - self.top) / (self.zoom * self.aspect)

    def to_widget(self, x: float, y: float) -> tuple[float, float]:
        return self.left + x * self.zoom, self.top + y * self.zoom * self.aspect

    def seen(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the visible part, in picture pixels; empty when right <= left."""
        x0, y0 = self.to_picture(0, 0)
        x1, y1 = self.to_picture(self.across, self.down)
        return max(0.0, x0), max(0.0, y0), min(float(self.width), x1), min(float(self.height), y1)
