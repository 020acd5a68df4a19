"""Pop-up menus."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu


class Menu(QMenu):
    """A menu that closes when its parent is disabled. Qt would leave it open and ignore every key."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange and not self.isEnabled():
            self.close()


def open_below(button: QAbstractButton, menu: QMenu) -> None:
    """Open ``menu`` below ``button`` and clear the button's hover state when it closes."""
    menu.aboutToHide.connect(lambda: _send_leave_event(button))
    menu.popup(button.mapToGlobal(QPoint(0, button.height())))


def _send_leave_event(button: QAbstractButton) -> None:
    # Qt sends no leave event while a menu is open.
    if not button.rect().contains(button.mapFromGlobal(QCursor.pos())):
        QApplication.sendEvent(button, QEvent(QEvent.Type.Leave))
