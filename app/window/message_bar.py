"""The message bar: messages stay until they are closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from semblance.app.shell.icons import icon
from semblance.app.shell.messages import Action
from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.labels import IconLabel, WrappedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.core.language import tr, tr_n
from semblance.core.library.location import LibraryLocation

MAX_SHOWN = 3
#: Pixels that the texts of a message have at least beside its buttons, with its icon.
_NARROWEST_TEXT = 420
_ICONS = {"error": "warning", "warning": "warning", "info": "info"}
_LEVEL_NAMES = {"error": tr("error"), "warning": tr("warning"), "info": tr("info")}


class MessageContent(Protocol):
    """The content of a message, see :class:`semblance.app.shell.messages.Message`."""

    @property
    def level(self) -> str: ...
    @property
    def what(self) -> str: ...
    @property
    def hint(self) -> str: ...
    @property
    def details(self) -> str: ...
    @property
    def actions(self) -> Sequence[Action]: ...


class MessageView(QFrame):
    """One message. ``closed``: the user closed it."""

    closed = Signal()

    def __init__(
        self,
        level: str,
        what: str,
        hint: str = "",
        details: str = "",
        actions: Sequence[Action] = (),
        topic: str = "",
        library: LibraryLocation | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.topic, self.library = topic, library
        self.level, self.what, self.hint, self.details = level, what, hint, details
        self.times = 1
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{_LEVEL_NAMES[level]}: {what}")
        self.setAccessibleDescription(hint)
        set_look(self, message=level)
        self._what = WrappedLabel(what, "title", selectable=True)
        self._hint = WrappedLabel(hint, "second", selectable=True)
        if not hint:
            # Shown before it has a parent, it would be a window that takes the keyboard.
            self._hint.hide()
        texts = vbox(spacing=2)
        texts.addWidget(self._what)
        texts.addWidget(self._hint)
        row = hbox(self, spacing=6, margins=(12, 4, 8, 4))
        # Beside a title alone, which is centred, and at the first line of more.
        at = Qt.AlignmentFlag.AlignTop if hint else Qt.AlignmentFlag.AlignVCenter
        row.addWidget(IconLabel(_ICONS[level], "error" if level == "error" else "second"), 0, at)
        row.addSpacing(2)
        self._buttons = hbox(spacing=6)
        for text, then in actions:
            self._buttons.addWidget(_button(text, then))
        if details:
            self._buttons.addWidget(CopyDetailsButton(details))
        self._buttons.addStretch(1)
        self._content = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._content.setSpacing(6)
        self._content.addLayout(texts, 1)
        self._content.addLayout(self._buttons)
        row.addLayout(self._content, 1)
        close = QToolButton()
        close.setIcon(icon("close"))
        close.setIconSize(QSize(theme().px(14), theme().px(14)))
        close.setToolTip(tr("Close this message"))
        close.setAccessibleName(tr("Close this message"))
        close.clicked.connect(self.closed)
        row.addWidget(close, 0, Qt.AlignmentFlag.AlignVCenter)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The buttons stand below the texts where these would be too narrow beside them."""
        super().resizeEvent(event)
        beside = self.width() - self._buttons.sizeHint().width() >= theme().px(_NARROWEST_TEXT)
        direction = QBoxLayout.Direction.LeftToRight if beside else QBoxLayout.Direction.TopToBottom
        if direction != self._content.direction():
            self._content.setDirection(direction)

    def count_again(self) -> None:
        """Count the same message once more."""
        self.times += 1
        self._what.setText(tr("{what} ({n} times)", what=self.what, n=self.times))


class MessageBar(QWidget):
    """Messages above each other, the newest on top. A link shows those beyond the first three.

    Hidden without messages. ``count_changed(n)``: the number of messages.
    """

    count_changed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._views: list[MessageView] = []
        self._shows_all = False
        self._column = vbox(self, spacing=1)
        self._more = QPushButton()
        self._close_all = QPushButton(tr("Close all"))
        for button in (self._more, self._close_all):
            set_look(button, quiet=True)
        self._more.clicked.connect(self._toggle)
        self._close_all.clicked.connect(self.clear)
        self._footer = QFrame()
        set_look(self._footer, message="foot")
        foot = QHBoxLayout(self._footer)
        foot.setContentsMargins(36, 2, 12, 2)
        foot.addWidget(self._more)
        foot.addStretch(1)
        foot.addWidget(self._close_all)
        self._column.addWidget(self._footer)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._update()

    def add(
        self,
        level: str,
        what: str,
        hint: str = "",
        details: str = "",
        actions: Sequence[Action] = (),
        topic: str = "",
        library: LibraryLocation | None = None,
    ) -> MessageView:
        """Show a message of ``level`` error, warning or info. A repeated message is only counted.

        ``actions``: texts of buttons with their functions. ``details``: text to copy. ``topic``: the message
        replaces an earlier one with the same topic, if it has one. ``library``: see :meth:`close_other_libraries`.
        """
        if topic:
            self.close_topic(topic)
        for view in self._views:
            if (view.level, view.what, view.hint) == (level, what, hint):
                view.count_again()
                return view
        view = MessageView(level, what, hint, details, actions, topic, library)
        view.closed.connect(lambda: self.remove(view))
        self._views.insert(0, view)
        self._column.insertWidget(0, view)
        self._update()
        return view

    def show_message(self, message: MessageContent) -> MessageView:
        """Show a message of another part of the program."""
        return self.add(message.level, message.what, message.hint, message.details, message.actions)

    def messages(self) -> list[MessageView]:
        """Newest first."""
        return list(self._views)

    def remove(self, view: MessageView) -> None:
        """Close a message. One that is already closed is ignored."""
        if view in self._views:
            self._views.remove(view)
            view.hide()
            self._column.removeWidget(view)
            view.deleteLater()
            self._update()

    def close_topic(self, topic: str) -> None:
        for view in self.messages():
            if view.topic == topic:
                self.remove(view)

    def close_other_libraries(self, library: LibraryLocation | None) -> None:
        """Close what is about another library than the one that is open now, or than none."""
        for view in self.messages():
            if view.library is not None and view.library != library:
                self.remove(view)

    def clear(self) -> None:
        for view in self.messages():
            self.remove(view)

    def _toggle(self) -> None:
        self._shows_all = not self._shows_all
        self._update()

    def _update(self) -> None:
        hidden = len(self._views) - MAX_SHOWN
        if hidden <= 0:
            self._shows_all = False
        for place, view in enumerate(self._views):
            view.setVisible(self._shows_all or place < MAX_SHOWN)
        self._footer.setVisible(hidden > 0)
        earlier = tr_n("{n} earlier message", "{n} earlier messages", hidden)
        self._more.setText(tr("Show fewer") if self._shows_all else earlier)
        self.setVisible(bool(self._views))
        self.count_changed.emit(len(self._views))


def _button(text: str, then: Callable[[], object]) -> QPushButton:
    button = QPushButton(text)
    button.clicked.connect(lambda _checked=False: then())
    set_look(button, link=True)
    return button
