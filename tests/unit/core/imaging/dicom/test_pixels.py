"""Pixels against second decoders: pydicom's own, and every plug-in that can read the same file."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.pixels import get_decoder
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    RLELossless,
)

from semblance.core.errors import BadInput
from semblance.core.imaging import ImageAddress, ImageReader, open_image
from semblance.core.imaging.dicom.images import DicomImages
from tests.helpers.data import folder
from tests.helpers.dicom_files import ct_slice, encoded, image, save

UNREADABLE = {"12-bit JPEG": ("MR2_JPLY", "RG3_JPLY", "XA1_JPLY", "JPEG-lossy", "JPGExtended")}


def real_files() -> list[str]:
    where = folder()
    if where is None:
        return []
    found = (p for p in (where / "dicom").rglob("*") if p.is_file() and p.suffix in (".dcm", ""))
    return sorted(str(p.relative_to(where / "dicom")) for p in found if "dicomdir_tiny" not in p.parts)


def opened(data: bytes) -> DicomImages:
    return DicomImages(io.BytesIO(data), "made up")


@pytest.mark.filterwarnings("ignore::UserWarning:pydicom")
@pytest.mark.parametrize("name", real_files() or [pytest.param("", marks=pytest.mark.skip("no data"))])
def test_real_files_have_the_pixels_that_other_decoders_find(data, name):
    path = data / "dicom" / name
    reference = dcmread(path, force=True)
    syntax = reference.file_meta.get("TransferSyntaxUID") if hasattr(reference, "file_meta") else None
    with path.open("rb") as file:
        try:
            ours = DicomImages(file, name)
            frames = sorted({0, len(ours) // 2, len(ours) - 1})
            mine = [ours.stored(frame) for frame in frames]
        except BadInput as error:
            assert len(str(error)) > 20
            if name.startswith("broken/") or "PixelData" not in reference or syntax is None:
                return
            with pytest.raises((RuntimeError, ValueError)):
                get_decoder(syntax).as_array(reference, index=0)
            return
    try:
        decoder = get_decoder(syntax)
    except (NotImplementedError, TypeError, ValueError):
        assert "liver_deflate" in name or "Headless" in name
        return
    compared = 0
    for plugin in decoder.available_plugins or ("",):
        for frame, (stored, photometric) in zip(frames, mine, strict=True):
            options = {"decoding_plugin": plugin} if plugin else {}
            try:
                theirs, properties = decoder.as_array(reference, index=frame, raw=True, **options)
            except (RuntimeError, ValueError, NotImplementedError):
                continue
            assert photometric == properties["photometric_interpretation"] or "422" in photometric
            np.testing.assert_array_equal(stored, theirs)
            compared += 1
    assert compared or "liver_rle" in name


@pytest.mark.parametrize(
    "name", ["liver_deflate.dcm", "liver_rle.dcm"], ids=["each frame deflated", "bits run-length packed"]
)
def test_segmentations_packed_two_ways_are_the_plain_one(data, name):
    with ImageReader() as reader:
        with reader.stack(ImageAddress(data / "dicom/samples/liver.dcm")) as plain:
            expected = plain.volume()
        with reader.stack(ImageAddress(data / "dicom/samples" / name)) as packed:
            np.testing.assert_array_equal(packed.volume().voxels, expected.voxels)
            assert packed.spacing_mm == plain.spacing_mm
    assert expected.voxels.sum() > 1000


SYNTAXES = [
    ImplicitVRLittleEndian,
    ExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    DeflatedExplicitVRLittleEndian,
]


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda uid: uid.name)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.uint32])
@pytest.mark.parametrize("shape", [(5, 7), (3, 5, 7), (5, 7, 3), (2, 5, 7, 3)])
def test_plain_numbers_of_every_size_come_back(syntax, dtype, shape):
    info = np.iinfo(dtype)
    pixels = np.random.default_rng(0).integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    swapped = pixels.byteswap() if syntax == ExplicitVRBigEndian else pixels
    dataset = image(pixels)
    data = swapped.tobytes()
    if syntax == ExplicitVRBigEndian and pixels.dtype.itemsize == 1:
        data += b"\0" * (len(data) % 2)
        data = np.frombuffer(data, np.uint16).byteswap().tobytes()
    dataset.PixelData = data + b"\0" * (len(data) % 2)
    found = opened(encoded(dataset, syntax))
    frames = pixels.reshape(-1, 5, 7, 3) if shape[-1] == 3 else pixels.reshape(-1, 5, 7)
    assert len(found) == len(frames)
    for frame, expected in enumerate(frames):
        np.testing.assert_array_equal(found.stored(frame)[0], expected)


@pytest.mark.parametrize(("stored", "high"), [(12, 11), (12, 15), (10, 12), (15, 14)])
@pytest.mark.parametrize("signed", [False, True])
def test_bits_that_do_not_count_are_dropped(stored, high, signed):
    rng = np.random.default_rng(1)
    low = -(1 << stored - 1) if signed else 0
    values = rng.integers(low, low + (1 << stored), (6, 6))
    junk = rng.integers(0, 1 << 16, (6, 6))
    mask = ((1 << stored) - 1) << high - stored + 1
    words = (junk & ~mask & 0xFFFF) | ((values << high - stored + 1) & mask)
    dataset = image(words.astype(np.uint16), BitsStored=stored, HighBit=high)
    dataset.PixelRepresentation = int(signed)
    np.testing.assert_array_equal(opened(encoded(dataset)).stored(0)[0], values)


def test_frames_of_single_bits_need_not_begin_at_a_byte():
    bits = np.random.default_rng(2).integers(0, 2, (5, 3, 5)).astype(np.uint8)
    dataset = image(bits, BitsAllocated=1, BitsStored=1, HighBit=0)
    packed = np.packbits(bits.ravel(), bitorder="little").tobytes()
    dataset.PixelData = packed + b"\0" * (len(packed) % 2)
    found = opened(encoded(dataset))
    for frame in range(5):
        np.testing.assert_array_equal(found.stored(frame)[0], bits[frame])


@pytest.mark.parametrize(("keyword", "dtype"), [("FloatPixelData", "<f4"), ("DoubleFloatPixelData", "<f8")])
def test_floats_come_back(keyword, dtype):
    values = np.random.default_rng(3).normal(size=(4, 6)).astype(dtype)
    values[1, 1] = np.nan
    dataset = image(np.zeros((4, 6), np.uint16))
    del dataset.PixelData, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation
    dataset.BitsAllocated = values.dtype.itemsize * 8
    setattr(dataset, keyword, values.tobytes())
    found = opened(encoded(dataset))
    np.testing.assert_array_equal(found.stored(0)[0], values)
    pixels = found.image(0).pixels
    assert pixels.dtype == np.float32
    assert pixels[1, 1] == np.nanmin(values.astype(np.float32))


def test_planes_of_colours_are_put_together():
    pixels = np.random.default_rng(4).integers(0, 256, (4, 6, 3)).astype(np.uint8)
    dataset = image(pixels, PlanarConfiguration=1)
    dataset.PixelData = np.moveaxis(pixels, 2, 0).tobytes()
    np.testing.assert_array_equal(opened(encoded(dataset)).image(0).pixels, pixels)


def test_run_lengths_made_by_pydicom_are_read_frame_by_frame():
    pixels = np.repeat(np.arange(60, dtype=np.int16).reshape(3, 4, 5) - 30, 3, axis=2)
    dataset = image(pixels)
    encoded(dataset)
    dataset.compress(RLELossless, generate_instance_uid=False)
    out = io.BytesIO()
    dataset.save_as(out, enforce_file_format=True)
    found = opened(out.getvalue())
    for frame in range(3):
        np.testing.assert_array_equal(found.stored(frame)[0], pixels[frame])


def test_twelve_bit_jpeg_says_why_it_is_not_read(data):
    for name in UNREADABLE["12-bit JPEG"]:
        path = next((data / "dicom").rglob(f"{name}.dcm"))
        with pytest.raises(
            BadInput, match=r"12-bit JPEG \(JPEG Extended\), for which no decoder is installed"
        ):
            open_image(path)


@pytest.mark.parametrize("preamble", [True, False])
def test_a_file_is_known_by_its_content(tmp_path, preamble):
    pixels = np.arange(64, dtype=np.int16).reshape(8, 8)
    path = tmp_path / "IM0001"
    path.write_bytes(encoded(ct_slice(pixels), ImplicitVRLittleEndian, preamble=preamble))
    found = open_image(path)
    np.testing.assert_array_equal(found.pixels, pixels)
    assert (found.values.unit, found.spacing_mm) == ("HU", (0.5, 0.5))


def test_a_preamble_may_be_the_start_of_another_format(tmp_path):
    data = encoded(ct_slice(np.zeros((8, 8), np.int16)))
    path = tmp_path / "a.tif"
    path.write_bytes(b"II*\0" + data[4:])
    assert open_image(path).height == 8


def test_many_frames_are_a_stack_that_reads_one_at_a_time(tmp_path):
    pixels = np.arange(5 * 6 * 7, dtype=np.uint16).reshape(5, 6, 7)
    path = save(image(pixels, SpacingBetweenSlices=3, PixelSpacing=[0.5, 0.25]), tmp_path / "a")
    with ImageReader() as reader:
        address = ImageAddress(Path(path))
        assert reader.is_stack(address)
        np.testing.assert_array_equal(reader.open(address).pixels, pixels[2])
        with reader.stack(address) as stack:
            np.testing.assert_array_equal(stack.volume().voxels, pixels)
            assert stack.spacing_mm == (3, 0.5, 0.25)
        single = ImageAddress(Path(path), frame=4)
        assert not reader.is_stack(single)
        np.testing.assert_array_equal(reader.open(single).pixels, pixels[4])
        with pytest.raises(BadInput, match="no frame number 5"):
            reader.open(ImageAddress(Path(path), frame=5))
