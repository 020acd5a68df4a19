"""What lies over an image, outlined so that it can be seen on any grey level: texts, the scale and regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter, QPainterPath, QPen, QPolygonF, QTransform

from semblance.app.shell.theme import OUTCOME, SMALL, colour, font, theme
from semblance.app.viewer.viewport import Viewport
from semblance.app.viewer.window_level import Window, window_text
from semblance.app.widgets.place_marks import stroke
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.image import SliceFacts
from semblance.core.imaging.outline import Ellipse, MaskOutline, Polygon
from semblance.core.imaging.region import Region
from semblance.core.language import format_number, localise_number, tr

MARGIN = 8
#: Sides below which no text, or no scale, is drawn.
SMALLEST, SCALE_MIN_HEIGHT = 60, 160
#: Below this width the upper and lower letters lie further inside, away from the text in the corners.
_NARROW, _INSET = 340, 30
_OUTLINE = 2.5
#: Widget pixels around letters, for their outline.
_PAD = 3
_NICE = (1, 2, 5)


def draw_overlay_text(
    painter: QPainter,
    area: QRect,
    view: Viewport,
    texts: Mapping[Qt.Corner, Sequence[str]],
    row_mm: float | None,
    *,
    lower: bool = False,
) -> None:
    """Lines in the corners, and a scale where a row's height in mm is known; nothing in a tiny ``area``.
    ``lower``: the middle of the upper and lower edge is left free for letters."""
    if area.width() < SMALLEST or area.height() < SMALLEST:
        return
    for text, at in corner_lines(area, texts, letters=lower):
        draw_outlined_text(painter, at, text)
    if row_mm is not None and area.height() >= SCALE_MIN_HEIGHT:
        draw_scale(painter, area, view, row_mm, *((0.7, 0.34) if lower else (0.5, 0.4)))


def corner_lines(
    area: QRect, texts: Mapping[Qt.Corner, Sequence[str]], *, letters: bool = False
) -> list[tuple[str, QPointF]]:
    """The lines of ``texts``, elided to ``area``, each with where its baseline begins. A line moves to the middle of
    the image where it would run into one at the right or, with ``letters``, into the letters of the edges."""
    metrics = QFontMetricsF(font(SMALL, 600))
    step, room = metrics.height() + 1, area.width() - 2 * MARGIN
    # The rows that a letter reaches into, counted from its edge.
    letter_rows = range(int(letter_inset(area.width()) // step), ceil(letter_bottom(area.width()) / step))
    placed: list[tuple[str, QPointF]] = []
    for at_top in (True, False):
        left = Qt.Corner.TopLeftCorner if at_top else Qt.Corner.BottomLeftCorner
        right = Qt.Corner.TopRightCorner if at_top else Qt.Corner.BottomRightCorner
        # From the edge towards the middle of the image.
        order = 1 if at_top else -1
        at_right, at_left = (
            [
                metrics.elidedText(line, Qt.TextElideMode.ElideRight, room)
                for line in texts.get(corner, ())[::order]
                if line
            ]
            for corner in (right, left)
        )
        rows: list[tuple[int, str, float]] = []
        for is_left, lines in ((False, at_right), (True, at_left)):
            row = 0
            for text in lines:
                width = metrics.horizontalAdvance(text)
                while (letters and width + MARGIN > letter_side(area.width()) and row in letter_rows) or (
                    is_left
                    and any(row == other and width + 2 * MARGIN > x - area.left() for other, _, x in rows)
                ):
                    row += 1
                x = area.left() + MARGIN if is_left else area.right() + 1 - MARGIN - width
                rows.append((row, text, float(x)))
                row += 1
        first = area.top() + MARGIN - 3 if at_top else area.bottom() - MARGIN + 4 - step
        placed += [(text, QPointF(x, first + order * row * step + metrics.ascent())) for row, text, x in rows]
    return placed


def letter_side(width: int) -> float:
    """How wide a text may be, with its margin, beside the letters of the edges of a view of this width."""
    return (width - QFontMetricsF(font(OUTCOME, 600)).horizontalAdvance("MM")) / 2


def letter_inset(width: int) -> int:
    """The extra distance of the letters from the upper and lower edge in a view of this width."""
    return theme().px(_INSET) if width < theme().px(_NARROW) else 0


def letter_bottom(width: int) -> float:
    """Where the letter on the upper edge of a view of this width ends."""
    return MARGIN + letter_inset(width) + QFontMetricsF(font(OUTCOME, 600)).capHeight()


def draw_edges(painter: QPainter, area: QRect, letters: tuple[str, str, str, str]) -> None:
    """The patient's sides in the middle of the left, upper, right and lower edge."""
    if area.width() < SMALLEST or area.height() < SMALLEST:
        return
    metrics = QFontMetricsF(font(OUTCOME, 600))
    cap, middle = metrics.capHeight(), QPointF(area.center())
    inset = letter_inset(area.width())
    left, top, right, bottom = letters
    for letter, x, y in (
        (left, MARGIN, middle.y() + cap / 2),
        (top, middle.x() - metrics.horizontalAdvance(top) / 2, letter_bottom(area.width())),
        (right, area.right() + 1 - MARGIN - metrics.horizontalAdvance(right), middle.y() + cap / 2),
        (bottom, middle.x() - metrics.horizontalAdvance(bottom) / 2, area.bottom() + 1 - MARGIN - inset),
    ):
        draw_outlined_text(painter, QPointF(x, y), letter, OUTCOME)


