"""A button with a small image and a caption."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from semblance.app.shell.theme import SMALL, colour, theme
from semblance.app.widgets.text_cache import CENTRE, LEFT, RIGHT, text_cache

_CAPTION, _GAP = 18, 4


class ImageButton(QAbstractButton):
    """``caption`` and ``key`` stand below the image, left and right."""

    def __init__(self, caption: str, key: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._caption, self._key = caption, key
        self._image: QImage | None = None
        self._placeholder = ""
        self.setText(caption)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def show_image(self, image: QImage | None, placeholder: str = "") -> None:
        """Show ``image``, or the text ``placeholder`` if there is none."""
        self._image, self._placeholder = image, placeholder
        self.update()

    def set_inert(self) -> None:
        """Make it a plain image that cannot be pressed."""
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def sizeHint(self) -> QSize:
        side = theme().px(88)
        return QSize(side, self.heightForWidth(side))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(48), self.heightForWidth(theme().px(48)))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return min(width, theme().px(160)) + theme().px(_GAP + _CAPTION)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = theme()
        foot = tokens.px(_CAPTION)
        well = QRect(0, 0, self.width(), self.height() - foot - tokens.px(_GAP))
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.fillRect(well, colour(tokens.image_well))
        if self._image is not None:
            size = self._image.size().scaled(well.size(), Qt.AspectRatioMode.KeepAspectRatio)
            at = QRectF(
                well.x() + (well.width() - size.width()) / 2,
                well.y() + (well.height() - size.height()) / 2,
                size.width(),
                size.height(),
            )
            painter.drawImage(at, self._image)
        elif self._placeholder:
            text_cache(SMALL).draw(painter, well, self._placeholder, tokens.image_text, CENTRE)
        if self.isEnabled() and (self.underMouse() or self.isDown()) and self._is_pressable:
            painter.setPen(QPen(colour(tokens.accent), 2))
            painter.drawRect(QRectF(well).adjusted(1, 1, -1, -1))
        line = QRect(0, self.height() - foot, self.width(), foot)
        weight, shade = (600, tokens.text) if self._is_pressable else (400, tokens.second)
        text_cache(SMALL, weight).draw(painter, line, self._caption, shade, LEFT)
        text_cache(SMALL).draw(painter, line, self._key, tokens.second, RIGHT)
        painter.end()

    @property
    def _is_pressable(self) -> bool:
        return not self.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
