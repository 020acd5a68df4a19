"""Images and archives as strangers send them: broken, huge, disguised."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

#: Names people give to files.
AWKWARD_NAMES = (
    "with space.png",
    'it\'s "quoted".png',
    "胸部レントゲン.png",
    "صورة.png",
    "Zürich ÅÄÖ ñ.png",
    "#1 (50%) [a];b,c!d.png",
    "n" * 246 + ".png",
)


def pattern(height: int = 24, width: int = 32, channels: int = 1, seed: int = 0) -> np.ndarray:
    """Grey (h, w) or colour (h, w, 3) bytes that no symmetry maps onto themselves."""
    noise = np.random.default_rng(seed).integers(0, 60, (height, width, channels))
    rows, columns = np.mgrid[0:height, 0:width]
    ramp = (150 * rows / height + 40 * columns / width)[:, :, None]
    pixels = (ramp + noise).astype(np.uint8)
    return pixels[:, :, 0] if channels == 1 else pixels


def encoded(pixels: np.ndarray | Image.Image, kind: str = "PNG", **options: object) -> bytes:
    """File bytes of an image."""
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_claiming(width: int, height: int, bits: int = 8, colour: int = 0) -> bytes:
    """A PNG of a few bytes that says it is ``width`` x ``height``."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    body = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", body) + png_chunk(b"IEND", b"")
    )


def png16(pixels: np.ndarray, colour: int) -> bytes:
    """A 16-bit PNG of (h, w, c) values, which Pillow itself writes only in grey."""
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    return _png(header, rows)


def _png(header: bytes, rows: bytes) -> bytes:
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)


def bmp_claiming(width: int, height: int) -> bytes:
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + header


def animation(kind: str, frames: int = 3) -> bytes:
    """A GIF or PNG that moves."""
    images = [Image.fromarray(pattern(seed=seed)) for seed in range(frames)]
    out = io.BytesIO()
    images[0].save(out, kind, save_all=True, append_images=images[1:], duration=100)
    return out.getvalue()


def pages(count: int = 3) -> bytes:
    """A TIFF of several pages."""
    images = [Image.fromarray(pattern(seed=seed)) for seed in range(count)]
    out = io.BytesIO()
    images[0].save(out, "TIFF", save_all=True, append_images=images[1:])
    return out.getvalue()


def write_zip(path: Path, files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def zip_bomb(path: Path, megabytes: int, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """One entry of zeros, with its correct size."""
    with zipfile.ZipFile(path, "w", method) as archive, archive.open("bomb.png", "w") as entry:
        for _ in range(megabytes):
            entry.write(bytes(1 << 20))
    return path


def lying_zip(path: Path, real: bytes, declared: int, method: int) -> Path:
    """One entry "lie.png" that unpacks to ``real`` while the archive says ``declared`` bytes."""
    write_zip(path, {"lie.png": real}, method)
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(signature) + offset
        data[at : at + 4] = struct.pack("<I", declared)
    path.write_bytes(bytes(data))
    return path
