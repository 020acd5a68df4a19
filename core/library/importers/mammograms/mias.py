"""mini-MIAS: J. Suckling et al., "The Mammographic Image Analysis Society digital mammogram database",
Excerpta Medica 1069, 1994; 1024 x 1024 pixels of 0.2 mm, and ``Info.txt``.

A line is "mdb005 F CIRC B 477 133 30": image, tissue, kind of abnormality, severity, and centre and radius
of a circle around it in pixels, y counted upwards from the bottom row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import read_text
from semblance.core.library.importers.importer import FoundCase, Recognition, RejectedFile
from semblance.core.library.importers.labels_csv import (
    LabelTable,
    LabelTableLine,
    is_label_table,
    read_label_tables,
)
from semblance.core.library.importers.mammograms.collection import (
    Collection,
    case_keys,
    rejection_of_mammogram,
)
from semblance.core.library.importers.source import Entry, Source
from semblance.core.limits import size_text
from semblance.core.tasks import Reporter

SIDE = 1024
INFO = "info.txt"

TISSUE = {"F": "fatty", "G": "fatty-glandular", "D": "dense-glandular"}
ABNORMALITY = {
    "CALC": "calcification",
    "CIRC": "circumscribed mass",
    "SPIC": "spiculated mass",
    "MISC": "ill-defined mass",
    "ARCH": "architectural distortion",
    "ASYM": "asymmetry",
    "NORM": "normal",
}
FINDING = {"B": "benign", "M": "malignant"}
_SCATTERED = "calcifications widely distributed"

_IMAGE = re.compile(r"mdb([0-9]{3})", re.IGNORECASE)
_LINE = re.compile(
    r"(?P<name>mdb[0-9]{3})[a-z]{0,2}\s+(?P<tissue>[FGD])\s+(?P<kind>CALC|CIRC|SPIC|MISC|ARCH|ASYM|NORM)"
    r"(?:\s+(?P<severity>[BM]))?(?:\s+(?P<place>[^\s].*))?",
    re.IGNORECASE,
)
_LONGEST_INFO = 1 << 20


@dataclass(frozen=True)
class InfoLine:
    """The line of an image; ``circle`` is (x, y, radius) as written."""

    where: str
    tissue: str
    kind: str
    severity: str
    circle: tuple[float, float, float] | None


class MIAS(Collection):
    """One case a line of Info.txt, its circle an ellipse region; no region where no single one is given.

    Even numbers are left breasts, the odd number before is the right one of the same woman. A ``labels.csv``
    with the columns of Info.txt does instead of it; beside it, it goes before it for finding and patient.
    """

    title = "mini-MIAS"

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where images named mdb001 lie beside ``Info.txt`` or a ``labels.csv``."""
        images = [e for e in source.entries() if _IMAGE.fullmatch(PurePosixPath(e.path).stem)]
        info = [e for e in source.entries() if _is_info(e) or (e.path and is_label_table(e.path))]
        if not images or not info:
            return None
        women = len({_patient_of(entry.path) for entry in images})
        what = tr_lazy_n("{n} mammogram", "{n} mammograms", len(images))
        return Recognition(
            0.95,
            tr_lazy(
                "{what} of {women} with '{info}'.",
                what=what,
                women=tr_lazy_n("{n} woman", "{n} women", women),
                info=info[0].path,
            ),
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each line of ``Info.txt``, with the circle as its region."""
        images: list[str] = []
        info: dict[str, list[InfoLine]] = {}
        failed: list[RejectedFile] = []
        for entry in source.entries():
            reporter.check_cancelled()
            if _is_info(entry):
                file_lines, rejected = _read_info(source, entry)
                failed += rejected
                for name, line in file_lines:
                    info.setdefault(name, []).append(line)
                continue
            if entry.path and is_label_table(entry.path):
                continue
            not_image = rejection_of_mammogram(source, entry)
            if not_image is None:
                images.append(entry.path)
            else:
                yield not_image
        yield from failed
        listing = read_label_tables(source, images)
        yield from listing.rejected
        missing = dict(info)
        for path in images:
            name = PurePosixPath(path).stem.lower()
            missing.pop(name, None)
            yield from _cases(path, info.get(name, []), listing)
        for name, lines in missing.items():
            for line in lines:
                yield RejectedFile(
                    line.where, tr_lazy("It names '{name}', which does not exist.", name=name), failed=True
                )


def circle_region(x: float, y: float, radius: float) -> Region:
    """The region of a circle whose centre pixel is (x, y), y counted from the bottom row (0).

    Raises:
        BadInput: the circle does not touch the image, or has no size.
    """
    if not (radius > 0 and all(map(math.isfinite, (x, y, radius))) and radius < 4 * SIDE):
        raise BadInput(tr_lazy("A radius of {radius:g} is not possible.", radius=radius))
    across, down = x + 0.5, SIDE - 1 - y + 0.5
    left, top = math.floor(across - radius), math.floor(down - radius)
    right, bottom = math.ceil(across + radius), math.ceil(down + radius)
    outline = Ellipse((across - left, down - top), (radius, radius))
    return Region(left, top, right - left, bottom - top, outline).clipped(SIDE, SIDE)


def _is_info(entry: Entry) -> bool:
    return PurePosixPath(entry.path).name.lower() == INFO


def _patient_of(path: str) -> str | None:
    found = _IMAGE.fullmatch(PurePosixPath(path).stem)
    if found is None:
        return None
    right = (int(found[1]) - 1) // 2 * 2 + 1
    return f"mdb{right:03d}-mdb{right + 1:03d}"


def _read_info(source: Source, entry: Entry) -> tuple[list[tuple[str, InfoLine]], list[RejectedFile]]:
    """(image name, line) of every line about an image, and the problems to report."""
    if entry.size > _LONGEST_INFO:
        reason = tr_lazy("It has {size}; the list of findings has about 10 kB.", size=size_text(entry.size))
        return [], [RejectedFile(entry.path, reason, failed=True)]
    try:
        text = read_text(source, entry.path)
    except BadInput as error:
        return [], [RejectedFile(entry.path, str(error), failed=True)]
    out: list[tuple[str, InfoLine]] = []
    rejected = [RejectedFile(entry.path, tr_lazy("Read as the list of findings."), failed=False)]
    for number, line in enumerate(text.splitlines(), start=1):
        written = line.strip()
        if not _IMAGE.match(written):
            continue
        where = f"{entry.path}:{number}"
        found = _LINE.fullmatch(written)
        circle = _circle(found["place"] or "") if found else None
        if found is None or (circle is None and (found["place"] or "").strip("* ") and not _is_note(found)):
            reason = tr_lazy(
                "'{written}' is not written as image, tissue, abnormality, severity, x, y, radius.",
                written=written[:60],
            )
            rejected.append(RejectedFile(where, reason, failed=True))
            continue
        severity = (found["severity"] or "").upper()
        info_line = InfoLine(where, found["tissue"].upper(), found["kind"].upper(), severity, circle)
        out.append((found["name"].lower(), info_line))
    return out, rejected


def _is_note(found: re.Match[str]) -> bool:
    return "NOTE" in found["place"].upper()


def _circle(place: str) -> tuple[float, float, float] | None:
    numbers = re.fullmatch(r"([0-9]{1,4})\s+([0-9]{1,4})\s+([0-9]{1,4})", place.strip())
    return (float(numbers[1]), float(numbers[2]), float(numbers[3])) if numbers else None


def _cases(path: str, info: list[InfoLine], listing: LabelTable) -> Iterator[FoundCase | RejectedFile]:
    lines = listing.lines.get(path, [])
    info = info or [_info_line_of(line) for line in lines]
    if not info:
        yield _case(path, path, None, None, lines[0] if lines else None)
        return
    regions: list[Region | None] = []
    for line in info:
        try:
            regions.append(None if line.circle is None else circle_region(*line.circle))
        except BadInput as error:
            regions.append(None)
            yield RejectedFile(line.where, error.message, failed=True)
    paired: list[LabelTableLine | None] = [*lines] if len(lines) == len(info) else [None] * len(info)
    for key, line, region, labels in zip(case_keys(path, len(info)), info, regions, paired, strict=True):
        yield _case(key, path, line, region, labels)


def _case(
    key: str, path: str, line: InfoLine | None, region: Region | None, labels: LabelTableLine | None
) -> FoundCase:
    number = _IMAGE.fullmatch(PurePosixPath(path).stem)
    attributes = {"breast": "left" if int(number[1]) % 2 == 0 else "right"} if number else {}
    finding = patient = None
    if line is not None:
        attributes["tissue"] = TISSUE.get(line.tissue, line.tissue)
        attributes["abnormality"] = ABNORMALITY.get(line.kind, line.kind)
        if line.kind == "CALC" and line.circle is None:
            attributes["note"] = _SCATTERED
        finding = "normal" if line.kind == "NORM" else FINDING.get(line.severity)
    if labels is not None:
        finding = labels.finding if labels.has_finding_column else finding
        patient = labels.patient
    return FoundCase(
        key,
        path,
        finding=finding,
        patient=patient or _patient_of(path),
        region=region,
        attributes={name: value for name, value in attributes.items() if value},
    )


def _info_line_of(line: LabelTableLine) -> InfoLine:
    """A line of a ``labels.csv`` with the columns tissue, abnormality, severity, x, y, radius."""
    cells = line.attributes
    place = " ".join(cells.get(name, "").removesuffix(".0") for name in ("x", "y", "radius"))
    return InfoLine(
        line.where,
        cells.get("tissue", "").upper(),
        cells.get("abnormality", "").upper(),
        cells.get("severity", "").upper()[:1],
        _circle(place),
    )
