from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton

from semblance.app.shell.messages import Message
from semblance.app.window.message_bar import MessageBar, MessageView


@pytest.fixture
def bar(qtbot) -> MessageBar:
    made = MessageBar()
    qtbot.addWidget(made)
    made.resize(600, 10)
    return made


def close(qtbot, view: MessageView) -> None:
    button = next(b for b in view.findChildren(QToolButton) if b.accessibleName() == "Close this message")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_it_has_no_height_without_messages(bar: MessageBar) -> None:
    assert bar.isHidden()


def test_the_buttons_of_a_message_do_not_squeeze_its_text(qtbot, bar: MessageBar) -> None:
    what = "LDA finds the same finding in 0.55 of the 10 nearest cases, Euclidean in 0.45."
    actions = (("Use raw + Euclidean", bar.clear), ("Import differently", bar.clear))
    view = bar.show_message(Message("info", what, what, actions=actions))
    bar.show()
    text = next(label for label in view.findChildren(QLabel) if label.text() == what)
    button = next(one for one in view.findChildren(QPushButton) if one.text() == "Import differently")
    for width, beside in ((1200, True), (560, False), (1200, True)):
        bar.resize(width, bar.height())
        qtbot.waitUntil(lambda b=beside: (button.x() > text.geometry().right()) is b)
        qtbot.waitUntil(lambda b=beside: (button.y() > text.geometry().bottom()) is not b)
        assert text.width() >= 420


def test_a_message_stays_until_closed(qtbot, bar: MessageBar) -> None:
    with qtbot.waitSignal(bar.count_changed) as signal:
        view = bar.show_message(Message("error", "a.png could not be read.", "Copy it again."))
    assert signal.args == [1]
    assert not bar.isHidden()
    assert [label.text() for label in view.findChildren(QLabel) if label.text()] == [
        "a.png could not be read.",
        "Copy it again.",
    ]
    close(qtbot, view)
    assert bar.messages() == []
    assert bar.isHidden()


def test_the_same_again_only_counts(bar: MessageBar) -> None:
    first = bar.add("warning", "The disk is full.", "Free some.")
    assert bar.add("warning", "The disk is full.", "Free some.") is first
    assert len(bar.messages()) == 1
    assert any("2 times" in label.text() for label in first.findChildren(QLabel))


def test_what_is_about_another_library_is_closed(bar: MessageBar) -> None:
    bar.add("info", "Imported 2 cases.", library=Path("a.semblance"))
    kept = [
        bar.add("info", "Imported 9 cases.", library=Path("b.semblance")),
        bar.add("warning", "The disk is full."),
    ]
    bar.close_other_libraries(Path("b.semblance"))
    assert bar.messages() == kept[::-1]


def test_many_messages_are_collapsed_and_can_all_be_closed(qtbot, bar: MessageBar) -> None:
    for number in range(5):
        bar.add("info", f"message {number}")
    bar.show()
    shown = [view.what for view in bar.messages() if view.isVisible()]
    assert shown == ["message 4", "message 3", "message 2"]
    more = next(button for button in bar.findChildren(QPushButton) if "earlier" in button.text())
    assert more.text() == "2 earlier messages"
    qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
    assert all(view.isVisible() for view in bar.messages())
    everything = next(button for button in bar.findChildren(QPushButton) if button.text() == "Close all")
    qtbot.mouseClick(everything, Qt.MouseButton.LeftButton)
    assert bar.isHidden()


def test_text_can_be_selected_and_details_copied(qtbot, bar: MessageBar) -> None:
    view = bar.add("error", "A defect.", "Report it.", "Traceback …")
    copy = next(button for button in view.findChildren(QPushButton) if button.text() == "Copy details")
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text().splitlines()
    assert copied[0] == "Traceback …"
    assert copied[1].startswith("semblance ")
    assert "PySide6" in copied[1]
    what = next(label for label in view.findChildren(QLabel) if label.text() == "A defect.")
    assert what.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse


def test_an_action_does_what_it_says(qtbot, bar: MessageBar) -> None:
    done = []
    view = bar.add("warning", "2 files were left out.", actions=[("Show", lambda: done.append(1))])
    show = next(button for button in view.findChildren(QPushButton) if button.text() == "Show")
    qtbot.mouseClick(show, Qt.MouseButton.LeftButton)
    assert done == [1]


def test_text_is_never_read_as_markup(bar: MessageBar) -> None:
    view = bar.add("error", "<b>a</b>.png could not be read.")
    what = next(label for label in view.findChildren(QLabel) if "png" in label.text())
    assert what.textFormat() == Qt.TextFormat.PlainText
