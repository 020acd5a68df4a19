"""Widgets on their own, as large as a test wants them."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

Shown = TypeVar("Shown", bound=QWidget)


def on_screen(qtbot: QtBot, widget: Shown, width: int, height: int) -> Shown:
    """``widget``, shown in that size and closed at the end of the test."""
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    return widget
