"""Docks with our own title bars; they move, float, and come back as they were."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QLabel, QMainWindow, QToolButton, QWidget

from app.icons import icon
from app.theme import news, theme

HEADER = 32


class _Title(QWidget):
    """Title, the panel's own buttons, and float and help at the right. Dragging it drags the dock."""

    def __init__(self, dock: Dock, title: str, buttons: Sequence[QWidget]) -> None:
        super().__init__(dock)
        self.setProperty("role", "header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        label = QLabel(title)
        label.setProperty("role", "title")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 4, 0)
        row.setSpacing(2)
        row.addWidget(label)
        row.addStretch(1)
        for button in buttons:
            row.addWidget(button)
        row.addWidget(dock.help_button)
        news.changed.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(HEADER))

    def sizeHint(self) -> QSize:
        return QSize(100, theme().px(HEADER))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        dock = self.parent()
        if isinstance(dock, QDockWidget):
            dock.setFloating(not dock.isFloating())
        event.accept()


class Dock(QDockWidget):
    """A panel in a dock. ``wanted``: the user has not closed it."""

    help_wanted = Signal(str)

    def __init__(self, title: str, name: str, panel: QWidget, buttons: Sequence[QWidget] = ()) -> None:
        super().__init__(title)
        self.setObjectName(name)
        self.wanted = True
        self.help_button = QToolButton()
        self.help_button.setIcon(icon("help"))
        self.help_button.setToolTip(f"Help for {title} (F1)")
        self.help_button.setAccessibleName(f"Help for {title}")
        self.help_button.clicked.connect(lambda: self.help_wanted.emit(name))
        self.setTitleBarWidget(_Title(self, title, buttons))
        self.setWidget(panel)
        self.setFeatures(
            QDockWidget.DockWidgetFeature.DockWidgetMovable
            | QDockWidget.DockWidgetFeature.DockWidgetFloatable
            | QDockWidget.DockWidgetFeature.DockWidgetClosable
        )
        self.toggleViewAction().triggered.connect(self._set_wanted)

    def _set_wanted(self, wanted: bool) -> None:
        self.wanted = wanted


def restore_layout(window: QMainWindow, layout: QByteArray, version: int) -> bool:
    """Put the docks back where they were; false where the layout is of another version."""
    return window.restoreState(layout, version)
