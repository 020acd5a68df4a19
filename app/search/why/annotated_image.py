"""A small image with rings and an outline that mark where it agrees with another image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.theme import TICK, colour, font, theme
from semblance.app.widgets.thumbnail_loader import as_image
from semblance.core.language import tr

_DARK, _LIGHT = "#000000", "#FFFFFF"


@dataclass(frozen=True, eq=False)
class AnnotatedImage:
    """An image, (h, w) grey or (h, w, 3) RGB uint8 or ``None``, and its marks.

    ``rings``: (x, y, radius), ``outline``: (x, y) points. Both are relative to width and height, the radius
    to the width.
    """

    pixels: npt.NDArray[np.uint8] | None = None
    rings: tuple[tuple[float, float, float], ...] = ()
    outline: tuple[tuple[float, float], ...] = ()
    problem: str = ""


class AnnotatedImageView(QWidget):
    """Shows the whole image. The rings have the letters a, b, c."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._shown = AnnotatedImage()
        self._image: QImage | None = None
        #: Whether rings and outlines are drawn.
        self.shows_marks = True
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.show_image(AnnotatedImage())

    @property
    def shown(self) -> AnnotatedImage:
        return self._shown

    def show_image(self, shown: AnnotatedImage) -> None:
        self._shown = shown
        self._image = None if shown.pixels is None else as_image(shown.pixels)
        regions = tr(", {n} regions that agree", n=len(shown.rings)) if shown.rings else ""
        self.setAccessibleName(f"{self._name}{regions}{': ' + shown.problem if shown.problem else ''}")
        self.setToolTip(shown.problem)
        self.update()

    def set_marks(self, on: bool) -> None:
        """Whether rings and outlines are drawn."""
        self.shows_marks = on
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(135), theme().px(135))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, 40)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return min(width, theme().px(200))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(self.rect(), colour(theme().image_well))
        if self._image is None:
            if self._shown.problem:
                painter.setPen(colour(theme().image_text))
                flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
                painter.drawText(self.rect().adjusted(8, 8, -8, -8), int(flags), self._shown.problem)
        else:
            size = self._image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
            target = QRectF(
                (self.width() - size.width()) / 2,
                (self.height() - size.height()) / 2,
                size.width(),
                size.height(),
            )
            painter.drawImage(target, self._image)
            if self.shows_marks:
                self._draw_marks(painter, target)
        painter.end()

    def _draw_marks(self, painter: QPainter, target: QRectF) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._shown.outline:
            line = QPolygonF(
                [
                    QPointF(target.x() + x * target.width(), target.y() + y * target.height())
                    for x, y in self._shown.outline
                ]
            )
            for shade, width in ((_DARK, 3.0), (_LIGHT, 1.5)):
                painter.setPen(QPen(colour(shade), width))
                painter.drawPolygon(line)
        for place, (x, y, radius) in enumerate(self._shown.rings):
            centre = QPointF(target.x() + x * target.width(), target.y() + y * target.height())
            radius_px = radius * target.width()
            for shade, width in ((_DARK, 3.0), (theme().region, 1.5)):
                painter.setPen(QPen(colour(shade), width))
                painter.drawEllipse(centre, radius_px, radius_px)
            self._draw_letter(painter, target, centre, radius_px, "abc"[place % 3])

    def _draw_letter(
        self, painter: QPainter, target: QRectF, centre: QPointF, radius_px: float, letter: str
    ) -> None:
        side = theme().px(13)
        corner = centre + QPointF(0.71 * radius_px, -0.71 * radius_px)
        left = min(max(corner.x(), target.left() + side / 2), target.right() - side / 2)
        top = min(max(corner.y(), target.top() + side / 2), target.bottom() - side / 2)
        disc = QRectF(left - side / 2, top - side / 2, side, side)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(_DARK))
        painter.drawEllipse(disc)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(colour(_LIGHT))
        painter.setFont(font(TICK, 600))
        painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, letter)
