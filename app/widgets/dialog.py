"""Dialogs with their common layout and buttons."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox, vbox
from semblance.app.widgets.tab_order import focus_next, tab_stops
from semblance.core.language import tr

#: Width in px at text scale 1 of a dialog with one field.
_FIELD_WIDTH = 360
#: The largest width of a window's frame in px.
FRAME_SIZE = 16


class Dialog(QDialog):
    """A dialog in which Tab follows the reading order. It grows when its texts need more lines."""

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._show_all_lines()
        return done

    def _show_all_lines(self) -> None:
        """Qt keeps the height of a window when a wrapped text in it gets longer, and cuts lines off."""
        layout = self.layout()
        if layout is None or not layout.hasHeightForWidth():
            return
        needed = min(layout.totalMinimumHeightForWidth(self.width()), available_size(self).height())
        if needed <= self.height():
            return
        frame, screen = self.frameGeometry(), self.screen().availableGeometry()
        below = frame.bottom() + needed - self.height() - screen.bottom()
        self.resize(self.width(), needed)
        if below > 0 and self.isVisible():
            self.move(frame.x(), max(screen.top(), frame.top() - below))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        first = tab_stops(self)
        if self.focusWidget() is None and first:
            first[0].setFocus(Qt.FocusReason.OtherFocusReason)

    def focusNextPrevChild(self, forward: bool) -> bool:
        return focus_next(self, forward)


def bring_to_front(window: QWidget) -> None:
    """Show a window that may be open behind others."""
    window.show()
    window.raise_()
    window.activateWindow()


def dialog_layout(dialog: QDialog) -> QVBoxLayout:
    """A vertical layout with the margins of dialogs."""
    return vbox(dialog, spacing=12, margins=(16, 16, 16, 16))


def resize_dialog(dialog: QDialog, width: int, height: int) -> None:
    """Set the size in px at text scale 1, limited by the screen."""
    dialog.resize(QSize(theme().px(width), theme().px(height)).boundedTo(available_size(dialog)))


def widen(dialog: QDialog, width: int) -> None:
    """Set a minimum width in px at text scale 1, limited by the screen."""
    target = min(theme().px(width), available_size(dialog).width())
    dialog.resize(max(dialog.width(), target), dialog.height())


def available_size(dialog: QDialog) -> QSize:
    """The size of the screen without a frame, or of the parent window if that is larger."""
    screen = dialog.screen().availableGeometry().size() - QSize(FRAME_SIZE, 2 * FRAME_SIZE)
    parent = dialog.parentWidget()
    return screen if parent is None else screen.expandedTo(parent.window().size())


def form() -> QFormLayout:
    """A layout of labelled fields."""
    fields = QFormLayout()
    fields.setHorizontalSpacing(16)
    fields.setVerticalSpacing(8)
    return fields


def dialog_button(text: str, clicked: Callable[[], object], tip: str = "") -> QPushButton:
    """A button that Enter in a field of the dialog does not press."""
    button = QPushButton(text)
    button.setToolTip(tip)
    button.setAutoDefault(False)
    button.clicked.connect(lambda _checked=False: clicked())
    return button


def help_button(dialog: QDialog, show_help: Callable[[], object]) -> QPushButton:
    """The Help button of a dialog. F1 does the same."""
    button = dialog_button(tr("Help"), show_help)
    button.setIcon(icon("help"))
    QShortcut(QKeySequence(QKeySequence.StandardKey.HelpContents), dialog, show_help)
    return button


def accept_button(text: str) -> QPushButton:
    """The button that confirms the dialog. Enter presses it."""
    button = QPushButton(text)
    set_look(button, primary=True)
    button.setDefault(True)
    return button


def cancel_button(dialog: QDialog) -> QPushButton:
    button = QPushButton(tr("Cancel"))
    button.clicked.connect(dialog.reject)
    return button


def action_row(dialog: QDialog, action: QPushButton) -> QHBoxLayout:
    """The bottom row of a dialog: Cancel and ``action`` at the right."""
    return fill(hbox(spacing=8), STRETCH, cancel_button(dialog), action)


def add_action_rows(layout: QVBoxLayout, dialog: QDialog, action: QPushButton, *others: QWidget) -> None:
    """Add a row with ``action`` at the right, and :func:`closing_row` below it. Enter runs the action."""
    row = fill(hbox(spacing=8), STRETCH, action)
    layout.addLayout(row)
    layout.addLayout(closing_row(dialog, *others))
    # The closing row takes the default otherwise.
    action.setDefault(True)


def closing_row(dialog: QDialog, *others: QWidget) -> QHBoxLayout:
    """The bottom row of a dialog without an action: ``others`` at the left, Close at the right."""
    close = QPushButton(tr("Close"))
    close.setDefault(True)
    close.clicked.connect(dialog.accept)
    row = hbox(spacing=8)
    for widget in others:
        row.addWidget(widget)
    row.addStretch(1)
    row.addWidget(close)
    return row


class NameDialog(Dialog):
    """One field for a name. ``action``: the text of the button that confirms; ``names``: to choose from instead."""

    def __init__(
        self,
        parent: QWidget | None,
        title: str,
        label: str,
        action: str,
        name: str = "",
        names: Sequence[str] = (),
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.field = QLineEdit(name)
        shown: QWidget = self.field
        if names:
            choice = NoWheelComboBox()
            choice.setEditable(True)
            choice.setLineEdit(self.field)
            # A new name is no entry of the list.
            choice.setInsertPolicy(NoWheelComboBox.InsertPolicy.NoInsert)
            choice.setSizeAdjustPolicy(NoWheelComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            choice.addItems(list(names))
            choice.setAccessibleName(label)
            shown = choice
        self.field.setAccessibleName(label)
        self.field.selectAll()
        self.accept_button = accept_button(action)
        self.accept_button.clicked.connect(self.accept)
        self.field.textChanged.connect(self._check)
        layout = dialog_layout(self)
        layout.addWidget(WrappedLabel(label))
        layout.addWidget(shown)
        layout.addLayout(action_row(self, self.accept_button))
        widen(self, _FIELD_WIDTH)
        shown.setFocus(Qt.FocusReason.OtherFocusReason)
        self._check()

    def ask(self) -> str:
        """Show the dialog; returns the name without spaces around it, empty if the user cancelled."""
        accepted = self.exec() == QDialog.DialogCode.Accepted
        self.deleteLater()
        return self.field.text().strip() if accepted else ""

    def _check(self) -> None:
        self.accept_button.setEnabled(bool(self.field.text().strip()))
