"""The buttons + and -: drawn on cards, and as widgets where one case is compared."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from semblance.app.shell.theme import BASE, colour, font, theme, theme_signals
from semblance.app.widgets.text_cache import text_cache

MORE_LIKE, LESS_LIKE = 1, -1
#: The buttons without a text and the space between both, px at text scale 1.
BUTTON_WIDTH, BUTTON_HEIGHT, BUTTON_GAP = 28, 24, 2
#: Length and width of the strokes, and the button with a text, px at text scale 1.
_ARM, _STROKE = 12, 2
_TEXT_WIDTH, _TEXT_HEIGHT, _MARGIN, _GAP = 96, 32, 10, 8


@dataclass(frozen=True)
class ButtonState:
    """How a button is drawn. ``on``: the case has this mark."""

    on: bool = False
    hovered: bool = False
    pressed: bool = False
    enabled: bool = True


def draw_mark_button(painter: QPainter, at: QRect, mark: int, state: ButtonState) -> None:
    """The button + (``mark`` 1) or - (-1), filled if it is set, in outline if it cannot be used."""
    draw_mark(painter, at, mark, _draw_back(painter, at, state))


def _draw_back(painter: QPainter, at: QRect, state: ButtonState) -> str:
    """Draw the shape of a button; returns the colour of what stands on it."""
    tokens = theme()
    fill, shade = tokens.control, tokens.text
    if state.on:
        fill, shade = tokens.accent_filled, tokens.on_accent
        if state.hovered or state.pressed:
            fill = (colour(fill).lighter(110) if not state.pressed else colour(fill).darker(112)).name()
    elif not state.enabled:
        fill, shade = "", tokens.disabled
    elif state.pressed:
        fill = tokens.track
    elif state.hovered:
        fill = tokens.hover
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setBrush(colour(fill) if fill else Qt.BrushStyle.NoBrush)
    if fill and (state.on or tokens.is_dark):
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(QRectF(at), 4, 4)
    else:
        painter.setPen(colour(tokens.control_line))
        painter.drawRoundedRect(QRectF(at).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    return shade


def draw_mark(painter: QPainter, at: QRect, mark: int, shade: str) -> None:
    """Only the strokes of + or - in the middle of ``at``, on whole pixels of the screen."""
    to_pixels = painter.deviceTransform()
    scale, box = to_pixels.m11(), to_pixels.mapRect(QRectF(at))
    stroke = max(1, round(theme().px(_STROKE) * scale))
    arm = round(theme().px(_ARM) * scale)
    # Both strokes have the same middle only if both are even or odd.
    arm += (arm - stroke) % 2
    left, top = round(box.center().x() - arm / 2), round(box.center().y() - arm / 2)
    inset = (arm - stroke) // 2
    bars = [QRectF(left, top + inset, arm, stroke)]
    if mark == MORE_LIKE:
        bars.append(QRectF(left + inset, top, stroke, arm))
    to_widget, _ = to_pixels.inverted()
    for bar in bars:
        painter.fillRect(to_widget.mapRect(bar), colour(shade))


class MarkButton(QAbstractButton):
    """+ or - with a text and its key, or without a text as on cards. Wider where the text needs it."""

    def __init__(self, mark: int) -> None:
        super().__init__()
        self._mark, self._key = mark, ""
        self.setCheckable(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme_signals.changed.connect(self.updateGeometry)

    def set_text(self, text: str, key: str) -> None:
        """Show ``text`` and ``key`` beside the sign."""
        self._key = key
        self.setText(text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        px = theme().px
        if not self.text():
            return QSize(px(BUTTON_WIDTH), px(BUTTON_HEIGHT))
        metrics = QFontMetrics(font(BASE, 600))
        parts = [px(_ARM), metrics.horizontalAdvance(self.text())]
        parts += [metrics.horizontalAdvance(self._key)] if self._key else []
        needed = 2 * px(_MARGIN) + sum(parts) + px(_GAP) * (len(parts) - 1)
        return QSize(max(px(_TEXT_WIDTH), needed), px(_TEXT_HEIGHT))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, px = QPainter(self), theme().px
        state = ButtonState(self.isChecked(), self.underMouse(), self.isDown(), self.isEnabled())
        shade = _draw_back(painter, self.rect(), state)
        if not self.text():
            draw_mark(painter, self.rect(), self._mark, shade)
            return
        face, left = text_cache(BASE, 600), px(_MARGIN)
        draw_mark(painter, QRect(left, 0, px(_ARM), self.height()), self._mark, shade)
        left += px(_ARM) + px(_GAP)
        key_width = int(face.width(self._key)) + 1
        right = self.width() - px(_MARGIN)
        face.draw(painter, QRect(left, 0, right - key_width - left, self.height()), self.text(), shade)
        face.draw(painter, QRect(right - key_width, 0, key_width, self.height()), self._key, shade)
