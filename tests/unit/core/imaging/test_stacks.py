from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadInput
from semblance.core.imaging import ImageAddress, ImageReader, Region, open_image


@pytest.fixture
def reader():
    with ImageReader() as opened:
        yield opened


@pytest.fixture
def voxels():
    return np.random.default_rng(0).integers(-1000, 1000, (2, 9, 8, 7)).astype(np.int16)


def slices_in(folder, count=5, size=(6, 4)):
    paths = []
    for number in range(count):
        path = folder / f"{number}.png"
        Image.fromarray(np.full(size, 10 * number, np.uint8)).save(path)
        paths.append(ImageAddress(path))
    return ImageAddress(paths[0].container, slices=tuple(paths))


def test_several_files_are_a_stack_read_on_request(tmp_path, reader):
    address = slices_in(tmp_path)
    assert reader.is_stack(address)
    stack = reader.stack(address)
    assert stack.shape == (5, 6, 4)
    assert [int(stack.image(place).pixels[0, 0]) for place in range(5)] == [0, 10, 20, 30, 40]
    assert stack.volume().voxels[:, 2, 2].tolist() == [0, 10, 20, 30, 40]
    with pytest.raises(BadInput, match="has no slice 5: it has 5"):
        stack.image(5)
    (tmp_path / "3.png").unlink()
    assert stack.image(2).pixels[0, 0] == 20
    with pytest.raises(BadInput, match=r"3\.png' does not exist"):
        stack.image(3)


def test_a_volume_is_shown_by_its_middle_slice_or_its_regions(tmp_path, reader):
    address = slices_in(tmp_path)
    assert reader.open(address).pixels[0, 0] == 20
    assert reader.open(address, Region(0, 0, 2, 2, z=3, depth=2)).pixels[0, 0] == 40
    assert reader.open(address, Region(0, 0, 2, 2)).pixels[0, 0] == 20
    assert open_image(address, Region(0, 0, 2, 2, z=99)).pixels[0, 0] == 40


def test_a_slice_of_another_size_is_refused(tmp_path, reader):
    address = slices_in(tmp_path)
    Image.fromarray(np.zeros((3, 3), np.uint8)).save(tmp_path / "4.png")
    with pytest.raises(BadInput, match=r"4\.png' is 3 x 3 pixels, the volume's first slice 4 x 6"):
        reader.stack(address).image(4)


@pytest.mark.parametrize("packed", [False, True])
def test_rows_of_an_array_file_can_be_volumes(tmp_path, reader, voxels, packed):
    path = tmp_path / "crops.npz"
    (np.savez_compressed if packed else np.savez)(path, ct=voxels, flat=voxels[0])
    address = ImageAddress(path, "ct", 1)
    assert reader.is_stack(address)
    assert reader.is_array(address)
    stack = reader.stack(address)
    assert stack.shape == (9, 8, 7)
    np.testing.assert_array_equal(stack.volume().voxels, voxels[1])
    np.testing.assert_array_equal(reader.open(address).pixels, voxels[1, 4])
    np.testing.assert_array_equal(reader.open(address, Region(0, 0, 1, 1, z=2)).pixels, voxels[1, 2])
    np.testing.assert_array_equal(reader.stack(ImageAddress(path, "flat")).image(3).pixels, voxels[0, 3])
    assert not reader.is_stack(ImageAddress(path, "flat", 3))
    with pytest.raises(BadInput, match="single image, not a volume"):
        reader.stack(ImageAddress(path, "flat", 3))


def test_all_slices_of_an_array_share_one_scale(tmp_path, reader, voxels):
    path = tmp_path / "crops.npz"
    np.savez(path, ct=voxels)
    stack = reader.stack(ImageAddress(path, "ct", 0))
    image = stack.image(0)
    assert (image.black, image.white) == (voxels[0].min(), voxels[0].max())
    expected = (voxels[0, 0] - float(voxels[0].min())) / (float(voxels[0].max()) - float(voxels[0].min()))
    np.testing.assert_allclose(image.grey(), expected, atol=1e-6)


def test_a_volume_of_medmnist_is_a_row_of_bytes(tmp_path, reader):
    images = np.random.default_rng(1).integers(0, 256, (4, 28, 28, 28)).astype(np.uint8)
    path = tmp_path / "organmnist3d.npz"
    np.savez(path, train_images=images)
    inside = tmp_path / "in.zip"
    with zipfile.ZipFile(inside, "w") as archive:
        archive.write(path, "a/organ.npz")
    for address in (
        ImageAddress(path, "train_images", 2),
        ImageAddress(inside, "a/organ.npz!train_images", 2),
    ):
        stack = reader.stack(address)
        assert stack.shape == (28, 28, 28)
        np.testing.assert_array_equal(stack.image(5).pixels, images[2, 5])


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(24, dtype=np.float64).reshape(2, 3, 4), np.float32),
        (np.arange(24, dtype=np.int64).reshape(2, 3, 4) - 5, np.int16),
        (np.arange(24, dtype=np.int64).reshape(2, 3, 4) * 1000, np.uint16),
        (np.arange(24, dtype=np.int64).reshape(2, 3, 4) * 100_000, np.float32),
        (np.arange(24).reshape(2, 3, 4) > 11, np.uint8),
        (np.arange(24, dtype=np.uint8).reshape(2, 3, 4, 1), np.uint8),
    ],
)
def test_numbers_of_any_kind_become_voxels(tmp_path, reader, array, dtype):
    path = tmp_path / "a.npz"
    np.savez(path, a=array)
    volume = reader.stack(ImageAddress(path, "a")).volume()
    assert volume.voxels.dtype == dtype
    shown = array * 255.0 if array.dtype == bool else array
    np.testing.assert_array_equal(volume.voxels, np.squeeze(shown).reshape(volume.voxels.shape))


def test_text_and_numberless_arrays_are_refused(tmp_path, reader):
    path = tmp_path / "a.npz"
    np.savez(path, nan=np.full((2, 3, 4), np.nan), text=np.full((2, 3, 4), "x"))
    with pytest.raises(BadInput, match=r"No pixel of .* finite number"):
        reader.stack(ImageAddress(path, "nan"))
    with pytest.raises(BadInput, match="contains text"):
        reader.stack(ImageAddress(path, "text"))


def test_an_image_file_is_no_stack(tmp_path, reader):
    out = io.BytesIO()
    Image.fromarray(np.zeros((3, 3), np.uint8)).save(out, "PNG")
    (tmp_path / "a.png").write_bytes(out.getvalue())
    assert not reader.is_stack(ImageAddress(tmp_path / "a.png"))
    assert not reader.is_array(ImageAddress(tmp_path / "a.png"))


def test_an_array_beside_volumes_tells_their_spacing(tmp_path):
    ct = np.zeros((2, 6, 5, 4), np.int16)
    for spacing, expected in (
        (np.array([[2.0, 0.5, 0.5], [1.5, 0.7, 0.7]]), (1.5, 0.7, 0.7)),
        (np.array([3, 1, 1]), (3.0, 1.0, 1.0)),
        (np.array([3.0, -1.0, 1.0]), None),
        (np.array([1.0, 1.0]), None),
        (np.array(["1", "1", "1"]), None),
    ):
        np.savez(tmp_path / "a.npz", ct=ct, spacing=spacing)
        with ImageReader() as reader:
            address = ImageAddress(tmp_path / "a.npz", "ct", 1)
            with reader.stack(address) as stack:
                assert stack.spacing_mm == expected
                assert stack.image(2).spacing_mm == (None if expected is None else expected[1:])
            assert reader.open(address).spacing_mm == (None if expected is None else expected[1:])
