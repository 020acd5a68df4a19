"""Shows a widget in a given size, waits for its delayed calls, and counts its paints."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

AnyWidget = TypeVar("AnyWidget", bound=QWidget)


def show_widget(qtbot: QtBot, widget: AnyWidget, width: int, height: int) -> AnyWidget:
    """Show ``widget`` in this size. It is closed at the end of the test."""
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    return widget


def finish_delayed_calls(qtbot: QtBot, owner: QObject) -> None:
    """Run the event loop until no delayed call of ``owner`` is pending. What has not begun then never will."""
    qtbot.waitUntil(lambda: not any(t.isSingleShot() and t.isActive() for t in owner.findChildren(QTimer)))


class Paints(QObject):
    """Counts the paints of a widget."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        self.count += event.type() == QEvent.Type.Paint
        return False
