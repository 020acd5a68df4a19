"""Calls that are delayed and combined into one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


def one_shot(owner: QObject, then: Callable[[], object], milliseconds: int = 0) -> QTimer:
    """A timer of ``owner`` that calls ``then`` once, ``milliseconds`` after the last ``start``."""
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.setInterval(milliseconds)
    timer.timeout.connect(then)
    return timer
