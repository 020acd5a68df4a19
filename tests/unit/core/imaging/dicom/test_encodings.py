"""Files whose bytes are written in another encoding than they declare: the bytes count."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from pydicom.dataset import FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGLSLossless,
    RLELossless,
)

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.dicom.transfer_syntaxes import GE_PRIVATE
from semblance.core.imaging.image import Image
from tests.helpers.dicom_files import encoded, image

PIXELS = (np.arange(40 * 48).reshape(40, 48) * 31 % 4000).astype(np.int16)
PLAIN = [ImplicitVRLittleEndian, ExplicitVRLittleEndian, ExplicitVRBigEndian]


def written(syntax: str, **more: object) -> bytes:
    pixels = PIXELS.astype(">i2" if syntax == ExplicitVRBigEndian else "<i2")
    # A length of the first text that is 'AE' as two letters cannot be taken for a VR.
    return encoded(image(PIXELS, PixelData=pixels.tobytes(), ImageType=["ORIGINAL"], **more), syntax)


def declaring(data: bytes, syntax: str) -> bytes:
    """The file with another transfer syntax in its meta information."""
    start = data.index(b"\x02\x00\x10\x00UI") + 6
    old, new = struct.unpack("<H", data[start : start + 2])[0], syntax.encode() + b"\0" * (len(syntax) % 2)
    group = struct.unpack("<I", data[140:144])[0] + len(new) - old
    head = data[:140] + struct.pack("<I", group) + data[144:start] + struct.pack("<H", len(new)) + new
    return head + data[start + 2 + old :]


def read(data: bytes) -> Image:
    return DicomImages(io.BytesIO(data), "made up").image(0)


@pytest.mark.parametrize("declared", [*PLAIN, DeflatedExplicitVRLittleEndian])
@pytest.mark.parametrize("syntax", PLAIN)
def test_the_bytes_tell_the_encoding_not_the_declaration(declared, syntax):
    found = read(declaring(written(syntax, RescaleIntercept=-7), declared))
    np.testing.assert_array_equal(found.pixels, PIXELS)
    assert found.values.intercept == -7
    assert len(found.remarks) == (declared != syntax)


@pytest.mark.parametrize("syntax", PLAIN)
def test_a_file_without_preamble_and_declaration_is_read(syntax):
    data = written(syntax)
    np.testing.assert_array_equal(read(data[144 + struct.unpack("<I", data[140:144])[0] :]).pixels, PIXELS)


@pytest.mark.parametrize("declared", [JPEGBaseline8Bit, JPEG2000Lossless, JPEGLSLossless, RLELossless])
def test_raw_pixels_under_a_compressed_syntax_are_read(declared):
    found = read(declaring(written(ExplicitVRLittleEndian), declared))
    np.testing.assert_array_equal(found.pixels, PIXELS)
    assert "Explicit VR Little Endian" in str(found.remarks[0])
    with pytest.raises(BadInput, match="cut off"):
        read(declaring(written(ExplicitVRLittleEndian, Rows=41), declared))


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, ExplicitVRBigEndian])
def test_raw_pixels_of_no_stated_length_are_read_up_to_their_end(syntax):
    data, little = written(syntax), syntax == ExplicitVRLittleEndian
    raw = PIXELS.astype("<i2" if little else ">i2").tobytes()
    length = struct.pack("<I" if little else ">I", len(raw))
    assert data.count(length + raw) == 1
    end = struct.pack("<HHI" if little else ">HHI", 0xFFFE, 0xE0DD, 0)
    found = read(data.replace(length + raw, b"\xff\xff\xff\xff" + raw + end))
    np.testing.assert_array_equal(found.pixels, PIXELS)
    assert len(found.remarks) == 1


@pytest.mark.parametrize("syntax", [JPEG2000Lossless, JPEGLSLossless, RLELossless])
@pytest.mark.parametrize("declared", [ExplicitVRLittleEndian, JPEGBaseline8Bit, RLELossless, JPEGLSLossless])
def test_compressed_pixels_are_decoded_by_what_they_are(syntax, declared):
    dataset = image(PIXELS)
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.compress(
        syntax, encoding_plugin={RLELossless: "pydicom", JPEGLSLossless: "pyjpegls"}.get(syntax, "pylibjpeg")
    )
    found = read(declaring(encoded(dataset, syntax), declared))
    np.testing.assert_array_equal(found.pixels, PIXELS)
    assert len(found.remarks) == (declared != syntax)


def test_unknown_bytes_in_place_of_compressed_pixels_are_refused():
    dataset = image(PIXELS, PixelData=encapsulate([b"\1\2\3\4" * 40]))
    with pytest.raises(BadInput, match="damaged at their start"):
        read(encoded(dataset, JPEG2000Lossless))


def test_the_private_syntax_of_ge_has_big_endian_pixels_and_a_little_endian_header():
    dataset = image(PIXELS, PixelData=PIXELS.astype(">i2").tobytes(), RescaleIntercept=-7)
    found = read(declaring(encoded(dataset, ImplicitVRLittleEndian), GE_PRIVATE))
    np.testing.assert_array_equal(found.pixels, PIXELS)
    assert (found.values.intercept, found.remarks) == (-7, ())


def test_compressed_pixels_of_an_unknown_kind_are_refused_where_they_are_declared_uncompressed():
    junk = encapsulate([b"\x12\x34" * 4000])
    data = encoded(image(PIXELS, PixelData=junk), JPEG2000Lossless)
    with pytest.raises(BadInput, match="declares uncompressed pixels, but they are compressed"):
        read(declaring(data, ExplicitVRLittleEndian))
