from __future__ import annotations

import logging
import sys
import threading

import pytest
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from semblance.app.shell.messages import MAX_HISTORY, Message, Messages
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy


@pytest.fixture
def messages(qapp):
    return Messages()


@pytest.fixture
def hooked(messages, monkeypatch):
    """Messages that hear of what nobody caught; the hooks are put back."""
    for module in (sys, threading):
        monkeypatch.setattr(module, "excepthook", module.excepthook)
    messages.install_hooks()
    return messages


def test_a_message_is_shown_stored_and_logged(messages, caplog):
    shown = []
    messages.shown.connect(shown.append)
    with caplog.at_level(logging.INFO, "semblance"):
        messages.error(BadInput("a.png cannot be read.", "Save it again."))
        messages.warning("12 files were skipped.", "See the list.")
        messages.info("Done.")
    assert shown == messages.history
    assert shown == [
        Message("error", "a.png cannot be read.", "Save it again.", shown[0].details),
        Message("warning", "12 files were skipped.", "See the list."),
        Message("info", "Done."),
    ]
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.WARNING, logging.INFO]


def test_only_the_last_are_stored(messages):
    for number in range(MAX_HISTORY + 3):
        messages.info(f"{number}")
    assert [one.what for one in messages.history] == [f"{number}" for number in range(3, MAX_HISTORY + 3)]


NAME = "Zebrovich.png"


def test_an_error_brings_its_details(messages):
    try:
        raise BadInput("It failed for good.", tr_lazy("Look at {name}.", name=NAME))
    except BadInput as error:
        messages.error(error)
    details = messages.history[-1].details
    assert details.startswith("BadInput: It failed for good. Look at #")
    assert "test_messages" in details
    assert NAME not in details
    assert NAME in messages.history[-1].hint


def defect():
    raise ZeroDivisionError("deep inside")


def test_an_exception_nobody_caught_is_shown_with_its_traceback(hooked):
    with pytest.raises(ZeroDivisionError) as caught:
        defect()
    sys.excepthook(caught.type, caught.value, caught.tb)
    (message,) = hooked.history
    assert message.level == "error"
    assert "ZeroDivisionError" in message.what
    assert "report" in message.hint
    assert " defect" in message.details
    assert "deep inside" in message.details


class Unpaintable(QWidget):
    """Draws as most widgets do, in functions of its own, of which one fails while ``fails``."""

    fails, painted = True, 0

    def paintEvent(self, _event):  # noqa: N802 - Qt's name
        painter = QPainter(self)
        try:
            self.draw(painter)
        except KeyError as error:
            raise ValueError("no such picture") from error
        finally:
            self.painted += 1
        painter.end()

    def draw(self, painter):
        painter.fillRect(self.rect(), 0)
        if self.fails:
            raise KeyError("no such picture")


def test_a_widget_that_cannot_be_painted_is_said_once_and_painted_the_next_time(hooked, qtbot, capfd):
    """With a painter that is still active, Qt would end the process."""
    widget = Unpaintable()
    qtbot.addWidget(widget)
    widget.show()
    for times in (1, 2, 3):
        widget.update()
        qtbot.waitUntil(lambda times=times: widget.painted >= times)
        widget.fails = times == 1
    (message,) = hooked.history
    assert "ValueError" in message.what
    assert "active painter" not in capfd.readouterr().err


def test_so_is_one_of_another_thread(hooked):
    thread = threading.Thread(target=defect)
    thread.start()
    thread.join()
    (message,) = hooked.history
    assert "ZeroDivisionError" in message.what


def test_an_end_by_keyboard_is_no_defect(hooked, capsys):
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert hooked.history == []
    assert "KeyboardInterrupt" in capsys.readouterr().err


def test_a_thread_that_ends_itself_is_no_defect(hooked):
    thread = threading.Thread(target=sys.exit)
    thread.start()
    thread.join()
    assert hooked.history == []
