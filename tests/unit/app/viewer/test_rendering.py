from __future__ import annotations

import numpy as np
import pytest

from semblance.app.viewer.rendering import MAX_PIXELS, Renderer
from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image

FULL = Window(0, 255)


def pixels_of(image):
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : image.width() * (image.depth() // 8)]


@pytest.fixture
def noisy():
    return np.random.default_rng(3).integers(0, 256, (700, 900)).astype(np.uint8)


def test_in_its_own_size_the_pixels_are_those_of_the_image(noisy):
    renderer = Renderer(display_image(Image(noisy, 255.0)))
    view = Viewport(900, 700).resized(900, 700)
    image, target = renderer.visible(view, 1.0, FULL)
    assert (target.x(), target.y(), target.width(), target.height()) == (0, 0, 900, 700)
    np.testing.assert_array_equal(pixels_of(image), noisy)


def test_only_the_visible_part_is_rendered(noisy):
    renderer = Renderer(display_image(Image(noisy, 255.0)))
    view = Viewport(900, 700).resized(90, 70).zoomed(20, 45, 35)
    image, target = renderer.visible(view, 1.0, FULL)
    assert image.width() * image.height() < 60 * 50
    x0, y0, x1, y1 = view.visible_area()
    left, top = view.to_widget(x0, y0)
    right, bottom = view.to_widget(x1, y1)
    assert target.left() <= left
    assert target.top() <= top
    assert target.right() >= right
    assert target.bottom() >= bottom


@pytest.mark.parametrize(("across", "level"), [(900, 0), (450, 1), (300, 1), (225, 2), (100, 2)])
def test_the_coarsest_level_that_is_fine_enough(noisy, across, level):
    renderer = Renderer(display_image(Image(noisy, 255.0)))
    view = Viewport(900, 700).resized(across, across)
    assert renderer.level_for(view, 1.0) == level
    assert renderer.level_for(view, 2.0) <= level


def test_a_reduced_image_lies_where_the_whole_one_would(noisy):
    renderer = Renderer(display_image(Image(noisy, 255.0), max_bytes=200_000))
    _, target = renderer.visible(Viewport(900, 700).resized(900, 700), 1.0, FULL)
    assert (target.x(), target.y(), target.width(), target.height()) == (0, 0, 900, 700)


def test_odd_sides_lose_no_border():
    pixels = np.zeros((601, 603), np.uint8)
    pixels[-1], pixels[:, -1] = 255, 255
    renderer = Renderer(display_image(Image(pixels, 255.0)))
    view = Viewport(603, 601).resized(151, 151)
    image, target = renderer.visible(view, 1.0, FULL)
    assert pixels_of(image)[-1].min() >= 60
    # Beyond the image's edge lies at most the level's own rounding.
    assert 151 <= target.right() < 152


def test_no_more_is_windowed_than_a_screen_needs():
    wide = np.zeros((3000, 4000), np.uint8)
    renderer = Renderer(display_image(Image(wide, 255.0)))
    image, _ = renderer.visible(Viewport(4000, 3000).resized(4000, 3000), 1.0, FULL)
    assert image.width() * image.height() <= MAX_PIXELS


def test_window_and_inversion_reach_the_screen():
    grey = np.repeat(np.arange(256, dtype=np.uint8)[None, :], 4, axis=0)
    renderer = Renderer(display_image(Image(grey, 255.0)))
    view = Viewport(256, 4).resized(256, 4)
    window = Window(64, 128)
    image, _ = renderer.visible(view, 1.0, window)
    np.testing.assert_array_equal(pixels_of(image)[0], window.table(256))
    image, _ = renderer.visible(view, 1.0, window, inverted=True)
    np.testing.assert_array_equal(pixels_of(image)[0], 255 - window.table(256))


def test_colours_are_shown_as_they_are():
    pixels = np.random.default_rng(0).integers(0, 256, (9, 13, 3)).astype(np.uint8)
    renderer = Renderer(display_image(Image(pixels, 255.0)))
    view = Viewport(13, 9).resized(13, 9)
    image, _ = renderer.visible(view, 1.0, None)
    np.testing.assert_array_equal(pixels_of(image).reshape(9, 13, 3), pixels)
    image, _ = renderer.visible(view, 1.0, None, inverted=True)
    np.testing.assert_array_equal(pixels_of(image).reshape(9, 13, 3), 255 - pixels)


def test_the_same_view_is_not_made_twice(noisy):
    renderer = Renderer(display_image(Image(noisy, 255.0)))
    view = Viewport(900, 700).resized(300, 300)
    first, _ = renderer.visible(view, 1.0, FULL)
    again, _ = renderer.visible(view, 1.0, FULL)
    assert first.cacheKey() == again.cacheKey()
    other, _ = renderer.visible(view, 1.0, Window(0, 100))
    assert other.cacheKey() != first.cacheKey()


def test_nothing_is_drawn_outside_the_visible_area(noisy):
    renderer = Renderer(display_image(Image(noisy, 255.0)))
    image, _ = renderer.visible(Viewport(900, 700, 100, 100, 1.0, 1.0, -500, 0, False), 1.0, FULL)
    assert image.isNull()


def test_a_turned_image_shows_its_pixels_turned():
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    renderer = Renderer(display_image(Image(pixels, 255.0)))
    view = Viewport(4, 3).resized(3, 4).oriented(Orientation(1, True))
    image, target = renderer.visible(view, 1.0, FULL)
    assert (image.width(), image.height()) == (3, 4)
    assert (target.width(), target.height()) == (3, 4)
    shown = [[image.pixelColor(x, y).red() for x in range(3)] for y in range(4)]
    assert np.array_equal(shown, np.rot90(pixels[:, ::-1], -1))
