"""INbreast: I. C. Moreira et al., "INbreast: toward a full-field digital mammographic database", Academic
Radiology 19(2), 2012.

``INbreast.csv`` (semicolons), images ``20586908_6c613a14b80a8591_MG_R_CC_ANON.dcm`` (or saved as PNG), and
outlines ``20586908.xml``, a property list of regions with points "(x, y)" in pixels.
"""

from __future__ import annotations

import plistlib
import re
import xml.parsers.expat
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import MAX_POINTS, Polygon
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import column_named, read_list
from semblance.core.library.importers.importer import FoundCase, Recognition, RejectedFile
from semblance.core.library.importers.mammograms.collection import (
    Collection,
    case_keys,
    rejection_of_mammogram,
)
from semblance.core.library.importers.source import Entry, Source
from semblance.core.limits import max_text_bytes, size_text
from semblance.core.tasks import Reporter

_DEEPEST = 100
_COPY = tr_lazy("Copy it from its source again, or leave it out.")


def read_property_list(data: bytes, name: str) -> Any:
    """The value in an XML property list.

    The one document type allowed is Apple's, by name only: what it points to is not fetched.

    Raises:
        BadInput: too large, no XML, damaged, declaring entities or a document type inside, or nested deeply.
    """
    if len(data) > max_text_bytes():
        raise BadInput(
            tr_lazy(
                "'{name}' has {n}; the limit is {longest}.",
                name=name,
                n=size_text(len(data)),
                longest=size_text(max_text_bytes()),
            ),
            _COPY,
        )
    _check(data, name)
    try:
        return plistlib.loads(data, fmt=plistlib.FMT_XML)
    except Exception:  # noqa: BLE001 - plistlib lets whatever a damaged value raises through
        raise BadInput(tr_lazy("'{name}' is not a readable property list.", name=name), _COPY) from None


