"""Regions that people drew in images, as annotation files of COCO and YOLO hold them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import MAX_POINTS, Outline, Polygon
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.language import tr_lazy
from semblance.core.library.importers.fitted_regions import RegionFitter, whole_pixels
from semblance.core.limits import memory_limit

Box = tuple[float, float, float, float]
#: Bytes of memory that one byte of JSON takes.
_MEMORY_OF_JSON = 12
_YOLO_BOX, _YOLO_SCORED = 5, 6
#: Units of the side of an image in which the key of a region counts its box.
_KEY_UNITS = 100_000


@dataclass(frozen=True)
class DrawnRegion:
    """A region of an image: its ``finding``, where it is written, and a ``key`` that is its own within the image.

    ``box``: left, top, width, height in pixels, or in shares of the image where ``in_shares``. ``shape``: polygons,
    each a list of x and y in turn, or the run lengths of COCO; ``None`` for the box. ``drawn_in``: width and height of
    the image that it was drawn in.
    """

    where: str
    finding: str
    key: str
    box: Box | None
    shape: Any = None
    drawn_in: tuple[int, int] | None = None
    in_shares: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)

    def region(self, path: str, fitter: RegionFitter) -> Region | str:
        """The region in the image ``path``, or why there is none."""
        size = fitter.size(path)
        if isinstance(size, str):
            return tr_lazy("Its image cannot be read: {reason}", reason=size)
        wide, high = (size[0], size[1]) if self.in_shares else (1, 1)
        box, outline = self.box, None
        try:
            if isinstance(self.shape, Mapping):
                box, outline = _of_runs(self.shape)
            elif self.shape:
                box, outline = _of_polygons(_scaled(self.shape, wide, high))
            elif box is not None:
                box = (box[0] * wide, box[1] * high, box[2] * wide, box[3] * high)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, MemoryError):
            return tr_lazy("Its outline cannot be read.")
        if box is None:
            return tr_lazy("It has neither a box nor an outline.")
        return fitter.region(path, box, outline=outline, drawn_in=self.drawn_in)


def _scaled(shape: Any, wide: float, high: float) -> list[npt.NDArray[np.float64]]:
    """(n, 2) corners of each polygon in pixels."""
    polygons = []
    for one in shape:
        corners = np.array(one, dtype=np.float64).reshape(-1, 2) * (wide, high)
        if not np.isfinite(corners).all() or len(corners) > MAX_POINTS:
            raise ValueError
        if len(corners) > 2:
            polygons.append(corners)
    if not polygons:
        raise ValueError
    return polygons


def _of_polygons(polygons: Sequence[npt.NDArray[np.float64]]) -> tuple[Box, Outline | None]:
    """The box around polygons, and their outline in the rectangle of whole pixels around it."""
    corners = np.concatenate(polygons)
    (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    box = (left, top, right - left, bottom - top)
    frame = whole_pixels(box)
    if frame.width <= 0 or frame.height <= 0 or frame.width * frame.height > memory_limit():
        return box, None
    shifted = [
        Polygon(tuple((x - frame.x, y - frame.y) for x, y in polygon.tolist())) for polygon in polygons
    ]
    if len(shifted) == 1:
        return box, shifted[0]
    union = np.zeros((frame.height, frame.width), dtype=np.bool_)
    for one in shifted:
        union |= one.mask(frame.height, frame.width)
    return _of_mask(union, frame.x, frame.y) if union.any() else (box, None)


def _of_mask(mask: npt.NDArray[np.bool_], left: int = 0, top: int = 0) -> tuple[Box, Outline | None]:
    region = region_of_mask(mask)
    return (
        float(left + region.x),
        float(top + region.y),
        float(region.width),
        float(region.height),
    ), region.outline


def _of_runs(shape: Mapping[str, Any]) -> tuple[Box, Outline | None]:
    """The region of COCO's run lengths, which go down the columns; as text they are packed five bits a letter."""
    height, width = (int(one) for one in shape["size"])
    counts = shape["counts"]
    runs = _unpacked(counts) if isinstance(counts, str) else [int(one) for one in counts]
    if height <= 0 or width <= 0 or min(runs, default=0) < 0 or sum(runs) != height * width:
        raise ValueError
    if height * width > memory_limit():
        raise MemoryError
    inside = np.arange(len(runs)) % 2 == 1
    mask = np.repeat(inside, runs).reshape(width, height).T
    return _of_mask(mask) if mask.any() else ((0.0, 0.0, 0.0, 0.0), None)


