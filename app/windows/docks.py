"""Docks with our own headers; they move, float, and come back as they were."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from app.widgets.panel_header import PanelHeader


class _Title(PanelHeader):
    """Dragging it drags the dock, a double click floats it."""

    def __init__(self, dock: Dock, title: str, actions: Sequence[QWidget]) -> None:
        super().__init__(title)
        self._dock = dock
        for widget in actions:
            self.add_action(widget)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._dock.setFloating(not self._dock.isFloating())
        event.accept()


class Dock(QDockWidget):
    """A panel in a dock. ``wanted``: the user has not closed it."""

    help_wanted = Signal(str)

    def __init__(
        self,
        window: QMainWindow,
        title: str,
        name: str,
        panel: QWidget,
        actions: Sequence[QWidget] = (),
        *,
        header: QWidget | None = None,
    ) -> None:
        """``header`` of the panel's own takes the place of the usual one with ``actions`` in it."""
        super().__init__(title, window)
        self.setObjectName(name)
        self.wanted = True
        self._panel = panel
        # What a rail stands for waits here, so that it goes when the dock goes.
        self._aside = QWidget(self)
        self._aside.hide()
        if header is None:
            bar = _Title(self, title, actions)
            bar.help_wanted.connect(lambda: self.help_wanted.emit(name))
            header = bar
        self._bar = header
        self.setTitleBarWidget(self._bar)
        self.setWidget(panel)
        feature = QDockWidget.DockWidgetFeature
        self.setFeatures(feature.DockWidgetMovable | feature.DockWidgetFloatable | feature.DockWidgetClosable)
        self.toggleViewAction().triggered.connect(self._set_wanted)

    def bring(self) -> None:
        """Show it, in front of those it shares its place with."""
        self.wanted = True
        self.show()
        self.raise_()

    def _set_wanted(self, wanted: bool) -> None:
        self.wanted = wanted

    @property
    def folded(self) -> bool:
        """Whether only a rail of it is shown."""
        return self.widget() is not self._panel

    def fold(self, rail: QWidget | None) -> None:
        """Show ``rail`` instead of the panel, or the panel again."""
        if rail is not None:
            self.setWidget(rail)
            self.setTitleBarWidget(_Nothing())
            self._panel.setParent(self._aside)
            self._bar.setParent(self._aside)
            rail.show()
        elif self.folded:
            rail, nothing = self.widget(), self.titleBarWidget()
            self.setWidget(self._panel)
            self.setTitleBarWidget(self._bar)
            rail.deleteLater()
            nothing.deleteLater()
            self._bar.show()
            self._panel.show()


class _Nothing(QWidget):
    """No title bar at all."""
