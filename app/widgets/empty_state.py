"""The message in an empty panel: what is missing, why, and a button for the next step. Also shows errors."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from semblance.app.shell.state import WindowState
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.labels import IconLabel
from semblance.app.widgets.layouts import STRETCH, fill, vbox
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.core.errors import SemblanceError
from semblance.core.language import tr

MAX_WIDTH = 320


class EmptyState(QWidget):
    """A title, a sentence or two, and at most one button; for an error also a button that copies its details."""

    def __init__(
        self,
        title: str = "",
        text: str = "",
        button: str = "",
        parent: QWidget | None = None,
        *,
        icon: str = "",
    ) -> None:
        super().__init__(parent)
        self._then: Callable[[], object] | None = None
        self._icon, self._title, self._text = IconLabel(icon, "third", 24), QLabel(), QLabel()
        self._button = QPushButton()
        self._button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._button.clicked.connect(self._pressed)
        set_look(self._title, role="title")
        set_look(self._text, role="second")
        middle = Qt.AlignmentFlag.AlignHCenter
        self._inner = QWidget()
        column = vbox(self._inner, spacing=6)
        column.addWidget(self._icon, 0, middle)
        for label in (self._title, self._text):
            label.setAlignment(middle)
            label.setWordWrap(True)
            column.addWidget(label)
        column.addSpacing(6)
        column.addWidget(self._button, 0, middle)
        self.copy_details = CopyDetailsButton()
        column.addWidget(self.copy_details, 0, middle)
        across = QHBoxLayout()
        fill(across, STRETCH, (self._inner, 100), STRETCH)
        down = QVBoxLayout(self)
        down.setContentsMargins(16, 16, 16, 16)
        down.addStretch(2)
        down.addLayout(across)
        down.addStretch(3)
        self.set_icon(icon)
        self.show_message(title, text, button)
        theme_signals.changed.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        self._inner.setMaximumWidth(theme().px(MAX_WIDTH))

    def show_message(
        self, title: str, text: str = "", button: str = "", then: Callable[[], object] | None = None
    ) -> None:
        """Show a message. ``then``: called when the button is pressed. Without ``button`` there is none."""
        self._then = then
        self.copy_details.set_error(None)
        self.setAccessibleName(title or text)
        self._title.setText(title)
        self._text.setText(text)
        self._button.setText(button)
        self._title.setVisible(bool(title))
        self._text.setVisible(bool(text))
        self._button.setVisible(bool(button))

    def show_error(
        self,
        error: SemblanceError,
        title: str = "",
        button: str = "",
        then: Callable[[], object] | None = None,
    ) -> None:
        """Show an error with a button that copies its details; its message is the title unless one is given."""
        if title:
            self.show_message(title, str(error), button, then)
        else:
            self.show_message(error.message, error.hint, button, then)
        self.copy_details.set_error(error)

    def set_icon(self, icon: str) -> None:
        """The name of an icon above the title; empty for none."""
        self._icon.icon = icon
        self._icon.setVisible(bool(icon))
        self._icon.update()

    def _pressed(self) -> None:
        if self._then is not None:
            self._then()


def extraction_message(state: WindowState) -> tuple[str, str] | None:
    """Title and text while features are extracted, or the open library is prepared; ``None`` otherwise."""
    if state.preparing is not None and state.preparing == state.location:
        return tr("Measuring the cases"), tr("Results appear as soon as the first ones are measured.")
    if state.extracting:
        return tr("Extracting features"), tr(
            "{name} of {n:,} cases. Train a metric when they are done.",
            name=state.extracting,
            n=len(state.columns),
        )
    return None
