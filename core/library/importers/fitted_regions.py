"""Boxes and outlines of lists, fitted into the images they belong to; what cannot be one says why."""

from __future__ import annotations

import math

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import Outline
from semblance.core.imaging.raster import upright_size
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.source import Source

#: Pixels by which a box may reach beyond its image without being mentioned: rounding.
_ROUNDING = 1.0
_NAMED = 3


class RegionFitter:
    """Makes regions of boxes in pixels of images as they are shown. The sizes are read from the headers."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._last: tuple[str, tuple[int, int, bool] | str] = ("", "")
        self._cut: list[str] = []

    def size(self, path: str) -> tuple[int, int, bool] | str:
        """Width and height of an image, and whether it was turned sideways; or why it cannot be read."""
        if self._last[0] != path or not self._last[1]:
            found: tuple[int, int, bool] | str
            try:
                found = upright_size(self._source.read(path), self._source.label(path))
            except BadInput as error:
                found = error.message
            self._last = (path, found)
        return self._last[1]

    def region(
        self,
        path: str,
        box: tuple[float, float, float, float],
        *,
        outline: Outline | None = None,
        drawn_in: tuple[int, int] | None = None,
    ) -> Region | str:
        """The region of a box (left, top, width, height) within its image, or why it is none.

        ``outline`` belongs to the rectangle of whole pixels around the box. ``drawn_in``: width and height of the image
        that it was drawn in, where these are known.
        """
        size = self.size(path)
        if isinstance(size, str):
            return tr_lazy("Its image cannot be read: {reason}", reason=size)
        width, height, is_turned = size
        if drawn_in is not None and drawn_in != (width, height):
            why = tr_lazy(" as its orientation (EXIF) says it is shown") if is_turned else ""
            return tr_lazy(
                "It was drawn in an image of {drawn} x {drawn2} pixels, and '{path}' has {width} x {height}{why}.",
                drawn=drawn_in[0],
                drawn2=drawn_in[1],
                path=path,
                width=width,
                height=height,
                why=why,
            )
        left, top, wide, high = box
        if not all(map(math.isfinite, box)) or wide <= 0 or high <= 0:
            return tr_lazy("Its box is empty: {width:g} x {height:g} pixels.", width=wide, height=high)
        if left >= width or top >= height or left + wide <= 0 or top + high <= 0:
            return tr_lazy(
                "Its box lies outside the image of {width} x {height} pixels.", width=width, height=height
            )
        region = whole_pixels(box, outline)
        if max(-left, -top, left + wide - width, top + high - height) > _ROUNDING:
            self._cut.append(path)
        return region.clipped(height, width)

    @property
    def notes(self) -> list[str]:
        """A sentence about boxes that reach beyond their image."""
        if not self._cut:
            return []
        paths = list(dict.fromkeys(self._cut))
        return [
            tr_lazy_n(
                "{n} box reached beyond its image and was cut at the border: {paths}.",
                "{n} boxes reached beyond their images and were cut at the border: {paths}.",
                len(self._cut),
                paths=", ".join(paths[:_NAMED]) + (", …" if len(paths) > _NAMED else ""),
            )
        ]


def whole_pixels(box: tuple[float, float, float, float], outline: Outline | None = None) -> Region:
    """The rectangle of whole pixels around a box (left, top, width, height)."""
    left, top = math.floor(box[0]), math.floor(box[1])
    right, bottom = math.ceil(box[0] + box[2]), math.ceil(box[1] + box[3])
    return Region(left, top, right - left, bottom - top, outline)
