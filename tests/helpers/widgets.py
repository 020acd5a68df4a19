"""Shows a widget in a given size."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

AnyWidget = TypeVar("AnyWidget", bound=QWidget)


def show_widget(qtbot: QtBot, widget: AnyWidget, width: int, height: int) -> AnyWidget:
    """Show ``widget`` in this size. It is closed at the end of the test."""
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    return widget
