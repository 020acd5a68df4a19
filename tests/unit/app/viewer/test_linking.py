from __future__ import annotations

import numpy as np
import pytest

from semblance.app.viewer.linking import (
    is_same_frame,
    linked_slice,
    linked_view,
    linked_window,
    registered_view,
)
from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.in_plane_shift import InPlaneShift
from semblance.core.imaging.slice_plane import SlicePlane, StackLocation
from semblance.core.workflows.imaging.view_images import StackFacts


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


def stack(slices, spacing=None, way="S", frame="", height=0.0):
    directions = None if spacing is None else (way, "P", "L")
    first = SlicePlane((0, 0, height), (1, 0, 0), (0, 1, 0), (1, 1), frame)
    location = StackLocation(first, (0, 0, spacing or 1.0))
    return StackFacts(slices, 0, None if spacing is None else (spacing, 1.0, 1.0), directions, location)


def test_slices_without_positions_are_linked_by_their_share_of_the_volume():
    assert [linked_slice(place, stack(10), stack(91), (0, 0)) for place in (0, 5, 9)] == [0, 50, 90]
    assert linked_slice(0, stack(1), stack(9), (0, 0)) == 4
    across = stack(10, 2.0, "A")
    assert linked_slice(9, across, stack(91, 1.0), (0, 0)) == 90


def test_slices_in_one_frame_of_reference_are_at_the_same_position():
    thin, thick = stack(100, 1.0, frame="f", height=-50.0), stack(20, 5.0, frame="f", height=-40.0)
    assert [linked_slice(place, thin, thick, (7, 7)) for place in (0, 10, 60, 99)] == [0, 0, 10, 18]
    assert linked_slice(10, thick, thin, (7, 7)) == 60
    assert not is_same_frame(stack(5, 1.0), stack(5, 1.0))


def test_slices_of_two_people_are_as_many_mm_from_those_side_by_side():
    one, other = stack(100, 1.0, frame="f"), stack(40, 2.5, frame="g")
    assert [linked_slice(place, one, other, (50, 10)) for place in (50, 60, 0)] == [10, 14, 0]
    turned = stack(40, 2.5, "I")
    assert linked_slice(60, one, turned, (50, 10)) == 6


def test_a_registered_image_lies_on_the_other_in_mm_in_every_orientation():
    shift = InPlaneShift(right=10.0, down=-20.0, is_mm=True, before=0.5, match=0.9)
    for orientation in (Orientation(), Orientation(1, True), Orientation(2), Orientation(3)):
        source = Viewport(400, 200).resized(300, 300).oriented(orientation).zoomed(3, 170, 140)
        target = Viewport(100, 100).resized(300, 300).oriented(orientation)
        found = registered_view(source, target, shift, (0.5, 0.5), (2.0, 2.0))
        for left, top in ((20, 30), (150, 150), (280, 90)):
            x, y = source.to_image(left, top)
            mm = (x - 200) * 0.5 - 10.0, (y - 100) * 0.5 + 20.0
            assert found.to_image(left, top) == pytest.approx((50 + mm[0] / 2, 50 + mm[1] / 2), abs=0.6)
