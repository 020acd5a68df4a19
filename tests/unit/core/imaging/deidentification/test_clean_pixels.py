"""Boxes are blacked out in every kind of pixels, and nothing else changes."""

from __future__ import annotations

import io

import numpy as np
import pytest
from pydicom import dcmread
from pydicom.dataset import FileMetaDataset
from pydicom.uid import (
    UID,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGLSLossless,
    RLELossless,
)

from semblance.core.imaging.deidentification.clean_pixels import (
    clean_pixels,
    find_text,
    has_overlay_bits,
    remove_overlay_bits,
)
from semblance.core.imaging.dicom.dicom_file import open_dicom
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.text_detector import TextBox
from tests.helpers.dicom_files import encoded, image

BOX = TextBox(5, 3, 8, 4)


def file_of(pixels, syntax=ExplicitVRLittleEndian, **more):
    dataset = image(pixels, **more)
    if syntax == ExplicitVRBigEndian:
        # Bytes are words there.
        dataset.PixelData = pixels.view(np.uint16).byteswap().tobytes()
    if syntax not in (ExplicitVRBigEndian, ExplicitVRLittleEndian, ImplicitVRLittleEndian):
        dataset.file_meta = dcmread(io.BytesIO(encoded(dataset))).file_meta
        dataset.compress(syntax, generate_instance_uid=False)
    return io.BytesIO(encoded(dataset, syntax))


def cleaned(file, boxes):
    dataset = dcmread(io.BytesIO(file.getvalue()))
    images = DicomImages.of(open_dicom(file, "x.dcm"))
    syntax = clean_pixels(dataset, images, boxes) or images.syntax
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = UID(syntax)
    dataset.file_meta.MediaStorageSOPClassUID, dataset.file_meta.MediaStorageSOPInstanceUID = (
        dataset.SOPClassUID,
        dataset.SOPInstanceUID,
    )
    content = io.BytesIO()
    dataset.save_as(content, enforce_file_format=True)
    return dcmread(io.BytesIO(content.getvalue())), DicomImages(content, "y.dcm")


def noise(dtype, shape=(40, 48)):
    low, high = (-1000, 3000) if np.dtype(dtype).kind == "i" else (10, 200)
    return np.random.default_rng(3).integers(low, high, shape).astype(dtype)


@pytest.mark.parametrize(
    "syntax",
    [
        ExplicitVRLittleEndian,
        ImplicitVRLittleEndian,
        ExplicitVRBigEndian,
        RLELossless,
        JPEGLSLossless,
        JPEG2000Lossless,
    ],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16])
def test_only_the_box_changes_in_every_transfer_syntax(syntax, dtype):
    pixels = noise(dtype)
    out, images = cleaned(file_of(pixels, syntax), [[BOX]])
    expected = pixels.copy()
    expected[BOX.part] = pixels.min()
    assert np.array_equal(images.stored(0)[0], expected)
    assert out.file_meta.TransferSyntaxUID == syntax
    assert out.BurnedInAnnotation == "NO"


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, RLELossless, JPEG2000Lossless])
def test_colours_stay_and_the_box_is_black(syntax):
    pixels = noise(np.uint8, (2, 40, 48, 3))
    _, images = cleaned(file_of(pixels, syntax), [[], [BOX]])
    pixels[1][BOX.part] = 0
    assert all(np.array_equal(images.stored(frame)[0], pixels[frame]) for frame in (0, 1))


def test_colours_of_luma_and_chroma_are_black_too():
    pixels = noise(np.uint8, (40, 48, 3))
    before = DicomImages(file_of(pixels, PhotometricInterpretation="YBR_FULL"), "x").image(0).pixels
    _, images = cleaned(file_of(pixels, PhotometricInterpretation="YBR_FULL"), [[BOX]])
    after = images.image(0).pixels
    assert not after[BOX.part].any()
    before[BOX.part] = 0
    assert np.array_equal(after, before)


def test_black_is_the_highest_number_where_images_are_inverted():
    pixels = noise(np.uint8)
    _, images = cleaned(file_of(pixels, PhotometricInterpretation="MONOCHROME1"), [[BOX]])
    assert (images.stored(0)[0][BOX.part] == pixels.max()).all()


def test_black_is_the_darkest_colour_of_a_palette():
    pixels = np.random.default_rng(0).integers(0, 3, (40, 48)).astype(np.uint8)
    palette = {}
    for colour in ("Red", "Green", "Blue"):
        palette[f"{colour}PaletteColorLookupTableDescriptor"] = [3, 0, 8]
        palette[f"{colour}PaletteColorLookupTableData"] = bytes((200, 20, 90, 0))
    file = file_of(pixels, PhotometricInterpretation="PALETTE COLOR", **palette)
    _, images = cleaned(file, [[BOX]])
    assert (images.stored(0)[0][BOX.part] == 1).all()


def test_scans_of_one_bit_are_cleaned():
    pixels = np.random.default_rng(0).integers(0, 2, (40, 48)).astype(np.uint8)
    packed = np.packbits(pixels.reshape(-1), bitorder="little").tobytes()
    file = file_of(pixels, BitsAllocated=1, BitsStored=1, HighBit=0, PixelData=packed)
    _, images = cleaned(file, [[BOX]])
    pixels[BOX.part] = 0
    assert np.array_equal(images.stored(0)[0], pixels)


def test_without_a_box_the_bytes_stay():
    file = file_of(noise(np.uint16), JPEGLSLossless)
    before = dcmread(io.BytesIO(file.getvalue())).PixelData
    out, _ = cleaned(file, [[]])
    assert out.PixelData == before


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, RLELossless, JPEGLSLossless, JPEG2000Lossless])
def test_an_overlay_in_unused_bits_goes_and_the_numbers_stay(syntax):
    pixels = noise(np.uint16)
    drawn = pixels | (np.random.default_rng(1).integers(0, 2, pixels.shape) << 12).astype(np.uint16)
    file = file_of(drawn, syntax)
    dataset = dcmread(file)
    dataset.BitsStored, dataset.HighBit = 12, 11
    dataset.add_new(0x60000102, "US", 12)
    assert has_overlay_bits(dataset)
    images = DicomImages.of(open_dicom(io.BytesIO(encoded(dataset, syntax)), "x.dcm"))
    dataset.file_meta.TransferSyntaxUID = UID(remove_overlay_bits(dataset, images) or syntax)
    out = io.BytesIO()
    dataset.save_as(out, enforce_file_format=True)
    assert np.array_equal(DicomImages(out, "y.dcm").stored(0)[0], pixels)
    assert np.array_equal(dcmread(io.BytesIO(out.getvalue())).pixel_array, pixels)


def test_text_found_in_one_frame_counts_for_frames_that_show_the_same():
    frames = noise(np.uint8, (3, 40, 48))
    frames[1][BOX.part] = frames[0][BOX.part]
    found = iter(([BOX], [], []))
    images = DicomImages(file_of(frames), "x")
    assert find_text(images, lambda image: next(found)) == [[BOX], [BOX], []]
