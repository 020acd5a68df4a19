"""The findings of the nearest cases in order, as letters."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.theme import news, theme
from app.widgets.finding_chip import SIDE, chip_pixmap
from core.language import tr
from core.library.columns import NO_FINDING, CaseColumns, no_cases

#: Cases whose findings are shown.
NEAREST = 10


class NearestChips(QWidget):
    """The findings of the nearest cases in order, as letters."""

    def __init__(self) -> None:
        super().__init__()
        self._columns: CaseColumns = no_cases()
        self._codes: list[int] = []
        news.changed.connect(self.updateGeometry)

    def show_cases(self, columns: CaseColumns, rows: list[int]) -> None:
        places = [columns.index_of_row(row) for row in rows]
        self._columns = columns
        self._codes = [int(columns.finding[place]) if place >= 0 else NO_FINDING for place in places]
        names = [columns.findings[code] if code != NO_FINDING else tr("not given") for code in self._codes]
        self.setAccessibleName(
            tr("Findings of the {n} nearest: {findings}", n=len(names), findings=", ".join(names))
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(NEAREST * (theme().px(SIDE) + 4), theme().px(SIDE) + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, theme().px(SIDE))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        side = theme().px(SIDE)
        at = QRect(0, (self.height() - side) // 2, side, side)
        for code in self._codes:
            if at.right() > self.width():
                break
            letter = "?" if code == NO_FINDING else self._columns.letters[self._columns.findings[code]]
            painter.drawPixmap(at.topLeft(), chip_pixmap(code, letter, self.devicePixelRatioF()))
            at.translate(side + 4, 0)
        painter.end()
