from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.app.viewer.viewport import MAX_ZOOM, Orientation, Viewport

sizes = st.integers(1, 5000)
points = st.tuples(st.floats(0, 800), st.floats(0, 600))


def fitted(width=400, height=200, across=300, down=300, aspect=1.0):
    return Viewport(width, height, aspect=aspect).resized(across, down)


def test_fit_shows_the_whole_image_in_the_middle():
    view = fitted()
    assert view.zoom == 0.75
    assert view.to_widget(0, 0) == (0, 75)
    assert view.to_widget(400, 200) == (300, 225)
    assert view.visible_area() == (0, 0, 400, 200)


def test_tall_pixels_are_drawn_tall():
    view = fitted(100, 100, 300, 300, aspect=2.0)
    left, top = view.to_widget(0, 0)
    right, bottom = view.to_widget(100, 100)
    assert (bottom - top) == pytest.approx(2 * (right - left))


@given(sizes, sizes, points, st.floats(-400, 400), st.floats(-400, 400), st.integers(-8, 8))
def test_there_and_back_is_the_same_point(width, height, point, right, down, turns):
    view = fitted(width, height, 800, 600).zoomed(1.25**turns, *point).panned(right, down)
    x, y = view.to_image(*point)
    assert view.to_widget(x, y) == pytest.approx(point, abs=1e-6)


@given(st.floats(100, 500), st.floats(100, 500), st.integers(1, 20))
def test_zooming_keeps_what_is_under_the_mouse(left, top, turns):
    view = fitted(3000, 2500, 600, 600)
    at = view.to_image(left, top)
    for _ in range(turns):
        view = view.zoomed(1.25, left, top)
        # The image's corner lies on whole widget pixels.
        assert view.to_widget(*at) == pytest.approx((left, top), abs=1.01)


def test_zoom_ends_at_the_whole_image_and_at_large_squares():
    view = fitted(3000, 2500, 600, 600)
    near = view
    for _ in range(60):
        near = near.zoomed(1.25, 300, 300)
    assert near.zoom == MAX_ZOOM
    for _ in range(90):
        near = near.zoomed(0.8, 100, 100)
    assert near == view


def test_a_small_image_can_be_viewed_in_its_own_size():
    view = fitted(64, 64, 320, 320)
    assert view.zoom == 5
    for _ in range(20):
        view = view.zoomed(0.8, 0, 0)
    assert view.zoom == 1


def test_an_image_cannot_be_lost_by_panning():
    view = fitted(3000, 2500, 600, 600).zoomed(4, 300, 300).panned(1e6, -1e6)
    x0, y0, x1, y1 = view.visible_area()
    assert x1 > x0
    assert y1 > y0


def test_a_fitted_image_fits_again_when_the_widget_grows():
    assert fitted().resized(600, 600).zoom == 1.5


def test_a_zoomed_image_keeps_its_middle_when_the_widget_grows():
    view = fitted(3000, 2500, 600, 600).zoomed(8, 200, 250)
    larger = view.resized(900, 700)
    assert larger.zoom == view.zoom
    assert (larger.x, larger.y) == pytest.approx((view.x, view.y))


ORIENTATIONS = [Orientation(turns, mirrored) for turns in range(4) for mirrored in (False, True)]


@pytest.mark.parametrize("orientation", ORIENTATIONS, ids=str)
def test_points_of_a_rotated_image_are_read_where_they_are_displayed(orientation):
    view = (
        Viewport(200, 100, aspect=1.5)
        .resized(300, 280)
        .oriented(orientation)
        .zoomed(3, 70, 90)
        .panned(11, -7)
    )
    x, y = view.to_image(40, 120)
    assert view.to_widget(x, y) == pytest.approx((40, 120))
    dx, dy = view.to_image(50, 120)[0] - x, view.to_image(50, 120)[1] - y
    right, down = orientation.direction(1, 0)
    assert (dx * right > 0, dy * down > 0) == (right != 0, down != 0)


@pytest.mark.parametrize("orientation", ORIENTATIONS, ids=str)
def test_rotation_and_flip_match_what_is_displayed(orientation):
    view = Viewport(200, 100).resized(100, 100).oriented(orientation)
    point = np.array(view.to_widget(30, 20)) - 50
    turned = np.array(view.oriented(orientation.turned(1)).to_widget(30, 20)) - 50
    assert turned == pytest.approx((-point[1], point[0]))
    flipped = np.array(view.oriented(orientation.flipped()).to_widget(30, 20)) - 50
    assert flipped == pytest.approx((-point[0], point[1]))


def test_the_middle_stays_when_a_zoomed_image_is_turned():
    view = Viewport(200, 100).resized(100, 80).zoomed(4, 20, 30)
    turned = view.oriented(Orientation(1, True))
    assert turned.to_image(50, 40) == pytest.approx(view.to_image(50, 40), abs=0.5)
