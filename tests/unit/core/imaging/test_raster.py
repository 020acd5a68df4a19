"""Every kind of image file comes out as the pixels that went in."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadInput
from semblance.core.imaging.raster import decode, size_of, unit_range
from tests.helpers.bad_images import animation, encoded, pages, pattern, png16

GREY = pattern()
COLOUR = pattern(channels=3)
DEEP = pattern().astype(np.uint16) * 257


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP", "PPM", "GIF"])
def test_grey_of_8_bits_is_read_exactly(kind):
    image = decode(encoded(GREY, kind), "a")
    assert image.pixels.dtype == np.uint8
    assert image.white == 255
    np.testing.assert_array_equal(image.pixels, GREY)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP", "PPM"])
def test_colour_is_read_exactly(kind):
    image = decode(encoded(COLOUR, kind), "a")
    assert image.is_colour
    np.testing.assert_array_equal(image.pixels, COLOUR)


@pytest.mark.parametrize("pixels", [GREY, COLOUR], ids=["grey", "colour"])
def test_jpeg_is_close(pixels):
    image = decode(encoded(pixels, "JPEG", quality=100, subsampling=0), "a")
    assert image.pixels.shape == pixels.shape
    assert np.abs(image.pixels.astype(int) - pixels).mean() < 3


@pytest.mark.parametrize(
    "data",
    [encoded(DEEP, "PNG"), encoded(DEEP, "TIFF"), b"P5 32 24 65535\n" + DEEP.astype(">u2").tobytes()],
    ids=["png", "tiff", "pgm"],
)
def test_grey_of_16_bits_is_read_exactly(data):
    image = decode(data, "a")
    assert image.pixels.dtype == np.uint16
    assert image.white == 65535
    np.testing.assert_array_equal(image.pixels, DEEP)


def test_big_endian_tiff_of_16_bits():
    rows = DEEP.astype(">u2").tobytes()
    tags = [
        (256, 4, 1, 32),
        (257, 4, 1, 24),
        (258, 3, 1, 16 << 16),
        (259, 3, 1, 1 << 16),
        (262, 3, 1, 1 << 16),
        (273, 4, 1, 8),
        (277, 3, 1, 1 << 16),
        (278, 4, 1, 24),
        (279, 4, 1, len(rows)),
    ]
    ifd = struct.pack(">H", len(tags)) + b"".join(struct.pack(">HHII", *tag) for tag in tags) + bytes(4)
    data = b"MM\0*" + struct.pack(">I", 8 + len(rows)) + rows + ifd
    np.testing.assert_array_equal(decode(data, "a").pixels, DEEP)


def test_white_is_zero_tiff_of_16_bits_is_turned_round():
    data = encoded(DEEP, "TIFF", tiffinfo={262: 0})
    np.testing.assert_array_equal(decode(data, "a").pixels, 65535 - DEEP)


def test_pgm_of_12_bits_fills_the_scale():
    data = b"P5 2 1 4095\n" + np.array([0, 4095], ">u2").tobytes()
    assert decode(data, "a").pixels.tolist() == [[0, 65535]]


def test_plain_text_pgm_and_bitmaps():
    assert decode(b"P2\n# made by hand\n2 2\n255\n0 64\n128 255\n", "a").pixels.tolist() == [
        [0, 64],
        [128, 255],
    ]
    assert decode(b"P1\n2 1\n1 0\n", "a").pixels.tolist() == [[0, 255]]


def test_one_bit_images_are_black_and_white():
    bits = Image.fromarray(GREY > 100)
    for kind in ("PNG", "TIFF", "BMP"):
        np.testing.assert_array_equal(decode(encoded(bits, kind), "a").pixels, (GREY > 100) * 255)


def test_colour_of_16_bits_is_read_at_8():
    deep = np.stack([DEEP, DEEP // 2, DEEP // 3], axis=2)
    image = decode(png16(deep, 2), "a")
    np.testing.assert_array_equal(image.pixels, deep >> 8)


def test_transparent_parts_lie_over_black():
    opaque = np.full((2, 2), 200, np.uint8)
    alpha = np.array([[0, 255], [128, 255]], np.uint8)
    grey = decode(encoded(np.dstack([opaque, alpha])), "a").pixels
    assert grey.tolist() == [[0, 200], [100, 200]]
    colour = decode(encoded(np.dstack([opaque, opaque, opaque, alpha])), "a").pixels
    assert colour[:, :, 1].tolist() == [[0, 200], [100, 200]]
    deep = np.dstack([opaque, alpha]).astype(np.uint16) * 257
    image = decode(png16(deep, 4), "a")
    assert image.pixels.tolist() == [[0, 200], [100, 200]]


def test_a_transparent_colour_is_black():
    image = Image.fromarray(np.array([[7, 9]], np.uint8))
    assert decode(encoded(image, transparency=7), "a").pixels.tolist() == [[0, 9]]


def test_palettes():
    colours = Image.fromarray(COLOUR).quantize(16)
    np.testing.assert_array_equal(decode(encoded(colours), "a").pixels, np.asarray(colours.convert("RGB")))
    greys = Image.fromarray(GREY).quantize(16)
    image = decode(encoded(greys), "a")
    assert not image.is_colour
    np.testing.assert_array_equal(image.pixels, np.asarray(greys.convert("L")))


def test_cmyk_becomes_rgb():
    cmyk = Image.fromarray(COLOUR).convert("CMYK")
    image = decode(encoded(cmyk, "TIFF"), "a")
    np.testing.assert_allclose(image.pixels, COLOUR, atol=1)
    assert decode(encoded(cmyk, "JPEG"), "a").pixels.shape == COLOUR.shape


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_turned_images_stand_upright(orientation, kind):
    turned = {
        1: GREY,
        2: GREY[:, ::-1],
        3: GREY[::-1, ::-1],
        4: GREY[::-1],
        5: GREY.T,
        6: np.rot90(GREY),
        7: np.rot90(GREY, 2).T,
        8: np.rot90(GREY, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"quality": 100} if kind == "JPEG" else {}
    image = decode(encoded(np.ascontiguousarray(turned), kind, exif=exif, **options), "a")
    np.testing.assert_allclose(image.pixels, GREY, atol=8 if kind == "JPEG" else 0)


def test_turned_image_of_16_bits():
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(np.ascontiguousarray(np.rot90(DEEP)), "PNG", exif=exif)
    np.testing.assert_array_equal(decode(data, "a").pixels, DEEP)


def test_disordered_exif_does_not_hinder():
    data = encoded(GREY, "PNG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    np.testing.assert_array_equal(decode(data, "a").pixels, GREY)


def test_float_within_unit_range_is_unchanged():
    values = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    image = decode(encoded(values, "TIFF"), "a")
    assert image.white == 1.0
    np.testing.assert_array_equal(image.pixels, values)


def test_other_numbers_fill_the_unit_range():
    hounsfield = np.array([[-1000, 0], [1000, 3000]], np.int32)
    image = decode(encoded(hounsfield, "TIFF"), "a")
    np.testing.assert_allclose(image.pixels, [[0, 0.25], [0.5, 1]])
    floats = np.array([[-1.0, np.nan], [np.inf, 3.0]], np.float32)
    np.testing.assert_allclose(decode(encoded(floats, "TIFF"), "a").pixels, [[0, 0], [0, 1]])
    constant = np.full((2, 2), 7.0, np.float32)
    assert decode(encoded(constant, "TIFF"), "a").pixels.max() == 0


def test_extreme_floats_stay_finite():
    spread = unit_range(np.array([[-1.7e308, 1.7e308]]), "a")
    assert np.isfinite(spread).all()


def test_image_without_any_number_is_refused():
    with pytest.raises(BadInput, match=r"No pixel of 'a\.tif' is a finite"):
        decode(encoded(np.full((2, 2), np.nan, np.float32), "TIFF"), "a.tif")


def test_one_pixel_is_an_image():
    assert decode(encoded(np.array([[7]], np.uint8)), "a").pixels.tolist() == [[7]]


def test_a_frame_can_be_requested():
    for seed in range(3):
        np.testing.assert_array_equal(decode(pages(), "a", frame=seed).pixels, pattern(seed=seed))
    assert decode(animation("PNG"), "a", frame=1).width == 32
    with pytest.raises(BadInput, match="no image number 3"):
        decode(pages(), "a", frame=3)


def test_a_reduced_copy_beside_the_image_is_no_second_page():
    image, small = Image.fromarray(GREY), Image.fromarray(GREY[::2, ::2])
    small.encoderinfo = {"tiffinfo": {254: 1}}
    out = io.BytesIO()
    image.save(out, "TIFF", save_all=True, append_images=[small])
    np.testing.assert_array_equal(decode(out.getvalue(), "a").pixels, GREY)


def test_size_without_decoding():
    assert size_of(encoded(COLOUR, "JPEG"), "a") == ("JPEG", 32, 24)
