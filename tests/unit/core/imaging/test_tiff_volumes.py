"""TIFF files of several pages are volumes; those with several channels or times are several."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.image_reader import ImageReader
from tests.helpers.volume_files import tiff

VOXELS = np.arange(4 * 6 * 5, dtype=np.uint16).reshape(4, 6, 5) * 7


def stack_of(path, data, pages=()):
    path.write_bytes(data)
    with ImageReader() as reader:
        slices = tuple(ImageAddress(path, frame=page) for page in pages)
        with reader.stack(ImageAddress(path, slices=slices)) as stack:
            return np.stack(
                [stack.image(place).physical_values() for place in range(len(stack))]
            ), stack.spacing_mm


def test_pages_are_slices_with_their_numbers(tmp_path):
    for dtype in (np.uint8, np.uint16, np.int16, np.float32):
        for compression in (None, "zlib"):
            found, spacing = stack_of(tmp_path / "a.tif", tiff(VOXELS.astype(dtype), compression=compression))
            np.testing.assert_array_equal(found, VOXELS.astype(dtype))
            assert spacing is None


def test_pages_whose_white_is_zero_are_turned_over_as_single_images_are(tmp_path):
    import tifffile

    for dtype, white in ((np.uint8, 255), (np.uint16, 65535)):
        pixels = np.ascontiguousarray((VOXELS % 256).astype(dtype))
        tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="miniswhite")
        found, _ = stack_of(tmp_path / "a.tif", (tmp_path / "a.tif").read_bytes())
        np.testing.assert_array_equal(found, white - pixels.astype(int))


def test_spacing_of_ome_and_imagej(tmp_path):
    ome = {"axes": "ZYX"} | {
        f"PhysicalSize{axis}{what}": value
        for axis, size in (("X", 250.0), ("Y", 0.5), ("Z", 0.002))
        for what, value in (("", size), ("Unit", {250.0: "µm", 0.5: "mm", 0.002: "m"}[size]))
    }
    found, spacing = stack_of(tmp_path / "a.ome.tif", tiff(VOXELS, ome=True, metadata=ome))
    np.testing.assert_array_equal(found, VOXELS)
    np.testing.assert_allclose(spacing, (2.0, 0.5, 0.25))
    settings = {
        "imagej": True,
        "resolution": (4.0, 2.0),
        "metadata": {"axes": "ZYX", "spacing": 2.0, "unit": "mm"},
    }
    found, spacing = stack_of(tmp_path / "j.tif", tiff(VOXELS, **settings))
    np.testing.assert_array_equal(found, VOXELS)
    np.testing.assert_allclose(spacing, (2.0, 0.5, 0.25))


def test_channels_and_times_are_volumes_of_their_own(tmp_path):
    many = np.stack([VOXELS + n for n in range(6)]).reshape(2, 3, *VOXELS.shape).transpose(0, 2, 1, 3, 4)
    file = tmp_path / "a.ome.tif"
    file.write_bytes(tiff(many, ome=True, metadata={"axes": "TZCYX"}))
    with ImageReader() as reader:
        volumes = reader.volume_file(ImageAddress(file))
        assert (volumes.count, volumes.shape) == (6, (4, 6, 5))
        for part in range(6):
            np.testing.assert_array_equal(
                stack_of(file, file.read_bytes(), volumes.pages(part))[0], VOXELS + part
            )
        with pytest.raises(BadInput, match="holds 6 volumes"):
            reader.stack(ImageAddress(file))


def test_pages_of_several_sizes_and_damage_are_refused(tmp_path):
    import tifffile

    mixed, cut = tmp_path / "mixed.tif", tmp_path / "cut.tif"
    with tifffile.TiffWriter(mixed) as writer:
        writer.write(np.zeros((20, 30), np.uint8))
        writer.write(np.zeros((25, 30), np.uint8))
    cut.write_bytes(tiff(VOXELS)[:-300])
    with ImageReader() as reader:
        for file in (mixed, cut):
            with pytest.raises(BadInput, match=file.name):
                reader.stack(ImageAddress(file)).volume()


def test_a_reduced_copy_is_no_second_slice(tmp_path):
    import tifffile

    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write(np.full((20, 30), 9, np.uint8))
        writer.write(np.zeros((10, 15), np.uint8), subfiletype=1)
    with ImageReader() as reader:
        assert not reader.is_stack(ImageAddress(tmp_path / "a.tif"))
        assert reader.open(ImageAddress(tmp_path / "a.tif")).pixels.max() == 9