def _check(data: bytes, name: str) -> None:
    depth = 0

    def refuse(what: str) -> None:
        raise BadInput(
            tr_lazy("'{name}' is refused: {what}.", name=name, what=what),
            "Outlines do not need this. Ask the author of the file.",
        )

    def doctype(_type: str, _system: str | None, _public: str | None, has_subset: int) -> None:
        if has_subset:
            refuse(tr_lazy("it declares a document type of its own"))

    def entity(*_declared: Any) -> None:
        refuse(tr_lazy("it declares entities"))

    def start(_tag: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            refuse(tr_lazy("it is nested more than {deepest} deep", deepest=_DEEPEST))

    def end(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    parser = xml.parsers.expat.ParserCreate()
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except (LookupError, ValueError):
        raise BadInput(tr_lazy("'{name}' is written in an unknown encoding.", name=name), _COPY) from None
    except xml.parsers.expat.ExpatError as error:
        raise BadInput(tr_lazy("'{name}' is damaged XML: {error}.", name=name, error=error), _COPY) from None


#: Regions that are cases of their own; single calcifications, thousands of points, are not.
CASE_REGIONS = {
    "mass": "mass",
    "spiculated region": "spiculated region",
    "spiculated_region": "spiculated region",
    "cluster": "cluster of calcifications",
    "asymmetry": "asymmetry",
    "assymetry": "asymmetry",
    "distortion": "distortion",
}

_IMAGE = re.compile(r"([0-9]{6,12})_([0-9a-f]{8,32})_MG_([LR])_([A-Z]{2,4})_ANON", re.IGNORECASE)
_POINT = re.compile(r"\(\s*(-?[0-9.eE+-]+)\s*,\s*(-?[0-9.eE+-]+)\s*\)")
_MAX_COORDINATE = 1e5


class INbreast(Collection):
    """One case an outlined mass, spiculated region, cluster, asymmetry or distortion; one without a region
    for an image that has none of these.

    The collection gives no proven outcome but BI-RADS: 1 is taken as normal, 2 and 3 as benign, 4 to 6 as
    malignant; the category stays an attribute. The patient is the second part of the file name.
    """

    title = "INbreast"

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where images are named as in INbreast."""
        images = [e for e in source.entries() if _IMAGE.fullmatch(PurePosixPath(e.path).stem)]
        if not images:
            return None
        women = len({_parse_name(entry.path)[1] for entry in images})
        what = tr_lazy_n("{n} mammogram", "{n} mammograms", len(images))
        return Recognition(
            0.95,
            tr_lazy_n(
                "{what} of {n} woman named as in INbreast.",
                "{what} of {n} women named as in INbreast.",
                women,
                what=what,
            ),
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each outlined region of an image; an image without one is a case itself."""
        images: list[str] = []
        outlines: dict[str, Entry] = {}
        facts: dict[str, dict[str, str]] = {}
        for number, entry in enumerate(source.entries()):
            if number % 100 == 0:
                reporter.check_cancelled()
            name = PurePosixPath(entry.path)
            if name.suffix.lower() == ".xml" and name.stem.isdigit() and name.stem not in outlines:
                outlines[name.stem] = entry
            elif name.name.lower() == "inbreast.csv":
                yield from _read_table(source, entry.path, facts)
            elif _IMAGE.fullmatch(name.stem) and rejection_of_mammogram(source, entry) is None:
                images.append(entry.path)
            else:
                yield rejection_of_mammogram(source, entry) or RejectedFile(
                    entry.path, tr_lazy("Not named like an image of INbreast."), failed=False
                )
        for path in images:
            reporter.check_cancelled()
            image = _parse_name(path)[0]
            regions: list[tuple[str, Region]] = []
            outline_file = outlines.pop(image, None)
            if outline_file is not None:
                try:
                    regions = _regions(source.read(outline_file.path), outline_file.path)
                except BadInput as error:
                    yield RejectedFile(outline_file.path, str(error), failed=True)
                else:
                    yield RejectedFile(
                        outline_file.path, tr_lazy("The outlines of '{path}'.", path=path), failed=False
                    )
            yield from _cases(path, regions, facts.pop(image, {}))
        for entry in outlines.values():
            yield RejectedFile(entry.path, tr_lazy("The outlines of an image that is missing."), failed=False)
        for image in facts:
            yield RejectedFile(f"INbreast.csv: {image}", tr_lazy("Its image is missing."), failed=True)


def finding_of(birads: str) -> str | None:
    """The finding taken from a BI-RADS category ("4a"); ``None`` for 0 (incomplete) and other texts."""
    return {"1": "normal", "2": "benign", "3": "benign"}.get(birads[:1]) or (
        "malignant" if birads[:1] in ("4", "5", "6") else None
    )


def _parse_name(path: str) -> tuple[str, str, str, str]:
    """Image number, patient, side, view."""
    found = _IMAGE.fullmatch(PurePosixPath(path).stem)
    assert found is not None
    return found[1], found[2].lower(), found[3].upper(), found[4].upper()


def _cases(path: str, regions: list[tuple[str, Region]], facts: dict[str, str]) -> Iterator[FoundCase]:
    _, patient, side, view = _parse_name(path)
    birads = facts.get("birads", "")
    common = {"breast": "left" if side == "L" else "right", "view": view}
    common |= {name: facts[name] for name in ("birads", "density") if facts.get(name)}
    shown: list[tuple[str, Region | None]] = [*regions] or [("", None)]
    for key, (kind, region) in zip(case_keys(path, len(shown)), shown, strict=True):
        yield FoundCase(
            key,
            path,
            finding=finding_of(birads),
            patient=patient,
            region=region,
            attributes=common | ({"abnormality": kind} if kind else {}),
        )


def _read_table(source: Source, path: str, facts: dict[str, dict[str, str]]) -> Iterator[RejectedFile]:
    try:
        text = read_list(source, path)
        image, birads = column_named(text.header, "file name"), column_named(text.header, "bi-rads", "birads")
        density = column_named(text.header, "acr")
        if image is None or birads is None:
            raise BadInput(
                tr_lazy("'{path}' has no columns 'File Name' and 'Bi-Rads'.", path=path),
                "Use it as the collection provides it.",
            )
    except BadInput as error:
        yield RejectedFile(path, str(error), failed=True)
        return
    yield RejectedFile(path, tr_lazy("Read as findings."), failed=False)
    for failed in text.failed:
        yield RejectedFile(
            f"{path}:{failed.line}",
            tr_lazy("Line {line}: {reason}.", line=failed.line, reason=failed.reason),
            failed=True,
        )
    for cells in text.rows:
        facts[cells[image].split("_")[0]] = {
            "birads": cells[birads],
            "density": cells[density] if density is not None else "",
        }


def _regions(data: bytes, name: str) -> list[tuple[str, Region]]:
    """(kind, region) of the outlined regions, in the order of the file.

    Raises:
        BadInput: not a property list of regions.
    """
    found = read_property_list(data, name)
    images = found.get("Images") if isinstance(found, dict) else None
    if not isinstance(images, list):
        raise BadInput(
            tr_lazy("'{name}' is a property list without 'Images'.", name=name),
            "Copy it from its source again.",
        )
    out = []
    for image in images:
        rois = image.get("ROIs", []) if isinstance(image, dict) else []
        for roi in rois if isinstance(rois, list) else []:
            if not isinstance(roi, dict):
                continue
            kind = CASE_REGIONS.get(str(roi.get("Name", "")).strip().casefold())
            region = _polygon(roi.get("Point_px"), name) if kind else None
            if kind and region is not None:
                out.append((kind, region))
    return out


def _polygon(points: Any, name: str) -> Region | None:
    """The region inside the points; ``None`` for fewer than three.

    Raises:
        BadInput: points that are none.
    """
    if not isinstance(points, list) or len(points) < 3:
        return None
    if len(points) > MAX_POINTS:
        raise BadInput(
            tr_lazy("'{name}' has an outline of {n:,} points.", name=name, n=len(points)),
            tr_lazy("At most {max_points:,}.", max_points=MAX_POINTS),
        )
    corners = []
    for point in points:
        found = _POINT.fullmatch(point.strip()) if isinstance(point, str) else None
        try:
            x, y = (float(found[1]), float(found[2])) if found else (None, None)
        except ValueError:
            x = y = None
        if x is None or y is None or not (abs(x) < _MAX_COORDINATE and abs(y) < _MAX_COORDINATE):
            raise BadInput(
                tr_lazy("'{name}' has the point '{point}'.", name=name, point=str(point)[:40]),
                "A point is (x, y) in pixels.",
            )
        corners.append((x, y))
    left, top = (int(min(values)) for values in zip(*corners, strict=True))
    right, bottom = (int(max(values)) + 1 for values in zip(*corners, strict=True))
    outline = Polygon(tuple((x - left, y - top) for x, y in corners))
    return Region(left, top, max(1, right - left), max(1, bottom - top), outline)
