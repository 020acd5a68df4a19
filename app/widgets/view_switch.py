"""The switch between the ways to show the same things."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QToolButton, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import set_look
from semblance.app.widgets.layouts import hbox
from semblance.core.language import tr

GRID_OR_LIST = (("grid", "grid", tr("As cards")), ("list", "list", tr("As a list")))


class ViewSwitch(QWidget):
    """``options``: key, icon and tooltip of each button. ``changed(key)``: the user chose another."""

    changed = Signal(str)

    def __init__(
        self, options: Sequence[tuple[str, str, str]] = GRID_OR_LIST, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._buttons: dict[str, QToolButton] = {}
        group = QButtonGroup(self)
        row = hbox(self, spacing=2)
        for key, name, tip in options:
            button = QToolButton()
            button.setIcon(icon(name, on="text"))
            button.setToolTip(tip)
            button.setAccessibleName(tip)
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, key=key: self.changed.emit(key))
            set_look(button, view=True)
            group.addButton(button)
            row.addWidget(button)
            self._buttons[key] = button
        self.set_value(options[0][0])

    def value(self) -> str:
        return next(key for key, button in self._buttons.items() if button.isChecked())

    def set_value(self, key: str) -> None:
        """Choose an option without a signal.

        Raises:
            KeyError: no such option.
        """
        self._buttons[key].setChecked(True)
