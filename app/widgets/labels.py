"""Labels: a line that is shortened to its width, wrapped text, and an icon."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QStyleOption, QWidget

from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.core.language import translate, visible

#: Characters that a wrapped text keeps on one line whatever its width.
LONGEST_WORD = 24


class ElidedLabel(QLabel):
    """A line of text with its hidden characters spelled out, translated if it comes from ``core``.

    ``role`` is a role of the style sheet (``second``, ``third``, ``title``, ``small``)."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        role: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(visible(translate(text)), parent)
        self._mode = mode
        self._tip = self._short_text = ""
        #: The text and font measured last, with the width, and the shortened text for a width of the label.
        self._measured_text: tuple[str, QFont, float] = ("", QFont(), 0.0)
        self._elided: tuple[int, str] | None = None
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        if role:
            set_look(self, role=role)

    def set_tip(self, tip: str) -> None:
        """Set the tooltip. A shortened text stands above it."""
        if tip != self._tip:
            self._tip = tip
            self._update_tooltip()

    def set_short_text(self, text: str) -> None:
        """A text to show instead of a shortened one, or nothing if that does not fit either. Empty: none."""
        if text != self._short_text:
            self._short_text, self._elided = text, None
            self.update()

    def setText(self, text: str) -> None:
        text = visible(translate(text))
        if text != self.text():
            super().setText(text)
            self._update_tooltip()

    def shown_text(self) -> str:
        width, text, font = self.contentsRect().width(), self.text(), self.font()
        if self._measured_text[0] != text or self._measured_text[1] != font:
            text_width = QFontMetricsF(font, self).horizontalAdvance(text)
            self._measured_text, self._elided = (text, font, text_width), None
        if self._measured_text[2] <= width:
            return text
        if self._elided is None or self._elided[0] != width:
            self._elided = width, self._shortened(width)
        return self._elided[1]

    def _shortened(self, width: int) -> str:
        metrics = self.fontMetrics()
        # The text may be a fraction of a pixel wider than its rounded width.
        shown = metrics.elidedText(self.text(), self._mode, width)
        # A text elided in the middle may still be a pixel or two too wide.
        limit = width
        while shown != self.text() and limit > 0 and metrics.horizontalAdvance(shown) > width:
            limit -= 1
            shown = metrics.elidedText(self.text(), self._mode, limit)
        if self._short_text and shown != self.text():
            return self._short_text if metrics.horizontalAdvance(self._short_text) <= width else ""
        return shown

    def sizeHint(self) -> QSize:
        """A fraction of a pixel too few would shorten the text."""
        return super().sizeHint() + QSize(1, 0)

    def minimumSizeHint(self) -> QSize:
        least = min(self.sizeHint().width(), self.fontMetrics().horizontalAdvance("Mm…"))
        return QSize(least, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_tooltip()

    def _update_tooltip(self) -> None:
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


class WrappedLabel(QLabel):
    """Plain text, never interpreted as HTML, translated if it comes from ``core``.

    ``role``: a role of the style sheet. ``selectable``: the text can be selected and copied.
    """

    def __init__(self, text: str = "", role: str = "", *, selectable: bool = False) -> None:
        super().__init__(translate(text))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        if role:
            set_look(self, role=role)
        if selectable:
            self.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            self.setCursor(Qt.CursorShape.IBeamCursor)

    def setText(self, text: str) -> None:
        super().setText(translate(text))

    def minimumSizeHint(self) -> QSize:
        """No wider for a long file name: the label would be wider than what shows it, and lack lines below."""
        least = self.fontMetrics().averageCharWidth() * LONGEST_WORD
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), least), hint.height())


class IconLabel(QWidget):
    """The icon named ``icon``, ``size`` px wide, in the theme's colour ``shade``."""

    def __init__(self, icon: str, shade: str = "second", size: int = 16) -> None:
        super().__init__()
        self.icon, self._shade, self._size = icon, shade, size
        theme_signals.changed.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        side = theme().px(self._size)
        self.setFixedSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        shade = str(getattr(theme(), self._shade))
        painter = QPainter(self)
        painter.drawPixmap(0, 0, icon_pixmap(self.icon, self.width(), shade, self.devicePixelRatioF()))
        painter.end()
