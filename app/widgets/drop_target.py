"""A frame over a widget on which a file or a case can be dropped."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from semblance.app.shell.drag_signals import drag_signals
from semblance.app.shell.theme import BASE, colour, theme
from semblance.app.widgets.cards.case_drag import dragged_case
from semblance.app.widgets.text_cache import CENTRE, text_cache


class DropTarget(QWidget):
    """Accepts one file, or one case, anywhere on ``parent``.

    ``file_dropped(path)`` · ``case_dropped(case_row)``. While one is dragged anywhere, a dashed frame shows that it can
    be dropped here; over ``parent`` ``text`` says what happens. Folders and several files are left to the parent's
    parents.
    """

    file_dropped = Signal(Path)
    case_dropped = Signal(int)

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._text, self._under = text, parent
        self._is_dragging = self._is_over = False
        self.setAccessibleName(text)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        parent.setAcceptDrops(True)
        parent.installEventFilter(self)
        drag_signals.changed.connect(self._follow_drag)

    def _follow_drag(self, dragging: bool) -> None:
        self._is_dragging = dragging
        self._show(over=self._is_over and dragging)

    def _show(self, *, over: bool) -> None:
        """Show the frame, with text if something is ``over`` it, as long as anything is dragged."""
        self._is_over = over
        self.setGeometry(self._under.rect())
        self.setVisible(over or self._is_dragging)
        self.raise_()
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.DragLeave:
            self._show(over=False)
        elif isinstance(event, QDropEvent):
            path, row = dropped_file(event.mimeData()), dragged_case(event.mimeData())
            if path is None and row is None:
                return False
            event.acceptProposedAction()
            if kind == QEvent.Type.Drop:
                self._is_dragging = False
                self._show(over=False)
                if row is not None:
                    self.case_dropped.emit(row)
                else:
                    self.file_dropped.emit(path)
            else:
                self._show(over=True)
            return True
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(colour(tokens.accent), 2)
        if self._is_over:
            painter.fillRect(self.rect(), colour(tokens.panel, 0.8))
        else:
            pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(5, 5, -5, -5), 4, 4)
        if self._is_over:
            text_cache(BASE, 600).draw(painter, self.rect(), self._text, tokens.text, CENTRE)
        painter.end()


def dropped_file(data: QMimeData) -> Path | None:
    """The one file that is dragged; ``None`` for anything else."""
    urls = data.urls()
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if path.is_file() else None
