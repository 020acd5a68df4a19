"""The visible part of an image: coordinates between image pixels and widget pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace

from semblance.core.imaging.region import Box

#: Widget pixels an image pixel may become.
MAX_ZOOM = 64.0
#: The part of the view that a place fills when it is zoomed to: what lies around it says what it is.
PLACE_SHARE = 0.45


@dataclass(frozen=True)
class Orientation:
    """Flip and rotation: ``mirrored`` horizontally, then rotated clockwise by ``turns`` times 90 degrees."""

    turns: int = 0
    mirrored: bool = False

    @property
    def sideways(self) -> bool:
        return self.turns % 2 == 1

    def turned(self, quarters: int) -> Orientation:
        """Rotated further as displayed now, clockwise."""
        return replace(self, turns=(self.turns + quarters) % 4)

    def flipped(self) -> Orientation:
        """Flipped horizontally as displayed now."""
        return Orientation(-self.turns % 4, not self.mirrored)

    def place(self, x: float, y: float, width: float, height: float) -> tuple[float, float]:
        """The position of a point of an image of ``width`` x ``height`` after flip and rotation."""
        if self.mirrored:
            x = width - x
        for _ in range(self.turns):
            x, y = height - y, x
            width, height = height, width
        return x, y

    def origin(self, x: float, y: float, width: float, height: float) -> tuple[float, float]:
        """The inverse of :meth:`place`; ``width`` and ``height`` are those of the image as stored."""
        if self.sideways:
            width, height = height, width
        for _ in range(self.turns):
            x, y = y, width - x
            width, height = height, width
        return (width - x if self.mirrored else x), y

    def direction(self, right: float, down: float) -> tuple[float, float]:
        """The direction in the stored image that is displayed as ``right``, ``down``."""
        for _ in range(self.turns):
            right, down = down, -right
        return (-right if self.mirrored else right), down


@dataclass(frozen=True)
class Viewport:
    """A view of an image of ``width`` x ``height`` pixels in a widget of ``across`` x ``down`` pixels.

    ``aspect`` is an image pixel's height divided by its width. ``zoom`` is widget pixels per image column,
    ``x``, ``y`` the point of the image, held as ``orientation`` says, in the widget's middle; while
    ``fitted`` the whole image stays in view when the widget changes its size. Coordinates count from the
    top left corner, x to the right, y down.
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
    orientation: Orientation = Orientation()

    @property
    def _oriented(self) -> tuple[int, int]:
        """Columns and rows as displayed."""
        return (self.height, self.width) if self.orientation.sideways else (self.width, self.height)

    @property
    def _stretch(self) -> tuple[float, float]:
        """Widget pixels of a displayed column and row at zoom 1."""
        return (self.aspect, 1.0) if self.orientation.sideways else (1.0, self.aspect)

    @property
    def fit_zoom(self) -> float:
        """The zoom that shows the whole image."""
        (columns, rows), (column_width, row_height) = self._oriented, self._stretch
        return min(self.across / (columns * column_width), self.down / (rows * row_height))

    def fit(self) -> Viewport:
        columns, rows = self._oriented
        return replace(self, zoom=self.fit_zoom, x=columns / 2, y=rows / 2, fitted=True)

    def around(self, box: Box, share: float = PLACE_SHARE) -> Viewport:
        """A rectangle of the image in the middle, at ``share`` of the widget's width or height, and never smaller than
        in the whole image."""
        left, top, right, bottom = self.box(*box)
        across, down = max(right - left, 1e-6), max(bottom - top, 1e-6)
        zoom = self.zoom * min(share * self.across / across, share * self.down / down)
        return self.centred((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, zoom)

    def centred(self, x: float, y: float, zoom: float) -> Viewport:
        """The point ``x``, ``y`` of the stored image in the middle, at ``zoom`` within its limits."""
        zoom = min(max(zoom, self.fit_zoom), max(MAX_ZOOM, self.fit_zoom))
        x, y = self.orientation.place(x, y, self.width, self.height)
        return replace(self, zoom=zoom, fitted=False)._centred(x, y)

    def at(self, x: float, y: float, zoom: float) -> Viewport:
        """The point ``x``, ``y`` of the stored image, also one beside it, in the middle, at any ``zoom``."""
        x, y = self.orientation.place(x, y, self.width, self.height)
        return replace(self, x=x, y=y, zoom=zoom, fitted=False)

    def oriented(self, orientation: Orientation) -> Viewport:
        """The view in another orientation, with the same point in the centre."""
        if self.fitted:
            return replace(self, orientation=orientation).fit()
        x, y = self.orientation.origin(self.x, self.y, self.width, self.height)
        x, y = orientation.place(x, y, self.width, self.height)
        return replace(self, orientation=orientation)._centred(x, y)

    def resized(self, across: int, down: int) -> Viewport:
        """In a widget of another size."""
        out = replace(self, across=max(1, across), down=max(1, down))
        return out.fit() if self.fitted else out.zoomed(1.0, out.across / 2, out.down / 2)

    def zoomed(self, by: float, left: float, top: float) -> Viewport:
        """Zoomed ``by`` a factor; what is at ``left``, ``top`` of the widget stays there.

        Never smaller than the whole image (or its own size, where that is smaller than the widget).
        """
        min_zoom = min(self.fit_zoom, 1.0)
        zoom = min(max(self.zoom * by, min_zoom), max(MAX_ZOOM, self.fit_zoom))
        if by < 1 and zoom <= min_zoom == self.fit_zoom:
            return self.fit()
        # to_image() rounds to whole pixels, which would drift over many steps of the wheel.
        inverse_change = 1 / self.zoom - 1 / zoom
        column_width, row_height = self._stretch
        x = self.x + (left - self.across / 2) * inverse_change / column_width
        y = self.y + (top - self.down / 2) * inverse_change / row_height
        return replace(self, zoom=zoom, fitted=False)._centred(x, y)

    def panned(self, right: float, down: float) -> Viewport:
        """The image moved by so many widget pixels."""
        moved = replace(self, fitted=False)
        column_width, row_height = self._stretch
        return moved._centred(
            self.x - right / (self.zoom * column_width), self.y - down / (self.zoom * row_height)
        )

    def _centred(self, x: float, y: float) -> Viewport:
        """The widget's middle never leaves the image, so it cannot be lost."""
        columns, rows = self._oriented
        return replace(self, x=min(max(x, 0.0), columns), y=min(max(y, 0.0), rows))

    @property
    def left(self) -> int:
        """The left edge of the image in the widget, rounded so that pixels stay sharp at 100 %."""
        return round(self.across / 2 - self.x * self.zoom * self._stretch[0])

    @property
    def top(self) -> int:
        return round(self.down / 2 - self.y * self.zoom * self._stretch[1])

    def to_image(self, left: float, top: float) -> tuple[float, float]:
        column_width, row_height = self._stretch
        x, y = (left - self.left) / (self.zoom * column_width), (top - self.top) / (self.zoom * row_height)
        return self.orientation.origin(x, y, self.width, self.height)

    def to_widget(self, x: float, y: float) -> tuple[float, float]:
        x, y = self.orientation.place(x, y, self.width, self.height)
        column_width, row_height = self._stretch
        return self.left + x * self.zoom * column_width, self.top + y * self.zoom * row_height

    def box(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        """Left, top, right and bottom in the widget of a rectangle of the image."""
        (ax, ay), (bx, by) = self.to_widget(x0, y0), self.to_widget(x1, y1)
        return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)

    def visible_area(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the visible part, in image pixels; empty when right <= left."""
        (ax, ay), (bx, by) = self.to_image(0, 0), self.to_image(self.across, self.down)
        x0, x1, y0, y1 = min(ax, bx), max(ax, bx), min(ay, by), max(ay, by)
        return max(0.0, x0), max(0.0, y0), min(float(self.width), x1), min(float(self.height), y1)
