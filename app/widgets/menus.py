"""Pop-up menus."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QCursor
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QWidget

from semblance.app.shell.case_menu import CaseMenu


class Menu(QMenu):
    """A menu that closes when its parent is disabled. Qt would leave it open and ignore every key."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.EnabledChange and not self.isEnabled():
            self.close()


def attach_menu(widget: QWidget, make: Callable[[QPoint], QMenu | None]) -> None:
    """Open what ``make(at)`` returns for a point of ``widget`` with the right button there, or in its middle with the
    menu key or Shift+F10."""

    def open_menu(at: QPoint) -> None:
        menu = make(at)
        if menu is not None and not menu.isEmpty():
            menu.popup(widget.mapToGlobal(at))

    widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    widget.customContextMenuRequested.connect(open_menu)


def open_menu_of_focus() -> None:
    """Open the menu of what has the keyboard, as the menu key does. Qt takes Shift+F10 for it on Windows only."""
    focus = QApplication.focusWidget()
    if focus is not None:
        at = focus.rect().center()
        reason = QContextMenuEvent.Reason.Keyboard
        QApplication.sendEvent(focus, QContextMenuEvent(reason, at, focus.mapToGlobal(at)))


def case_menu(entries: CaseMenu, parent: QWidget, case_row: int) -> QMenu:
    """The menu of a small image of a case; it deletes itself when it closes."""
    menu = Menu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    entries.fill(menu, case_row, None)
    return menu


def open_below(button: QAbstractButton, menu: QMenu) -> None:
    """Open ``menu`` below ``button`` and clear the button's hover state when it closes."""
    menu.aboutToHide.connect(lambda: _send_leave_event(button))
    menu.popup(button.mapToGlobal(QPoint(0, button.height())))


def _send_leave_event(button: QAbstractButton) -> None:
    # Qt sends no leave event while a menu is open.
    if not button.rect().contains(button.mapFromGlobal(QCursor.pos())):
        QApplication.sendEvent(button, QEvent(QEvent.Type.Leave))
