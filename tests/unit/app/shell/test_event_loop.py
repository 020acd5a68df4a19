from __future__ import annotations

from PySide6.QtCore import QObject, QThread, QTimer

from semblance.app.shell.event_loop import IdleQueue


def test_steps_are_done_in_order_with_events_between_them(qtbot):
    parent = QObject()
    idle, done = IdleQueue(parent), []
    idle.add([lambda: (done.append("first"), QTimer.singleShot(0, parent, lambda: done.append("event")))])
    idle.add(lambda text=text: done.append(text) for text in ("second", "third"))
    assert not idle.done
    assert done == []
    qtbot.waitUntil(lambda: idle.done)
    assert [text for text in done if text != "event"] == ["first", "second", "third"]
    assert done.index("event") < done.index("third")


def test_steps_that_were_not_begun_can_be_left(qtbot):
    parent = QObject()
    idle, done = IdleQueue(parent), []
    idle.add([lambda: done.append("first"), idle.stop, lambda: done.append("never")])
    qtbot.waitUntil(lambda: idle.done)
    assert done == ["first"]


class Work(QThread):
    def run(self) -> None:
        self.msleep(30)


def test_the_step_after_a_thread_waits_for_its_end(qtbot):
    parent = QObject()
    idle, done = IdleQueue(parent), []
    thread = Work(parent)

    def start() -> QThread:
        thread.start()
        return thread

    idle.add([start, lambda: done.append(thread.isFinished()), lambda: done.append("last")])
    qtbot.waitUntil(lambda: idle.done)
    assert done == [True, "last"]
