"""A label that shortens its text to its room; the whole text is in its tooltip then."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QStyleOption, QWidget

from semblance.app.shell.theme import plain_tip, set_look


class ElidedLabel(QLabel):
    """A line of text; ``role`` is a role of the style sheet (``second``, ``third``, ``title``, ``small``)."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        role: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(text, parent)
        self._mode = mode
        self._tip = self._short = ""
        #: The text and font last measured with the text's width, and what was shown of it in which room.
        self._measured: tuple[str, QFont, float] = ("", QFont(), 0.0)
        self._elided: tuple[int, str] | None = None
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        if role:
            set_look(self, role=role)

    def set_tip(self, tip: str) -> None:
        """A tooltip of its own; the whole text is put before it where the text is shortened."""
        self._tip = tip
        self._told()

    def set_short(self, text: str) -> None:
        """What is said instead of a shortened text, and nothing where that has no room; empty for none."""
        self._short, self._elided = text, None
        self.update()

    def setText(self, text: str) -> None:
        super().setText(text)
        self._told()

    def shown_text(self) -> str:
        room, text, font = self.contentsRect().width(), self.text(), self.font()
        if self._measured[0] != text or self._measured[1] != font:
            wide = QFontMetricsF(font, self).horizontalAdvance(text)
            self._measured, self._elided = (text, font, wide), None
        if self._measured[2] <= room:
            return text
        if self._elided is None or self._elided[0] != room:
            self._elided = room, self._shortened(room)
        return self._elided[1]

    def _shortened(self, room: int) -> str:
        metrics = self.fontMetrics()
        # Its width in whole pixels may fit where the text itself, some tenths wider, does not.
        shown = metrics.elidedText(self.text(), self._mode, room)
        # What is left out in the middle may leave a pixel or two too many.
        limit = room
        while shown != self.text() and limit > 0 and metrics.horizontalAdvance(shown) > room:
            limit -= 1
            shown = metrics.elidedText(self.text(), self._mode, limit)
        if self._short and shown != self.text():
            return self._short if metrics.horizontalAdvance(self._short) <= room else ""
        return shown

    def minimumSizeHint(self) -> QSize:
        least = min(self.sizeHint().width(), self.fontMetrics().horizontalAdvance("Mm…"))
        return QSize(least, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._told()

    def _told(self) -> None:
        parts = [self.text()] if self.shown_text() != self.text() else []
        self.setToolTip(plain_tip("\n".join(parts + ([self._tip] if self._tip else []))))

    def paintEvent(self, event: QPaintEvent) -> None:
        shown = self.shown_text()
        if shown == self.text():
            super().paintEvent(event)
            return
        painter, option = QPainter(self), QStyleOption()
        option.initFrom(self)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_Widget, option, painter, self)
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            int(self.alignment() | Qt.AlignmentFlag.AlignVCenter),
            self.palette(),
            self.isEnabled(),
            shown,
            self.foregroundRole(),
        )
        painter.end()
