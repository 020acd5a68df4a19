"""Thumbnails of a volume's slices."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.app.viewer.slice_strip import CELL, GAP, MARGIN, SliceStrip
from semblance.app.viewer.slices import RATES, SliceBar, Slices
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.workflows.imaging.view_images import StackFacts, view_file

LEFT = Qt.MouseButton.LeftButton
pytestmark = pytest.mark.usefixtures("forget_volumes")


@pytest.fixture
def strip(qtbot, jobs, tmp_path):
    """Space for five cells; slice n is n grey everywhere."""
    path = tmp_path / "volume.npz"
    np.savez(path, ct=np.broadcast_to(np.arange(101, dtype=np.uint8)[:, None, None], (101, 30, 40)))
    address = ImageAddress(path, "ct")
    viewed = view_file(address)
    strip = SliceStrip(jobs)
    qtbot.addWidget(strip)
    strip.resize(strip.width(), 2 * MARGIN + 5 * CELL + 4 * GAP)
    strip.begin(viewed.stack, None, address, viewed.image)
    strip._resize_timer.timeout.emit()
    jobs.run_pending()
    return strip


def grey(strip, number, at=0.5):
    cell = strip.cell(number)
    image = strip.grab().toImage()
    return image.pixelColor(cell.center().x(), round(cell.top() + at * cell.height())).red()


def test_as_many_slices_as_fit_with_the_ends_included(strip):
    assert strip.shown == [0, 25, 50, 75, 100]
    assert sorted(strip._renderers) == strip.shown


def test_more_space_shows_more_and_reads_only_those(strip, jobs):
    strip.resize(strip.width(), 2 * MARGIN + 9 * CELL + 8 * GAP)
    strip._resize_timer.timeout.emit()
    jobs.run_pending()
    assert strip.shown == [0, 12, 25, 38, 50, 62, 75, 88, 100]
    assert sorted(strip._renderers) == strip.shown


def test_a_click_goes_to_the_slice_and_the_nearest_is_marked(strip, qtbot):
    with qtbot.waitSignal(strip.slice_requested) as signal:
        QTest.mouseClick(strip, LEFT, Qt.KeyboardModifier.NoModifier, strip.cell(3).center())
    assert signal.args == [75]
    strip.show_place(60)
    assert strip.marked == 50
    strip.show_place(70)
    assert strip.marked == 75
    assert [number for number in range(5) if grey(strip, number, 0) > 100] == [3]


def test_thumbnails_have_the_grey_values_of_the_image(strip, jobs):
    image = strip._reference
    strip.show_window_level(image, Window(0, 100), inverted=False)
    assert grey(strip, 2) == pytest.approx(128, abs=2)
    strip.show_window_level(image, Window(0, 200), inverted=True)
    assert grey(strip, 2) == pytest.approx(191, abs=2)


def test_the_wheel_goes_on_slice_by_slice(strip, qtbot):
    def turn(by):
        event = QWheelEvent(
            QPointF(9, 9), QPointF(9, 9), QPoint(), QPoint(0, by), Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(strip, event)

    with qtbot.waitSignal(strip.scrolled) as signal:
        turn(-240)
    assert signal.args == [2]
    further = []
    strip.scrolled.connect(further.append)
    turn(60)
    turn(60)
    assert further == [-1]


def test_a_single_image_has_no_strip(strip):
    strip.begin(None, None, 0, None)
    assert strip.isHidden()
    assert strip.shown == []
    assert strip.marked is None


def test_the_rate_of_the_cine_is_chosen_from_a_menu(qtbot, jobs):
    slices = Slices(jobs)
    bar = SliceBar(slices)
    qtbot.addWidget(bar)
    slices.facts = StackFacts(5, 0, None, None)
    chosen = []
    bar.rate_changed.connect(chosen.append)
    assert bar.rate_button.text() == "12/s"
    bar.rate_button.menu().actions()[RATES.index(30)].trigger()
    assert chosen == [30]
    assert bar.rate_button.text() == "30/s"
    assert bar._timer.interval() == 33
    slices.deleteLater()
