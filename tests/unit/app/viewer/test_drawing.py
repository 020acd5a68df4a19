"""Every drawing tool by real mouse and keys, on upright and on turned images."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.app.shell.theme import OUTCOME, SMALL, font
from semblance.app.viewer import overlay, tools
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.overlay import corner_lines, letter_bottom
from semblance.app.viewer.viewport import Orientation
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.outline import Ellipse, MaskOutline, Polygon
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
NONE, ALT, CTRL, SHIFT = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
)


@pytest.fixture(params=[Orientation(), Orientation(1, True)], ids=["upright", "turned"])
def view(qtbot, request):
    widget = show_widget(qtbot, ImageView(), 400, 400)
    pixels = np.arange(200 * 160, dtype=np.int32).reshape(160, 200) % 1000 - 500
    meaning = ValueScale(unit="HU")
    image = Image(pixels.astype(np.int16), 1000, "ct", (0.5, 0.5), black=-1000, values=meaning)
    widget.show_image(display_image(image))
    widget.set_orientation(request.param)
    widget.emitted = []
    widget.region.changed.connect(widget.emitted.append)
    return widget


def at(view, x, y):
    return QPointF(*view.viewport.to_widget(x, y)).toPoint()


def send(view, kind, point, button=LEFT, buttons=LEFT, modifiers=NONE):
    where = QPointF(point)
    event = QMouseEvent(kind, where, QPointF(view.mapToGlobal(point)), button, buttons, modifiers)
    QApplication.sendEvent(view, event)


def drag(view, *points, modifiers=NONE):
    send(view, QEvent.Type.MouseButtonPress, points[0], modifiers=modifiers)
    for point in points[1:]:
        send(view, QEvent.Type.MouseMove, point, Qt.MouseButton.NoButton, LEFT, modifiers)
    send(view, QEvent.Type.MouseButtonRelease, points[-1], LEFT, Qt.MouseButton.NoButton, modifiers)


def test_an_ellipse_is_dragged_from_corner_to_corner(view):
    view.set_tool(tools.ELLIPSE)
    drag(view, at(view, 40, 50), at(view, 60, 60), at(view, 100, 90))
    region = view.region.region
    assert (region.x, region.y, region.width, region.height) == pytest.approx((40, 50, 60, 40), abs=1)
    assert region.outline == Ellipse.filling(region.width, region.height)
    assert view.emitted == [region]


def test_an_ellipse_keeps_its_shape_when_a_side_is_pulled(view):
    view.set_tool(tools.ELLIPSE)
    drag(view, at(view, 40, 50), at(view, 60, 60), at(view, 100, 90))
    drag(view, at(view, 100, 70), at(view, 110, 70), at(view, 140, 70))
    region = view.region.region
    assert region.width == pytest.approx(100, abs=1)
    assert region.outline.radii == pytest.approx((region.width / 2, region.height / 2))


def test_a_polygon_is_clicked_and_closed_at_its_first_corner(view):
    view.set_tool(tools.POLYGON)
    corners = [(30, 30), (120, 40), (80, 120)]
    for corner in corners:
        QTest.mouseClick(view, LEFT, NONE, at(view, *corner))
        assert view.emitted == []
    QTest.mouseClick(view, LEFT, NONE, at(view, *corners[0]))
    region = view.region.region
    assert isinstance(region.outline, Polygon)
    drawn = [(region.x + x, region.y + y) for x, y in region.outline.points]
    assert np.allclose(drawn, corners, atol=0.6)
    assert region.mask(160, 200).sum() == pytest.approx(90 * 90 / 2 - 10 * 50 / 2, rel=0.03)


def test_backspace_takes_a_corner_back_and_enter_closes(view):
    view.set_tool(tools.POLYGON)
    for corner in [(30, 30), (120, 40), (10, 10), (80, 120)]:
        QTest.mouseClick(view, LEFT, NONE, at(view, *corner))
        if corner == (10, 10):
            QTest.keyClick(view, Qt.Key.Key_Backspace)
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert len(view.region.region.outline.points) == 3


def test_two_corners_are_no_region(view):
    view.set_tool(tools.POLYGON)
    for corner in [(30, 30), (120, 40)]:
        QTest.mouseClick(view, LEFT, NONE, at(view, *corner))
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert view.region.region is None
    assert view.emitted == []


def test_a_stroke_around_something_is_its_region(view):
    view.set_tool(tools.FREEHAND)
    angles = np.linspace(0, 2 * np.pi, 60)
    drag(view, *[at(view, 100 + 40 * np.cos(a), 80 + 40 * np.sin(a)) for a in angles])
    assert view.region.region.mask(160, 200).sum() == pytest.approx(np.pi * 40**2, rel=0.03)
    assert len(view.emitted) == 1


def test_the_brush_paints_and_with_alt_takes_away_and_all_is_undone(view):
    view.set_tool(tools.BRUSH)
    view.pointer.brush.radius = 10 * view.viewport.zoom
    drag(view, at(view, 50, 80), at(view, 100, 80))
    painted = view.region.region
    assert isinstance(painted.outline, MaskOutline)
    assert painted.mask(160, 200).sum() == pytest.approx(20 * 50 + np.pi * 100, rel=0.05)
    drag(view, at(view, 75, 60), at(view, 75, 100), modifiers=ALT)
    mask = view.region.region.mask(160, 200)
    assert not mask[80, 70:80].any()
    assert mask[80, 55]
    assert mask[80, 95]
    view.region.undo()
    assert view.region.region == painted
    view.region.undo()
    assert view.region.region is None


def test_the_brush_corrects_a_rectangle(view):
    view.set_tool(tools.RECTANGLE)
    drag(view, at(view, 40, 50), at(view, 60, 60), at(view, 100, 90))
    before = view.region.region.mask(160, 200)
    view.set_tool(tools.BRUSH)
    drag(view, at(view, 102, 70), at(view, 104, 70))
    after = view.region.region.mask(160, 200)
    assert (after & before).sum() == before.sum()
    assert after.sum() > before.sum()


def test_a_click_asks_for_the_outline_of_what_lies_there(view, qtbot):
    view.set_tool(tools.SEGMENT)
    with qtbot.waitSignal(view.segment_requested) as signal:
        QTest.mouseClick(view, LEFT, NONE, at(view, 60.5, 70.5))
    assert signal.args == [60, 70]


def test_the_value_under_the_mouse_is_the_stored_one_in_its_unit(view):
    assert overlay.value_text(view.image, (7, 3)) == f"x 7  y 3   {3 * 200 + 7 - 500} HU"
    assert overlay.value_text(view.image, (7, 0)) == "x 7  y 0   −493 HU"


def test_keys_choose_tools_and_turn_the_image(view):
    for tool in (*tools.ALL, *tools.MEASURING):
        shift, _, letter = tool.key.rpartition("+")
        QTest.keyClick(view, letter, SHIFT if shift else NONE)
        assert view.tool == tool.name
    before = view.orientation
    QTest.keyClick(view, Qt.Key.Key_T)
    assert view.orientation == before.turned(1)
    QTest.keyClick(view, Qt.Key.Key_H)
    assert view.orientation == before.turned(1).flipped()


def test_actual_size_is_one_screen_pixel_a_pixel(view):
    QTest.keyClick(view, Qt.Key.Key_1)
    assert view.viewport.zoom * view.devicePixelRatioF() == pytest.approx(1.0)


def test_the_wheel_scrolls_slices_and_with_ctrl_zooms(view, qtbot):
    view.scrolls = True

    def turn(amount, modifiers):
        where = QPointF(200, 200)
        event = QWheelEvent(
            where,
            where,
            QPoint(),
            QPoint(0, amount),
            Qt.MouseButton.NoButton,
            modifiers,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(view, event)

    steps = []
    view.scrolled.connect(steps.append)
    turn(-240, NONE)
    turn(60, NONE)
    turn(60, NONE)
    assert steps == [2, -1]
    zoom = view.viewport.zoom
    turn(120, CTRL)
    assert view.viewport.zoom > zoom
    assert steps == [2, -1]


def test_what_is_half_drawn_is_given_up_with_the_tool(view):
    view.set_tool(tools.POLYGON)
    QTest.mouseClick(view, LEFT, NONE, at(view, 30, 30))
    view.set_tool(tools.SELECT)
    assert not view.pointer.path.active
    view.grab()


@pytest.mark.parametrize("letters", [False, True])
@pytest.mark.parametrize("width", [150, 260, 400, 700])
def test_overlay_texts_never_run_into_each_other(qtbot, width, letters):
    texts = {
        Qt.Corner.TopLeftCorner: ("tilt corrected by 15 degrees", "note", "a longer note on uneven slices"),
        Qt.Corner.TopRightCorner: ("Slice 21 of 40", "instance 101", "", "Thickness 1.25 mm", "Zoom 101 %"),
        Qt.Corner.BottomLeftCorner: ("x 131  y 236   113 HU", "340.0 × 340.0 mm"),
        Qt.Corner.BottomRightCorner: ("W 399  L 40",),
    }
    placed = corner_lines(QRect(0, 0, width, 400), texts, letters=letters)
    metrics = QFontMetricsF(font(SMALL, 600))
    boxes = [metrics.tightBoundingRect(text).translated(where) for text, where in placed]
    assert len(boxes) == 10
    if letters:
        face = QFontMetricsF(font(OUTCOME, 600))
        letter = QRectF(
            (width - face.horizontalAdvance("A")) / 2, 0, face.horizontalAdvance("A"), face.capHeight()
        )
        bottom = letter_bottom(width)
        boxes += [letter.translated(0, bottom - letter.height()), letter.translated(0, 400 - bottom)]
    for number, box in enumerate(boxes):
        assert not any(box.intersects(other) for other in boxes[:number])
    heights = {text: where.y() for text, where in placed}
    notes = [heights[text] for text in heights if "note" in text or "tilt" in text]
    assert notes == sorted(notes)