def draw_scale(
    painter: QPainter, area: QRect, view: Viewport, row_mm: float, centre: float = 0.5, longest: float = 0.4
) -> None:
    """Draw a bracket at the right with a round length in millimetres and its label.

    ``centre``, ``longest``: where its middle lies and how long it may be, as shares of the height.
    """
    per_mm = view.zoom * view.aspect / row_mm
    length = scale_length(area.height() * longest / per_mm)
    if length is None:
        return
    half = length * per_mm / 2
    x = area.right() - MARGIN + 0.5
    middle = round(area.top() + area.height() * centre) + 0.5
    path = QPainterPath()
    path.moveTo(x - 7, middle - half)
    path.lineTo(x, middle - half)
    path.lineTo(x, middle + half)
    path.lineTo(x - 7, middle + half)
    for part in (-0.5, 0.0, 0.5):
        path.moveTo(x - (7 if part == 0 else 4), middle + part * half)
        path.lineTo(x, middle + part * half)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(colour("#000000", 0.66), 3), QPen(colour("#FFFFFF"), 1)):
        painter.setPen(pen)
        painter.drawPath(path)
    metrics = QFontMetricsF(font(SMALL, 600))
    label = localise_number(f"{length:g} mm")
    begin = x - 12 - metrics.horizontalAdvance(label)
    draw_outlined_text(painter, QPointF(begin, middle + metrics.capHeight() / 2), label)


def draw_outlined_text(painter: QPainter, at: QPointF, text: str, size: int = SMALL) -> None:
    """``text`` with its baseline beginning ``at``."""
    if not text:
        return
    ratio = painter.device().devicePixelRatioF()
    text_image = _text_image(text, size, theme().text_scale, ratio)
    ascent = QFontMetricsF(font(size, 600)).ascent()
    painter.drawImage(QPointF(round(at.x()) - _PAD, round(at.y() - ascent) - _PAD), text_image)


def scale_length(most_mm: float) -> float | None:
    """The greatest of 1, 2, 5, 10, 20 … (and 0.5, 0.2 …) millimetres up to ``most_mm``."""
    for power in range(3, -5, -1):
        for nice in reversed(_NICE):
            length = nice * 10.0**power
            if length <= most_mm:
                return length
    return None


