"""What the program sees in one image file: values, windows, spacing, and the greys it shows first."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.files import write_file
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.display import display_image, first_greys
from semblance.core.imaging.image import Image, ValueWindow
from semblance.core.imaging.raster import page_count
from semblance.core.imaging.volume import Spacing
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.export_log import log_export


@dataclass(frozen=True, eq=False)
class _Read:
    """An image of a file, the number of its frames and slices, and the spacing of these."""

    image: Image
    frames: int
    slices: int
    spacing_mm: Spacing | None


def describe_image(
    path: Path,
    *,
    frame: int | None = None,
    place: int | None = None,
    window: ValueWindow | None = None,
    at: Sequence[tuple[int, int]] = (),
    out: Path | None = None,
) -> dict[str, Any]:
    """One image of the file at ``path`` as the viewer shows it first, or through ``window``.

    ``frame`` counts from 1 in the order of the file, ``place`` in the order of space; without both it is the image
    that stands for the file. ``at``: (x, y) from 0. ``out``: a PNG to write.

    Raises:
        BadInput: it cannot be read, or has no such frame or slice.
        BadArguments: a point lies outside the image.
    """
    with ImageReader() as reader:
        read = _read(reader, ImageAddress(path), frame, place)
    image = read.image
    if window is not None and not image.is_colour:
        image = replace(image, values=replace(image.values, windows=(window, *image.values.windows)))
    shown = display_image(image, max_bytes=max(1, image.pixels.nbytes))
    for x, y in at:
        if not (0 <= x < image.width and 0 <= y < image.height):
            raise BadArguments(
                tr_lazy(
                    "The point {x},{y} lies outside the {width} x {height} pixels.",
                    x=x,
                    y=y,
                    width=image.width,
                    height=image.height,
                ),
                "x and y count from 0.",
            )
    greys = first_greys(shown)
    if out is not None:
        write_file(out, _png(greys), private=False)
        log_export(None, "image as shown", out.suffix)
    return {
        "path": str(path),
        "rows": image.height,
        "columns": image.width,
        "frames": read.frames,
        "slices": read.slices,
        "unit": image.values.unit or None,
        "pixel_spacing_mm": None if image.spacing_mm is None else list(image.spacing_mm),
        "slice_spacing_mm": None if read.spacing_mm is None else read.spacing_mm[0],
        "windows": [_window_facts(one) for one in read.image.values.windows],
        "photometric": image.photometric or ("RGB" if image.is_colour else "MONOCHROME2"),
        "values": [
            {"x": x, "y": y, "value": _value(image, x, y), "shown": greys[y, x].tolist()} for x, y in at
        ],
        "notes": [str(remark) for remark in image.remarks],
    }


def _read(reader: ImageReader, address: ImageAddress, frame: int | None, place: int | None) -> _Read:
    if not reader.is_stack(address):
        frames = _pages(reader, address)
        if (place or 1) != 1 or not 1 <= (frame or 1) <= frames:
            raise _no_such(address, frame, frames if place is None else 1)
        image = reader.open(
            replace(address, frame=frame - 1) if frame is not None and frames > 1 else address
        )
        return _Read(image, frames, 1, None)
    with reader.stack(address) as stack:
        if not 1 <= (place or frame or 1) <= len(stack):
            raise _no_such(address, frame, len(stack))
        if frame is not None:
            image = reader.open(replace(address, frame=frame - 1))
        else:
            image = stack.image(stack.middle() if place is None else place - 1)
        return _Read(image, len(stack), len(stack), stack.spacing_mm)


def _pages(reader: ImageReader, address: ImageAddress) -> int:
    with reader.dicom_file(address) as file:
        if file is not None:
            return 1
    return page_count(reader.read_bytes(address), str(address))


def _no_such(address: ImageAddress, frame: int | None, n: int) -> BadInput:
    if frame is not None:
        return BadInput(
            tr_lazy("'{address}' has no frame {frame}: it has {n}.", address=address, frame=frame, n=n),
            "Frames count from 1.",
        )
    return BadInput(
        tr_lazy_n("'{address}' has only {n} slice.", "'{address}' has only {n} slices.", n, address=address),
        "Slices count from 1.",
    )


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    from PIL import Image as PILImage

    out = io.BytesIO()
    PILImage.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def _value(image: Image, x: int, y: int) -> Any:
    stored = image.pixels[y, x]
    if image.is_colour:
        return [round(float(part) * 255 / image.white) for part in stored]
    value = float(stored) * image.values.slope + image.values.intercept
    return value if math.isfinite(value) else None


def _window_facts(window: ValueWindow) -> dict[str, Any]:
    centre, width = window.stated or ((window.low + window.high) / 2, window.high - window.low)
    return {"center": centre, "width": width, "explanation": window.name}
