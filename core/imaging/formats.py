"""Recognise file formats by their first bytes and by their names."""

from __future__ import annotations

from typing import BinaryIO

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.dicom_file import looks_like_dicom
from semblance.core.language import tr_lazy

#: Bytes that :func:`sniff` and :func:`foreign_format` use.
HEAD_BYTES = 136

#: Endings of image files; the format itself is recognised by the first bytes.
IMAGE_SUFFIXES = frozenset(
    {".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".tif", ".tiff", ".bmp", ".dib", ".gif"}
    | {".pgm", ".ppm", ".pnm", ".pbm"}
)

READABLE = tr_lazy("PNG, JPEG, TIFF, BMP, PGM/PPM or GIF")

#: The name of the DICOM format in :func:`sniff`.
DICOM = "DICOM"
#: That of TIFF.
TIFF = "TIFF"

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"II*\0", TIFF),
    (b"MM\0*", TIFF),
    (b"II+\0", TIFF),
    (b"MM\0+", TIFF),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
)

_BITMAP_HEADERS = frozenset(size.to_bytes(4, "little") for size in (12, 16, 40, 52, 56, 64, 108, 124))

#: (offset, bytes there, what it is)
_FOREIGN = (
    (0, b"PK\x03\x04", tr_lazy("a zip archive")),
    (0, b"%PDF", tr_lazy("a PDF document")),
    (0, b"\x00\x00\x00\x0cjP  ", tr_lazy("a JPEG 2000 image")),
    (0, b"\xff\x4f\xff\x51", tr_lazy("a JPEG 2000 image")),
    (0, b"8BPS", tr_lazy("a Photoshop image")),
    (0, b"\x1f\x8b", tr_lazy("a gzip archive")),
    (0, b"\x93NUMPY", tr_lazy("a NumPy array")),
    (0, b"\x89HDF", tr_lazy("an HDF5 file")),
    (8, b"WEBP", tr_lazy("a WebP image")),
    (4, b"ftyp", tr_lazy("a HEIC or AVIF image or a video")),
    (128, b"DICM", tr_lazy("a DICOM file")),
)


def sniff(head: bytes) -> str | None:
    """The image format ("PNG", "JPEG", "TIFF", "GIF", "BMP", "PNM", "DICOM") of a file's first
    bytes, if any. The preamble of a DICOM file may be the start of a TIFF file."""
    if looks_like_dicom(head):
        return DICOM
    for start, name in _IMAGES:
        # Two letters are few: the size of the header that follows proves a bitmap.
        if head.startswith(start) and (name != "BMP" or len(head) < 18 or head[14:18] in _BITMAP_HEADERS):
            return name
    if len(head) > 2 and head[:1] == b"P" and head[1:2] in b"123456" and head[2:3] in b" \t\r\n#":
        return "PNM"
    return None


def foreign_format(head: bytes) -> str:
    """A description of the format of a file that is not what was expected."""
    found = sniff(head)
    if found is not None and found != DICOM:
        return tr_lazy("a {format} image", format=found)
    for offset, mark, name in _FOREIGN:
        if head.startswith(mark, offset):
            return name
    if head.lstrip()[:1] == b"<":
        return tr_lazy("a web page or XML text")
    if head and all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in head):
        return tr_lazy("a text file")
    return tr_lazy("an unknown kind of file")


def check_whole(file: BinaryIO, name: str) -> tuple[str, ...]:
    """Check that a slice's file is complete, without decoding it; remarks about how it is written.

    Raises:
        BadInput: it is empty, or a DICOM file whose pixels are missing or cut off.
    """
    head = file.read(HEAD_BYTES)
    if not head:
        raise BadInput(
            tr_lazy("'{name}' is empty (0 bytes).", name=name),
            "Copy it from its source again, or leave it out.",
        )
    if sniff(head) == DICOM:
        from semblance.core.imaging.dicom.images import check_dicom

        return check_dicom(file, name)
    return ()


def has_image_name(name: str) -> bool:
    """Whether ``name`` has the ending of a readable image."""
    # Called several times for every file of a source: a path object would take ten times as long.
    stem, _, ending = name.rpartition("/")[2].rpartition(".")
    return bool(stem) and f".{ending.lower()}" in IMAGE_SUFFIXES
