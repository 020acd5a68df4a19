"""Menus that are opened while other things happen in the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu


class Menu(QMenu):
    """A menu that closes when its parent is disabled: Qt leaves it open, deaf to every key, Escape too."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange and not self.isEnabled():
            self.close()


def open_below(button: QAbstractButton, menu: QMenu) -> None:
    """Open ``menu``; once it closes the button is lit only where the pointer is on it."""
    menu.aboutToHide.connect(lambda: _told_to_leave(button))
    menu.popup(button.mapToGlobal(QPoint(0, button.height())))


def _told_to_leave(button: QAbstractButton) -> None:
    # While a menu is open the pointer leaves a button without a word of it.
    if not button.rect().contains(button.mapFromGlobal(QCursor.pos())):
        QApplication.sendEvent(button, QEvent(QEvent.Type.Leave))
