"""What dialogs are built of, so that all are laid out alike."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.layouts import hbox, vbox
from semblance.core.language import tr

#: px a window's frame takes at most.
FRAME = 16


def column_of(dialog: QDialog) -> QVBoxLayout:
    """The parts of a dialog, above each other."""
    return vbox(dialog, spacing=12, margins=(16, 16, 16, 16))


def give_size(dialog: QDialog, width: int, height: int) -> None:
    """Make it so large, px at text scale 1, as far as the screen has room."""
    dialog.resize(QSize(theme().px(width), theme().px(height)).boundedTo(_room(dialog)))


def widen(dialog: QDialog, width: int) -> None:
    """Make it at least so wide, px at text scale 1, as far as the screen has room."""
    wanted = min(theme().px(width), _room(dialog).width())
    dialog.resize(max(dialog.width(), wanted), dialog.height())


def _room(dialog: QDialog) -> QSize:
    """The screen without a frame; a window there already is room as well."""
    screen = dialog.screen().availableGeometry().size() - QSize(FRAME, 2 * FRAME)
    parent = dialog.parentWidget()
    return screen if parent is None else screen.expandedTo(parent.window().size())


def form() -> QFormLayout:
    """Fields, each beside its name."""
    fields = QFormLayout()
    fields.setHorizontalSpacing(16)
    fields.setVerticalSpacing(8)
    return fields


def accept_button(text: str) -> QPushButton:
    """What the dialog is for; Enter presses it."""
    button = QPushButton(text)
    set_look(button, primary=True)
    button.setDefault(True)
    return button


def cancel_button(dialog: QDialog) -> QPushButton:
    button = QPushButton(tr("Cancel"))
    button.clicked.connect(dialog.reject)
    return button


def go_or_cancel(dialog: QDialog, go: QPushButton) -> QHBoxLayout:
    """The last line of a dialog that does something: Cancel and ``go`` at the right, as Close is in one to
    read."""
    row = hbox(spacing=8)
    row.addStretch(1)
    row.addWidget(cancel_button(dialog))
    row.addWidget(go)
    return row


def closing_row(dialog: QDialog, *others: QWidget) -> QHBoxLayout:
    """The last line of a dialog to read: ``others`` at the left, Close at the right."""
    close = QPushButton(tr("Close"))
    close.setDefault(True)
    close.clicked.connect(dialog.accept)
    row = hbox(spacing=8)
    for widget in others:
        row.addWidget(widget)
    row.addStretch(1)
    row.addWidget(close)
    return row
