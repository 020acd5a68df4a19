from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from semblance.app.evaluation.map.map_points import MapPoints, Seen
from semblance.app.evaluation.map.map_view import MapView
from semblance.app.shell.theme import DARK, set_theme
from semblance.core.library.case_columns import case_columns

ROWS = np.array([3, 5, 8, 9, 12], dtype=np.int64)
PLACES = np.array([(0, 0), (10, 0), (0, 10), (10, 10), (5, 5)], dtype=np.float32)


@pytest.fixture
def view(qtbot):
    set_theme(QApplication.instance(), "dark")
    made = MapView()
    qtbot.addWidget(made)
    made.resize(400, 300)
    columns = case_columns(
        ROWS.tolist(), [f"c{row}" for row in ROWS], ["a", "b", "a", "b", None], [None] * 5, [0] * 5
    )
    made.set_cases(columns, ROWS, PLACES)
    made.show()
    made.grab()
    return made


def _pixel(view, row):
    at = view.points.pixels[view.points.place_of(row)]
    return QPoint(round(float(at[0])), round(float(at[1])))


def _mouse(view, kind, at, button=Qt.MouseButton.LeftButton, held=True, modifiers=None):
    buttons = button if held else Qt.MouseButton.NoButton
    modifiers = modifiers or Qt.KeyboardModifier.NoModifier
    pressed = Qt.MouseButton.NoButton if kind == QMouseEvent.Type.MouseMove else button
    event = QMouseEvent(kind, QPointF(at), QPointF(view.mapToGlobal(at)), pressed, buttons, modifiers)
    QApplication.sendEvent(view, event)


def _lit(view, row):
    """Whether the card of a case is beside it."""
    at = _pixel(view, row) + QPoint(30, 0)
    return view.grab().toImage().pixelColor(at) == QColor(DARK.image_well)


def _draw_around(view, corners, modifiers=None):
    _mouse(view, QMouseEvent.Type.MouseButtonPress, corners[0], modifiers=modifiers)
    for corner in corners[1:]:
        _mouse(view, QMouseEvent.Type.MouseMove, corner, modifiers=modifiers)
    _mouse(view, QMouseEvent.Type.MouseButtonRelease, corners[-1], held=False, modifiers=modifiers)


def test_every_point_is_in_view_and_up_is_up(view):
    pixels = view.points.pixels
    assert (pixels >= 0).all()
    assert (pixels[:, 0] <= 400).all()
    assert (pixels[:, 1] <= 300).all()
    assert _pixel(view, 8).y() < _pixel(view, 3).y()
    assert _pixel(view, 5).x() > _pixel(view, 3).x()


def test_what_is_painted_has_a_mark_at_every_case(view):
    image = view.grab().toImage()
    ground = image.pixelColor(2, 2)
    assert all(image.pixelColor(_pixel(view, row)) != ground for row in ROWS.tolist())


def test_a_click_chooses_the_nearest_and_a_double_click_asks(view, qtbot):
    with qtbot.waitSignal(view.chosen) as told:
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=_pixel(view, 12) + QPoint(4, 3))
    assert told.args == [12]
    assert view.current() == 12
    with qtbot.waitSignal(view.activated) as told:
        qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=_pixel(view, 5))
    assert told.args == [5]
    with qtbot.assertNotEmitted(view.chosen):
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(200, 75))


def test_the_pointer_shows_a_card(view):
    _mouse(view, QMouseEvent.Type.MouseMove, _pixel(view, 9), held=False)
    assert view.hovered() == 9
    before = view.grab().toImage()
    _mouse(view, QMouseEvent.Type.MouseMove, QPoint(200, 75), held=False)
    assert view.hovered() == -1
    assert view.grab().toImage() != before


def test_no_card_stays_after_a_line_is_drawn_until_a_case_is_chosen(view):
    view.clearFocus()
    view.setFocus()
    view.set_current(12)
    assert view.hasFocus()
    assert _lit(view, 12)
    _mouse(view, QMouseEvent.Type.MouseMove, _pixel(view, 9), held=False)
    _draw_around(view, [_pixel(view, 9) + QPoint(*d) for d in ((-9, -9), (9, -9), (9, 9), (-9, 9))])
    assert view.hovered() == -1
    assert not _lit(view, 12)
    view.clearFocus()
    view.setFocus(Qt.FocusReason.MouseFocusReason)
    assert not _lit(view, 12)
    _mouse(view, QMouseEvent.Type.MouseButtonPress, _pixel(view, 12))
    _mouse(view, QMouseEvent.Type.MouseButtonRelease, _pixel(view, 12), held=False)
    assert _lit(view, 12)


