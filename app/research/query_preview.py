"""The image of the selected query beside the tables of an experiment."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.theme import colour, theme
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr

SIDE = 200
_NONE = -1


class QueryPreview(QWidget):
    """Shows the image of a case. Hidden without a case."""

    def __init__(self) -> None:
        super().__init__()
        self._thumbnails: ThumbnailSource | None = None
        self._row = _NONE
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(tr("Press Enter or double-click to view full size"))
        self.hide()

    @property
    def row(self) -> int | None:
        """The catalogue row of the case that is shown."""
        return None if self._row == _NONE else self._row

    def set_source(self, thumbnails: ThumbnailSource) -> None:
        """Set the source of the images."""
        if self._thumbnails is not thumbnails:
            self._thumbnails = thumbnails
            thumbnails.ready.connect(lambda rows: self.update() if self._row in rows else None)

    def show_case(self, row: int | None, name: str = "") -> None:
        """Show the case ``name`` at ``row`` of the open library, or nothing for ``None``."""
        self._row = _NONE if row is None else row
        self.setAccessibleName(tr("Image of {name}", name=name) if name else "")
        self.setVisible(self._row != _NONE and self._thumbnails is not None)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(SIDE), theme().px(SIDE))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour(theme().image_well))
        image = self._thumbnails.get(self._row) if self._thumbnails is not None and self._row >= 0 else None
        if image is not None:
            size = image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
            left, top = (self.width() - size.width()) / 2, (self.height() - size.height()) / 2
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(QRectF(left, top, size.width(), size.height()), image)
        painter.end()
