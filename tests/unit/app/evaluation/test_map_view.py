from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from semblance.app.evaluation.map_points import MapPoints, MapViewport
from semblance.app.evaluation.map_view import MapView
from semblance.app.shell.theme import DARK, set_theme
from semblance.core.library.case_columns import case_columns

ROWS = np.array([3, 5, 8, 9, 12], dtype=np.int64)
POSITIONS = np.array([(0, 0), (10, 0), (0, 10), (10, 10), (5, 5)], dtype=np.float32)


@pytest.fixture
def view(qtbot):
    set_theme(QApplication.instance(), "dark")
    view = MapView()
    qtbot.addWidget(view)
    view.resize(400, 300)
    columns = case_columns(
        ROWS.tolist(), [f"c{row}" for row in ROWS], ["a", "b", "a", "b", None], [None] * 5, [0] * 5
    )
    view.set_cases(columns, ROWS, POSITIONS)
    view.show()
    view.grab()
    return view


def _pixel(view, row):
    position = view.points.pixels[view.points.index_of_row(row)]
    return QPoint(round(float(position[0])), round(float(position[1])))


def _mouse(view, kind, position, button=Qt.MouseButton.LeftButton, is_held=True, modifiers=None):
    buttons = button if is_held else Qt.MouseButton.NoButton
    modifiers = modifiers or Qt.KeyboardModifier.NoModifier
    pressed = Qt.MouseButton.NoButton if kind == QMouseEvent.Type.MouseMove else button
    event = QMouseEvent(
        kind, QPointF(position), QPointF(view.mapToGlobal(position)), pressed, buttons, modifiers
    )
    QApplication.sendEvent(view, event)


def _has_card(view, row):
    """Whether the card of a case is beside it."""
    position = _pixel(view, row) + QPoint(30, 0)
    return view.grab().toImage().pixelColor(position) == QColor(DARK.image_well)


def _draw_around(view, corners, modifiers=None):
    _mouse(view, QMouseEvent.Type.MouseButtonPress, corners[0], modifiers=modifiers)
    for corner in corners[1:]:
        _mouse(view, QMouseEvent.Type.MouseMove, corner, modifiers=modifiers)
    _mouse(view, QMouseEvent.Type.MouseButtonRelease, corners[-1], is_held=False, modifiers=modifiers)


def test_all_points_are_visible_and_y_grows_upwards(view):
    pixels = view.points.pixels
    assert (pixels >= 0).all()
    assert (pixels[:, 0] <= 400).all()
    assert (pixels[:, 1] <= 300).all()
    assert _pixel(view, 8).y() < _pixel(view, 3).y()
    assert _pixel(view, 5).x() > _pixel(view, 3).x()


def test_every_case_is_painted(view):
    image = view.grab().toImage()
    background = image.pixelColor(2, 2)
    assert all(image.pixelColor(_pixel(view, row)) != background for row in ROWS.tolist())


def test_a_click_selects_the_nearest_and_a_double_click_activates(view, qtbot):
    with qtbot.waitSignal(view.chosen) as signal:
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=_pixel(view, 12) + QPoint(4, 3))
    assert signal.args == [12]
    assert view.current() == 12
    with qtbot.waitSignal(view.activated) as signal:
        qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=_pixel(view, 5))
    assert signal.args == [5]
    with qtbot.assertNotEmitted(view.chosen):
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(200, 75))


def test_the_case_under_the_pointer_has_a_card(view):
    _mouse(view, QMouseEvent.Type.MouseMove, _pixel(view, 9), is_held=False)
    assert view.hovered() == 9
    before = view.grab().toImage()
    _mouse(view, QMouseEvent.Type.MouseMove, QPoint(200, 75), is_held=False)
    assert view.hovered() == -1
    assert view.grab().toImage() != before


def test_drawing_an_outline_hides_the_card(view):
    view.clearFocus()
    view.setFocus()
    view.set_current(12)
    assert view.hasFocus()
    assert _has_card(view, 12)
    _mouse(view, QMouseEvent.Type.MouseMove, _pixel(view, 9), is_held=False)
    _draw_around(view, [_pixel(view, 9) + QPoint(*d) for d in ((-9, -9), (9, -9), (9, 9), (-9, 9))])
    assert view.hovered() == -1
    assert not _has_card(view, 12)
    view.clearFocus()
    view.setFocus(Qt.FocusReason.MouseFocusReason)
    assert not _has_card(view, 12)
    _mouse(view, QMouseEvent.Type.MouseButtonPress, _pixel(view, 12))
    _mouse(view, QMouseEvent.Type.MouseButtonRelease, _pixel(view, 12), is_held=False)
    assert _has_card(view, 12)