def test_a_line_around_cases_picks_them_and_shift_adds(view, qtbot):
    left, right = _pixel(view, 3), _pixel(view, 5)
    around = [QPoint(left.x() - 9, left.y() + d) for d in (-9, 9)]
    with qtbot.waitSignal(view.picked) as told:
        _draw_around(view, [around[0], around[1], left + QPoint(9, 9), left + QPoint(9, -9)])
    assert told.args[0].tolist() == [3]
    view.set_marked(told.args[0])
    corners = [right + QPoint(*d) for d in ((-9, -9), (9, -9), (9, 9), (-9, 9))]
    with qtbot.waitSignal(view.picked) as told:
        _draw_around(view, corners, Qt.KeyboardModifier.ShiftModifier)
    assert told.args[0].tolist() == [3, 5]


def test_arrow_keys_go_from_case_to_case_and_enter_asks(view, qtbot):
    view.set_current(3)
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert view.current() in (5, 12)
    view.set_current(3)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.current() in (8, 12)
    view.set_current(9)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.current() == 9
    with qtbot.waitSignal(view.activated) as told:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert told.args == [9]
    assert "c9" in view.accessibleDescription()


def test_the_keyboard_picks_too(view, qtbot):
    view.set_current(8)
    with qtbot.waitSignal(view.picked) as told:
        qtbot.keyClick(view, Qt.Key.Key_Space)
    assert told.args[0].tolist() == [8]
    with qtbot.waitSignal(view.picked) as told:
        qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert told.args[0].tolist() == ROWS.tolist()
    view.set_marked(told.args[0])
    with qtbot.waitSignal(view.picked) as told:
        qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert told.args[0].tolist() == []


def test_the_wheel_zooms_at_the_pointer_and_nought_shows_all(view, qtbot):
    at, before = _pixel(view, 9), view.points.pixels.copy()
    event = QWheelEvent(
        QPointF(at), QPointF(view.mapToGlobal(at)), QPoint(), QPoint(0, 240), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, event)
    assert (_pixel(view, 9) - at).manhattanLength() <= 2
    assert np.ptp(view.points.pixels[:, 0]) > 1.5 * np.ptp(before[:, 0])
    view.set_cases(view._columns, ROWS, PLACES + 1)
    assert np.ptp(view.points.pixels[:, 0]) > 1.5 * np.ptp(before[:, 0])
    qtbot.keyClick(view, Qt.Key.Key_0)
    assert np.allclose(view.points.pixels, before, atol=1e-3)


def test_the_middle_button_moves(view):
    before = view.points.pixels.copy()
    _mouse(view, QMouseEvent.Type.MouseButtonPress, QPoint(100, 100), Qt.MouseButton.MiddleButton)
    _mouse(view, QMouseEvent.Type.MouseMove, QPoint(130, 90), Qt.MouseButton.MiddleButton)
    _mouse(
        view, QMouseEvent.Type.MouseButtonRelease, QPoint(130, 90), Qt.MouseButton.MiddleButton, held=False
    )
    assert np.allclose(view.points.pixels - before, (30, -10), atol=1e-3)


def test_findings_left_out_can_not_be_chosen(view, qtbot):
    view.set_only([0])
    view.grab()
    with qtbot.assertNotEmitted(view.chosen):
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=_pixel(view, 5))
    with qtbot.waitSignal(view.picked) as told:
        qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert told.args[0].tolist() == [3, 8]


def test_a_query_from_outside_lies_between_its_nearest(view):
    view.set_ranking(-1, [3, 5, 8, 9])
    before = view.grab().toImage()
    middle = view.points.pixels[[0, 1, 2]].mean(axis=0)
    x, y = round(float(middle[0])), round(float(middle[1]))
    ring = [before.pixelColor(x + 11, y), before.pixelColor(x - 11, y), before.pixelColor(x, y - 11)]
    view.set_ranking(-1, [])
    plain = view.grab().toImage()
    assert ring != [plain.pixelColor(x + 11, y), plain.pixelColor(x - 11, y), plain.pixelColor(x, y - 11)]


def test_places_come_back_from_pixels():
    seen = Seen.all_of(PLACES, 300, 200).zoomed(3, 20, 30).moved(7, -4)
    points = MapPoints(ROWS, PLACES)
    points.look(seen)
    for place, pixel in zip(PLACES.tolist(), points.pixels.tolist(), strict=True):
        assert seen.place_at(*pixel) == pytest.approx(place, abs=1e-3)
