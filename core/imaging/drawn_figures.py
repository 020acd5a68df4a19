"""Measured figures drawn on a picture for a report or an export, each with its number or results."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.imaging.measurements import Figure, Point
from semblance.core.imaging.outline import Ellipse, MaskOutline, Polygon
from semblance.core.imaging.region import Region

if TYPE_CHECKING:
    from PIL import Image as PILImage

_LINE, _CASING = (255, 255, 255), (16, 16, 18)
#: Pixels of the longest side of a picture that is drawn on, at least.
_SMALLEST = 400
#: Corners of an ellipse.
_CORNERS = 72


def drawn_figures(
    encoded: bytes, figures: Sequence[Figure], width: int, height: int, labels: Sequence[str] = ()
) -> bytes:
    """PNG bytes of the PNG or JPEG ``encoded``, which shows all of an image of ``width`` x ``height`` pixels, with the
    outlines of ``figures`` and their ``labels``, else their numbers from 1. A small picture is enlarged."""
    from PIL import Image as PILImage

    with PILImage.open(io.BytesIO(encoded)) as opened:
        numbers = [str(number) for number in range(1, len(figures) + 1)]
        picture = draw_figures(opened.convert("RGB"), figures, width, height, labels or numbers)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def draw_figures(
    picture: PILImage.Image, figures: Sequence[Figure], width: int, height: int, labels: Sequence[str]
) -> PILImage.Image:
    """The RGB ``picture``, which shows all of an image of ``width`` x ``height`` pixels, with the outlines of
    ``figures`` and beside each its label, which may have several lines. A small picture is enlarged. No label covers
    another while there is space."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    if max(picture.size) < _SMALLEST:
        # Labels and lines would cover a smaller one.
        factor = -(-_SMALLEST // max(picture.size))
        picture = picture.resize((factor * picture.width, factor * picture.height), Image.Resampling.NEAREST)
    across, down = picture.width / width, picture.height / height
    thick = max(1, round(max(picture.size) / 300))
    drawing: Any = ImageDraw.Draw(picture)
    paths = [[[(x * across, y * down) for x, y in line] for line in lines_of(one)] for one in figures]
    for shade, wide in ((_CASING, thick + 2), (_LINE, thick)):
        for lines in paths:
            for line in lines:
                drawing.line(line, fill=shade, width=wide, joint="curve")
    # Pillow's own font lacks superscripts and the minus sign.
    file = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    font = ImageFont.truetype(str(file), max(12, round(max(picture.size) / 45)))
    taken: list[tuple[float, float, float, float]] = []
    for lines, label in zip(paths, labels, strict=True):
        x, y = max((point for line in lines for point in line), key=lambda point: (point[0], -point[1]))
        _, _, wide, high = drawing.multiline_textbbox((0, 0), label, font=font)
        left = max(0, min(x + 4, picture.width - wide))
        top = max(0, min(y - font.size, picture.height - high))
        for box in sorted(taken, key=lambda one: one[1]):
            if left < box[2] and box[0] < left + wide and top < box[3] and box[1] < top + high:
                top = box[3]
        top = max(0, min(top, picture.height - high))
        taken.append((left, top, left + wide, top + high))
        drawing.multiline_text((left, top), label, fill=_LINE, font=font, stroke_width=2, stroke_fill=_CASING)
    return picture


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
