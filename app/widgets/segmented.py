"""A control with a few options side by side, of which one is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.theme import BASE, colour, theme
from semblance.app.widgets.text_cache import CENTRE, text_cache
from semblance.core.language import tr


class Segmented(QWidget):
    """``options``: pairs of key and text. ``changed(key)``: the user chose another."""

    changed = Signal(str)

    def __init__(self, options: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._options = list(options)
        self._chosen = 0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._update_accessible_text()

    def value(self) -> str:
        return self._options[self._chosen][0]

    def set_text(self, key: str, text: str) -> None:
        """Change the text of an option.

        Raises:
            KeyError: no such option.
        """
        keys = [option[0] for option in self._options]
        if key not in keys:
            raise KeyError(key)
        self._options[keys.index(key)] = (key, text)
        self._update_accessible_text()

    def set_value(self, key: str) -> None:
        """Choose an option without a signal.

        Raises:
            KeyError: no such option.
        """
        keys = [option[0] for option in self._options]
        if key not in keys:
            raise KeyError(key)
        self._chosen = keys.index(key)
        self._update_accessible_text()

    def sizeHint(self) -> QSize:
        face = text_cache(BASE, 600)
        widest = max(face.width(text) for _, text in self._options)
        return QSize(int(widest + 24) * len(self._options), theme().px(26))

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * len(self._options), theme().px(26))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}
        if event.key() in step:
            self._choose(self._chosen + step[Qt.Key(event.key())])
        elif event.key() == Qt.Key.Key_Space:
            self._choose((self._chosen + 1) % len(self._options))
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for place in range(len(self._options)):
            if self._part(place).contains(event.position().toPoint()):
                self._choose(place)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(colour(tokens.line))
        painter.setBrush(colour(tokens.card_hover if self.isEnabled() else tokens.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        for place, (_, text) in enumerate(self._options):
            part, chosen = self._part(place), place == self._chosen
            if chosen and self.isEnabled():
                painter.setPen(colour(tokens.control_line if not tokens.is_dark else tokens.hover))
                painter.setBrush(colour(tokens.hover if tokens.is_dark else tokens.control))
                painter.drawRoundedRect(QRectF(part).adjusted(1.5, 1.5, -1.5, -1.5), 3, 3)
            shade = tokens.text if chosen else tokens.second
            shade = shade if self.isEnabled() else tokens.disabled
            face = text_cache(BASE, 600 if chosen else 400)
            face.draw(painter, part.adjusted(6, 0, -6, 0), text, shade, CENTRE)
        painter.end()

    def _part(self, place: int) -> QRect:
        count = len(self._options)
        left, right = self.width() * place // count, self.width() * (place + 1) // count
        return QRect(left, 0, right - left, self.height())

    def _choose(self, place: int) -> None:
        place = max(0, min(len(self._options) - 1, place))
        if place != self._chosen:
            self._chosen = place
            self._update_accessible_text()
            self.changed.emit(self.value())

    def _update_accessible_text(self) -> None:
        self.setAccessibleDescription(tr("{name} chosen", name=self._options[self._chosen][1]))
        self.update()
