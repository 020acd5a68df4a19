"""The brush alone: what a stroke paints or erases in the pixels of an image."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QImage, QPainter

from semblance.app.viewer.tools import GROWTH, MAX_RADIUS, MIN_RADIUS, RADIUS, BrushTool
from semblance.app.viewer.viewport import Viewport
from semblance.core.imaging.region import Region, region_of_mask

HEIGHT, WIDTH = 40, 60


def viewport(zoom=1.0, aspect=1.0) -> Viewport:
    """A view whose widget pixels are the image's pixels times ``zoom``."""
    return Viewport(
        WIDTH,
        HEIGHT,
        across=round(WIDTH * zoom),
        down=round(HEIGHT * zoom * aspect),
        aspect=aspect,
        zoom=zoom,
        x=WIDTH / 2,
        y=HEIGHT / 2,
        fitted=False,
    )


def disc(x, y, radius, aspect=1.0):
    """The pixels whose middle lies in the disc, and the one that holds its centre."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    inside = ((columns - x) / radius) ** 2 + ((rows - y) * aspect / radius) ** 2 <= 1
    if 0 <= y < HEIGHT and 0 <= x < WIDTH:
        inside[int(y), int(x)] = True
    return inside


def stroke(*points, region=None, radius=5.0, view=None, erase=False):
    """The mask after a stroke through ``points``, in pixels of the image; ``None`` where it is empty."""
    view = view or viewport()
    brush = BrushTool()
    brush.radius = radius
    first, *others = (QPointF(*view.to_widget(x, y)) for x, y in points)
    brush.press(first, view, region, erase=erase)
    for point in others:
        assert brush.move(point, view)
    painted = brush.region()
    brush.release()
    return painted if painted is None else painted.mask(HEIGHT, WIDTH)


@pytest.mark.parametrize("centre", [(20.5, 10.5), (20.0, 10.3), (0.5, 0.5), (59.5, 39.5), (2.0, 38.0)])
def test_a_press_paints_the_disc_around_it(centre):
    np.testing.assert_array_equal(stroke(centre), disc(*centre, 5.0))


def test_the_radius_is_in_widget_pixels_and_never_below_half_a_pixel_of_the_image():
    np.testing.assert_array_equal(stroke((20.5, 10.5), view=viewport(2.0)), disc(20.5, 10.5, 2.5))
    np.testing.assert_array_equal(stroke((20.5, 10.5), view=viewport(4.0), radius=0.1), disc(20.5, 10.5, 0.5))
    # Off the middle of every pixel, the one under the mouse is painted all the same.
    assert np.argwhere(stroke((20.05, 10.95), view=viewport(20.0), radius=0.1)).tolist() == [[10, 20]]


def test_pixels_that_are_not_square_are_painted_round():
    view = viewport(aspect=2.0)
    np.testing.assert_array_equal(stroke((20.5, 10.5), view=view, radius=8.0), disc(20.5, 10.5, 8.0, 2.0))


def test_a_fast_stroke_has_no_gaps_and_is_as_long_as_the_way():
    painted = stroke((10.5, 20.5), (50.5, 20.5), radius=4.0)
    assert painted[20, 7:54].all()
    assert painted[18, 10:50].all()
    assert not painted[20, :6].any()
    assert not painted[20, 55:].any()
    assert not painted[:16].any()
    cornered = stroke((10.5, 10.5), (30.5, 10.5), (30.5, 30.5), radius=3.0)
    assert cornered[10, 10:31].all()
    assert cornered[10:31, 30].all()
    assert not cornered[25, 15]


def test_a_stroke_adds_to_the_region_and_erasing_takes_from_it():
    before = Region(10, 10, 20, 15)
    mask = before.mask(HEIGHT, WIDTH)
    np.testing.assert_array_equal(stroke((30.0, 15.0), region=before), mask | disc(30.0, 15.0, 5.0))
    np.testing.assert_array_equal(
        stroke((20.0, 15.0), region=before, erase=True), mask & ~disc(20.0, 15.0, 5.0)
    )
    assert stroke((20.0, 15.0), erase=True) is None
    assert stroke((20.0, 18.0), region=before, radius=60.0, erase=True) is None


def test_strokes_do_not_hang_together_and_the_region_keeps_its_slice():
    brush, view = BrushTool(), viewport()
    brush.radius = 3.0
    assert not brush.active
    assert brush.region() is None
    brush.press(QPointF(10, 10), view, Region(40, 30, 2, 2, z=7), erase=False)
    assert brush.active
    first = brush.region()
    assert (first.z, first.depth) == (7, 1)
    brush.release()
    assert not brush.active
    assert brush.region() is None
    brush.press(QPointF(50, 10), view, first, erase=False)
    assert not brush.region().mask(HEIGHT, WIDTH)[10, 30]
    brush.press(QPointF(50, 10), view, None, erase=False)
    assert brush.region() == region_of_mask(disc(50.0, 10.0, 3.0))


def test_a_move_without_a_press_paints_nothing():
    brush = BrushTool()
    assert brush.move(QPointF(10, 10), viewport()) is False
    assert brush.region() is None
    # A stroke that leaves the image paints what is inside.
    assert stroke((-30.0, 20.0)) is None
    assert stroke((20.0, -30.0)) is None
    assert stroke((WIDTH + 30.0, 20.0)) is None


def test_the_size_grows_and_shrinks_between_its_limits():
    brush = BrushTool()
    assert brush.radius == RADIUS
    brush.grow(2)
    assert brush.radius == pytest.approx(RADIUS * GROWTH**2)
    brush.grow(-3)
    assert brush.radius == pytest.approx(RADIUS / GROWTH)
    brush.grow(99)
    assert brush.radius == MAX_RADIUS
    brush.grow(-99)
    assert brush.radius == MIN_RADIUS


def drawn(brush, view):
    """The rows and columns a painting of ``brush`` touches, as (first row, last row, first column, last)."""
    canvas = QImage(view.across, view.down, QImage.Format.Format_ARGB32)
    canvas.fill(Qt.GlobalColor.transparent)
    painter = QPainter(canvas)
    brush.paint(painter, view)
    painter.end()
    pixels = np.frombuffer(canvas.constBits(), np.uint32).reshape(view.down, view.across)
    rows, columns = np.nonzero(pixels)
    return None if not len(rows) else (rows.min(), rows.max(), columns.min(), columns.max())


def test_the_brush_is_drawn_where_the_mouse_is_and_as_large_as_it_paints(qapp):
    brush, view = BrushTool(), viewport(4.0)
    assert drawn(brush, view) is None
    brush.move(QPointF(120, 80), view)
    assert drawn(brush, view) == pytest.approx((80 - RADIUS, 80 + RADIUS, 120 - RADIUS, 120 + RADIUS), abs=3)
    tall = viewport(2.0, aspect=2.0)
    assert drawn(brush, tall) == pytest.approx((80 - RADIUS, 80 + RADIUS, 120 - RADIUS, 119), abs=3)
    brush.leave()
    assert drawn(brush, view) is None