def test_an_outline_selects_cases_and_shift_adds(view, qtbot):
    left, right = _pixel(view, 3), _pixel(view, 5)
    around = [QPoint(left.x() - 9, left.y() + d) for d in (-9, 9)]
    with qtbot.waitSignal(view.selected) as signal:
        _draw_around(view, [around[0], around[1], left + QPoint(9, 9), left + QPoint(9, -9)])
    assert signal.args[0].tolist() == [3]
    view.highlight(signal.args[0])
    corners = [right + QPoint(*d) for d in ((-9, -9), (9, -9), (9, 9), (-9, 9))]
    with qtbot.waitSignal(view.selected) as signal:
        _draw_around(view, corners, Qt.KeyboardModifier.ShiftModifier)
    assert signal.args[0].tolist() == [3, 5]


def test_arrow_keys_move_and_enter_activates(view, qtbot):
    view.set_current(3)
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert view.current() in (5, 12)
    view.set_current(3)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.current() in (8, 12)
    view.set_current(9)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.current() == 9
    with qtbot.waitSignal(view.activated) as signal:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert signal.args == [9]
    assert "c9" in view.accessibleDescription()


def test_cases_are_selected_by_keyboard(view, qtbot):
    view.set_current(8)
    with qtbot.waitSignal(view.selected) as signal:
        qtbot.keyClick(view, Qt.Key.Key_Space)
    assert signal.args[0].tolist() == [8]
    with qtbot.waitSignal(view.selected) as signal:
        qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert signal.args[0].tolist() == ROWS.tolist()
    view.highlight(signal.args[0])
    with qtbot.waitSignal(view.selected) as signal:
        qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert signal.args[0].tolist() == []


def test_the_wheel_zooms_at_the_pointer_and_0_shows_all(view, qtbot):
    position, before = _pixel(view, 9), view.points.pixels.copy()
    event = QWheelEvent(
        QPointF(position), QPointF(view.mapToGlobal(position)), QPoint(), QPoint(0, 240), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, event)
    assert (_pixel(view, 9) - position).manhattanLength() <= 2
    assert np.ptp(view.points.pixels[:, 0]) > 1.5 * np.ptp(before[:, 0])
    view.set_cases(view._columns, ROWS, POSITIONS + 1)
    assert np.ptp(view.points.pixels[:, 0]) > 1.5 * np.ptp(before[:, 0])
    qtbot.keyClick(view, Qt.Key.Key_0)
    assert np.allclose(view.points.pixels, before, atol=1e-3)


def test_the_middle_button_pans(view):
    before = view.points.pixels.copy()
    _mouse(view, QMouseEvent.Type.MouseButtonPress, QPoint(100, 100), Qt.MouseButton.MiddleButton)
    _mouse(view, QMouseEvent.Type.MouseMove, QPoint(130, 90), Qt.MouseButton.MiddleButton)
    _mouse(
        view, QMouseEvent.Type.MouseButtonRelease, QPoint(130, 90), Qt.MouseButton.MiddleButton, is_held=False
    )
    assert np.allclose(view.points.pixels - before, (30, -10), atol=1e-3)


def test_hidden_findings_cannot_be_selected(view, qtbot):
    view.show_findings_only([0])
    view.grab()
    with qtbot.assertNotEmitted(view.chosen):
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=_pixel(view, 5))
    with qtbot.waitSignal(view.selected) as signal:
        qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert signal.args[0].tolist() == [3, 8]


def test_a_query_from_outside_lies_between_its_similar_cases(view):
    view.set_ranking(-1, [3, 5, 8, 9])
    before = view.grab().toImage()
    middle = view.points.pixels[[0, 1, 2]].mean(axis=0)
    x, y = round(float(middle[0])), round(float(middle[1]))
    ring = [before.pixelColor(x + 11, y), before.pixelColor(x - 11, y), before.pixelColor(x, y - 11)]
    view.set_ranking(-1, [])
    plain = view.grab().toImage()
    assert ring != [plain.pixelColor(x + 11, y), plain.pixelColor(x - 11, y), plain.pixelColor(x, y - 11)]


def test_pixels_convert_back_to_positions():
    viewport = MapViewport.showing_all(POSITIONS, 300, 200).zoomed(3, 20, 30).panned(7, -4)
    points = MapPoints(ROWS, POSITIONS)
    points.project(viewport)
    for point, pixel in zip(POSITIONS.tolist(), points.pixels.tolist(), strict=True):
        assert viewport.position_at(*pixel) == pytest.approx(point, abs=1e-3)
