"""Another style sheet in the old one's place: what is seen at once, the rest while nobody waits."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication, QEvent, Qt, Signal
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from semblance.app.shell.lazy import IdleQueue

#: So many hidden widgets take some 2 ms.
AT_ONCE = 50


class Restyler(IdleQueue):
    """Gives the style sheet of the whole program to the widgets there are.

    Qt itself would style every widget once more for each of its parents, or, where the old sheet is taken off
    first, twice; pages and dialogs nobody sees are most of them.
    """

    #: Hidden widgets were styled too.
    given = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._left: list[QWidget] = []
        self._hidden: list[QWidget] = []

    @property
    def done(self) -> bool:
        """Whether no widget is left."""
        return not self._left

    def give(self, sheet: str) -> None:
        """Style what is seen by ``sheet`` now; hidden widgets follow, those first that are shown then."""
        self.stop()
        old = bool(self._app.styleSheet())
        if old:
            # Without the rules it found for each widget, the style takes the new sheet for the whole program
            # only; whatever widget is asked after this finds the rules of the new one.
            style = self._app.style()
            style.unpolish(self._app)
            style.polish(self._app)
        self._app.setStyleSheet(sheet)
        if not old:
            return
        # What Qt has not polished yet it will polish by the new sheet.
        polished = Qt.WidgetAttribute.WA_WState_Polished
        self._left = [widget for widget in _all(self._app) if widget.testAttribute(polished)]
        self._style_seen()
        self._hidden = [widget for widget in self._left if widget.isHidden()]
        if self._left:
            self.add([self._go_on])

    def _go_on(self) -> None:
        self._style_seen()
        some, self._left = self._left[:AT_ONCE], self._left[AT_ONCE:]
        _style(some)
        if self._left:
            self.add([self._go_on])
        else:
            self._tell_parents()
            self.given.emit()

    def _tell_parents(self) -> None:
        """Some reckon with the size of a page or a link nobody sees, and Qt tells them of no change there."""
        for hidden in self._hidden:
            parent = hidden.parentWidget() if isValid(hidden) else None
            while parent is not None:
                parent.updateGeometry()
                parent = parent.parentWidget()
        self._hidden = []

    def _style_seen(self) -> None:
        there = [widget for widget in self._left if isValid(widget)]
        self._left = [widget for widget in there if not widget.isVisible()]
        _style([widget for widget in there if widget.isVisible()])


def _all(app: QApplication) -> Iterator[QWidget]:
    """Every widget, after its parent: it takes its font from the one its parent has then."""
    for top in app.topLevelWidgets():
        if top.parentWidget() is None:
            yield top
            yield from top.findChildren(QWidget)


def _style(widgets: list[QWidget]) -> None:
    """As Qt does it: all are styled before the first is told, which asks others for their sizes."""
    for widget in widgets:
        if isValid(widget):
            widget.style().polish(widget)
    changed = QEvent(QEvent.Type.StyleChange)
    for widget in widgets:
        if isValid(widget):
            QCoreApplication.sendEvent(widget, changed)
