"""The icon bar that replaces the Library panel in a narrow window."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal

from semblance.app.shell.actions import Actions
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.buttons import key_button
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import Panel
from semblance.core.language import tr

WIDTH = 40


class LibraryIconBar(Panel):
    """``open_requested(what)``: "" the panel, "filter" its filter."""

    open_requested = Signal(str)
    add_requested = Signal()

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        column = vbox(self, spacing=12, margins=(8, 6, 8, 8))
        buttons = []
        for name, tip, command, what in (
            ("chevron-right", tr("Open the library"), "go_library", ""),
            ("library", tr("Open the library"), "go_library", ""),
            ("filter", tr("Filter the cases"), "find_case", "filter"),
        ):
            button = key_button(name, tip, actions, command)
            button.clicked.connect(lambda _=False, what=what: self.open_requested.emit(what))
            column.addWidget(button)
            buttons.append(button)
        self._first = buttons[0]
        add = key_button("folder-plus", tr("Add images to this library"), actions, "import_more")
        add.clicked.connect(self.add_requested)
        column.addWidget(add)
        column.addStretch(1)
        theme_signals.changed.connect(self.fit)
        self.fit()

    def take_focus(self) -> None:
        """Focus the button that opens the panel."""
        self._first.setFocus(Qt.FocusReason.OtherFocusReason)

    def fit(self) -> None:
        """Set the width for the text size."""
        self.setFixedWidth(theme().px(WIDTH))
