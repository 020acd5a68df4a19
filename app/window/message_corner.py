"""Messages over the lower right corner of the window: they lie on top and move nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QEnterEvent, QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QFrame,
    QMainWindow,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.messages import MAX_HISTORY, Message
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.labels import IconLabel, WrappedLabel
from semblance.app.widgets.layouts import PanelScrollArea, fill, hbox, vbox
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.app.widgets.panel import PanelHeader, header_button
from semblance.core.language import tr, tr_n
from semblance.core.library.location import LibraryLocation

#: Messages shown at once. More wait until one is closed or has gone.
MAX_SHOWN = 2
WIDTH = 360
#: px to the right edge of the window and to the status line, and between two messages.
_MARGIN, _GAP = 8, 8
#: How long a message that is no error stays: this, and more for each letter and for an act.
_STAY_MS, _LETTER_MS, _ACT_MS = 6_000, 60, 6_000
#: Share of the height of the window that the list of past messages takes at most.
_LIST_SHARE = 0.7
#: Texts of one event that the list spells out.
_MOST_TEXTS = 20
_ICONS = {"error": "warning", "warning": "warning", "info": "info"}
_LEVEL_NAMES = {"error": tr("error"), "warning": tr("warning"), "info": tr("info")}


@dataclass(eq=False)
class Entry:
    """One event with its newest message. ``times``: how often it happened; ``earlier``: other texts of it.

    ``is_open``: it is shown or waits. ``was_read``: the user closed it, or saw it in the list.
    """

    message: Message
    at: float
    times: int = 1
    earlier: list[str] = field(default_factory=list)
    is_open: bool = True
    was_read: bool = False

    @property
    def library(self) -> LibraryLocation | None:
        return self.message.library

    @property
    def level(self) -> str:
        return self.message.level

    @property
    def what(self) -> str:
        return self.message.what

    @property
    def hint(self) -> str:
        return self.message.hint

    @property
    def topic(self) -> str:
        return self.message.topic

    @property
    def title(self) -> str:
        """What happened, and how often."""
        if self.times == 1:
            return self.what
        if not self.earlier:
            return tr("{what} ({n} times)", what=self.what, n=self.times)
        more = tr_n("And {n} more like it.", "And {n} more like it.", self.times - 1)
        return f"{self.what} {more}"

    def add(self, message: Message, at: float) -> None:
        """The event happened again."""
        if self.times and message.what != self.what and len(self.earlier) < _MOST_TEXTS:
            self.earlier.append(self.what)
        self.message, self.at, self.times = message, at, self.times + 1
        self.is_open, self.was_read = True, False


class MessageView(QFrame):
    """One message with its acts and a close button. ``closed``: the user closed it; ``gone``: its time is over.

    ``is_past``: in the list of past messages, where it stays.
    """

    closed = Signal()
    gone = Signal()

    def __init__(self, entry: Entry, *, is_past: bool = False) -> None:
        super().__init__()
        self.entry = entry
        # Fixed, it would be no higher than its texts are in the width they would like.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_look(self, message=entry.level, over=not is_past)
        self._what = WrappedLabel(entry.title, "title", selectable=True)
        self._hint = WrappedLabel(role="second", selectable=True)
        row = hbox(self, spacing=8, margins=(9, 8, 8, 8))
        texts = fill(vbox(spacing=2), self._what, self._hint)
        shade = "error" if entry.level == "error" else "second"
        row.addWidget(IconLabel(_ICONS[entry.level], shade), 0, Qt.AlignmentFlag.AlignTop)
        # An act with a long name stands below the one before it, so that none is cut off.
        self._acts = vbox(spacing=2)
        texts.addLayout(self._acts)
        row.addLayout(texts, 1)
        if not is_past:
            close = header_button("close", tr("Close this message"))
            close.clicked.connect(self.closed)
            row.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        self._timer = one_shot(self, self._leave)
        self._is_past = is_past
        self.update_text()

    def update_text(self) -> None:
        """Show the entry's newest message."""
        entry = self.entry
        self._what.setText(entry.title)
        hint = entry.hint
        if self._is_past and entry.earlier:
            hint = "\n".join([*entry.earlier[::-1], entry.hint]).strip()
        self._hint.setText(hint)
        # Shown before it has a parent, it would be a window that takes the keyboard.
        self._hint.setVisible(bool(hint) and self._hint.parentWidget() is not None)
        while (item := self._acts.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for text, act in entry.message.actions:
            self._acts.addWidget(_act(text, partial(self._run, act)), 0, Qt.AlignmentFlag.AlignLeft)
        if entry.message.details:
            self._acts.addWidget(CopyDetailsButton(entry.message.details), 0, Qt.AlignmentFlag.AlignLeft)
        self.setAccessibleName(f"{_LEVEL_NAMES[entry.level]}: {entry.title}")
        self.setAccessibleDescription(entry.hint)
        self._wait()

    def showEvent(self, event: QEvent) -> None:
        # A screen reader says it without moving the focus.
        if not self._is_past:
            QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.Alert))

    def _wait(self) -> None:
        """Start its time anew. Errors have none."""
        if self.entry.level == "error" or self._is_past:
            self._timer.stop()
            return
        letters = len(self.entry.title) + len(self.entry.hint)
        acts = _ACT_MS if self.entry.message.actions else 0
        self._timer.start(_STAY_MS + _LETTER_MS * letters + acts)

    def _run(self, act: Callable[[], object]) -> None:
        """Do what the message offers. It is in the way of what is shown then; errors stay until they are closed."""
        act()
        if self.entry.level != "error" and not self._is_past:
            self.closed.emit()

    def _leave(self) -> None:
        focus = QApplication.focusWidget()
        if self.underMouse() or (focus is not None and self.isAncestorOf(focus)):
            self._wait()
        else:
            self.gone.emit()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._timer.stop()

    def leaveEvent(self, event: QEvent) -> None:
        self._wait()

    def focus_first(self) -> None:
        """Focus its first act, else its close button."""
        buttons = [*self.findChildren(QPushButton), *self.findChildren(QToolButton)]
        next(one for one in buttons if not one.isHidden()).setFocus(Qt.FocusReason.ShortcutFocusReason)


