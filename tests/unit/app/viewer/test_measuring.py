"""Measuring by real mouse and keys, on upright and on turned images."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.app.viewer import tools
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.measuring import _bodies
from semblance.app.viewer.viewport import Orientation
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.measurements import Figure, Statistics, measure
from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.imaging.region import Region
from tests.helpers.image_views import LEFT, SHIFT, drag
from tests.helpers.widgets import show_widget

NONE = Qt.KeyboardModifier.NoModifier
PIXELS = (np.arange(200 * 160, dtype=np.int32).reshape(160, 200) % 1000 - 500).astype(np.int16)
IMAGE = Image(PIXELS, 1000, "ct", (0.5, 0.25), black=-1000, values=ValueScale(unit="HU"))


@pytest.fixture(params=[Orientation(), Orientation(1, True)], ids=["upright", "turned"])
def view(qtbot, request):
    widget = show_widget(qtbot, ImageView(), 500, 500)
    widget.show_image(display_image(IMAGE))
    widget.set_orientation(request.param)
    widget.emitted = []
    widget.measure.changed.connect(lambda: widget.emitted.append(widget.measure.figures))
    return widget


def at(view, x, y):
    left, top = view.viewport.to_widget(x, y)
    return QPointF(left, top).toPoint()


def hover(view, x, y):
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(at(view, x, y)),
        QPointF(view.mapToGlobal(at(view, x, y))),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        NONE,
    )
    QApplication.sendEvent(view, event)


def measured(view):
    """The results of all figures, as the worker finds them."""
    view.measure.set_values({one: measure(IMAGE, one) for one in view.measure.without_values()})
    return [view.measure.measured(one) for one in view.measure.figures]


def test_a_line_is_in_mm_can_be_changed_moved_removed_and_brought_back(view):
    view.set_tool(tools.RULER)
    drag(view, at(view, 20, 40), at(view, 30, 40), at(view, 100, 40))
    assert measured(view)[0].length == pytest.approx(20, abs=0.2)
    drag(view, at(view, 100, 40), at(view, 90, 40), at(view, 60, 70))
    assert measured(view)[0].length == pytest.approx(np.hypot(40 * 0.25, 30 * 0.5), abs=0.4)
    drag(view, at(view, 40, 55), at(view, 45, 60), at(view, 50, 65))
    assert measured(view)[0].length == pytest.approx(np.hypot(40 * 0.25, 30 * 0.5), abs=0.4)
    assert view.measure.figures[0].points[0] == pytest.approx((30, 50), abs=0.6)
    QTest.keyClick(view, Qt.Key.Key_Delete)
    assert view.measure.figures == ()
    for n in (1, 1, 1, 0):
        QTest.keyClick(view, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        assert len(view.measure.figures) == n
    # A click alone is no line.
    QTest.mouseClick(view, LEFT, NONE, at(view, 50, 50))
    assert view.measure.figures == ()
    assert not view.measure.active


def test_an_angle_can_be_painted_after_each_of_its_clicks(view):
    view.set_tool(tools.ANGLE)
    for x, y in ((100, 20), (20, 20), (100, 60)):
        QTest.mousePress(view, LEFT, NONE, at(view, x, y))
        assert not view.grab().isNull()
        QTest.mouseRelease(view, LEFT, NONE, at(view, x, y))
        hover(view, x + 5, y + 5)
        assert not view.grab().isNull()
    assert measured(view)[0].angle == pytest.approx(45, abs=1)


def test_an_angle_has_three_clicks_or_a_drag_and_a_click_and_of_two_lines_it_is_that_of_cobb(view):
    view.set_tool(tools.ANGLE)
    for x, y in ((100, 20), (20, 20), (100, 60)):
        hover(view, x, y)
        QTest.mouseClick(view, LEFT, NONE, at(view, x, y))
    # In mm the second side goes 20 right and 20 down.
    assert [len(one.points) for one in view.measure.figures] == [3]
    assert measured(view)[0].angle == pytest.approx(45, abs=1)
    view.measure.remove_all()
    drag(view, at(view, 100, 20), at(view, 60, 20), at(view, 20, 20))
    hover(view, 20, 60)
    QTest.mouseClick(view, LEFT, NONE, at(view, 20, 60))
    assert measured(view)[0].angle == pytest.approx(90, abs=1)
    view.measure.remove_all()
    drag(view, at(view, 20, 20), at(view, 60, 20), at(view, 100, 20))
    drag(view, at(view, 20, 100), at(view, 60, 110), at(view, 140, 130))
    assert [len(one.points) for one in view.measure.figures] == [4]
    assert measured(view)[0].angle == pytest.approx(np.degrees(np.arctan2(30 * 0.5, 120 * 0.25)), abs=1)
    hover(view, 50, 50)
    drag(view, at(view, 20, 50), at(view, 60, 50), at(view, 90, 50))
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert len(view.measure.figures) == 1
    assert not view.measure.active


@pytest.mark.parametrize("key", ["R", "E", "L"])
def test_shapes_are_drawn_with_shift_and_the_key_of_their_region_and_measured_from_the_values(view, key):
    QTest.keyClick(view, key, SHIFT)
    if key == "L":
        corners = [(50, 50), (110, 50), (110, 100), (50, 100), (50, 50)]
        drag(view, at(view, 50, 50), *(at(view, *corner) for corner in corners))
    else:
        drag(view, at(view, 50, 50), at(view, 60, 60), at(view, 110, 100))
    (found,) = measured(view)
    outline = {
        "R": None,
        "E": Ellipse.filling(60, 50),
        "L": Polygon(tuple((x - 50, y - 50) for x, y in corners[:4])) if key == "L" else None,
    }[key]
    expected = measure(IMAGE, Figure.of_region(Region(50, 50, 60, 50, outline)))
    if key == "L":
        assert found.area == pytest.approx(expected.area, rel=0.05)
    else:
        assert found == expected
    assert isinstance(found.statistics, Statistics)
    # The region to search with is another one.
    assert view.region.region is None
    before = view.measure.figures[0].region
    drag(view, at(view, before.x, before.y + before.height / 2 + 9), at(view, 60, 80), at(view, 70, 84))
    assert view.measure.figures[0].region != before


def test_a_probe_is_held_and_placed_on_the_middle_of_a_pixel(view):
    QTest.keyClick(view, "P", SHIFT)
    drag(view, at(view, 30.5, 30.5), at(view, 35.5, 35.5), at(view, 40.5, 45.5))
    (figure,) = view.measure.figures
    x, y = (int(one) for one in figure.points[0])
    assert (x, y) == pytest.approx((40, 45), abs=1)
    assert measured(view)[0].value == PIXELS[y, x]


def test_figures_stay_on_their_slice_and_arrow_keys_move_the_selected_one(view):
    view.measure.go_to(3)
    view.measure.add(Figure.of_region(Region(50, 50, 20, 20)))
    assert view.measure.figures[0].slice == 3
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Right)
    moved = view.measure.figures[0].region
    assert (moved.x, moved.y) != (50, 50)
    assert view.emitted[-1] == view.measure.figures
    view.measure.go_to(4)
    assert view.measure.shown == []
    assert view.measure.without_values() == []
    QTest.keyClick(view, Qt.Key.Key_Delete)
    assert len(view.measure.figures) == 1
    view.measure.go_to(3)
    QTest.keyClick(view, "M", SHIFT)
    assert view.measure.shown == []
    QTest.keyClick(view, "M", SHIFT)
    assert len(view.measure.shown) == 1


def test_a_region_is_measured_without_a_mouse(view):
    view.setFocus()
    QTest.keyClick(view, "E", SHIFT)
    QTest.keyClick(view, Qt.Key.Key_Return)
    (placed,) = view.measure.figures
    assert (placed.kind, placed.region.width, placed.region.height) == ("ellipse", 100, 80)
    QTest.keyClick(view, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    grown = view.measure.figures[0].region
    assert (grown.x, grown.y) == (placed.region.x, placed.region.y)
    assert abs(grown.width - 100) + abs(grown.height - 80) == 1
    assert view.emitted[-1] == view.measure.figures


def test_text_lies_over_no_figure_and_no_other_text(view):
    for figure in (
        Figure("line", ((20, 20), (100, 90))),
        Figure("angle", ((30, 100), (60, 60), (90, 110))),
        Figure.of_region(Region(110, 20, 60, 50, Ellipse.filling(60, 50))),
        Figure.of_region(Region(0, 120, 40, 40)),
        Figure("probe", ((199.5, 159.5),)),
    ):
        view.measure.add(figure)
    measured(view)
    painter = QPainter(pixmap := QPixmap(view.size()))
    view.measure.paint(painter, view.viewport)
    painter.end()
    assert not pixmap.isNull()
    _, placed = view.measure._placed
    assert set(placed) == set(range(5))
    boxes = []
    for lines in placed.values():
        metrics = view.fontMetrics()
        top = min(point.y() for point, _ in lines) - 9
        height = max(point.y() for point, _ in lines) - top
        width = max(metrics.horizontalAdvance(text) for _, text in lines) * 0.8
        boxes.append(QRectF(lines[0][0].x(), top, width, height))
    for one, other in itertools.combinations(boxes, 2):
        assert not one.intersects(other)
    for box in boxes:
        assert QRectF(view.rect()).contains(box)
        for figure in view.measure.figures:
            for left, upper, right, lower in _bodies(figure, view.viewport):
                body = QRectF(left + 6, upper + 6, right - left - 12, lower - upper - 12)
                assert not (body.isValid() and box.intersects(body))


def test_the_magnifier_shows_the_pixels_around_the_mouse_while_its_key_is_held(view):
    view.measure.begin(0, 0, ())
    view.set_overlay_text_shown(False)
    hover(view, 100, 80)
    plain = view.grab().toImage()
    QTest.keyPress(view, Qt.Key.Key_G)
    held = view.grab().toImage()
    middle = at(view, 100, 80)
    assert view.magnified == 2
    # What is at the mouse stays there, what lies beside it moves away from it.
    there, away = QPointF(middle), QPointF(40, 0)
    wide = held.pixelColor((there + away).toPoint()).lightness()
    assert abs(wide - plain.pixelColor((there + away / 2).toPoint()).lightness()) <= 12
    QTest.keyRelease(view, Qt.Key.Key_G)
    assert view.magnified == 0
    QTest.keyPress(view, Qt.Key.Key_G, SHIFT)
    assert view.magnified == 4
    view.clearFocus()
