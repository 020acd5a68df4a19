"""Images by address: files, entries of zips, rows of arrays."""

from __future__ import annotations

import io
import os
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging import ImageAddress, ImageReader, open_image
from semblance.core.imaging.arrays import ArrayFile
from semblance.core.imaging.image_reader import image_of
from tests.helpers.bad_images import AWKWARD_NAMES, encoded, pages, pattern, write_zip

STACK = np.random.default_rng(1).integers(0, 256, (5, 7, 9), np.uint8)


def saved(compressed: bool = False, **arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(out, **arrays)
    return out.getvalue()


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_a_plain_file_of_any_name(tmp_path, name):
    (tmp_path / name).write_bytes(encoded(pattern()))
    np.testing.assert_array_equal(open_image(tmp_path / name).pixels, pattern())
    np.testing.assert_array_equal(open_image(str(tmp_path / name)).pixels, pattern())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2])
def test_an_entry_of_a_zip(tmp_path, method):
    path = write_zip(tmp_path / "x.zip", {"a/1!.png": encoded(pattern()), "b.tif": pages()}, method)
    with ImageReader() as reader:
        assert reader.read_bytes(ImageAddress(path, "a/1!.png")) == encoded(pattern())
        np.testing.assert_array_equal(reader.open(ImageAddress(path, "a/1!.png")).pixels, pattern())
        np.testing.assert_array_equal(reader.open(ImageAddress(path, "b.tif", 2)).pixels, pattern(seed=2))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_of_an_array(tmp_path, compressed, order):
    data = saved(compressed, images=np.asarray(STACK, order=order), labels=np.arange(5))
    (tmp_path / "x.npz").write_bytes(data)
    zipped = write_zip(tmp_path / "y.zip", {"in/x.npz": data})
    with ImageReader() as reader:
        for row in (4, 0):
            for where in (
                ImageAddress(tmp_path / "x.npz", "images", row),
                ImageAddress(zipped, "in/x.npz!images", row),
            ):
                np.testing.assert_array_equal(reader.open(where).pixels, STACK[row])
                assert reader.read_bytes(where) == STACK[row].tobytes()


def test_rows_of_uncompressed_arrays_are_read_alone(tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(saved(images=STACK))
    file = ArrayFile(path, "x.npz")
    row = file.row("images", 3)
    assert row is not None
    np.testing.assert_array_equal(row, STACK[3])
    file.close()
    path.write_bytes(saved(True, images=STACK))
    file = ArrayFile(path, "x.npz")
    assert file.row("images", 3) is None
    assert file.header("images").shape == (5, 7, 9)
    file.close()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (("", None), "seems to be a zip archive"),
        (("images", 5), "has no row 5"),
        (("images", -1), "has no row -1"),
        (("objects", 0), "does not consist of numbers"),
        (("nothing", 0), "has no entry 'nothing'"),
        (("labels", 0), "not an image"),
    ],
)
def test_bad_addresses(tmp_path, address, message):
    path = tmp_path / "x.npz"
    objects = np.array([{"a": 1}], dtype=object)
    path.write_bytes(saved(images=STACK, objects=objects, labels=np.arange(5)))
    with pytest.raises(BadInput, match=message):
        open_image(ImageAddress(path, *address))


def test_pickles_in_arrays_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = tmp_path / "x.npz"
    path.write_bytes(saved(images=np.array([Trap()], dtype=object)))
    with pytest.raises(BadInput):
        open_image(ImageAddress(path, "images", 0))
    assert not (tmp_path / "sprung").exists()


def test_false_headers_are_refused_before_memory_is_allocated(tmp_path):
    body = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        body, {"descr": "|u1", "fortran_order": False, "shape": (10**6, 10**6)}
    )
    path = write_zip(tmp_path / "x.npz", {"images.npy": body.getvalue() + bytes(100)})
    with pytest.raises(BadInput, match="damaged"):
        open_image(ImageAddress(path, "images", 0))