class MessageCorner(QWidget):
    """The newest messages of a window, two at most, above its status line, and on demand the list of all.

    An error goes before what is waiting. ``changed``: messages came, went or were read.
    """

    changed = Signal()

    def __init__(self, window: QMainWindow, bottom: QWidget) -> None:
        """``bottom``: the status line; the messages lie above it."""
        super().__init__(window)
        self._window, self._bottom = window, bottom
        self._entries: list[Entry] = []
        self._views: list[MessageView] = []
        self._list: MessageList | None = None
        self._focus_before: QWidget | None = None
        self._column = vbox(self, spacing=_GAP)
        self._raise_timer = one_shot(self, self.raise_)
        self.setAccessibleName(tr("Messages"))
        window.installEventFilter(self)
        bottom.installEventFilter(self)
        theme_signals.changed.connect(self._place)
        self.hide()

    # Messages

    def show_message(self, message: Message, *, is_open: bool = True) -> Entry:
        """Show a message. The same event again updates its message. Not ``is_open``: it is only listed."""
        entry = next((one for one in self._entries if one.message.event == message.event), None)
        now = time.time()
        if entry is None or not (entry.is_open or is_open):
            entry = Entry(message, now, is_open=is_open, was_read=not is_open)
            self._entries.append(entry)
            del self._entries[:-MAX_HISTORY]
        else:
            if not entry.is_open or (message.topic and message.what != entry.what):
                # It was closed before and happens anew, or what was true before is not any more.
                entry.times, entry.earlier = 0, []
            entry.add(message, now)
        self._update(entry)
        return entry

    def messages(self) -> list[Entry]:
        """What is shown or waits, newest first."""
        return [one for one in reversed(self._entries) if one.is_open]

    def past(self) -> list[Entry]:
        """All messages about the library that is open and about none, newest first."""
        return sorted(self._entries, key=lambda one: one.at, reverse=True)

    @property
    def unread(self) -> int:
        """Messages that wait, or went before the user closed them."""
        return sum(not one.was_read for one in self._entries)

    def close_entry(self, entry: Entry, *, was_read: bool = True) -> None:
        """Close a message; one that is closed already is ignored."""
        if entry.is_open:
            entry.is_open, entry.was_read = False, was_read
            self._update()

    def close_topic(self, topic: str) -> None:
        """Close what is no longer true."""
        for entry in self.messages():
            if entry.topic == topic:
                self.close_entry(entry)

    def close_other_libraries(self, library: LibraryLocation | None) -> None:
        """Forget what is about another library than the one that is open now, or than none."""
        self._entries = [one for one in self._entries if one.library is None or one.library == library]
        self._update()

    def clear(self) -> None:
        """Close all messages."""
        for entry in self._entries:
            entry.is_open, entry.was_read = False, True
        self._update()

    # Keyboard

    def take_focus(self) -> None:
        """The keyboard goes to the newest message, or to the list of past ones where none is shown."""
        if not self._views and self._list is None:
            self.show_past()
            return
        self._remember_focus()
        if self._list is not None:
            self._list.take_focus()
        else:
            self._views[-1].focus_first()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc closes the message with the keyboard, or the list."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif self._list is not None:
            self.hide_past()
        else:
            focus = self._window.focusWidget()
            view = next(
                (one for one in self._views if focus is not None and one.isAncestorOf(focus)), self._views[-1]
            )
            self.close_entry(view.entry)
            if self._views:
                self._views[-1].focus_first()

    def _remember_focus(self) -> None:
        focus = self._window.focusWidget()
        if focus is not None and not self.isAncestorOf(focus):
            self._focus_before = focus

    def _return_focus(self) -> None:
        before, self._focus_before = self._focus_before, None
        if before is not None and isValid(before) and before.isVisible():
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    # The list

    def toggle_past(self) -> None:
        """Show the list of all messages, or hide it."""
        self.hide_past() if self._list is not None else self.show_past()

    def show_past(self) -> None:
        """Show the list of all messages in place of the newest ones. They count as read."""
        self._remember_focus()
        for entry in self._entries:
            entry.was_read = True
        self._make_list()
        if self._list is not None:
            self._list.take_focus()
        self.changed.emit()

    def hide_past(self) -> None:
        """Show the newest messages again."""
        if self._list is not None:
            self._column.removeWidget(self._list)
            self._list.hide()
            self._list.deleteLater()
            self._list = None
            self._update()
            self._return_focus()

    def _make_list(self) -> None:
        if self._list is not None:
            self._column.removeWidget(self._list)
            self._list.deleteLater()
        self._list = MessageList(self.past())
        self._list.close_requested.connect(self.hide_past)
        self._column.addWidget(self._list)
        self._list.show()
        self._update_views()

    # Showing

    def _update(self, entry: Entry | None = None) -> None:
        """Show what is open now; ``entry`` changed."""
        if self._list is not None:
            for one in self._entries:
                one.was_read = True
            had_focus = self.isAncestorOf(self._window.focusWidget() or self._window)
            self._make_list()
            if had_focus:
                self._list.take_focus()
        else:
            self._update_views(entry)
        self.changed.emit()

    def _update_views(self, entry: Entry | None = None) -> None:
        had_focus = self.isAncestorOf(self._window.focusWidget() or self._window)
        shown = [] if self._list is not None else self._chosen()
        for view in list(self._views):
            if view.entry not in shown:
                self._views.remove(view)
                self._column.removeWidget(view)
                view.hide()
                view.deleteLater()
        views = {view.entry: view for view in self._views}
        for one in shown:
            view = views.get(one) or self._make_view(one)
            if one in views and one is entry:
                view.update_text()
            # The newest lies at the bottom, nearest to the corner.
            self._column.removeWidget(view)
            self._column.addWidget(view)
            view.show()
        self._views.sort(key=lambda view: shown.index(view.entry))
        self.setVisible(bool(self._views) or self._list is not None)
        self._place()
        if had_focus and self._list is None and not self._views:
            self._return_focus()

    def _chosen(self) -> list[Entry]:
        """What is shown: errors first, then what is shown already, then what waits longest."""
        shown = [view.entry for view in self._views]
        waiting = [one for one in self._entries if one.is_open]
        waiting.sort(key=lambda one: (one.level != "error", one not in shown))
        return sorted(waiting[:MAX_SHOWN], key=lambda one: one.at)

    def _make_view(self, entry: Entry) -> MessageView:
        view = MessageView(entry)
        view.closed.connect(lambda: self.close_entry(entry))
        view.gone.connect(lambda: self.close_entry(entry, was_read=False))
        self._views.append(view)
        return view

    # Place

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.Resize, QEvent.Type.Move) and self.isVisible():
            self._place()
        elif kind == QEvent.Type.ChildPolished and watched is self._window:
            child = event.child() if hasattr(event, "child") else None
            if isinstance(child, QDockWidget):
                child.installEventFilter(self)
        elif kind == QEvent.Type.ZOrderChange and isinstance(watched, QDockWidget):
            # A dock that comes to the front of its place would cover the messages. Qt wants to see it there first.
            self._raise_timer.start()
        return False

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return done

    def _place(self) -> None:
        """Lie in the lower right corner, above the status line."""
        if self.isHidden():
            return
        look = theme()
        margin = look.px(_MARGIN)
        width = min(look.px(WIDTH), self._window.width() - 2 * margin)
        bottom = self._bottom.mapTo(self._window, self._bottom.rect().topLeft()).y() - margin
        if self._list is not None:
            height = min(self._list.wanted_height(width), round(self._window.height() * _LIST_SHARE))
        else:
            height = self._column.totalHeightForWidth(width)
        height = max(1, min(height, bottom - margin))
        self.setGeometry(self._window.width() - margin - width, bottom - height, width, height)
        self.raise_()