@lru_cache(maxsize=256)
def _text_image(text: str, size: int, _scale: float, ratio: float) -> QImage:
    """The letters of ``text`` on nothing; stroking them takes as long as drawing the image."""
    face = font(size, 600)
    metrics = QFontMetricsF(face)
    width, height = ceil(metrics.horizontalAdvance(text)) + 2 * _PAD, ceil(metrics.height()) + 2 * _PAD
    image = QImage(ceil(width * ratio), ceil(height * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    path = QPainterPath()
    path.addText(QPointF(_PAD, _PAD + metrics.ascent()), face, text)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    outline_pen = QPen(colour("#000000", 0.72), _OUTLINE)
    outline_pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.strokePath(path, outline_pen)
    painter.fillPath(path, colour("#FFFFFF"))
    painter.end()
    return image


def slice_text(place: int, n: int, facts: SliceFacts) -> str:
    """Such as ``Slice 20 of 40, instance 20, z −134.5 mm``: the number in the volume, the file's, and the position."""
    text = tr("Slice {place} of {n}", place=place + 1, n=n)
    if facts.instance is not None:
        text = tr("{text}, instance {number}", text=text, number=facts.instance)
    if facts.axis:
        # With a true minus sign, and without one before 0.0.
        position = format_number(round(facts.position_mm, 1) + 0.0, ".1f").replace("-", "−")
        text = f"{text}, {facts.axis} {position} mm"
    return text


def thickness_text(facts: SliceFacts) -> str:
    """The thickness of a slice; empty where the file does not say it."""
    thickness = facts.thickness_mm
    return "" if thickness is None else tr("Thickness {mm} mm", mm=format_number(thickness, ".4g"))


def zoom_text(zoom: float) -> str:
    """100 % is one screen pixel for an image pixel."""
    return tr("Zoom {percent} %", percent=f"{zoom * 100:.0f}")


def size_text(image: DisplayImage | None, region: Region | None) -> str:
    """Width and height of the region, or of the image, in millimetres; empty without spacing."""
    if image is None or image.spacing_mm is None:
        return ""
    width, height = (image.width, image.height) if region is None else (region.width, region.height)
    return localise_number(f"{width * image.spacing_mm[1]:.1f} × {height * image.spacing_mm[0]:.1f} mm")


def window_level_text(image: DisplayImage, window: Window | None) -> str:
    """Width and level of the current window; empty for colour."""
    return window_text(image, window) if window else ""


def value_text(image: DisplayImage | None, pixel_under_mouse: tuple[int, int] | None) -> str:
    """Position and value of the pixel under the mouse, such as ``x 120  y 64   −37 HU``; empty without one."""
    if image is None or pixel_under_mouse is None:
        return ""
    x, y = pixel_under_mouse
    stored = image.levels[0][y // image.reduced, x // image.reduced]
    if image.is_colour:
        return f"x {x}  y {y}   {' '.join(str(int(channel)) for channel in stored)}"
    value = image.value(float(stored))
    whole = image.slope == round(image.slope) and image.intercept == round(image.intercept)
    number = format_number(value, ".0f" if whole else ".4g")
    return f"x {x}  y {y}   {number} {image.unit}".rstrip().replace("-", "−")


def box_of(region: Region, view: Viewport) -> QRectF:
    """The region's rectangle in widget pixels."""
    left, top, right, bottom = view.box(region.x, region.y, region.x + region.width, region.y + region.height)
    return QRectF(left, top, right - left, bottom - top)


def paint_region(
    painter: QPainter, region: Region, view: Viewport, shade: str, *, dashed: bool = False
) -> None:
    """The outline of ``region`` in ``shade`` with a dark casing."""
    if region.outline is None:
        paint_box(painter, box_of(region, view), shade, dashed=dashed)
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    stroke(painter, to_widget(view).map(path_of(region)), shade, dashed=dashed)


def paint_box(painter: QPainter, box: QRectF, shade: str, *, dashed: bool = False) -> None:
    """A rectangle of the widget in ``shade`` with a dark casing."""
    # On the middle of pixels a line of 1.5 px is sharp.
    left, top = round(box.left()) + 0.5, round(box.top()) + 0.5
    path = QPainterPath()
    path.addRect(QRectF(left, top, round(box.right()) - 0.5 - left, round(box.bottom()) - 0.5 - top))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    stroke(painter, path, shade, dashed=dashed)


def to_widget(view: Viewport) -> QTransform:
    """From image to widget pixels."""
    x, y = view.to_widget(0, 0)
    right, down = view.to_widget(1, 0), view.to_widget(0, 1)
    return QTransform(right[0] - x, right[1] - y, down[0] - x, down[1] - y, x, y)


@lru_cache(maxsize=64)
def path_of(region: Region) -> QPainterPath:
    """The outline in image pixels; a mask's runs along the edges of its pixels."""
    path = QPainterPath()
    outline = region.outline
    if isinstance(outline, Ellipse):
        centre = QPointF(region.x + outline.centre[0], region.y + outline.centre[1])
        path.addEllipse(centre, *outline.radii)
    elif isinstance(outline, Polygon):
        path.addPolygon(QPolygonF([QPointF(region.x + x, region.y + y) for x, y in outline.points]))
        path.closeSubpath()
    elif isinstance(outline, MaskOutline):
        _add_edges(path, outline.mask(region.height, region.width), region.x, region.y)
    else:
        path.addRect(QRectF(region.x, region.y, region.width, region.height))
    return path


def _add_edges(path: QPainterPath, mask: npt.NDArray[np.bool_], x: int, y: int) -> None:
    padded = np.pad(mask, 1).astype(np.int8)
    for row, begin, end in _runs(np.diff(padded, axis=0)[:, 1:-1] != 0):
        path.moveTo(x + begin, y + row)
        path.lineTo(x + end, y + row)
    for column, begin, end in _runs(np.diff(padded, axis=1)[1:-1].T != 0):
        path.moveTo(x + column, y + begin)
        path.lineTo(x + column, y + end)


def _runs(lines: npt.NDArray[np.bool_]) -> list[list[int]]:
    """[line, first, behind the last] of every run of true in every line."""
    steps = np.diff(np.pad(lines, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    begins, ends = np.nonzero(steps == 1), np.nonzero(steps == -1)
    runs: list[list[int]] = np.column_stack([begins[0], begins[1], ends[1]]).tolist()
    return runs
