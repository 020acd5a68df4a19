"""Marks of computer-aided detection: Mammography, Chest and Colon CAD SR (PS3.16 TID 4000, 4100, 4120)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.imaging.dicom.attributes import MAX_DEPTH, code_of, item, items, numbers, text
from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.imaging.region import Region

if TYPE_CHECKING:
    from pydicom import Dataset

SOP_CLASSES = frozenset(f"1.2.840.10008.5.1.4.1.1.88.{end}" for end in (50, 65, 69))

#: Side in pixels of the square for a mark with a centre only.
POINT_SIDE = 64

MAX_MARKS = 10_000

_CENTRE = "111010"


@dataclass(frozen=True)
class CadMark:
    """A mark on the image ``instance`` (its UID; ``frame`` from 0 where given), in its pixels. ``code``: the coding
    scheme and value of its ``kind``."""

    instance: str
    frame: int | None
    region: Region
    kind: str
    code: tuple[str, str] = ("", "")


def cad_marks(dataset: Dataset) -> list[CadMark]:
    """Every mark with its kind (the coded finding it belongs to), outlines before centres.

    If a finding has both on one image, only the outline is given.
    """
    found: list[tuple[int, bool, CadMark]] = []
    for number, (parent, graphic_item) in enumerate(_graphic_items(dataset, dataset, 0)):
        if number >= MAX_MARKS:
            break
        target = _target(graphic_item, dataset)
        region = _region(graphic_item)
        if target is None or region is None:
            continue
        centre = text(item(graphic_item, "ConceptNameCodeSequence") or graphic_item, "CodeValue") == _CENTRE
        found.append((id(parent), centre, CadMark(target[0], target[1], region, *_kind(parent))))
    outlined = {(parent, mark.instance) for parent, centre, mark in found if not centre}
    return [mark for parent, centre, mark in found if not centre or (parent, mark.instance) not in outlined]


def _graphic_items(content: Dataset, root: Dataset, depth: int) -> Iterator[tuple[Dataset, Dataset]]:
    """(finding, spatial coordinates) of all levels of the tree."""
    if depth > MAX_DEPTH:
        return
    for child in items(content, "ContentSequence"):
        if text(child, "ValueType") == "SCOORD":
            yield content, child
        else:
            yield from _graphic_items(child, root, depth + 1)


def _kind(finding: Dataset) -> tuple[str, tuple[str, str]]:
    """The name of a finding, and its coding scheme and value."""
    concept = item(finding, "ConceptCodeSequence") or item(finding, "ConceptNameCodeSequence")
    return (text(concept, "CodeMeaning") if concept is not None else ""), code_of(concept)


def _target(graphic_item: Dataset, root: Dataset) -> tuple[str, int | None] | None:
    """The image of the coordinates: named in them, or referred to by its place in the tree."""
    for child in items(graphic_item, "ContentSequence"):
        place = numbers(child, "ReferencedContentItemIdentifier")
        meant = _item_at(root, [int(part) for part in place]) if place else child
        reference = item(meant, "ReferencedSOPSequence")
        if reference is not None and text(reference, "ReferencedSOPInstanceUID"):
            frames = numbers(reference, "ReferencedFrameNumber")
            frame = int(frames[0]) - 1 if len(frames) == 1 else None
            return text(reference, "ReferencedSOPInstanceUID"), frame
    return None


def _item_at(root: Dataset, place: list[int]) -> Dataset | None:
    """The content item at ``place``, counted from 1 at every level; the first number is the root's."""
    found: Dataset | None = root
    for number in place[1:]:
        children = items(found, "ContentSequence")
        if not 1 <= number <= len(children):
            return None
        found = children[number - 1]
    return found


def _region(graphic_item: Dataset) -> Region | None:
    """Graphic data, (column, row) pairs from the corner, as a region; an ellipse as that of its extent."""
    data = np.array(numbers(graphic_item, "GraphicData"), dtype=np.float64)
    if len(data) < 2 or len(data) % 2 or np.abs(data).max() > 1e6:
        return None
    points = data.reshape(-1, 2)
    graphic = text(graphic_item, "GraphicType")
    if graphic == "POINT":
        left, top = np.rint(points[0] - POINT_SIDE / 2).astype(int)
        return Region(int(left), int(top), POINT_SIDE, POINT_SIDE)
    if graphic == "CIRCLE" and len(points) == 2:
        radius = float(np.hypot(*(points[1] - points[0])))
        points = np.stack([points[0] - radius, points[0] + radius])
    left, top = (int(part) for part in np.floor(points.min(axis=0)))
    right, bottom = (int(part) for part in np.ceil(points.max(axis=0)))
    width, height = max(1, right - left), max(1, bottom - top)
    if graphic in ("CIRCLE", "ELLIPSE"):
        return Region(left, top, width, height, Ellipse.filling(width, height))
    if len(points) < 3:
        return None
    return Region(
        left, top, width, height, Polygon(tuple((float(x - left), float(y - top)) for x, y in points))
    )
