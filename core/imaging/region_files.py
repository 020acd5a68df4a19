"""Files of regions: JSON with pixels and millimetres, and black-and-white PNG masks."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.files import write_file
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.imaging.raster import decode
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.imaging.zip_archive import read_file
from semblance.core.language import tr_lazy
from semblance.core.limits import max_text_bytes, size_text

FORMAT = "semblance-regions"
VERSION = 1

_MAX_REGIONS = 10_000


def regions_json(image: Image, regions: list[Region]) -> dict[str, Any]:
    """A document of ``regions`` of ``image``: its size in pixels and spacing in mm (row, column; ``None``
    where unknown), and each region in pixels, with its rectangle, outline and area in mm where known.

    Millimetres count from the image's top-left corner, x to the right and y down.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "picture": {  # the key of version 1 of this file format
            "width": image.width,
            "height": image.height,
            "spacing_mm": None if image.spacing_mm is None else list(image.spacing_mm),
        },
        "regions": [{"pixels": region.to_json(), "mm": _in_mm(region, image)} for region in regions],
    }


def regions_of_json(document: Any, name: str, *, size: tuple[int, int] | None = None) -> list[Region]:
    """The regions of a document as :func:`regions_json` writes it, by their pixels.

    ``size``: (height, width) of their image.

    Raises:
        BadInput: no such document, a damaged region, or drawn in an image of another size.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadInput(
            tr_lazy("'{name}' contains no regions.", name=name),
            "Choose a file that regions were exported to.",
        )
    if document.get("version") != VERSION:
        raise BadInput(
            tr_lazy("'{name}' was written by a newer version of Semblance.", name=name),
            "Export the regions again, or use that version.",
        )
    listed = document.get("regions")
    if not isinstance(listed, list) or len(listed) > _MAX_REGIONS:
        raise BadInput(
            tr_lazy("'{name}' is damaged: its list of regions.", name=name), "Export the regions again."
        )
    drawn_in = document.get("picture")
    if size is not None and isinstance(drawn_in, dict):
        drawn = (drawn_in.get("height"), drawn_in.get("width"))
        if drawn != size:
            raise BadInput(
                tr_lazy(
                    "The regions of '{name}' were drawn in an image of {drawn} x {drawn2} pixels, this "
                    "one has {size} x {size2}.",
                    name=name,
                    drawn=drawn[1],
                    drawn2=drawn[0],
                    size=size[1],
                    size2=size[0],
                ),
                "Open the image they belong to.",
            )
    regions = []
    for item in listed:
        pixels = item.get("pixels") if isinstance(item, dict) else None
        if not isinstance(pixels, dict):
            raise BadInput(
                tr_lazy("'{name}' is damaged: a region without pixels.", name=name),
                "Export the regions again.",
            )
        region = Region.from_json(pixels)
        if region.width <= 0 or region.height <= 0:
            raise BadInput(
                tr_lazy("'{name}' contains an empty region.", name=name), "Export the regions again."
            )
        regions.append(region)
    return regions


def write_regions(path: Path, image: Image, regions: list[Region]) -> None:
    """Save ``regions`` as JSON (UTF-8)."""
    text = json.dumps(regions_json(image, regions), indent=1, allow_nan=False)
    write_file(path, text.encode())


def read_regions(path: Path, *, size: tuple[int, int] | None = None) -> list[Region]:
    """
    Raises:
        BadInput: not there, not readable, too large, or as :func:`regions_of_json`.
    """
    data = read_file(path, str(path))
    if len(data) > max_text_bytes():
        raise BadInput(
            tr_lazy(
                "'{path}' is {n} in size; the limit is {longest}.",
                path=path,
                n=size_text(len(data)),
                longest=size_text(max_text_bytes()),
            ),
            "Choose a file that regions were exported to.",
        )
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadInput(
            tr_lazy("'{path}' is not JSON.", path=path), "Choose a file that regions were exported to."
        ) from None
    return regions_of_json(document, str(path), size=size)


def write_mask(path: Path, region: Region, height: int, width: int) -> None:
    """Save ``region`` as an 8-bit PNG of ``height`` x ``width`` pixels, 255 inside and 0 outside.

    Raises:
        BadInput: nothing of the region lies inside.
    """
    from PIL import Image as PILImage

    packed = io.BytesIO()
    PILImage.fromarray(region.mask(height, width).astype(np.uint8) * np.uint8(255)).save(packed, "PNG")
    write_file(path, packed.getvalue())


def read_mask(path: Path, *, size: tuple[int, int] | None = None) -> Region:
    """The region of the pixels brighter than half the brightest of a mask image.

    Raises:
        BadInput: unreadable, black, or not of ``size`` (height, width).
    """
    grey = decode(read_file(path, str(path)), str(path)).grey()
    if size is not None:
        check_mask_size(str(path), grey.shape, size)
    return region_of_mask(grey > max(float(grey.max()) / 2, 0.0))


def check_mask_size(name: str, shape: tuple[int, ...], size: tuple[int, int]) -> None:
    """Whether a mask of ``shape`` fits its image of ``size``, both (height, width).

    Raises:
        BadInput: it does not.
    """
    if shape != size:
        raise BadInput(
            tr_lazy(
                "The mask '{path}' is {shape} x {shape2} pixels, its image {size} x {size2}.",
                path=name,
                shape=shape[1],
                shape2=shape[0],
                size=size[1],
                size2=size[0],
            ),
            "Save the mask in the size of its image.",
        )


def _in_mm(region: Region, image: Image) -> dict[str, Any] | None:
    if image.spacing_mm is None:
        return None
    down, across = image.spacing_mm
    part = region.mask(image.height, image.width)
    document: dict[str, Any] = {
        "x": region.x * across,
        "y": region.y * down,
        "width": region.width * across,
        "height": region.height * down,
        "area": int(np.count_nonzero(part)) * down * across,
    }
    outline = region.outline
    if isinstance(outline, Ellipse):
        document["centre"] = [(region.x + outline.centre[0]) * across, (region.y + outline.centre[1]) * down]
        document["radii"] = [outline.radii[0] * across, outline.radii[1] * down]
    elif isinstance(outline, Polygon):
        document["points"] = [[(region.x + x) * across, (region.y + y) * down] for x, y in outline.points]
    return document
