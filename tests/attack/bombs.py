"""Small files that say or unpack to far more than they are."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import numpy as np
from pydicom.uid import DeflatedExplicitVRLittleEndian

from tests.helpers.bad_images import png_chunk
from tests.helpers.dicom_files import encoded, image

SIDE = 14_000


def _zeros_png(bits: int, colour: int, channels: int, side: int = SIDE) -> bytes:
    """A whole PNG of zeros. Parts that were flushed completely can be repeated, so a hundredth is packed."""
    rows, packer = bytes((side // 100) * (1 + side * channels * bits // 8)), zlib.compressobj(9, wbits=-15)
    part = packer.compress(rows) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 1
    for _ in range(100):
        checksum = zlib.adler32(rows, checksum)
    body = b"\x78\xda" + 100 * part + b"\x03\x00" + checksum.to_bytes(4, "big")
    header = struct.pack(">IIBBBBB", side, side, bits, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", body), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)


def _deflated_dicom() -> bytes:
    """800 MB of pixels in a DICOM object of 800 kB."""
    return encoded(image(np.zeros((8, 10_000, 10_000), np.uint8)), DeflatedExplicitVRLittleEndian)


def _zip(name: str, size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as entry:
        for _ in range(size >> 20):
            entry.write(bytes(1 << 20))
    return out.getvalue()


def _array() -> bytes:
    out = io.BytesIO()
    np.savez_compressed(
        out, train_images=np.zeros((500_000, 28, 28), np.uint8), train_labels=np.zeros((500_000, 1), np.uint8)
    )
    return out.getvalue()


def _metric() -> bytes:
    """A metric handed on whose inner file unpacks to 2 GB."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.json", "{}")
        with archive.open("metric.zip", "w") as entry:
            for _ in range(2000):
                entry.write(bytes(1 << 20))
    return out.getvalue()


def _backup() -> bytes:
    """A list of 200 MB of JSON."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("backup.json", "[" + "0," * 100_000_000 + "0]")
    return out.getvalue()


#: File name -> what makes it.
BOMBS: dict[str, Callable[[], bytes]] = {
    "grey.png": lambda: _zeros_png(8, 0, 1),
    "grey16.png": lambda: _zeros_png(16, 0, 1),
    "rgba.png": lambda: _zeros_png(8, 6, 4),
    "rgba16.png": lambda: _zeros_png(16, 6, 4),
    "rgba within the limit.png": lambda: _zeros_png(8, 6, 4, 7_900),
    "deflated.dcm": _deflated_dicom,
    "image.zip": lambda: _zip("a/1.bmp", 900 << 20),
    "within the limit.zip": lambda: _zip("a/1.csv", 190 << 20),
    "array.npz": _array,
    "commas.csv": lambda: b"a,label\n" + b"," * 9_000_000 + b"\n",
    "rows.csv": lambda: b"a,label\n" + b"1\n" * 4_500_000,
    "labels.csv": lambda: b"file,label\n" + b"a,b\n" * 2_400_000,
    "columns.csv": lambda: ",".join(f"c{i}" for i in range(1_200_000)).encode() + b"\n",
    "metric.semblance-metric": _metric,
    "backup.zip": _backup,
}
