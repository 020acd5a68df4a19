"""Frames and letters on an image: around a place and never on it, also on an image that is turned."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter

from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.viewport import Orientation
from semblance.app.widgets.place_marks import LetteredPoint, PlaceMarks, draw_frame
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image
from tests.helpers.widgets import show_widget


def shades(widget):
    """(h, w, 3) the pixels of a widget."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    lines = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return lines[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


@pytest.fixture
def view(qtbot):
    widget = show_widget(qtbot, ImageView(), 400, 320)
    widget.show_image(display_image(Image(np.full((160, 200), 120, np.uint8), 255.0, "grey")))
    widget.set_overlay_text_shown(True)
    return widget


@pytest.mark.parametrize("orientation", [Orientation(), Orientation(1, True), Orientation(2)])
def test_a_frame_lies_around_its_place_on_an_image_that_is_turned(view, orientation):
    view.set_orientation(orientation)
    before = shades(view)
    view.show_place_marks(PlaceMarks(((20, 30, 60, 90),)))
    changed = (shades(view) != before).any(axis=2)
    left, top, right, bottom = (round(end) for end in view.viewport.box(20, 30, 60, 90))
    ys, xs = np.nonzero(changed)
    assert not changed[top + 1 : bottom - 1, left + 1 : right - 1].any(), "the frame covers what it frames"
    assert abs(xs.min() - left) <= 4 >= abs(xs.max() - right)
    assert abs(ys.min() - top) <= 4 >= abs(ys.max() - bottom)


def test_a_frame_is_seen_on_black_on_white_and_on_its_own_colour(qapp):
    for grey in ("#000000", "#FFFFFF", "#B9B3FF"):
        image = QImage(60, 60, QImage.Format.Format_RGB32)
        image.fill(grey)
        painter = QPainter(image)
        draw_frame(painter, QRectF(20, 20, 20, 20))
        painter.end()
        levels = [image.pixelColor(30, y).lightness() for y in range(14, 21)]
        assert max(levels) - min(levels) > 90, grey


def test_letters_at_one_point_are_beside_each_other_and_all_marks_hide_with_the_overlays(view):
    plain = shades(view)
    view.show_place_marks(PlaceMarks(points=(LetteredPoint("a", 100, 80), LetteredPoint("b", 100, 80))))
    changed = (shades(view) != plain).any(axis=2)
    middle = QPointF(*view.viewport.to_widget(100, 80)).toPoint()
    width = np.ptp(np.nonzero(changed[middle.y()])[0])
    assert 28 <= width <= 44, "two discs, not one on the other"
    view.set_places_shown(False)
    assert (shades(view) == plain).all()
    view.set_places_shown(True)
    view.set_overlay_text_shown(False)
    hidden = shades(view)
    view.show_place_marks(PlaceMarks())
    assert (shades(view) == hidden).all()


def test_marks_of_a_slice_are_on_no_other_one():
    marks = PlaceMarks(((1, 2, 3, 4),), slice=7)
    assert marks.on_slice(7) == marks == marks.on_slice(None)
    assert not marks.on_slice(6)
    assert PlaceMarks(((1, 2, 3, 4),)).on_slice(3)
