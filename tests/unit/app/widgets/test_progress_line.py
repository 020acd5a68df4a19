from __future__ import annotations

from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication

from semblance.app.widgets.progress_line import ThinBar


class Counted(ThinBar):
    painted = 0

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        self.painted += 1
        super().paintEvent(event)


def test_progress_is_painted_with_the_next_frame_and_not_amid_the_work_that_reports_it(qtbot):
    bar = Counted()
    qtbot.addWidget(bar)
    with qtbot.waitExposed(bar):
        bar.show()
    qtbot.waitUntil(lambda: bar.painted > 0)
    before = bar.painted
    for step in range(1, 6):
        bar.set_share(step / 10)
    assert bar.painted == before
    QApplication.processEvents()
    assert bar.painted == before + 1
    assert bar.value() == bar.maximum() / 2
    bar.set_share(0.5)
    QApplication.processEvents()
    assert bar.painted == before + 1
