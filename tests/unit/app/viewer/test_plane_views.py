"""Three planes tied by a cross."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.plane_views import PlaneViews
from semblance.app.viewer.view_painting import displayed_edges
from semblance.app.viewer.viewport import Orientation
from semblance.app.viewer.window_level import Window
from semblance.core.imaging import memory
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.slab import Slab, SlabMode
from semblance.core.workflows.imaging import view_planes
from semblance.core.workflows.imaging.view_images import StackFacts, view_file

LEFT = Qt.MouseButton.LeftButton
SHAPE = (12, 40, 50)
pytestmark = pytest.mark.usefixtures("forget_volumes")


@pytest.fixture
def volume(tmp_path):
    z, y, x = np.meshgrid(*(np.arange(side) for side in SHAPE), indexing="ij")
    path = tmp_path / "volume.npz"
    np.savez(path, ct=(z * 10_000 + y * 100 + x).astype(np.float32))
    return ImageAddress(path, "ct")


@pytest.fixture
def both(qtbot, jobs, volume):
    """The pane and its view_planes, on."""
    frame = QWidget()
    qtbot.addWidget(frame)
    pane = ImagePane(jobs, frame)
    views = PlaneViews(jobs, pane, frame)
    pane.setGeometry(0, 0, 400, 400)
    views.setGeometry(400, 0, 300, 400)
    frame.resize(700, 400)
    frame.show()
    viewed = view_file(volume)
    pane.show_viewed(viewed, None, volume, None)
    views.begin(viewed.stack)
    views.set_shown(True)
    jobs.run_pending()
    yield pane, views
    frame.close()


def corner_value(view):
    image = view.image
    return round(image.value(float(image.levels[0][0, 0])), -1)


def click(view, x, y):
    """On a point of the image, with the real mouse."""
    left, top = view.viewport.to_widget(x, y)
    QTest.mouseClick(view, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(round(left), round(top)))


def test_both_planes_are_cut_where_the_cross_is(both):
    pane, views = both
    assert views.voxel == (6, 20, 25)
    assert views.currentIndex() == 1
    assert corner_value(views.views[1]) == pytest.approx(2000, abs=20)
    assert views.views[1].slice_text == "Row 21 of 40"
    assert views.views[2].slice_text == "Column 26 of 50"
    assert pane.view.cross == (25.5, 20.5)
    assert views.views[1].cross == (25.5, 6.5)
    assert views.views[2].cross == (20.5, 6.5)
    assert (views.views[1].image.width, views.views[1].image.height) == (50, 12)


def test_a_click_in_the_slice_moves_the_other_planes(both, jobs):
    pane, views = both
    click(pane.view, 10.4, 5.6)
    jobs.run_pending()
    assert views.voxel == (6, 5, 10)
    assert corner_value(views.views[1]) == pytest.approx(500, abs=20)
    assert views.views[2].slice_text == "Column 11 of 50"


def test_a_click_in_a_plane_moves_the_slice(both, jobs):
    pane, views = both
    click(views.views[1], 30.5, 2.5)
    jobs.run_pending()
    assert views.voxel == (2, 20, 30)
    assert pane.place == 2
    assert pane.view.slice_text == "Slice 3 of 12"
    assert corner_value(pane.view) == pytest.approx(20_000, abs=20)


def test_a_line_of_the_cross_is_dragged_and_elsewhere_a_drag_sets_window_level(both, jobs):
    pane, views = both
    window = pane.view.window_level
    at = QPoint(*(round(value) for value in pane.view.viewport.to_widget(25.5, 4)))
    to = QPoint(*(round(value) for value in pane.view.viewport.to_widget(35.5, 30.5)))
    QTest.mousePress(pane.view, LEFT, Qt.KeyboardModifier.NoModifier, at)
    QTest.mouseMove(pane.view, to)
    QTest.mouseRelease(pane.view, LEFT, Qt.KeyboardModifier.NoModifier, to)
    jobs.run_pending()
    # The upright line follows the mouse, the other one stays.
    assert views.voxel == (6, 20, 35)
    assert pane.view.window_level == window
    at, to = (
        QPoint(*(round(value) for value in pane.view.viewport.to_widget(*point)))
        for point in ((35.5, 20.5), (25.5, 30.5))
    )
    QTest.mousePress(pane.view, LEFT, Qt.KeyboardModifier.NoModifier, at)
    QTest.mouseMove(pane.view, to)
    QTest.mouseRelease(pane.view, LEFT, Qt.KeyboardModifier.NoModifier, to)
    # Where they cross both follow it.
    assert views.voxel == (6, 30, 25)
    QTest.mousePress(pane.view, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(60, 60))
    QTest.mouseMove(pane.view, QPoint(120, 90))
    QTest.mouseRelease(pane.view, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(120, 90))
    assert pane.view.window_level != window
    assert views.voxel == (6, 30, 25)


def test_the_wheel_and_keys_go_through_a_plane(both, jobs):
    _, views = both
    view = views.views[1]
    at = QPointF(50, 50)
    turned = QWheelEvent(
        at, view.mapToGlobal(at), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, turned)
    jobs.run_pending()
    assert views.voxel == (6, 21, 25)
    QTest.keyClick(view, Qt.Key.Key_End)
    jobs.run_pending()
    assert view.slice_text == "Row 40 of 40"
    assert views.views[2].cross == (39.5, 6.5)


def turn_wheel(view, notches, modifiers):
    at = QPointF(50, 50)
    turned = QWheelEvent(
        at, view.mapToGlobal(at), QPoint(), QPoint(0, 120 * notches), Qt.MouseButton.NoButton,
        modifiers, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, turned)


def test_shift_and_the_wheel_make_a_slab_that_each_view_has_of_its_own(both, jobs):
    pane, views = both
    turn_wheel(views.views[1], 2, Qt.KeyboardModifier.ShiftModifier)
    jobs.run_pending()
    # Rows 20 to 22, where the last one has the largest numbers.
    assert views.views[1].slab_text == "MIP 3 planes"
    assert corner_value(views.views[1]) == pytest.approx(2100, abs=20)
    assert views.views[2].slab_text == pane.view.slab_text == ""
    views.set_slab(0, Slab(SlabMode.AVERAGE, 5))
    jobs.run_pending()
    assert pane.view.slab_text == "Average 5 planes"
    assert corner_value(pane.view) == pytest.approx(60_000, abs=20)
    # Another slice does not show through while its slab is made.
    pane.slices.go_to_slice(3)
    assert pane.view.slice_text == "Slice 4 of 12"
    assert corner_value(pane.view) == pytest.approx(60_000, abs=20)
    jobs.run_pending()
    assert corner_value(pane.view) == pytest.approx(30_000, abs=20)
    turn_wheel(views.views[1], -2, Qt.KeyboardModifier.ShiftModifier)
    views.set_shown(False)
    jobs.run_pending()
    assert pane.view.slab_text == ""
    assert corner_value(pane.view) == pytest.approx(30_000, abs=20)


def test_pointing_in_a_view_shows_the_position_in_the_others(both):
    pane, views = both
    pane.view.pointed_at.emit((10, 20))
    first, second = (views.views[axis].linked_cursor for axis in (1, 2))
    assert (first.x, first.y, first.is_here) == (10.5, 6.5, True)
    # Column 25 is shown, and the mouse is on column 10.
    assert (second.x, second.y, second.label, second.is_here) == (20.5, 6.5, "15 planes away", False)
    assert pane.view.linked_cursor is None
    pane.view.pointed_at.emit(None)
    assert views.views[1].linked_cursor is None


def test_scrolling_moves_the_cross_without_cutting_anew(both, jobs):
    pane, views = both
    pane.slices.go_to_slice(1)
    assert views.voxel == (1, 20, 25)
    assert views.views[1].cross == (25.5, 1.5)
    assert views._job is None


def test_window_level_and_inversion_are_the_same_in_all_three(both):
    pane, views = both
    low, high = 10.0, 900.0
    pane.view.set_window(Window(low, high))
    for view in views.views.values():
        limits = [view.image.value(end) for end in (view.window_level.low, view.window_level.high)]
        assert limits == pytest.approx([pane.view.image.value(end) for end in (low, high)])
    views.views[2].invert()
    assert pane.view.inverted
    assert views.views[1].inverted


def test_requests_during_a_running_one_are_merged(both, jobs):
    pane, views = both
    for x in (5.5, 6.5, 7.5, 8.5):
        pane.view.located.emit(x, 20.5)
    assert len([task for task in jobs.pending if not task.future.cancelled()]) <= 2
    jobs.run_pending()
    assert views.voxel == (6, 20, 8)
    assert views.views[2].slice_text == "Column 9 of 50"


def test_off_restores_the_space_and_the_cross(both, jobs):
    pane, views = both
    views.set_shown(False)
    assert not views.isVisible()
    assert pane.view.cross is None
    click(pane.view, 3, 3)
    assert views.voxel == (6, 20, 25)
    views.end()
    jobs.run_pending()
    assert view_planes._cached_volume._volume is None


def test_what_does_not_fit_says_so_and_the_slices_stay(both, jobs, monkeypatch):
    pane, views = both
    views.end()
    jobs.run_pending()
    monkeypatch.setattr(memory, "free_bytes", lambda: 1000)
    views.begin(StackFacts(12, 6, None, None))
    jobs.run_pending()
    assert views.currentIndex() == 0
    assert "would take" in views.notice._text.text()
    assert pane.view.image is not None


def test_a_single_image_has_no_planes(both):
    _, views = both
    views.begin(None)
    assert not views.isVisible()


def test_sides_turn_with_the_image():
    stored = ("R", "A", "L", "P")
    assert displayed_edges(stored, Orientation()) == stored
    # A quarter clockwise brings what was on the left to the top.
    assert displayed_edges(stored, Orientation().turned(1)) == ("P", "R", "A", "L")
    assert displayed_edges(stored, Orientation().flipped()) == ("L", "A", "R", "P")
    assert displayed_edges(stored, Orientation().turned(2)) == ("L", "P", "R", "A")
    assert displayed_edges(stored, Orientation().turned(1).flipped()) == ("A", "R", "P", "L")
