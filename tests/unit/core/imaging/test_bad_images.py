"""No file, however broken, brings more than one sentence about it."""

from __future__ import annotations

import struct
import tracemalloc
import warnings
import zlib

import numpy as np
import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging.raster import decode, size_of
from semblance.core.imaging.thumbnail import inspect
from tests.helpers.bad_images import animation, bmp_claiming, encoded, pages, pattern, png_chunk, png_claiming

WHOLE = {
    "png": encoded(pattern(channels=3)),
    "palette.png": encoded(pattern(), bits=4),
    "jpg": encoded(pattern(64, 96, 3), "JPEG"),
    "progressive.jpg": encoded(pattern(64, 96, 3), "JPEG", progressive=True),
    "tif": encoded(pattern(), "TIFF"),
    "lzw.tif": encoded(pattern(), "TIFF", compression="tiff_lzw"),
    "bmp": encoded(pattern(), "BMP"),
    "pgm": encoded(pattern(), "PPM"),
    "gif": encoded(pattern(), "GIF"),
}


def complaint(data: bytes, name: str = "scan 1.png") -> BadInput:
    """The error of a bad file; decoding and inspecting must agree on it."""
    with pytest.raises(BadInput) as decoding:
        decode(data, name)
    with pytest.raises(BadInput) as inspecting:
        inspect(data, name)
    assert inspecting.value.message == decoding.value.message
    assert f"'{name}'" in decoding.value.message
    assert decoding.value.hint
    return decoding.value


def test_empty():
    assert "is empty" in complaint(b"").message


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_cut_off(name, share):
    data = WHOLE[name]
    message = complaint(data[: int(len(data) * share)], f"x.{name}").message
    assert "cut off" in message or "damaged" in message


@pytest.mark.parametrize(
    ("data", "looks_like"),
    [
        (b"Dear doctor,\n", "a text file"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"PK\x03\x04" + bytes(40), "a zip"),
        (bytes(128) + b"DICM" + bytes(40), "a DICOM file"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "a WebP"),
        (bytes(range(256)), "an unknown kind of file"),
    ],
)
def test_no_image_says_what_it_is(data, looks_like):
    error = complaint(data)
    assert looks_like in error.message
    assert "PNG" in error.hint


def test_wrong_ending_is_decoded_by_content():
    assert decode(WHOLE["jpg"], "really_a_jpeg.png").width == 96


@pytest.mark.parametrize(
    "data",
    [png_claiming(60_000, 60_000), bmp_claiming(60_000, 60_000), b"P5 60000 60000 255\n" + bytes(100)],
    ids=["png", "bmp", "pgm"],
)
def test_enormous_claims_are_refused_unread(data):
    tracemalloc.start()
    try:
        error = complaint(data)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "60,000 x 60,000 pixels, above the limit of 200 megapixels" in error.message
    assert most < 20_000_000
    with pytest.raises(BadInput, match="above the limit"):
        size_of(data, "x")


def test_a_large_claim_within_the_limit_leaks_no_warning():
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        complaint(png_claiming(12_000, 12_000))
    assert not [str(warning.message) for warning in raised]


@pytest.mark.parametrize(
    "data", [png_claiming(0, 0), png_claiming(0, 9), b"P5 0 0 255\n", bmp_claiming(0, 9)]
)
def test_images_without_pixels_are_refused(data):
    assert "has no pixels" in complaint(data).message


@pytest.mark.parametrize("data", [animation("GIF"), animation("PNG"), pages()], ids=["gif", "apng", "tiff"])
def test_several_images_in_one_are_refused(data):
    error = complaint(data)
    assert "one case is one" in error.message
    assert "single images" in error.hint


@pytest.mark.parametrize("name", WHOLE)
def test_mutated_files_raise_only_errors_for_users(name, capfd):
    rng = np.random.default_rng(sum(map(ord, name)))
    whole = np.frombuffer(WHOLE[name], np.uint8)
    for _ in range(60):
        data = whole.copy()
        spots = rng.integers(0, len(data), rng.integers(1, 8))
        if rng.random() < 0.5:
            spots = spots % 64
        data[spots] = rng.integers(0, 256, len(spots))
        end = rng.integers(1, len(data) + 1) if rng.random() < 0.3 else len(data)
        for read in (decode, inspect):
            try:
                read(data[:end].tobytes(), "mutant")
            except SemblanceError as error:
                assert "'mutant'" in error.message
    # The library behind compressed TIFF writes complaints of its own to stderr; stdout belongs to us.
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("interlace", [0, 1])
def test_a_png_whose_pixels_end_early_is_cut_off(interlace):
    """Its stream is whole and its checksums are right, so Pillow shows the missing rows black."""

    def png(rows: int) -> bytes:
        header = struct.pack(">IIBBBBB", 9, 11, 8, 0, 0, 0, interlace)
        chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)

    # A byte a pixel and one for each row, or for each row of each pass.
    passes = [(2, 2), (1, 2), (3, 1), (2, 3), (5, 3), (4, 6), (9, 5)]
    whole = sum(rows * (columns + 1) for columns, rows in passes) if interlace else 11 * 10
    assert not decode(png(whole), "black.png").pixels.any()
    with pytest.raises(BadInput, match="cut off"):
        decode(png(whole - 1), "short.png")