def _unpacked(text: str) -> list[int]:
    """The run lengths in a text: each is a number of groups of five bits, the lowest first, and from the fourth on the
    difference to the one before the last (pycocotools, ``rleFrString``)."""
    runs: list[int] = []
    value = shift = 0
    for letter in text:
        code = ord(letter) - 48
        value |= (code & 0x1F) << shift
        shift += 5
        if code & 0x20:
            continue
        if code & 0x10:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value = shift = 0
    return runs


# --- COCO ---------------------------------------------------------------------------------------------------


@dataclass
class CocoFile:
    """The images of a COCO file: (name, patient or "", regions), and what in it cannot be used: (where, reason)."""

    images: list[tuple[str, str, list[DrawnRegion]]]
    refused: list[tuple[str, str]]


def read_coco(data: bytes, name: str) -> CocoFile:
    """The images and regions of a COCO file.

    Raises:
        BadInput: no such file, or too large for the memory.
    """
    if len(data) * _MEMORY_OF_JSON > memory_limit():
        raise BadInput(
            tr_lazy("'{name}' is too large to be read: {n:,} bytes.", name=name, n=len(data)),
            "Divide it, for example by its parts.",
        )
    try:
        document = json.loads(data)
        images, annotations = list(document["images"]), list(document["annotations"])
        categories = {one["id"]: str(one["name"]) for one in document.get("categories", ())}
        groups = {one["id"]: str(one.get("supercategory") or "") for one in document.get("categories", ())}
        by_id = {one["id"]: one for one in images}
        names = {one["id"]: str(one["file_name"]) for one in images}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(
            tr_lazy("'{name}' is no COCO file of images, annotations and categories.", name=name),
            "Export it again.",
        ) from None
    found = CocoFile([], [])
    regions: dict[Any, list[DrawnRegion]] = {}
    keys: set[tuple[Any, str]] = set()
    for number, one in enumerate(annotations, start=1):
        where = f"{name}:{one.get('id', number) if isinstance(one, dict) else number}"
        reason = _why_not(one, by_id, categories)
        if reason:
            found.refused.append((where, reason))
            continue
        image = by_id[one["image_id"]]
        key = str(one.get("id", ""))
        while not key or (one["image_id"], key) in keys:
            key = f"{key or 'n'}-{number}"
        keys.add((one["image_id"], key))
        group = groups.get(one["category_id"], "")
        attributes = (
            {"group": group} if group and group not in ("none", categories[one["category_id"]]) else {}
        )
        attributes |= {"crowd": "yes"} if one.get("iscrowd") else {}
        extra = one.get("attributes")
        if isinstance(extra, dict):
            attributes |= {
                str(k): str(v) for k, v in extra.items() if isinstance(v, str | int | float) and v != ""
            }
        regions.setdefault(one["image_id"], []).append(
            DrawnRegion(
                where,
                categories[one["category_id"]],
                key,
                _box_of(one.get("bbox")),
                one.get("segmentation") or None,
                _size_of(image),
                attributes=attributes,
            )
        )
    for identifier, file_name in names.items():
        patient = next((str(v) for k, v in by_id[identifier].items() if k in _PATIENT_KEYS and v), "")
        found.images.append((file_name, patient, regions.get(identifier, [])))
    return found


_PATIENT_KEYS = frozenset(("patient_id", "patient", "subject", "subject_id"))


