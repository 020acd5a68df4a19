"""A change of the style sheet: visible widgets at once, hidden ones in idle time."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from semblance.app.shell.idle_queue import IdleQueue

#: Hidden widgets styled in one step, about 2 ms.
BATCH_SIZE = 50


class Restyler(IdleQueue):
    """Applies the style sheet of the program to the existing widgets.

    Qt itself would style every widget once for each of its parents, or twice if the old sheet is removed first.
    Most widgets are in pages and dialogs that are hidden.
    """

    #: All hidden widgets are styled too.
    finished = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._unstyled: list[QWidget] = []
        self._hidden: list[QWidget] = []

    @property
    def done(self) -> bool:
        """Whether all widgets are styled."""
        return not self._unstyled

    def apply(self, sheet: str) -> None:
        """Style visible widgets with ``sheet`` now. Hidden ones follow, first those that become visible."""
        self.stop()
        old = bool(self._app.styleSheet())
        if old:
            # This clears the rules that the style has cached for each widget, so that it uses the new sheet.
            style = self._app.style()
            style.unpolish(self._app)
            style.polish(self._app)
        self._app.setStyleSheet(sheet)
        if not old:
            return
        # Widgets that Qt has not polished yet will get the new sheet from Qt.
        polished = Qt.WidgetAttribute.WA_WState_Polished
        self._unstyled = [widget for widget in _all_widgets(self._app) if widget.testAttribute(polished)]
        self._style_visible()
        self._hidden = [widget for widget in self._unstyled if widget.isHidden()]
        if self._unstyled:
            self.add([self._style_next_batch])

    def _style_next_batch(self) -> None:
        self._style_visible()
        batch, self._unstyled = self._unstyled[:BATCH_SIZE], self._unstyled[BATCH_SIZE:]
        _polish(batch)
        if self._unstyled:
            self.add([self._style_next_batch])
        else:
            self._update_parents()
            self.finished.emit()

    def _update_parents(self) -> None:
        """Layouts also use the sizes of hidden widgets, but Qt does not report their changes."""
        for hidden in self._hidden:
            parent = hidden.parentWidget() if isValid(hidden) else None
            while parent is not None:
                parent.updateGeometry()
                parent = parent.parentWidget()
        self._hidden = []

    def _style_visible(self) -> None:
        alive = [widget for widget in self._unstyled if isValid(widget)]
        self._unstyled = [widget for widget in alive if not widget.isVisible()]
        _polish([widget for widget in alive if widget.isVisible()])


def _all_widgets(app: QApplication) -> Iterator[QWidget]:
    """Every widget, each after its parent, whose font it inherits."""
    for top in app.topLevelWidgets():
        if top.parentWidget() is None:
            yield top
            yield from top.findChildren(QWidget)


def _polish(widgets: list[QWidget]) -> None:
    """Like Qt: style all before the first gets its event, which makes it ask others for their sizes."""
    for widget in widgets:
        if isValid(widget):
            widget.style().polish(widget)
    changed = QEvent(QEvent.Type.StyleChange)
    for widget in widgets:
        if isValid(widget):
            QCoreApplication.sendEvent(widget, changed)
