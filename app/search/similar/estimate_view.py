"""An estimate on a scale between two findings: a dot with its interval."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.theme import colour, theme
from semblance.app.widgets.finding_chip import SIDE, chip_pixmap
from semblance.core.language import tr

#: Code and letter of a finding's chip; ``None``: all other findings, without a chip.
ScaleEnd = tuple[int, str] | None
_WIDE, _GAP, _TICK = 132, 8, 3


class EstimateView(QWidget):
    """``set_estimate(share, interval, ends)``: the position between the left end (0) and the right one (1)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._share, self._interval = 0.5, (0.0, 1.0)
        self._ends: tuple[ScaleEnd, ScaleEnd] = (None, None)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    @property
    def share(self) -> float:
        return self._share

    @property
    def interval(self) -> tuple[float, float]:
        return self._interval

    @property
    def ends(self) -> tuple[ScaleEnd, ScaleEnd]:
        return self._ends

    def set_estimate(
        self, share: float, interval: tuple[float, float], ends: tuple[ScaleEnd, ScaleEnd]
    ) -> None:
        self._share, self._interval, self._ends = share, interval, ends
        low, high = interval
        self.setAccessibleName(
            tr("Estimate {share:.2f}, {low:.2f} to {high:.2f}", share=share, low=low, high=high)
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(_WIDE), theme().px(SIDE) + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(_WIDE) // 2, theme().px(SIDE) + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side, ratio = tokens.px(SIDE), self.devicePixelRatioF()
        top, middle = (self.height() - side) // 2, self.height() / 2
        left, right = 0.0, float(self.width())
        if self._ends[0] is not None:
            painter.drawPixmap(0, top, chip_pixmap(*self._ends[0], ratio))
            left += side + _GAP
        if self._ends[1] is not None:
            painter.drawPixmap(self.width() - side, top, chip_pixmap(*self._ends[1], ratio))
            right -= side + _GAP

        def x_of(share: float) -> float:
            return left + share * (right - left)

        painter.setPen(QPen(colour(tokens.strong_line), 1))
        painter.drawLine(QPointF(left, middle), QPointF(right, middle))
        for tick_x in (left, right):
            painter.drawLine(QPointF(tick_x, middle - _TICK), QPointF(tick_x, middle + _TICK))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(tokens.bar_fill))
        low, high = (x_of(tick_x) for tick_x in self._interval)
        painter.drawRoundedRect(QRectF(low, middle - 2, max(2.0, high - low), 4), 2, 2)
        painter.setBrush(colour(tokens.text))
        painter.setPen(QPen(colour(tokens.panel), 1.5))
        painter.drawEllipse(QPointF(x_of(self._share), middle), 4.5, 4.5)
        painter.end()
