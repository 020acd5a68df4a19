"""Measured figures drawn on a picture for a report or an export, each with its number."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from semblance.core.imaging.measurements import Figure, Point
from semblance.core.imaging.outline import Ellipse, MaskOutline, Polygon
from semblance.core.imaging.region import Region

_LINE, _CASING = (255, 255, 255), (16, 16, 18)
#: Pixels of the longest side of a picture that is drawn on, at least.
_SMALLEST = 400
#: Corners of an ellipse.
_CORNERS = 72


def drawn_figures(encoded: bytes, figures: Sequence[Figure], width: int, height: int) -> bytes:
    """PNG bytes of the PNG or JPEG ``encoded``, which shows all of an image of ``width`` x ``height`` pixels, with the
    outlines of ``figures`` and their numbers from 1. A small picture is enlarged."""
    from PIL import Image as PILImage
    from PIL import ImageDraw, ImageFont

    with PILImage.open(io.BytesIO(encoded)) as opened:
        picture = opened.convert("RGB")
    if max(picture.size) < _SMALLEST:
        # Numbers and lines would cover a smaller one.
        factor = -(-_SMALLEST // max(picture.size))
        picture = picture.resize(
            (factor * picture.width, factor * picture.height), PILImage.Resampling.NEAREST
        )
    across, down = picture.width / width, picture.height / height
    thick = max(1, round(max(picture.size) / 300))
    drawing: Any = ImageDraw.Draw(picture)
    paths = [[[(x * across, y * down) for x, y in line] for line in lines_of(one)] for one in figures]
    for shade, wide in ((_CASING, thick + 2), (_LINE, thick)):
        for lines in paths:
            for line in lines:
                drawing.line(line, fill=shade, width=wide, joint="curve")
    size = max(12, round(max(picture.size) / 32))
    font = ImageFont.load_default(size)
    for number, lines in enumerate(paths, 1):
        x, y = max((point for line in lines for point in line), key=lambda point: (point[0], -point[1]))
        at = min(x + 4, picture.width - size), min(max(y - size, 0), picture.height - size)
        drawing.text(at, str(number), fill=_LINE, font=font, stroke_width=2, stroke_fill=_CASING)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def lines_of(figure: Figure) -> list[list[Point]]:
    """The lines of a figure in pixels of its image; of a probe a small cross."""
    if figure.region is not None:
        return [list(one) for one in _outlines(figure.region)]
    points = list(figure.points)
    if len(points) == 1:
        (x, y) = points[0]
        return [[(x - 3, y), (x + 3, y)], [(x, y - 3), (x, y + 3)]]
    pairs = [list(pair) for pair in pairwise(points)]
    return [pairs[0], pairs[2]] if len(points) == 4 else pairs


def _outlines(region: Region) -> list[list[Point]]:
    outline, x, y = region.outline, region.x, region.y
    corners: list[Point] = [(0, 0), (region.width, 0), (region.width, region.height), (0, region.height)]
    if isinstance(outline, Ellipse):
        angles = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
        xs = outline.centre[0] + outline.radii[0] * np.cos(angles)
        ys = outline.centre[1] + outline.radii[1] * np.sin(angles)
        corners = list(zip(xs.tolist(), ys.tolist(), strict=True))
    elif isinstance(outline, Polygon):
        corners = list(outline.points)
    elif isinstance(outline, MaskOutline):
        return [[(x + a, y + b) for a, b in edge] for edge in _edges(outline, region)]
    return [[(x + a, y + b) for a, b in (*corners, corners[0])]]


def _edges(outline: MaskOutline, region: Region) -> list[list[Point]]:
    """The edges of the pixels of a mask that no other pixel of it shares."""
    inside = np.pad(outline.mask(region.height, region.width), 1).astype(np.int8)
    found: list[list[Point]] = []
    for row, column in np.argwhere(np.diff(inside, axis=0)[:, 1:-1]).tolist():
        found.append([(column, row), (column + 1, row)])
    for row, column in np.argwhere(np.diff(inside, axis=1)[1:-1]).tolist():
        found.append([(column, row), (column, row + 1)])
    return found
