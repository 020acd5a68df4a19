"""Volumes: slices, boxes cut out of them, and what their numbers mean."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image, ValueScale, ValueWindow
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import ArrayStack, Volume

HU = ValueScale(slope=2.0, intercept=-1024.0, unit="HU", windows=(ValueWindow(-160, 240, "abdomen"),))


def stack():
    voxels = np.arange(5 * 6 * 7, dtype=np.int16).reshape(5, 6, 7)
    return ArrayStack(Volume(voxels, HU, (2.0, 0.5, 0.5), "made", white=100, black=-100))


def test_a_slice_keeps_spacing_and_meaning():
    image = stack().image(2)
    assert image.spacing_mm == (0.5, 0.5)
    assert image.physical_values()[0, 0] == 2 * (2 * 42) - 1024


def test_a_box_is_cut_out_at_its_position():
    box = stack().volume(Region(5, 4, 10, 10, z=3, depth=9))
    assert box.origin == (3, 4, 5)
    assert np.array_equal(box.voxels, stack().volume().voxels[3:, 4:, 5:])
    assert box.physical_values()[0, 0, 0] == 2 * float(box.voxels[0, 0, 0]) - 1024


def test_a_box_behind_the_last_slice_is_refused():
    with pytest.raises(BadInput, match="5 slices"):
        stack().volume(Region(0, 0, 2, 2, z=5, depth=2))


def test_a_volume_too_large_for_memory_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr("semblance.core.imaging.volume.MAX_ARRAY_BYTES", 100)
    with pytest.raises(BadInput, match="420 bytes"):
        stack().volume()


def test_the_middle_of_the_region_is_shown_first():
    assert stack().middle() == 2
    assert stack().middle(Region(0, 0, 2, 2, z=3, depth=2)) == 4
    assert stack().middle(Region(0, 0, 2, 2, z=30)) == 4


def test_grey_runs_from_black_to_white_and_padding_is_black():
    pixels = np.array([[-2000, -100, 0, 100, 300]], dtype=np.int16)
    plain = Image(pixels, 100, black=-100)
    assert plain.grey().tolist() == [[0.0, 0.0, 0.5, 1.0, 1.0]]
    padded = Image(pixels, 100, black=-100, values=ValueScale(padding=(-2000, -2000), inverse=True))
    assert padded.grey().tolist() == [[0.0, 1.0, 0.5, 0.0, 0.0]]