def _why_not(one: Any, images: Mapping[Any, Any], categories: Mapping[Any, str]) -> str:
    try:
        if one["image_id"] not in images:
            return tr_lazy("It names image {id}, which the file does not list.", id=str(one["image_id"]))
        if one["category_id"] not in categories:
            return tr_lazy("It has category {id}, which the file does not name.", id=str(one["category_id"]))
    except (KeyError, TypeError):
        return tr_lazy("It names no image or no category.")
    return ""


def _box_of(value: Any) -> Box | None:
    try:
        left, top, width, height = (float(one) for one in value)
    except (TypeError, ValueError):
        return None
    return left, top, width, height


def _size_of(image: Mapping[str, Any]) -> tuple[int, int] | None:
    try:
        width, height = int(image["width"]), int(image["height"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return (width, height) if width > 0 and height > 0 else None


# --- YOLO ---------------------------------------------------------------------------------------------------


def yolo_names(text: str) -> dict[int, str]:
    """The names of classes in the ``names`` of a data.yaml: a list, or numbers with names."""
    lines = [line.split(" #")[0].rstrip() for line in text.splitlines()]
    for place, line in enumerate(lines):
        if not line.startswith("names:"):
            continue
        value = line.removeprefix("names:").strip()
        following = lines[place + 1 :]
        if value.startswith("["):
            while "]" not in value and following:
                value += following.pop(0)
            return dict(enumerate(_items(value.strip("[] "))))
        if value.startswith("{"):
            while "}" not in value and following:
                value += following.pop(0)
            return dict(filter(None, map(_pair, _items(value.strip("{} ")))))
        block = []
        for one in following:
            if one.strip() and not one.startswith((" ", "\t", "-")):
                break
            if one.strip():
                block.append(one.strip())
        if all(one.startswith("-") for one in block):
            return dict(enumerate(_unquoted(one[1:]) for one in block))
        return dict(filter(None, map(_pair, block)))
    return {}


def _items(text: str) -> list[str]:
    return [_unquoted(one) for one in re.findall(r"'[^']*'\s*|\"[^\"]*\"\s*|[^,]+", text) if one.strip()]


def _pair(text: str) -> tuple[int, str] | None:
    number, colon, name = text.partition(":")
    return (int(number), _unquoted(name)) if colon and number.strip().isdigit() else None


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def yolo_regions(text: str, name: str, names: Mapping[int, str]) -> Iterator[DrawnRegion | tuple[str, str]]:
    """The regions of a label file ``name``; (where, reason) of lines that give none."""
    keys: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        cells = line.split()
        if not cells:
            continue
        where = f"{name}:{number}"
        numbers = yolo_numbers(cells)
        if numbers is None:
            yield where, tr_lazy("It is no class with a box or an outline in shares of the image.")
            continue
        kind, shares = numbers
        finding = names.get(kind, "")
        if names and not finding:
            yield where, tr_lazy("Class {n} has no name.", n=kind)
            continue
        finding = finding or str(kind)
        key = ",".join(str(round(share * _KEY_UNITS)) for share in shares[:4])
        keys[key] = keys.get(key, 0) + 1
        key += f",{keys[key]}" if keys[key] > 1 else ""
        if len(shares) == _YOLO_BOX - 1:
            x, y, width, height = shares
            yield DrawnRegion(
                where, finding, key, (x - width / 2, y - height / 2, width, height), in_shares=True
            )
        else:
            yield DrawnRegion(where, finding, key, None, [shares], in_shares=True)


def yolo_numbers(cells: Sequence[str]) -> tuple[int, list[float]] | None:
    """The class and the shares in the cells of a line: four of a box (a score behind it is left out), or the corners of
    an outline; ``None`` for another line."""
    try:
        kind, shares = int(cells[0]), [float(one) for one in cells[1:]]
    except (ValueError, IndexError):
        return None
    if kind < 0 or not all(math.isfinite(one) and -1 <= one <= 2 for one in shares):
        return None
    if len(cells) in (_YOLO_BOX, _YOLO_SCORED):
        return kind, shares[:4]
    return (kind, shares) if len(shares) > _YOLO_SCORED - 1 and len(shares) % 2 == 0 else None
