"""The window counts as settled when nothing is pending that will change it soon."""

from __future__ import annotations

from PySide6.QtCore import QVariantAnimation

from semblance.app.screenshot import LONGEST_DELAY_MS, wait_until_idle
from semblance.app.shell.event_loop import one_shot
from tests.helpers.windows import open_window


def test_delayed_calls_and_animations_are_waited_for_but_not_late_calls(qtbot):
    with open_window() as window:
        called = []
        second = one_shot(window, lambda: called.append("second"), LONGEST_DELAY_MS)

        def call_second():
            called.append("first")
            second.start()

        one_shot(window, call_second, 100).start()
        late = one_shot(window, lambda: called.append("late"), 3_600_000)
        late.start()
        animation = QVariantAnimation(window)
        animation.setDuration(1000)
        animation.setStartValue(0.0)
        animation.setEndValue(1.0)
        animation.start()
        wait_until_idle(window)
        assert called == ["first", "second"]
        assert animation.state() == QVariantAnimation.State.Stopped
        assert late.isActive()
