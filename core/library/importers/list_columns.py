"""What the columns of a list of images hold, recognised by their names and cells: ChestX-ray14, CheXpert, MIMIC-CXR,
VinDr-CXR, PadChest, ISIC, and lists of one's own with the same kinds of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.finding_codes import plain_column, scheme_of_column
from semblance.core.library.importers.csv_text import CsvText, is_number
from semblance.core.parameters import Parameter, Value

#: What a column may be used as. The window names these.
IMAGE, FINDING, FLAG, PATIENT, CASE, PART, READER, BOX, CODE, ATTRIBUTE = (
    "image",
    "finding",
    "flag",
    "patient",
    "case",
    "part",
    "reader",
    "box",
    "code",
    "text",
)
#: Names of columns as :func:`plain_column` writes them, the likeliest first.
_IMAGES = (
    "path", "file", "filename", "file name", "file path", "filepath", "image path", "image index", "image", "picture",
    "image id", "imageid", "image name", "img", "img id", "img name", "isic id", "dicom id", "sop instance uid",
)  # fmt: skip
_FINDINGS = (
    "finding labels", "finding label", "label", "finding", "class", "diagnosis", "labels", "findings", "class name",
    "diagnoses", "dx", "disease", "pathology", "category", "benign malignant",
)  # fmt: skip
_PATIENTS = ("patient id", "patient", "subject", "patientid", "subject id", "subjectid", "patient no")
#: Stands for the patient where there is none: images of one lesion belong to one.
_LESIONS = ("lesion id",)
_CASES = ("case id",)
_PARTS = ("part", "split", "subset", "official split")
_READERS = ("rad id", "reader", "reader id", "radiologist", "annotator", "annotator id")
#: Name -> the attribute, as reports and filters know it.
_ATTRIBUTES = {
    **dict.fromkeys(("patient age", "age", "age approx", "anchor age", "patientage"), "age"),
    **dict.fromkeys(
        ("patient gender", "patient sex", "gender", "sex", "patientsex", "patientsex dicom"), "sex"
    ),
    **dict.fromkeys(("view position", "viewposition", "view", "viewposition dicom"), "view"),
    **dict.fromkeys(("ap pa",), "projection"),
    **dict.fromkeys(("frontal lateral",), "direction"),
}
_BOXES = (
    ("x min", "y min", "x max", "y max"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("bbox x", "y", "w", "h"),
    ("x", "y", "w", "h"),
    ("x", "y", "width", "height"),
    ("left", "top", "width", "height"),
)
#: Those of the lists above that give the right and lower edge.
_WITH_CORNERS = ("x max", "xmax", "x2")
#: What a column of one finding may hold, and what it means: present, absent, uncertain.
FLAGS = {
    "1": 1, "1.0": 1, "true": 1, "yes": 1,
    "0": 0, "0.0": 0, "false": 0, "no": 0,
    "-1": -1, "-1.0": -1,
}  # fmt: skip
#: Columns of two values that are no findings.
_NO_FLAGS = re.compile(
    r"^(sex|gender|male|female|age|smok\w*|fold|is |has |train|test|val|id$|index|number|follow up|study|series|view"
    r"|lateral|frontal|disease risk|quality|exclu\w*|include\w*|x|y|w|h|width|height)\b"
)
#: Columns that name a publication -> its name. The first whose columns are all there.
_LAYOUTS = (
    ({"image index", "finding labels"}, "ChestX-ray14"),
    ({"image index", "finding label", "bbox x"}, "ChestX-ray14"),
    ({"path", "frontal lateral", "ap pa"}, "CheXpert"),
    ({"imageid", "labels", "patientid"}, "PadChest"),
    ({"image id", "class name", "rad id"}, "VinDr-CXR"),
    ({"image id", "rad id"}, "VinDr-CXR"),
    ({"subject id", "study id"}, "MIMIC-CXR"),
    ({"image", "mel", "nv"}, "ISIC"),
    ({"isic id"}, "ISIC"),
)
IMAGE_PARAMETER = Parameter("image", "", "The column of a list that names the images.")
FINDING_PARAMETER = Parameter(
    "finding",
    "",
    "The column of a list that names the findings of an image, or the columns, separated by commas, of one finding "
    "each (1, 0, -1).",
)
PATIENT_PARAMETER = Parameter("patient", "", "The column of a list that names the patients.")


@dataclass(frozen=True)
class ListColumns:
    """What each column of a list is used as. Numbers are places in its header.

    ``study``: subject and study, which name the folder of images (MIMIC-CXR). ``flags``: columns of one finding each.
    ``box``: left, top, then right and bottom, or width and height where not ``has_corners``. ``codes``: place -> coding
    scheme. ``attributes``: place -> name. ``layout``: the publication, or "".
    """

    image: int | None
    study: tuple[int, int] | None
    finding: int | None
    flags: tuple[int, ...]
    patient: int | None
    case: int | None
    part: int | None
    reader: int | None
    box: tuple[int, int, int, int] | None
    has_corners: bool
    codes: Mapping[int, str]
    attributes: Mapping[int, str]
    layout: str

    @classmethod
    def of(cls, text: CsvText, settings: Mapping[str, Value], name: str = "") -> Self:
        """The columns of a list, or of its first rows.

        Raises:
            BadArguments: a column of the settings is not there.
        """
        header = text.header
        plain = [plain_column(column) for column in header]
        columns = list(zip(*text.rows, strict=True)) or [()] * len(header)

        def place(*names: str) -> int | None:
            return next((plain.index(one) for one in names if one in plain), None)

        def chosen(parameter: Parameter) -> list[int]:
            named = str(settings.get(parameter.name, "")).strip()
            return [_place_of(one.strip(), header, name) for one in named.split(",") if one.strip()]

        box = next((names for names in _BOXES if set(names) <= set(plain)), None)
        boxes = None if box is None else tuple(plain.index(one) for one in box)
        images, patients = chosen(IMAGE_PARAMETER), chosen(PATIENT_PARAMETER)
        image = images[0] if images else place(*_IMAGES)
        patient = patients[0] if patients else place(*_PATIENTS, *_LESIONS)
        reader, part, case = place(*_READERS), place(*_PARTS), place(*_CASES)
        codes = {i: scheme for i, one in enumerate(plain) if (scheme := scheme_of_column(one))}
        given = chosen(FINDING_PARAMETER)
        finding: int | None
        if len(given) > 1 or (given and _is_flag(columns[given[0]])):
            finding, flags = None, tuple(given)
        elif given:
            finding, flags = given[0], ()
        else:
            finding = place(*(one for one in _FINDINGS if one != (plain[image] if image is not None else "")))
            if finding is not None and _is_flag(columns[finding]) and len(set(columns[finding])) > 1:
                # "label" of 0 and 1 is a finding of these names where it is the only such column.
                pass
            used = {image, patient, reader, part, case, *(boxes or ()), *codes}
            flags = (
                ()
                if finding is not None
                else tuple(
                    i
                    for i, cells in enumerate(columns)
                    if i not in used and not _NO_FLAGS.match(plain[i]) and _is_flag(cells)
                )
            )
        subject, study = place("subject id"), place("study id")
        used = {image, finding, *flags, patient, case, part, reader, *(boxes or ()), *codes}
        return cls(
            image,
            None if subject is None or study is None else (subject, study),
            finding,
            flags,
            patient,
            case,
            part,
            reader,
            boxes,  # type: ignore[arg-type]
            box is not None and box[2] in _WITH_CORNERS,
            codes,
            {
                i: _ATTRIBUTES.get(plain[i], _attribute(header[i], i, header))
                for i in range(len(header))
                if i not in used
            },
            next((title for names, title in _LAYOUTS if names <= set(plain)), ""),
        )

    @property
    def has_findings(self) -> bool:
        """Whether a column names findings."""
        return self.finding is not None or bool(self.flags)

    def says_something(self) -> bool:
        """Whether a list with these columns belongs to images, and is no table of measurements beside them."""
        known = set(self.attributes.values()) & set(_ATTRIBUTES.values())
        labels = (self.patient, self.part, self.box, *self.codes, *known)
        return self.has_findings or any(one is not None for one in labels)

    def uses(self, n_columns: int) -> tuple[str, ...]:
        """What each column is used as, one of the constants of this module."""
        names: dict[int | None, str] = dict.fromkeys(range(n_columns), ATTRIBUTE)
        for places, use in ((self.codes, CODE), (self.box or (), BOX), (self.flags, FLAG)):
            names.update((place, use) for place in places)
        names |= {self.reader: READER, self.part: PART, self.case: CASE, self.patient: PATIENT}
        names |= {self.finding: FINDING, self.image: IMAGE}
        return tuple(names[place] for place in range(n_columns))

    def described(self, header: Sequence[str]) -> dict[str, str]:
        """Use -> the columns of it, but for attributes."""
        found: dict[str, list[str]] = {}
        for name, use in zip(header, self.uses(len(header)), strict=True):
            if use != ATTRIBUTE:
                found.setdefault(use, []).append(name)
        return {use: ", ".join(names) for use, names in found.items()}


def may_be_image_list(header: Sequence[str]) -> bool:
    """Whether the header of a table names images and something about them; its rows decide."""
    plain = {plain_column(one) for one in header}
    return len(plain) > 1 and not plain.isdisjoint((*_IMAGES, "patientid", "study id"))


def list_layout(header: Sequence[str]) -> str:
    """The publication whose header this is, or ""."""
    plain = {plain_column(one) for one in header}
    return next((title for names, title in _LAYOUTS if names <= plain), "")


def _is_flag(cells: Iterable[str]) -> bool:
    """Whether a column says of one finding that it is there or not."""
    values = {cell.casefold() for cell in set(cells)} - {""}
    return bool(values) and values <= FLAGS.keys()


def _attribute(name: str, place: int, header: Sequence[str]) -> str:
    """The name of an attribute: of "OriginalImage[Width" and "Height]" "OriginalImage Width" and "Height"."""
    written = name
    if "]" in name and "[" not in name:
        opened = next((one for one in reversed(header[:place]) if "[" in one), "")
        name = f"{opened.partition('[')[0]} {name}"
    return " ".join(re.sub(r"[\[\]]", " ", name).split()) or written


def _place_of(column: str, header: Sequence[str], name: str) -> int:
    """
    Raises:
        BadArguments: no such column.
    """
    if column in header:
        return header.index(column)
    folded = [one.casefold() for one in header]
    if column.casefold() in folded:
        return folded.index(column.casefold())
    raise BadArguments(
        tr_lazy("'{name}' has no column '{column}'.", name=name, column=column),
        tr_lazy("Its columns: {columns}.", columns=", ".join(header[:40])),
    )


def number_in(cell: str) -> float | None:
    """The number in a cell of a box; ``None`` where there is none."""
    return float(cell.replace(",", ".")) if is_number(cell) else None