class MessageList(QFrame):
    """All messages, newest first, with the time of each. ``close_requested``: hide it."""

    close_requested = Signal()

    def __init__(self, entries: list[Entry]) -> None:
        super().__init__()
        set_look(self, role="message-list")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        header = PanelHeader(tr("Messages"), help_button=False)
        close = header_button("close", tr("Close the list"))
        close.clicked.connect(self.close_requested)
        header.add_action(close)
        inner = QWidget()
        set_look(inner, role="scrolled")
        self._rows: QVBoxLayout = vbox(inner, spacing=1)
        for entry in entries:
            at = time.strftime("%H:%M", time.localtime(entry.at))
            view = MessageView(entry, is_past=True)
            view.setAccessibleName(f"{at}, {view.accessibleName()}")
            stamp = WrappedLabel(at, "small")
            stamp.setContentsMargins(12, 6, 0, 2)
            self._rows.addWidget(stamp)
            self._rows.addWidget(view)
        if not entries:
            none = WrappedLabel(tr("No messages yet."), "second")
            none.setContentsMargins(12, 8, 12, 8)
            self._rows.addWidget(none)
        self._rows.addStretch(1)
        self._scroll = PanelScrollArea(inner, tr("Messages"))
        fill(vbox(self, margins=(1, 1, 1, 1)), header, (self._scroll, 1))
        self._header = header

    def wanted_height(self, width: int) -> int:
        """px that all messages take."""
        return self._header.height() + self._rows.totalHeightForWidth(width - 2) + 4

    def take_focus(self) -> None:
        """Focus the messages, which the arrow keys scroll."""
        self._scroll.setFocus(Qt.FocusReason.ShortcutFocusReason)


def _act(text: str, then: Callable[[], object]) -> QPushButton:
    button = QPushButton(text)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    button.clicked.connect(lambda _checked=False: then())
    set_look(button, link=True)
    return button
