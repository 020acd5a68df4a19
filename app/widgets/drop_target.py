"""A frame over a widget on which a file or a case can be dropped."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from semblance.app.shell.theme import BASE, colour, theme
from semblance.app.widgets.cards.case_drag import dragged_case
from semblance.app.widgets.text_cache import CENTRE, text_cache


class DropTarget(QWidget):
    """Accepts one file, or one case of a grid, anywhere on ``parent``.

    ``file_dropped(path)`` · ``case_dropped(case_row)``. While one is dragged over ``parent``, a frame with
    ``text`` covers it. Folders and several files are left to the parent's parents.
    """

    file_dropped = Signal(Path)
    case_dropped = Signal(int)

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._text, self._under = text, parent
        self.setAccessibleName(text)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        parent.setAcceptDrops(True)
        parent.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.DragLeave:
            self.hide()
        elif isinstance(event, QDropEvent):
            path, row = dropped_file(event.mimeData()), dragged_case(event.mimeData())
            if path is None and row is None:
                return False
            event.acceptProposedAction()
            if kind == QEvent.Type.Drop:
                self.hide()
                if row is not None:
                    self.case_dropped.emit(row)
                else:
                    self.file_dropped.emit(path)
            else:
                self.setGeometry(self._under.rect())
                self.show()
                self.raise_()
            return True
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.fillRect(self.rect(), colour(tokens.panel, 0.8))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour(tokens.accent), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(5, 5, -5, -5), 4, 4)
        text_cache(BASE, 600).draw(painter, self.rect(), self._text, tokens.text, CENTRE)
        painter.end()


def dropped_file(data: QMimeData) -> Path | None:
    """The one file that is dragged; ``None`` for anything else."""
    urls = data.urls()
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if path.is_file() else None
