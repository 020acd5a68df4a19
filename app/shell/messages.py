"""Messages to the user: errors stay until they are closed, information disappears."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from PySide6.QtCore import QObject, Signal

from semblance.core.errors import SemblanceError
from semblance.core.language import LazyText, tr, translate
from semblance.core.library.location import LibraryLocation
from semblance.core.log import PublicText, describe_failure, logger

#: Topic of the message about a query that cannot be read or a ranking that failed. Another query closes it.
FAILED_SEARCH = "failed search"
#: Messages kept in memory.
MAX_HISTORY = 1_000
#: The functions of widgets and of the items of their tables that Qt calls to paint them.
_PAINTING = ("paintEvent", "paint")
_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


#: The text of a button and what it does.
Action = tuple[str, Callable[[], object]]


@dataclass(frozen=True)
class Message:
    """``level``: error, warning or info. ``what``: what happened, to which file. ``hint``: what to do.

    ``details``: text to copy and send to others, without names of patients and files. ``actions``: texts of
    buttons with what they do. ``topic``: the message replaces an earlier one with the same topic, if it has one.
    ``library``: what it is about, by default the library that is open; it is closed when another one is opened.
    ``event``: the same for messages that differ only in what they name, such as the file that could not be read.
    """

    level: str
    what: str
    hint: str = ""
    details: str = ""
    actions: tuple[Action, ...] = ()
    topic: str = ""
    library: LibraryLocation | None = None
    event: str = field(default="", compare=False)


class Messages(QObject):
    """Shows messages of every part of the window in its corner and writes them to the log.

    ``history``: the last 1,000.
    """

    shown = Signal(object)
    outdated = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.history: list[Message] = []
        self._hooks_before: tuple[Any, Any] | None = None

    def error(self, error: SemblanceError, actions: Sequence[Action] = (), *, topic: str = "") -> None:
        """An error of ``core``."""
        details = describe_failure(error)
        self._show(Message("error", error.message, error.hint, details, tuple(actions), topic=topic))

    def close(self, topic: str) -> None:
        """Close the message about ``topic``, because it is no longer true."""
        self.outdated.emit(topic)

    def warning(
        self,
        what: str,
        hint: str = "",
        actions: Sequence[Action] = (),
        *,
        topic: str = "",
        library: LibraryLocation | None = None,
    ) -> None:
        self._show(Message("warning", what, hint, actions=tuple(actions), topic=topic, library=library))

    def info(
        self,
        what: str,
        hint: str = "",
        actions: Sequence[Action] = (),
        *,
        topic: str = "",
        library: LibraryLocation | None = None,
    ) -> None:
        self._show(Message("info", what, hint, actions=tuple(actions), topic=topic, library=library))

    def _show(self, message: Message) -> None:
        what, hint = (
            text.msgid if isinstance(text, LazyText) else text for text in (message.what, message.hint)
        )
        message = replace(
            message,
            what=translate(message.what),
            hint=translate(message.hint),
            event=message.topic or "\n".join((message.level, what, hint)),
        )
        self.history.append(message)
        del self.history[:-MAX_HISTORY]
        logger.log(_LEVELS[message.level], "message %s: %s", message.what, PublicText(message.details))
        self.shown.emit(message)

    def install_hooks(self) -> None:
        """Show uncaught exceptions of any thread. Where a widget could not be painted, the program goes on without
        that picture, and says so once for each line of code: a widget is painted again and again, also because the
        message lies on it."""
        failed_paints: set[tuple[str, int]] = set()

        def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            if issubclass(kind, KeyboardInterrupt):
                sys.__excepthook__(kind, error, trace)
                return
            details = describe_failure(error.with_traceback(trace))
            _free_painters(error)
            calls = list(traceback.walk_tb(trace))
            if any(frame.f_code.co_name in _PAINTING for frame, _line in calls):
                place = calls[-1][0].f_code.co_filename, calls[-1][1]
                if place in failed_paints:
                    return
                failed_paints.add(place)
            self._show(
                Message(
                    "error",
                    tr("A defect in Semblance: {kind}.", kind=kind.__name__),
                    tr("Your data is unharmed. Please report it with the details."),
                    details,
                )
            )

        def thread_hook(args: threading.ExceptHookArgs) -> None:
            # SystemExit is the normal way for a thread to end itself.
            if not issubclass(args.exc_type, SystemExit):
                hook(args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)

        self._hooks_before = (sys.excepthook, threading.excepthook)
        sys.excepthook = hook
        threading.excepthook = thread_hook

    def remove_hooks(self) -> None:
        """Restore the hooks of before; for a window that ends before its program."""
        if self._hooks_before is not None:
            sys.excepthook, threading.excepthook = self._hooks_before
            self._hooks_before = None


def _free_painters(error: BaseException) -> None:
    """Let go of what the functions that ``error`` ended worked with.

    Python keeps the last exception, and with it a painter that is still active. The process would end with the next
    painting of its widget.
    """
    current: BaseException | None = error
    visited = set[int]()
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        traceback.clear_frames(current.__traceback__)
        current = current.__cause__ or current.__context__
