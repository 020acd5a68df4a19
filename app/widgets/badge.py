"""Badges that show on which cases a number was measured, by shape and text instead of colour."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import SMALL, colour, plain_tip, theme
from semblance.app.widgets.text_cache import text_cache
from semblance.core.language import tr

HEIGHT = 18
_PAD, _ICON, _GAP = 6, 12, 3
#: kind -> (text, icon, tip)
KINDS = {
    "held-out": (tr("held-out patients"), "lock", tr("Tested on patients not used for training.")),
    "held-out cases": (tr("held-out cases"), "lock", tr("Tested on cases not used for training.")),
    "training": (tr("training"), "", tr("Measured on the training data.")),
    "unknown": (
        tr("unknown patients"),
        "help",
        tr("Patients are not known: images of one patient may be on both sides."),
    ),
    "stale": (tr("stale"), "", tr("The metric has changed since this was measured.")),
}


class Badge(QWidget):
    """``kind``: one of :data:`KINDS`. ``text`` replaces its text.

    Raises:
        KeyError: an unknown kind.
    """

    def __init__(self, kind: str, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._kind = self._text = ""
        self.set_kind(kind, text)

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def text(self) -> str:
        return self._text

    def set_kind(self, kind: str, text: str = "") -> None:
        usual, _, tip = KINDS[kind]
        if (kind, text or usual) == (self._kind, self._text):
            return
        self._kind, self._text = kind, text or usual
        self.setToolTip(plain_tip(tip))
        self.setAccessibleName(tr("Measured on: {text}", text=self._text))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return badge_size(self._kind, self._text)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_badge(painter, self.rect(), self._kind, self._text, self.devicePixelRatioF())
        painter.end()


def badge_size(kind: str, text: str = "") -> QSize:
    """The size of a badge."""
    usual, name, _ = KINDS[kind]
    width = text_cache(SMALL, 500).width(text or usual) + 2 * _PAD + (theme().px(_ICON) + _GAP if name else 0)
    return QSize(int(width) + 2, theme().px(HEIGHT))


def paint_badge(painter: QPainter, where: QRect, kind: str, text: str = "", ratio: float = 1.0) -> None:
    """Draw a badge into ``where`` of a table or plot."""
    usual, name, _ = KINDS[kind]
    tokens = theme()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    box = QRectF(where).adjusted(0.5, 0.5, -0.5, -0.5)
    if kind == "training":
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(tokens.hover))
    else:
        dashed = kind == "stale"
        pen = QPen(colour(tokens.second if dashed else tokens.strong_line), 1)
        if dashed:
            pen.setDashPattern([3, 2])
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box, 3, 3)
    left = where.x() + _PAD
    if name:
        side = tokens.px(_ICON)
        top = where.y() + (where.height() - side) // 2
        painter.drawPixmap(QPoint(left, top), icon_pixmap(name, side, tokens.second, ratio))
        left += side + _GAP
    line = QRect(left, where.y(), where.right() + 1 - _PAD - left + 1, where.height())
    shade = tokens.text if kind == "stale" else tokens.second
    text_cache(SMALL, 500).draw(painter, line, text or usual, shade)
    painter.restore()
