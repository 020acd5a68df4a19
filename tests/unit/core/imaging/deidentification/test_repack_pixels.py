"""Frames keep their pixels and lose everything else, in every compression that can be read."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.data import get_testdata_file
from pydicom.encaps import encapsulate, encapsulate_extended, generate_frames, parse_basic_offsets
from pydicom.uid import UID

from semblance.core.errors import BadInput
from semblance.core.imaging.deidentification.repack_pixels import clean_codestream, repack_pixels
from semblance.core.imaging.dicom.dicom_file import open_dicom, whole_dataset
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.dicom.pixel_layout import layout_of
from semblance.core.imaging.dicom.transfer_syntaxes import DEFLATED_FRAMES, JPEG_2000, JPEG_BASELINE, JPEG_LS
from tests.helpers.data import REASON, folder
from tests.helpers.dicom_files import encoded, image
from tests.helpers.planted_codestreams import planted_frames

TEXT = b"QUIXLEY^ZEBEDEE 1953-04-17"
#: Files of pydicom: baseline, extended, colour transforms of Adobe and JFIF, JPEG-LS, JPEG 2000, RLE.
OWN = (
    "JPEG-lossy.dcm", "SC_rgb_jpeg_dcmtk.dcm", "SC_rgb_dcmtk_+eb+cr.dcm", "SC_rgb_dcmtk_+eb+cy+np.dcm",
    "SC_rgb_dcmtk_+eb+cy+s4.dcm", "SC_jpeg_no_color_transform.dcm", "SC_jpeg_no_color_transform_2.dcm",
    "SC_rgb_jpeg_gdcm.dcm", "SC_rgb_jpeg_app14_dcmd.dcm", "SC_rgb_small_odd_jpeg.dcm", "JPEGLSNearLossless_08.dcm",
    "JPEGLSNearLossless_16.dcm", "MR_small_jpeg_ls_lossless.dcm", "SC_rgb_jls_lossy_line.dcm",
    "SC_rgb_jls_lossy_sample.dcm", "JPEG2000.dcm", "MR_small_jp2klossless.dcm", "GDCMJ2K_TextGBR.dcm",
    "693_J2KI.dcm", "examples_jpeg2k.dcm", "MR_small_RLE.dcm",
    "SC_rgb_rle.dcm", "SC_rgb_rle_16bit_2frame.dcm", "SC_rgb_rle_32bit.dcm", "rtdose_rle.dcm",
)  # fmt: skip
#: Of the real data: HTJ2K, lossless JPEG of both kinds, multi-frame and one-bit RLE.
REAL = (
    "HTJ2KLossless_08_RGB.dcm", "CT_JPEG70.dcm", "JPEG-LL.dcm", "JPGLosslessP14SV1_1s_1f_8b.dcm",
    "emri_small_jpeg_2k_lossless.dcm", "emri_small_RLE.dcm", "liver_rle.dcm", "RG3_J2KI.dcm", "OBXXXX1A_rle_2frame.dcm",
)  # fmt: skip


def file_called(name: str) -> Path:
    if name in OWN:
        found = get_testdata_file(name, download=False)
        assert found
        return Path(found)
    data = folder()
    if data is None:
        pytest.skip(REASON)
    return data / "dicom/samples" / name


def opened_file(content: bytes):
    return open_dicom(io.BytesIO(content), "x.dcm")


def decoded(content: bytes) -> list[np.ndarray]:
    images = DicomImages(io.BytesIO(content), "x.dcm")
    return [images.stored(frame)[0] for frame in range(min(2, len(images)))]


def with_frames(name: str, frames: list[bytes]) -> bytes:
    dataset = dcmread(file_called(name))
    for table in ("ExtendedOffsetTable", "ExtendedOffsetTableLengths"):
        if table in dataset:
            del dataset[table]
    dataset.PixelData = encapsulate(frames)
    dataset["PixelData"].is_undefined_length = True
    out = io.BytesIO()
    dataset.save_as(out, enforce_file_format=True)
    return out.getvalue()


@pytest.mark.parametrize("name", [*OWN, *REAL])
def test_what_is_planted_beside_the_pixels_goes_and_the_pixels_stay(name):
    content = file_called(name).read_bytes()
    opened = opened_file(content)
    layout = layout_of(opened)
    data = dcmread(io.BytesIO(content)).PixelData
    frames = list(generate_frames(data, number_of_frames=layout.frames))[: layout.frames]
    # No decoder of 12-bit JPEG is installed: there the frames are compared.
    before = [] if name == "JPEG-lossy.dcm" else decoded(content)
    alone = clean_codestream(frames[0], opened.syntax, layout)
    places = 0
    for place, planted in planted_frames(frames[0], opened.syntax, TEXT):
        assert TEXT[:10] in planted, place
        cleaned = clean_codestream(planted, opened.syntax, layout)
        assert TEXT[:10] not in cleaned, place
        assert cleaned == alone, place
        places += 1
    assert places >= 4
    if before:
        after = decoded(with_frames(name, [alone, *frames[1:]]))
        assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
    assert clean_codestream(alone, opened.syntax, layout) == alone


def test_deflated_frames_end_with_their_last_pixel():
    pixels = np.arange(48, dtype=np.uint8).reshape(6, 8)
    layout = layout_of(opened_file(encoded(image(pixels))))
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    longer = compressor.compress(pixels.tobytes() + TEXT) + compressor.flush()
    for planted in (longer, longer + TEXT):
        cleaned = clean_codestream(planted, DEFLATED_FRAMES, layout)
        assert zlib.decompress(cleaned, -zlib.MAX_WBITS) == pixels.tobytes()
        assert TEXT not in cleaned


@pytest.mark.parametrize("number", [92, 93, 94, 95, 100, 101, 102, 103, 104, 105, 106, 107, 108, 110, 204])
def test_videos_and_unknown_compressions_are_refused_by_name(number):
    layout = layout_of(opened_file(encoded(image(np.zeros((8, 8), np.uint8)))))
    syntax = f"1.2.840.10008.1.2.4.{number}"
    with pytest.raises(BadInput, match=r"cannot remove") as error:
        clean_codestream(b"\0\0\0\1\x67", syntax, layout)
    assert UID(syntax).name in str(error.value)


@pytest.mark.parametrize(
    "name", ["JPEG-lossy.dcm", "MR_small_jpeg_ls_lossless.dcm", "JPEG2000.dcm", "MR_small_RLE.dcm"]
)
def test_damaged_frames_are_refused_or_keep_what_can_be_decoded(name):
    content = file_called(name).read_bytes()
    opened = opened_file(content)
    layout = layout_of(opened)
    frame = next(generate_frames(dcmread(io.BytesIO(content)).PixelData, number_of_frames=1))
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(frame[: int(rng.integers(1, len(frame)))])
        for place in rng.integers(0, min(200, len(damaged)), 3):
            damaged[place] = int(rng.integers(256))
        try:
            assert clean_codestream(bytes(damaged), opened.syntax, layout)
        except BadInput:
            continue


@pytest.mark.parametrize("syntax", [JPEG_BASELINE, *sorted(JPEG_LS)])
def test_a_long_run_of_one_byte_is_read_once(syntax):
    layout = layout_of(opened_file(encoded(image(np.zeros((8, 8), np.uint8)))))
    # Read again from each of its bytes, as many would take days.
    fill, scan, end = b"\xff" * 4_000_000, b"\xff\xd8\xff\xda\0\2", b"\xff\xd9"
    assert clean_codestream(scan + b"\1" + fill + b"\xfe\0\2" + end, syntax, layout) == scan + b"\1" + end
    kept = scan + fill + b"\0\1" + end
    assert clean_codestream(kept, syntax, layout) == kept


@pytest.mark.parametrize(
    ("lengths", "packets"),
    [(b"\0\x10" * 2, b""), (b"\0\x10", b"\0" * 70_000)],
    ids=["more than tile-parts", "too short for its tile-part"],
)
def test_lengths_of_tile_parts_that_cannot_be_right_are_refused(lengths, packets):
    layout = layout_of(opened_file(encoded(image(np.zeros((8, 8), np.uint8)))))
    listed = b"\xff\x55" + (4 + len(lengths)).to_bytes(2, "big") + b"\0\0" + lengths
    tile = b"\xff\x90\0\x0a" + bytes(8) + b"\xff\x93" + packets + b"\xff\xd9"
    with pytest.raises(BadInput, match="damaged"):
        clean_codestream(b"\xff\x4f\xff\x51\0\2" + listed + tile, JPEG_2000, layout)


def repacked(content: bytes):
    opened = opened_file(content)
    dataset = whole_dataset(opened)
    dataset.file_meta = opened.dataset.file_meta
    left_out = repack_pixels(dataset, opened, Identity.of(dataset))
    out = io.BytesIO()
    dataset.save_as(out, enforce_file_format=True)
    return dcmread(io.BytesIO(out.getvalue())), out.getvalue(), left_out


@pytest.mark.parametrize("table", ["basic", "extended", "none", "fragments"])
def test_tables_of_offsets_are_right_after_frames_became_shorter(table):
    name = "SC_rgb_rle_16bit_2frame.dcm"
    dataset = dcmread(file_called(name))
    before = dataset.pixel_array
    frames = [
        one + TEXT * (3 + place)
        for place, one in enumerate(generate_frames(dataset.PixelData, number_of_frames=2))
    ]
    if table == "extended":
        dataset.PixelData, dataset.ExtendedOffsetTable, dataset.ExtendedOffsetTableLengths = (
            encapsulate_extended(frames)
        )
    else:
        dataset.PixelData = encapsulate(frames, 3 if table == "fragments" else 1, has_bot=table != "none")
    dataset["PixelData"].is_undefined_length = True
    content = io.BytesIO()
    dataset.save_as(content, enforce_file_format=True)
    after, written, left_out = repacked(content.getvalue())
    assert TEXT not in written and left_out > 0
    assert np.array_equal(after.pixel_array, before)
    assert ("ExtendedOffsetTable" in after) is (table == "extended")
    offsets = parse_basic_offsets(after.PixelData)
    if table == "extended":
        offsets = list(np.frombuffer(after.ExtendedOffsetTable, "<u8"))
    start = 8 + int.from_bytes(after.PixelData[4:8], "little")
    assert len(offsets) == 2
    assert all(after.PixelData[start + one : start + one + 4] == b"\xfe\xff\x00\xe0" for one in offsets)


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2"])
@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7), (4, 6, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
def test_uncompressed_pixels_end_with_the_last_frame(syntax, shape, dtype):
    pixels = np.random.default_rng(0).integers(0, 99, shape).astype(dtype)
    dataset = image(pixels)
    content = pixels.astype(pixels.dtype.newbyteorder(">" if syntax.endswith(".2.2") else "<")).tobytes()
    padded = content + b"\0" * (len(content) % 2)
    if syntax.endswith(".2.2") and pixels.itemsize == 1:
        padded = np.frombuffer(padded, np.uint16).byteswap().tobytes()
    dataset.PixelData = padded + TEXT
    after, written, left_out = repacked(encoded(dataset, syntax))
    assert TEXT not in written and left_out == len(TEXT)
    assert len(after.PixelData) == len(padded)
    assert np.array_equal(decoded(written)[0], pixels if pixels.ndim == 2 or shape[-1] == 3 else pixels[0])


def test_only_one_kind_of_pixels_is_kept():
    dataset = image(np.zeros((4, 4), np.uint8))
    dataset.DoubleFloatPixelData = TEXT.ljust(32)
    del dataset.PixelData
    dataset.FloatPixelData = b"\0" * 64 + TEXT
    dataset.BitsAllocated = 32
    after, written, _ = repacked(encoded(dataset))
    assert TEXT not in written
    assert "DoubleFloatPixelData" not in after and len(after.FloatPixelData) == 64


def test_a_name_that_only_decoding_would_reach_stops_the_file():
    dataset = dcmread(file_called("JPEG-lossy.dcm"))
    dataset.PatientName = "Quixley^Zebedee"
    frame = next(generate_frames(dataset.PixelData, number_of_frames=1))
    end = frame.rfind(b"\xff\xd9")
    dataset.PixelData = encapsulate([frame[:end] + b"quixley" + frame[end:]])
    dataset["PixelData"].is_undefined_length = True
    content = io.BytesIO()
    dataset.save_as(content, enforce_file_format=True)
    with pytest.raises(BadInput, match="have a name"):
        repacked(content.getvalue())


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2"])
@pytest.mark.parametrize("allocated", [8, 16, 32])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("shift", [0, 2])
def test_bits_that_no_number_counts_are_cleared_and_copies_of_the_sign_stay(syntax, allocated, signed, shift):
    stored = allocated // 2
    kind = np.dtype(f"{'i' if signed else 'u'}{allocated // 8}")
    numbers = np.arange(64).reshape(8, 8) % (1 << stored)
    if signed:
        numbers = np.where(numbers >> (stored - 1), numbers - (1 << stored), numbers)
    clean = (numbers << shift).astype(kind)
    order = ">" if syntax.endswith(".2.2") else "<"

    def repacked_bits(pixels) -> bytes:
        dataset = image(np.zeros((8, 8), np.uint16))
        dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit = allocated, stored, stored - 1 + shift
        dataset.PixelRepresentation = int(signed)
        dataset.PixelData = pixels.astype(kind.newbyteorder(order)).tobytes()
        dataset["PixelData"].VR = "OB" if allocated == 8 else "OW"
        opened = opened_file(encoded(dataset, syntax))
        after = whole_dataset(opened)
        repack_pixels(after, opened, Identity.of(after))
        return bytes(after.PixelData)

    before = clean.astype(kind.newbyteorder(order)).tobytes()
    assert repacked_bits(clean) == before
    text = np.frombuffer(TEXT * 3, np.uint8)[:64].reshape(8, 8).astype(np.int64)
    counted = ((1 << stored) - 1) << shift
    full = (1 << allocated) - 1
    planted = (clean.astype(np.int64) & counted) | (((text | 1) << (stored + shift)) & full & ~counted)
    planted = planted.astype(np.uint64).astype(kind.str.replace("i", "u"))
    assert planted.tobytes() != clean.tobytes()
    assert repacked_bits(planted.view(kind)) == before
