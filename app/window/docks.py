"""Docks with the headers of their panels."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDockWidget, QLayout, QMainWindow, QWidget

from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import PanelHeader


class _DockTitle(PanelHeader):
    """The header of a dock. Dragging it moves the dock, a double click makes it float."""

    def __init__(self, dock: Dock, title: str, actions: Sequence[QWidget]) -> None:
        super().__init__(title)
        self._dock = dock
        for widget in actions:
            self.add_action(widget)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._dock.setFloating(not self._dock.isFloating())
        event.accept()


class _WidgetSwitcher(QWidget):
    """Shows one of several widgets, or none, with the size hint of the shown one."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self._column = vbox(self)
        # The icon bar is never wider than its size hint.
        self._column.setSizeConstraint(QLayout.SizeConstraint.SetMinAndMaxSize)
        self._column.addWidget(widget)
        self._shown: QWidget | None = widget

    def show_only(self, widget: QWidget | None) -> None:
        """Show ``widget``, which is added on first use, or nothing."""
        if self._shown is not None:
            self._shown.hide()
        if widget is not None:
            if self._column.indexOf(widget) < 0:
                self._column.addWidget(widget)
            widget.show()
        self._shown = widget
        self._column.activate()


class Dock(QDockWidget):
    """A panel in a dock. ``is_open``: the user has not closed it; ``collapsed``: only its icon bar is shown."""

    help_requested = Signal(str)

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
        self.is_open = True
        self.collapsed = False
        self._panel = panel
        if header is None:
            bar = _DockTitle(self, title, actions)
            bar.help_requested.connect(lambda: self.help_requested.emit(name))
            header = bar
        self._bar = header
        # A collapsed panel stays in the dock, because removed widgets would all be styled again.
        self._head, self._body = _WidgetSwitcher(header), _WidgetSwitcher(panel)
        self.setTitleBarWidget(self._head)
        self.setWidget(self._body)
        feature = QDockWidget.DockWidgetFeature
        self.setFeatures(feature.DockWidgetMovable | feature.DockWidgetFloatable | feature.DockWidgetClosable)
        self.toggleViewAction().triggered.connect(self._set_open)

    def bring_to_front(self) -> None:
        """Show it in front of other docks in the same place."""
        self.is_open = True
        self.show()
        self.raise_()

    def _set_open(self, is_open: bool) -> None:
        self.is_open = is_open

    def collapse(self, bar: QWidget | None) -> None:
        """Show ``bar`` instead of the panel, or the panel again."""
        self.collapsed = bar is not None
        self._head.show_only(None if self.collapsed else self._bar)
        self._body.show_only(bar or self._panel)
        self.updateGeometry()
