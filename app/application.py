"""The Qt application: its name, language, theme and log, libraries that the system wants opened, and Ctrl-C."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
from collections.abc import Callable

from PySide6.QtCore import (
    QEvent,
    QLibraryInfo,
    QMessageLogContext,
    QObject,
    QSocketNotifier,
    QtMsgType,
    QTranslator,
    Signal,
    qInstallMessageHandler,
)
from PySide6.QtGui import QFileOpenEvent, QIcon
from PySide6.QtWidgets import QApplication

from semblance import resources
from semblance.app.shell.settings import Settings
from semblance.app.shell.theme import set_theme
from semblance.core.language import ENGLISH, LANGUAGE_VARIABLE, current_language, set_language
from semblance.core.log import PublicText, logger

#: A message of Qt without a display for every window with a minimum size. It is harmless.
_HARMLESS = "This plugin does not support propagateSizeHints()"
_LEVELS = {"QtDebugMsg": logging.DEBUG, "QtInfoMsg": logging.INFO, "QtCriticalMsg": logging.ERROR}

#: Exit status of a program that was ended by Ctrl-C.
INTERRUPTED = 130


class Application(QApplication):
    """On macOS a running program gets an event with the path to open. Other systems start it with a path."""

    #: The path to open.
    open_requested = Signal(str)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent):
            self.open_requested.emit(event.file())
            return True
        return super().event(event)


def _log_qt(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    """Write Qt's own messages to the log."""
    if text != _HARMLESS:
        # Before the first colon stands a function of Qt; after it there may be a path.
        function, colon, rest = text.partition(": ")
        known = re.fullmatch(r"Q\w+(::~?\w+)*(\(\))?", function)
        what = PublicText(function) if colon and known else PublicText("Qt")
        logger.log(_LEVELS.get(kind.name, logging.WARNING), "%s: %s", what, rest if colon and known else text)


def make_application() -> QApplication:
    """The Qt application with name and theme; the existing one if there is one."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        application = existing
    else:
        application = Application(sys.argv[:1])
        application.setApplicationName("Semblance")
        application.setOrganizationName("Semblance")
        application.setDesktopFileName("semblance")
        application.setWindowIcon(QIcon(str(resources.path("semblance.svg"))))
        qInstallMessageHandler(_log_qt)
    settings = Settings()
    _set_language(application, settings.language)
    set_theme(application, settings.theme, settings.text_scale)
    if application is not existing:
        # They import widgets, and these texts.
        from semblance.app.shell import command_texts
        from semblance.app.widgets import focus_ring

        focus_ring.install(application)
        command_texts.use_for_window()
    return application


def _set_language(application: QApplication, code: str) -> None:
    """Use the language ``code`` for our texts and Qt's own, before modules with texts are imported."""
    if LANGUAGE_VARIABLE not in os.environ:
        set_language(code)
    if current_language() != ENGLISH:
        translator = QTranslator(application)
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        if translator.load(f"qtbase_{current_language()}", folder):
            application.installTranslator(translator)


class Interrupt(QObject):
    """Closes the window at Ctrl-C in the terminal, also while nothing happens in it: Python calls a signal's handler
    only when it runs next, and an idle window runs no Python."""

    def __init__(self, close: Callable[[], object]) -> None:
        super().__init__()
        self.received, self._close = False, close
        if sys.platform == "win32":
            # Wake-up works with sockets only there, and Ctrl-C in a console closes the program anyway.
            return
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)
        self._notifier = QSocketNotifier(self._reader, QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._wake)
        signal.signal(signal.SIGINT, self._interrupted)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def _interrupted(self, *_: object) -> None:
        self.received = True

    def _wake(self) -> None:
        os.read(self._reader, 64)
        if self.received:
            self._close()