def test_mutated_arrays_raise_only_errors_for_users(tmp_path):
    whole = saved(images=STACK)
    rng = np.random.default_rng(3)
    path = tmp_path / "x.npz"
    for _ in range(200):
        data = bytearray(whole)
        for spot in rng.integers(0, 200, rng.integers(1, 4)):
            data[spot] = rng.integers(0, 256)
        path.write_bytes(bytes(data))
        try:
            open_image(ImageAddress(path, "images", 1))
        except SemblanceError as error:
            assert "x.npz" in str(error)


def test_a_changed_container_is_read_again(tmp_path):
    path = tmp_path / "x.zip"
    with ImageReader() as reader:
        for seed in (1, 2):
            write_zip(path, {"a.png": encoded(pattern(seed=seed)), "pad": bytes(seed)})
            np.testing.assert_array_equal(reader.open(ImageAddress(path, "a.png")).pixels, pattern(seed=seed))


def test_more_containers_than_the_cache_holds(tmp_path):
    with ImageReader() as reader:
        for _ in range(2):
            for number in range(7):
                path = tmp_path / f"{number}.zip"
                if not path.exists():
                    write_zip(path, {"a.png": encoded(pattern(seed=number))})
                image = reader.open(ImageAddress(path, "a.png"))
                np.testing.assert_array_equal(image.pixels, pattern(seed=number))


def test_several_threads_may_share_a_reader(tmp_path):
    files = {f"{number}.png": encoded(pattern(seed=number)) for number in range(40)}
    path = write_zip(tmp_path / "x.zip", files)
    with ImageReader() as reader, ThreadPoolExecutor(4) as pool:
        images = pool.map(lambda name: reader.open(ImageAddress(path, name)).pixels, list(files) * 3)
        for number, pixels in enumerate(images):
            np.testing.assert_array_equal(pixels, pattern(seed=number % 40))


@pytest.mark.parametrize(
    ("name", "shown"),
    [("gone.png", "gone.png"), ("x" * 300 + ".png", "x" * 20), ("nul\0.png", r"nul\x00.png")],
)
def test_missing_files_are_named(tmp_path, name, shown):
    with pytest.raises(BadInput, match=re.escape(shown)):
        open_image(tmp_path / name)
    with pytest.raises(BadInput):
        open_image(ImageAddress(tmp_path / name, "a.png"))


def test_folders_and_pipes_are_no_files(tmp_path):
    with pytest.raises(BadInput, match="not a plain file"):
        open_image(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.png")
        with pytest.raises(BadInput, match="not a plain file"):
            open_image(tmp_path / "pipe.png")


@pytest.mark.parametrize(
    ("values", "white", "dtype"),
    [
        (np.array([[True, False]]), 255.0, np.uint8),
        (STACK[:, :, :3], 255.0, np.uint8),
        (STACK[:, :, :1], 255.0, np.uint8),
        (STACK[0].astype(np.uint16), 65535.0, np.uint16),
        (STACK[0].astype(">u2"), 65535.0, np.uint16),
        (STACK[0].astype(np.int16) - 100, 1.0, np.float32),
        (STACK[0].astype(np.float64), 1.0, np.float32),
    ],
)
def test_arrays_as_images(values, white, dtype):
    image = image_of(values, "a")
    assert (image.white, image.pixels.dtype) == (white, np.dtype(dtype))
    assert image.pixels.shape[:2] == values.shape[:2]
    assert image.is_colour == (values.ndim == 3 and values.shape[2] == 3)


@pytest.mark.parametrize("values", [np.zeros((0, 4)), np.zeros(5), np.zeros((2, 2, 4)), np.array([["a"]])])
def test_arrays_that_are_no_images(values):
    with pytest.raises(BadInput, match="'a'"):
        image_of(values, "a")


def test_real_containers(data):
    images = data / "images"
    with ImageReader() as reader:
        assert reader.open(ImageAddress(images / "mias_a.zip", "mdb003.pgm")).pixels.shape == (1024, 1024)
        assert reader.open(ImageAddress(images / "corel1k_a.zip", "africa/0.jpg")).is_colour
        frame = reader.open(ImageAddress(images / "pneumoniamnist.npz", "val_images", 269))
    with np.load(images / "pneumoniamnist.npz") as arrays:
        np.testing.assert_array_equal(frame.pixels, arrays["val_images"][269])
