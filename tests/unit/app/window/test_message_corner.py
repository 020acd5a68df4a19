from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QMainWindow, QPushButton, QToolButton, QWidget

from semblance.app.shell.messages import Message, Messages
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.window.message_corner import WIDTH, MessageCorner, MessageView
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy


@pytest.fixture
def window(qtbot) -> QMainWindow:
    made = QMainWindow()
    qtbot.addWidget(made)
    made.setCentralWidget(QPushButton("under"))
    made.resize(1000, 700)
    made.show()
    return made


@pytest.fixture
def corner(window: QMainWindow) -> MessageCorner:
    return MessageCorner(window, window.statusBar())


@pytest.fixture
def messages(corner: MessageCorner) -> Messages:
    made = Messages(corner)
    made.shown.connect(corner.show_message)
    return made


def views(corner: MessageCorner) -> list[MessageView]:
    shown = [one for one in corner.findChildren(MessageView) if one.isVisible()]
    return sorted(shown, key=lambda one: one.entry.at)


def button(parent: QWidget, name: str) -> QPushButton | QToolButton:
    found = [*parent.findChildren(QPushButton), *parent.findChildren(QToolButton)]
    return next(one for one in found if name in (one.accessibleName(), getattr(one, "text", str)()))


def test_messages_lie_over_the_lower_right_corner_at_every_size(window, corner, messages):
    assert corner.isHidden()
    centre = window.centralWidget().geometry()
    messages.error(BadInput("a.png could not be read.", "Copy it again."))
    for size in ((1000, 700), (1024, 640), (2560, 1440)):
        window.resize(*size)
        centre = window.centralWidget().geometry()
        messages.warning(
            f"{size[0]} files were left out, and this says at some length which they were.", "Look."
        )
        assert window.centralWidget().geometry() == centre
        lies = corner.geometry()
        assert lies.right() == window.width() - 9
        assert lies.bottom() == window.statusBar().y() - 9
        assert lies.width() == WIDTH
        for view in views(corner):
            for label in view.findChildren(QLabel):
                assert label.isHidden() or label.heightForWidth(label.width()) <= label.height()


def test_two_are_shown_the_others_wait_and_none_is_lost(qtbot, corner, messages):
    for number in range(4):
        messages.warning(f"message {number}", "x" * number)
    assert [view.entry.what for view in views(corner)] == ["message 0", "message 1"]
    messages.error(BadInput("It broke."))
    assert [view.entry.what for view in views(corner)] == ["message 0", "It broke."]
    qtbot.mouseClick(button(views(corner)[0], "Close this message"), Qt.MouseButton.LeftButton)
    assert "message 1" in [view.entry.what for view in views(corner)]
    for view in views(corner):
        if view.entry.level != "error":
            view.gone.emit()
    assert [view.entry.what for view in views(corner)] == ["message 2", "It broke."]
    assert [entry.what for entry in corner.past()] == ["It broke.", *(f"message {n}" for n in (3, 2, 1, 0))]
    assert corner.unread == 4
    corner.show_past()
    assert len(views(corner)) == 5
    assert corner.unread == 0


def test_an_event_has_one_message_with_a_count(corner, messages):
    for name in ("a.png", "b.png", "c.png"):
        messages.error(BadInput(tr_lazy("{name} could not be read.", name=name), "Copy it again."))
    (entry,) = corner.messages()
    assert entry.title == "c.png could not be read. And 2 more like it."
    messages.warning("The disk is full.", "Free some.")
    messages.warning("The disk is full.", "Free some.")
    assert corner.messages()[0].title == "The disk is full. (2 times)"
    messages.info("Preparing", "10 of 20", topic="preparation")
    messages.info("Prepared", "20 of 20", topic="preparation")
    assert corner.messages()[0].title == "Prepared"
    corner.show_past()
    texts = [label.text() for label in corner.findChildren(QLabel)]
    assert any("a.png could not be read.\nCopy it again." in text for text in texts)


def test_errors_stay_and_others_go_but_not_under_the_pointer_or_the_keyboard(qtbot, corner, messages):
    messages.error(BadInput("It broke."))
    messages.info("Done", "Look at it.")
    error, info = views(corner)
    assert not error._timer.isActive()
    assert info._timer.isActive()
    button(info, "Close this message").setFocus()
    info._leave()
    assert len(views(corner)) == 2
    corner._window.centralWidget().setFocus()
    info._leave()
    assert [view.entry.what for view in views(corner)] == ["It broke."]


def test_what_is_about_another_library_is_gone_from_the_list_too(corner):
    corner.show_message(Message("info", "Imported 2 cases.", "x", library=Path("a.semblance"), event="1"))
    corner.show_message(Message("info", "Imported 9 cases.", "x", library=Path("b.semblance"), event="2"))
    corner.show_message(Message("warning", "The disk is full.", event="3"))
    corner.close_other_libraries(Path("b.semblance"))
    assert [one.what for one in corner.past()] == ["The disk is full.", "Imported 9 cases."]


def test_a_message_goes_with_its_act_and_an_error_stays(qtbot, corner, messages):
    done = []
    messages.info("1 case was put into “Masses”.", actions=[("Show", lambda: done.append("show"))])
    messages.error(BadInput("a.png could not be read."), actions=[("Again", lambda: done.append("again"))])
    for name in ("Show", "Again"):
        button(corner, name).click()
    assert done == ["show", "again"]
    assert [view.entry.what for view in views(corner)] == ["a.png could not be read."]


def test_the_keyboard_reaches_acts_and_comes_back(qtbot, window, corner, messages):
    done = []
    under = window.centralWidget()
    under.setFocus()
    messages.warning("2 files were left out.", "Look.", [("Show", lambda: done.append(1))])
    messages.error(BadInput("It broke."))
    assert window.focusWidget() is under
    corner.take_focus()
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert [view.entry.what for view in views(corner)] == ["2 files were left out."]
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Space)
    assert done == [1]
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert corner.isHidden()
    assert window.focusWidget() is under
    corner.take_focus()
    assert len(views(corner)) == 2
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert corner.isHidden()
    assert window.focusWidget() is under


def test_a_view_is_named_and_its_text_can_be_selected_copied_and_is_no_markup(qtbot, corner, messages):
    messages.error(BadInput("<b>a</b>.png could not be read.", "Copy it again."))
    (view,) = views(corner)
    assert view.accessibleName() == "error: <b>a</b>.png could not be read."
    what = next(label for label in view.findChildren(QLabel) if "png" in label.text())
    assert what.textFormat() == Qt.TextFormat.PlainText
    assert what.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse
    qtbot.mouseClick(button(view, "Copy details"), Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text().splitlines()
    assert copied[0].startswith("BadInput")
    assert any(line.startswith("semblance ") for line in copied)


def test_the_list_fits_and_scrolls(window, corner, messages):
    for number in range(40):
        messages.warning(f"message {number}", "It says a little more about it.")
    corner.show_past()
    inside = QRect(QPoint(0, 0), window.size())
    assert inside.contains(corner.geometry())
    assert corner.height() <= 0.71 * window.height()


def test_a_message_with_a_long_file_name_shows_all_its_lines(corner, messages):
    messages.warning("12 files of this folder could not be read.", "They are listed.")
    messages.error(
        BadInput(
            "Semblance could not read 1.2.840.113619.2.55.3.2831868886.123.1363785342.9/IM_0042_a_long_name.dcm: "
            "the JPEG data end early.",
            "Copy it again.",
        )
    )
    for view in views(corner):
        for label in view.findChildren(WrappedLabel):
            if label.isVisible():
                assert label.height() >= label.heightForWidth(label.width())
