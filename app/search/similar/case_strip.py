"""A few cases side by side in one line, each with an image and a word or two; chosen by mouse or keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from semblance.app.shell import theme as themes
from semblance.app.shell.theme import BASE, SMALL, colour, plain_tip, theme
from semblance.app.widgets.finding_chip import SIDE, chip_pixmap
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr

#: Height, side of the image and width of a case, with words beneath each other, and in one line.
#: A case beside its words is wide enough for "differs in stripes" and as much below.
TALL, TALL_THUMB, TALL_WIDTH = 56, 50, 158
LOW, LOW_THUMB, LOW_WIDTH = 28, 24, 108
_PAD = 4


@dataclass(frozen=True)
class StripCase:
    """``row`` of the catalogue; ``lead`` in bold, ``value`` beside it, ``note`` below; ``words`` for a screen
    reader and the tooltip; ``chip`` is code and letter of the finding, where they differ."""

    row: int
    lead: str
    value: str
    note: str = ""
    words: str = ""
    chip: tuple[int, str] | None = None


class CaseStrip(QWidget):
    """``chosen(row)`` when one becomes current, ``activated(row)`` by double click or Enter,
    ``menu_requested(row, global position)``."""

    chosen = Signal(int)
    activated = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._cases: tuple[StripCase, ...] = ()
        self._source: ThumbnailSource | None = None
        self._place, self._hover, self._low = 0, -1, False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        themes.theme_signals.changed.connect(self._restyled)
        self._told()

    def set_source(self, source: ThumbnailSource) -> None:
        if self._source is not None:
            self._source.ready.disconnect(self._images_ready)
        self._source = source
        source.ready.connect(self._images_ready)
        self.update()

    def set_cases(self, cases: Sequence[StripCase]) -> None:
        if [case.row for case in cases] != [case.row for case in self._cases]:
            self._place = 0
        self._cases = tuple(cases)
        self.updateGeometry()
        self._told()
        self.update()

    def set_low(self, low: bool) -> None:
        """One line of text instead of two, with small images."""
        if low != self._low:
            self._low = low
            self.updateGeometry()
            self.update()

    @property
    def cases(self) -> tuple[StripCase, ...]:
        return self._cases

    def current(self) -> int:
        """The catalogue row of the current case, -1 without any."""
        return self._cases[self._place].row if self._cases else -1

    def shown(self) -> int:
        """How many cases there is room for."""
        return max(1, min(len(self._cases), self.width() // self._least()))

    def cell(self, place: int) -> QRect:
        """Where the case at ``place`` is."""
        return QRect(place * self._cell(), 0, self._cell(), self.height())

    def sizeHint(self) -> QSize:
        return QSize(theme().px(300), theme().px(LOW if self._low else TALL))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._least(), self.sizeHint().height())

    def _cell(self) -> int:
        """The cases that have room share it; few in a wide panel keep together."""
        least = self._least()
        return max(least, min(least * 5 // 4, self.width() // self.shown()))

    def _least(self) -> int:
        chips = theme().px(SIDE + 10) if any(case.chip is not None for case in self._cases) else 0
        return theme().px(LOW_WIDTH if self._low else TALL_WIDTH) + chips

    def _told(self) -> None:
        self.setAccessibleName(self._name)
        words = self._cases[self._place].words if self._cases else tr("none")
        self.setAccessibleDescription(words)

    def _restyled(self) -> None:
        self.updateGeometry()
        self.update()

    def _images_ready(self, rows: frozenset[int]) -> None:
        if any(case.row in rows for case in self._cases):
            self.update()

    # Mouse and keys

    def _place_at(self, point: QPoint) -> int:
        place = point.x() // self._cell()
        return place if 0 <= place < self.shown() and self._cases else -1

    def _choose(self, place: int) -> None:
        self._place = place
        self._told()
        self.update()
        self.chosen.emit(self.current())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().toPoint())
        if place >= 0:
            self._choose(place)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self._place_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and place >= 0:
            self._choose(place)
            self.activated.emit(self.current())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_hover(self._place_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(-1)

    def _set_hover(self, place: int) -> None:
        if place != self._hover:
            self._hover = place
            self.update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        place = self._place if by_key else self._place_at(event.pos())
        if not self._cases or place < 0:
            return
        self._choose(place)
        where = self.mapToGlobal(self.cell(place).center()) if by_key else event.globalPos()
        self.menu_requested.emit(self.current(), where)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if self._cases and event.key() in steps and not event.modifiers():
            self._choose(max(0, min(self.shown() - 1, self._place + steps[Qt.Key(event.key())])))
        elif self._cases and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.activated.emit(self.current())
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._place_at(event.pos())
            if place >= 0:
                QToolTip.showText(event.globalPos(), plain_tip(self._cases[place].words), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        for place in range(self.shown() if self._cases else 0):
            self._draw(painter, place)
        painter.end()

    def _draw(self, painter: QPainter, place: int) -> None:
        tokens, case, cell = theme(), self._cases[place], self.cell(place)
        side = tokens.px(LOW_THUMB if self._low else TALL_THUMB)
        current = place == self._place and self.hasFocus()
        if current or place == self._hover:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setBrush(colour(tokens.selected if current else tokens.card_hover))
            painter.setPen(QPen(colour(tokens.accent), 2) if current else Qt.PenStyle.NoPen)
            painter.drawRoundedRect(QRectF(cell).adjusted(1, 1, -1, -1), 4, 4)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        square = QRect(cell.x() + _PAD, cell.y() + (cell.height() - side) // 2, side, side)
        self._image(painter, square, case.row)
        left = square.right() + 1 + 2 * _PAD
        bold, plain, small = text_cache(BASE, 600), text_cache(BASE), text_cache(SMALL)
        line = tokens.px(16)
        top = cell.y() + (cell.height() - line) // 2 if self._low else square.y()
        room = cell.right() - left
        if case.chip is not None:
            chip = chip_pixmap(*case.chip, self.devicePixelRatioF())
            painter.drawPixmap(left, top + (line - tokens.px(SIDE)) // 2, chip)
            left, room = left + tokens.px(SIDE) + 4, room - tokens.px(SIDE) - 4
        width = int(bold.width(case.lead)) + 5 if case.lead else 0
        bold.draw(painter, QRect(left, top, width, line), case.lead, tokens.text)
        plain.draw(painter, QRect(left + width, top, room - width, line), case.value, tokens.second)
        if self._low or not case.note:
            return
        left = square.right() + 1 + 2 * _PAD
        room = cell.right() - left
        for number, words in enumerate(_two_lines(case.note, small.width, room)):
            where = QRect(left, top + line + number * tokens.px(15), room, tokens.px(15))
            small.draw(painter, where, words, tokens.second)

    def _image(self, painter: QPainter, square: QRect, row: int) -> None:
        painter.fillRect(square, colour(theme().image_well))
        image = self._source.get(row) if self._source is not None else None
        if image is None:
            return
        ratio = self.devicePixelRatioF()
        drawn = QPixmap.fromImage(
            image.scaled(
                round(square.width() * ratio),
                round(square.height() * ratio),
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
        )
        drawn.setDevicePixelRatio(ratio)
        x = square.x() + (square.width() - drawn.width() / ratio) / 2
        y = square.y() + (square.height() - drawn.height() / ratio) / 2
        painter.drawPixmap(round(x), round(y), drawn)


def _two_lines(words: str, width: object, room: int) -> list[str]:
    """``words`` broken once where they are too wide."""
    assert callable(width)
    if width(words) <= room or " " not in words:
        return [words]
    parts = words.split(" ")
    for cut in range(len(parts) - 1, 0, -1):
        if width(" ".join(parts[:cut])) <= room:
            return [" ".join(parts[:cut]), " ".join(parts[cut:])]
    return [parts[0], " ".join(parts[1:])]
