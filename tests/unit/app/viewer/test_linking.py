from __future__ import annotations

import numpy as np
import pytest

from semblance.app.viewer.linking import linked_slice, linked_view, linked_window
from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image, ValueScale


def test_the_same_share_is_visible_of_an_image_of_another_size():
    source = Viewport(400, 200).resized(300, 300).zoomed(4, 220, 140)
    target = linked_view(source, Viewport(1000, 500).resized(300, 300))
    for left, top in ((0, 0), (150, 150), (299, 20)):
        x, y = source.to_image(left, top)
        assert target.to_image(left, top) == pytest.approx((x * 2.5, y * 2.5), abs=2)


def test_a_fitted_image_stays_fitted_and_turns_along():
    source = Viewport(400, 200).resized(300, 300).oriented(Orientation(1, True))
    target = linked_view(source, Viewport(100, 100).resized(200, 250))
    assert target.fitted
    assert target.orientation == Orientation(1, True)


def image(low, high, unit="", slope=1.0, dtype=np.int16):
    values = ValueScale(slope=slope, unit=unit)
    return display_image(Image(np.array([[low, high]], dtype=dtype), 1.0, values=values))


def test_hounsfield_units_stay_the_same_values():
    one, other = image(-1000, 1000, "HU"), image(-500, 1500, "HU", slope=2.0)
    window = Window(one.low + 100, one.low + 300)
    linked = linked_window(window, one, other)
    assert other.value(linked.low) == pytest.approx(one.value(window.low))
    assert other.value(linked.high) == pytest.approx(one.value(window.high))


def test_images_without_a_unit_share_their_range():
    one, other = image(0, 255, dtype=np.uint8), image(0, 4000, dtype=np.uint16)
    linked = linked_window(Window(64, 128), one, other)
    assert linked.low == pytest.approx(other.low + (other.high - other.low) / 4)
    assert linked.high == pytest.approx(other.low + (other.high - other.low) / 2)


def test_slices_go_along_from_end_to_end():
    assert [linked_slice(place, 10, 91) for place in (0, 5, 9)] == [0, 50, 90]
    assert linked_slice(0, 1, 9) == 4
