"""What the program tells the user: errors stay until read, news pass."""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from PySide6.QtCore import QObject, Signal

from semblance.core.errors import SemblanceError
from semblance.core.language import tr, translate
from semblance.core.log import Plain, describe_failure, logger

#: Messages kept in memory.
KEPT = 1_000
_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


@dataclass(frozen=True)
class Message:
    """``level``: error, warning or info; ``what`` happened and to which file; ``hint``: what to do.

    ``details`` can be copied and sent to others: they name no patient and no file.
    """

    level: str
    what: str
    hint: str = ""
    details: str = ""


class Messages(QObject):
    """Where every part of the window says what happened; the message bar and the log listen.

    ``history`` has the last 1,000, so that days of use keep the memory they have.
    """

    shown = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.history: list[Message] = []
        self._hooks_before: tuple[Any, Any] | None = None

    def error(self, error: SemblanceError) -> None:
        """An error of ``core``."""
        self._show(Message("error", error.message, error.hint, describe_failure(error)))

    def warning(self, what: str, hint: str = "") -> None:
        self._show(Message("warning", what, hint))

    def info(self, what: str, hint: str = "") -> None:
        self._show(Message("info", what, hint))

    def _show(self, message: Message) -> None:
        message = replace(message, what=translate(message.what), hint=translate(message.hint))
        self.history.append(message)
        del self.history[:-KEPT]
        logger.log(_LEVELS[message.level], "message %s: %s", message.what, Plain(message.details))
        self.shown.emit(message)

    def install_hooks(self) -> None:
        """Show exceptions nobody caught, of any thread, instead of losing them."""

        def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            if issubclass(kind, KeyboardInterrupt):
                sys.__excepthook__(kind, error, trace)
                return
            details = describe_failure(error.with_traceback(trace))
            self._show(
                Message(
                    "error",
                    tr("A defect in Semblance: {kind}.", kind=kind.__name__),
                    tr("Your data is unharmed. Please report it with the details."),
                    details,
                )
            )

        def thread_hook(args: threading.ExceptHookArgs) -> None:
            # A thread ends itself by SystemExit; nothing is wrong then.
            if not issubclass(args.exc_type, SystemExit):
                hook(args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)

        self._hooks_before = (sys.excepthook, threading.excepthook)
        sys.excepthook = hook
        threading.excepthook = thread_hook

    def remove_hooks(self) -> None:
        """Give exceptions back to whoever had them before; for a window that ends before its program."""
        if self._hooks_before is not None:
            sys.excepthook, threading.excepthook = self._hooks_before
            self._hooks_before = None
