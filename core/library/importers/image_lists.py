"""Lists of images with their findings, as collections are published: several lists about the same images are joined,
and one finding of each image is chosen by a rule (:mod:`semblance.core.library.importers.finding_rules`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.finding_codes import (
    FindingCode,
    codes_in_cell,
    plain_column,
    stored_codes,
    without_codes,
)
from semblance.core.library.findings import FindingNames
from semblance.core.library.importers.csv_text import (
    CsvText,
    header_start,
    is_table_with,
    read_list,
    read_text,
)
from semblance.core.library.importers.finding_rules import (
    NO_FINDING,
    SEVERAL_PARAMETER,
    UNCERTAIN_PARAMETER,
    FindingRule,
    ListReport,
    StatedFindings,
    is_no_finding,
    joined,
)
from semblance.core.library.importers.fitted_regions import RegionFitter
from semblance.core.library.importers.importer import RejectedFile
from semblance.core.library.importers.labels_csv import LabelTable, LabelTableLine
from semblance.core.library.importers.list_columns import (
    FINDING_PARAMETER,
    FLAGS,
    IMAGE_PARAMETER,
    PATIENT_PARAMETER,
    ListColumns,
    list_layout,
    may_be_image_list,
    number_in,
)
from semblance.core.library.importers.source import Source
from semblance.core.normal_text import composed, is_missing, is_missing_finding
from semblance.core.parameters import Parameter, Value
from semblance.core.tasks import Reporter

AUTO, REGIONS, WHOLE, MAJORITY, ANY = "auto", "regions", "whole", "majority", "any"
BOXES_PARAMETER = Parameter(
    "boxes",
    AUTO,
    "Boxes in a list: regions (each is a case with its finding) or whole (images are cases, the boxes an attribute). "
    "auto: regions where no other list names findings.",
    choices=(AUTO, REGIONS, WHOLE),
)
READERS_PARAMETER = Parameter(
    "readers",
    MAJORITY,
    "A finding of an image that several readers described: majority (at least half of them named it) or any.",
    choices=(MAJORITY, ANY),
)
#: Settings of lists.
LIST_PARAMETERS = (
    SEVERAL_PARAMETER,
    UNCERTAIN_PARAMETER,
    FINDING_PARAMETER,
    PATIENT_PARAMETER,
    IMAGE_PARAMETER,
    BOXES_PARAMETER,
    READERS_PARAMETER,
)
#: Rows without an image that are listed one by one, and images without a row.
_LISTED = 1000
#: Names in a note.
_NAMED = 3
_PLURAL = frozenset(("labels", "findings", "finding labels", "diagnoses"))
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
#: The file of an official part: train_val_list.txt and test_list.txt of ChestX-ray14.
_PART_FILE = re.compile(
    r"(?:.+?[_-])??(train(?:[_-]?val)?|training|val|valid|validation|test|testing)(?:[_-](?:list|files|images|ids|names))?\.txt",
    re.IGNORECASE,
)
_PARTS = {"training": "train", "valid": "val", "validate": "val", "validation": "val", "dev": "val"}
_PARTS |= {"testing": "test", "train_val": "train", "train-val": "train", "trainval": "train"}
#: The folder of a patient: patient00001 of CheXpert, p10000032 of MIMIC-CXR.
_PATIENT_FOLDER = re.compile(r"(?:patient|subject|subj|pat)[-_ ]?\d+|p\d{5,}", re.IGNORECASE)
_SEXES = {"male": "M", "m": "M", "female": "F", "f": "F"}
_VIEWS = {"POSTEROANTERIOR": "PA", "ANTEROPOSTERIOR": "AP"}
_AGE = re.compile(r"0*(\d{1,3})(?:\.0+)?Y?", re.IGNORECASE)
#: Two boxes of readers are one where the share of their union that they have in common is at least this (PASCAL VOC).
_SAME_BOX = 0.5
_Box = tuple[float, float, float, float]


def image_lists(source: Source) -> list[str]:
    """The tables of ``source`` whose header names images, the largest first."""
    found = [
        entry for entry in source.entries() if entry.path and is_table_with(source, entry, may_be_image_list)
    ]
    return [entry.path for entry in sorted(found, key=lambda entry: -entry.size)]


def layout_of(source: Source, paths: Iterable[str]) -> str:
    """The publication that the first of the lists with a known header belongs to, or ""."""
    return next((layout for path in paths if (layout := list_layout(header_start(source, path)))), "")


@dataclass(slots=True)
class _Statement:
    """What one row says of an image."""

    reader: str
    present: tuple[str, ...]
    uncertain: tuple[str, ...]


@dataclass(slots=True)
class _BoxRow:
    name: str
    box: _Box
    reader: str
    where: str
    attributes: dict[str, str]


@dataclass(slots=True)
class _Image:
    """All that the lists say of an image."""

    where: str
    patient: str = ""
    case_id: str = ""
    statements: list[_Statement] = field(default_factory=list)
    boxes: list[_BoxRow] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    codes: dict[str, FindingCode] = field(default_factory=dict)


class ImageLists:
    """Reads all lists of a source and gives their lines; see :func:`read`."""

    def __init__(
        self, source: Source, images: Sequence[str], settings: Mapping[str, Value], *, exact: bool = False
    ) -> None:
        self._source, self._settings = source, settings
        self._matcher = ImageMatcher(images)
        self._names = FindingNames(exact=exact)
        self._images: dict[str, _Image] = {}
        self._cells: dict[tuple[str, bool], tuple[tuple[str, ...], tuple[FindingCode, ...]]] = {}
        #: The same for the columns of one finding each; emptied with each list.
        self._flag_cells: dict[
            tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...], tuple[FindingCode, ...]]
        ] = {}
        self._unmatched: list[RejectedFile] = []
        self._found_columns: set[str] = set()
        #: Whether lists name findings: those without boxes, those with.
        self._names_findings = self._boxes_name_findings = False
        self.report = ListReport()
        self.table = LabelTable()

    def read(self, paths: Sequence[str], reporter: Reporter) -> LabelTable:
        """The lines of the lists ``paths`` by image, and what is to be reported.

        Raises:
            BadArguments: a column of the settings that no list has, or a rule for a finding that no image has.
        """
        for path in paths:
            reporter.check_cancelled()
            try:
                self._read(path)
            except BadInput as error:
                self._reject(path, str(error), failed=True)
        for parameter in (IMAGE_PARAMETER, FINDING_PARAMETER, PATIENT_PARAMETER):
            given = str(self._settings.get(parameter.name, ""))
            if given and parameter.name not in self._found_columns:
                raise BadArguments(
                    tr_lazy("No list has the column '{column}'.", column=given),
                    tr_lazy("Set '{name}' to a column of a list beside the images.", name=parameter.name),
                )
        self._read_parts(reporter)
        if self._images:
            self._write_lines()
        self.table.report = self.report if self.report.files else None
        self.table.rejected += self._unmatched
        return self.table

    # --- one list -----------------------------------------------------------------------------------------

    def _read(self, path: str) -> None:
        text = read_list(self._source, path)
        settings = dict(self._settings)
        for parameter in (IMAGE_PARAMETER, FINDING_PARAMETER, PATIENT_PARAMETER):
            named = [one.strip().casefold() for one in str(settings.get(parameter.name, "")).split(",")]
            if not {one for one in named if one} <= {one.casefold() for one in text.header}:
                settings.pop(parameter.name, None)
            else:
                self._found_columns.add(parameter.name)
        columns = ListColumns.of(text, settings, path)
        if not columns.says_something():
            self._reject(path, tr_lazy("Not an image: {other_kinds}.", other_kinds=_A_TABLE), failed=False)
            return
        matched = self._matcher.match(text, columns, path)
        if not any(len(found) for found in matched):
            self._reject(
                path, tr_lazy("Not used: none of its rows names an image of this source."), failed=False
            )
            return
        for failed in text.failed:
            reason = tr_lazy("Line {line}: {reason}.", line=failed.line, reason=failed.reason)
            self._reject(f"{path}:{failed.line}", reason, failed=True)
        self._reject(path, tr_lazy("Read as labels."), failed=False)
        self._note_list(path, text, columns)
        self._take_rows(path, text, columns, matched)

    def _note_list(self, path: str, text: CsvText, columns: ListColumns) -> None:
        self.report.files.append(path)
        self.report.layout = self.report.layout or columns.layout
        for use, names in columns.described(text.header).items():
            self.report.columns.setdefault(use, names)
        if columns.has_findings:
            if columns.box is None:
                self._names_findings = True
            else:
                self._boxes_name_findings = True

    def _take_rows(
        self, path: str, text: CsvText, columns: ListColumns, matched: Sequence[Sequence[str]]
    ) -> None:
        plural = columns.finding is not None and plain_column(text.header[columns.finding]) in _PLURAL
        companions = self._companion_columns(text, columns)
        n_unmatched, first_unmatched = 0, list[str]()
        self._flag_cells.clear()
        for row, number, found in zip(text.rows, text.lines, matched, strict=True):
            written = self._written(row, columns)
            if not found:
                n_unmatched += 1
                if n_unmatched <= _LISTED:
                    reason = tr_lazy(
                        "Line {number} names '{row}', which does not exist.", number=number, row=written
                    )
                    self._unmatched.append(RejectedFile(f"{path}:{number}", reason, failed=False))
                    first_unmatched.append(written)
                continue
            if len(found) > 1 and columns.study is None:
                reason = tr_lazy(
                    "Line {number} names '{row}', and several images are called so: {images}. Write the path of the "
                    "one that is meant.",
                    number=number,
                    row=written,
                    images=", ".join(found[:_NAMED]),
                )
                self._reject(f"{path}:{number}", reason, failed=True)
                continue
            for image in found:
                self._take_row(image, row, f"{path}:{number}", text.header, columns, plural)
            for place in companions:
                for part in row[place].split(";"):
                    for companion in self._matcher.find(part.strip())[:1]:
                        if companion not in found:
                            self.table.companions.setdefault(companion, found[0])
        self._note_unmatched(path, n_unmatched, len(text.rows), first_unmatched)

    def _take_row(
        self,
        path: str,
        row: Sequence[str],
        where: str,
        header: Sequence[str],
        columns: ListColumns,
        plural: bool,
    ) -> None:
        image = self._images.get(path)
        if image is None:
            image = self._images[path] = _Image(where)
        patient = row[columns.patient] if columns.patient is not None else ""
        if patient and not is_missing(patient):
            if image.patient and image.patient != patient:
                reason = tr_lazy(
                    "Another line gives '{image}' the patient {first}, this one {second}. The first counts.",
                    image=path,
                    first=image.patient,
                    second=patient,
                )
                self._reject(where, reason, failed=True)
            image.patient = image.patient or patient
        if columns.case is not None:
            image.case_id = image.case_id or row[columns.case]
        reader = row[columns.reader] if columns.reader is not None else ""
        present, uncertain, codes = self._findings(row, header, columns, plural)
        for code in (*codes, *_codes_of_columns(row, columns, present)):
            image.codes.setdefault(str(code), code)
        box = self._box(row, columns)
        attributes = _attributes_of_row(row, header, columns)
        if box is not None:
            image.boxes.append(_BoxRow(", ".join(present), box, reader, where, attributes))
            return
        if present or uncertain or (columns.has_findings and columns.box is None):
            image.statements.append(_Statement(reader, present, uncertain))
        if image.attributes:
            attributes |= image.attributes
        image.attributes = attributes

    def _findings(
        self, row: Sequence[str], header: Sequence[str], columns: ListColumns, plural: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[FindingCode, ...]]:
        """The findings of a row that are present, and uncertain, and the codes written beside them."""
        if columns.finding is not None:
            names, codes = self._divided(row[columns.finding], plural)
            return names, (), codes
        if not columns.flags:
            return (), (), ()
        cells = tuple(row[place] for place in columns.flags)
        if cells not in self._flag_cells:
            states = [FLAGS.get(cell.casefold()) for cell in cells]
            flags = [header[place] for place in columns.flags]
            present, uncertain = (
                joined(name for name, state in zip(flags, states, strict=True) if state == wanted)
                for wanted in (1, -1)
            )
            if all(state == 0 for state in states):
                present = (NO_FINDING,)
            self._flag_cells[cells] = present, uncertain, ()
        return self._flag_cells[cells]

    def _divided(self, cell: str, plural: bool) -> tuple[tuple[str, ...], tuple[FindingCode, ...]]:
        key = (cell, plural)
        if key not in self._cells:
            if cell.startswith("[") and cell.endswith("]"):
                parts: Sequence[str] = [one or other for one, other in _QUOTED.findall(cell)]
            elif "|" in cell:
                parts = cell.split("|")
            else:
                parts = cell.split(";") if plural else [cell]
            names: list[str] = []
            codes: list[FindingCode] = []
            for part in parts:
                text, found = without_codes(part.strip())
                name = None if is_missing_finding(text) else self._names.name(text)
                if name:
                    names.append(name)
                    codes += [replace(code, finding=name) for code in found]
            self._cells[key] = joined(names), tuple(codes)
        return self._cells[key]

    def _box(self, row: Sequence[str], columns: ListColumns) -> _Box | None:
        """The box of a row in pixels: left, top, width and height; ``None`` where it has none."""
        if columns.box is None:
            return None
        numbers = [number_in(row[place]) for place in columns.box]
        if any(number is None for number in numbers):
            return None
        left, top, third, fourth = (float(number or 0) for number in numbers)
        return (left, top, third - left, fourth - top) if columns.has_corners else (left, top, third, fourth)

    def _companion_columns(self, text: CsvText, columns: ListColumns) -> list[int]:
        """Columns whose cells name other images of the source, such as masks."""
        found = []
        for place in columns.attributes:
            cells = [row[place] for row in text.rows[:200] if row[place]]
            named = sum(has_image_name(cell) and bool(self._matcher.find(cell)) for cell in cells)
            if 2 * named > len(cells):
                found.append(place)
        return found

    def _written(self, row: Sequence[str], columns: ListColumns) -> str:
        if columns.image is not None:
            return row[columns.image]
        return "/".join(row[place] for place in columns.study or ())

    # --- all lists ----------------------------------------------------------------------------------------

    def _read_parts(self, reporter: Reporter) -> None:
        """Text files that list the images of an official part."""
        if not self._images:
            return
        for entry in self._source.entries():
            name = _PART_FILE.fullmatch(entry.path.rpartition("/")[2])
            if name is None:
                continue
            reporter.check_cancelled()
            try:
                lines = [line.strip() for line in read_text(self._source, entry.path).splitlines()]
            except BadInput as error:
                self._reject(entry.path, str(error), failed=True)
                continue
            lines = [line for line in lines if line]
            found = [self._matcher.find(line) for line in lines]
            known = [one[0] for one in found if len(one) == 1]
            if 2 * len(known) < len(lines) and not self._matcher.is_partial:
                continue
            if not known:
                continue
            part = _part(name[1])
            for path in known:
                if path in self._images:
                    self._images[path].attributes.setdefault("part", part)
            self._reject(entry.path, tr_lazy("Read as the official part '{part}'.", part=part), failed=False)
            missing = [line for line, one in zip(lines, found, strict=True) if len(one) != 1]
            self._note_unmatched(entry.path, len(missing), len(lines), missing)
            self.report.files.append(entry.path)

    def _write_lines(self) -> None:
        with_regions = self._settings.get(BOXES_PARAMETER.name, AUTO)
        if with_regions == AUTO:
            with_regions = WHOLE if self._names_findings else REGIONS
        has_findings = self._names_findings or self._boxes_name_findings
        by_majority = self._settings.get(READERS_PARAMETER.name, MAJORITY) == MAJORITY
        stated: dict[str, StatedFindings] = {}
        for path, image in self._images.items():
            if with_regions == WHOLE and not self._names_findings:
                image.statements += [_Statement(one.reader, _parts_of(one.name), ()) for one in image.boxes]
            stated[path] = _agreed(image.statements, by_majority=by_majority)
        boxed = with_regions == REGIONS and any(image.boxes for image in self._images.values())
        counted = [one for path, one in stated.items() if not (boxed and self._images[path].boxes)] + [
            StatedFindings(_parts_of(box.name))
            for image in self._images.values()
            for box in (image.boxes if boxed else ())
        ]
        rule = FindingRule.of(self._settings, self._source.earlier_rule).resolved(counted)
        fitter = RegionFitter(self._source)
        for path, image in self._images.items():
            attributes = self._attributes(image, image.attributes)
            if boxed and image.boxes:
                self._write_regions(path, image, rule, fitter)
                continue
            if image.boxes:
                attributes["boxes"] = "|".join(
                    f"{one.name} {_box_text(one.box)}".strip() for one in image.boxes
                )
            says = stated[path]
            finding = rule.finding(says) if has_findings else None
            kept = says.attributes() if has_findings else {}
            self._add(path, image, finding, {**attributes, **kept}, has_findings=has_findings)
        self._note_rule(rule, counted, boxed=boxed)
        if fitter.notes:
            self._source.notes += fitter.notes
        self._note_parts()

    def _write_regions(self, path: str, image: _Image, rule: FindingRule, fitter: RegionFitter) -> None:
        """A line for each box of an image. Without a known patient its regions belong to one, named by the image."""
        if not image.patient:
            image.patient = self._source.label(path)
        used = False
        for box in _one_for_each_place(image.boxes):
            region = fitter.region(path, box.box)
            if isinstance(region, str):
                self._reject(box.where, region, failed=True)
                continue
            says = StatedFindings(_parts_of(box.name))
            reader = {"reader": box.reader} if box.reader else {}
            attributes = self._attributes(image, {**image.attributes, **box.attributes})
            used = True
            self._add(
                path,
                image,
                rule.finding(says),
                {**attributes, **reader, **says.attributes()},
                region=region,
                has_findings=True,
            )
        if not used:
            self._add(path, image, None, self._attributes(image, image.attributes), has_findings=True)

    def _add(
        self,
        path: str,
        image: _Image,
        finding: str | None,
        attributes: Mapping[str, str],
        *,
        has_findings: bool,
        region: Region | None = None,
    ) -> None:
        lines = self.table.lines.setdefault(path, [])
        suffix = "" if region is None else f"{region.x},{region.y},{region.width},{region.height}"
        known = next((one for one in lines if region is not None and one.suffix == suffix), None)
        if known is not None:
            suffix = f"{suffix},{sum(one.suffix.startswith(suffix) for one in lines) + 1}"
        lines.append(
            LabelTableLine(
                image.where,
                finding,
                has_findings,
                image.patient or patient_of_path(path),
                image.case_id if region is None else "",
                dict(attributes),
                region,
                suffix,
            )
        )

    def _attributes(self, image: _Image, attributes: Mapping[str, str]) -> dict[str, str]:
        found = {name: _normal(name, text) for name, text in attributes.items()}
        projection, direction = found.pop("projection", ""), found.pop("direction", "")
        if (projection or direction) and "view" not in found:
            found["view"] = projection or direction.upper()
        return {**found, **stored_codes(image.codes.values())}

    # --- notes --------------------------------------------------------------------------------------------

    def _note_rule(self, rule: FindingRule, stated: Sequence[StatedFindings], *, boxed: bool) -> None:
        several = sum(len([name for name in one.present if not is_no_finding(name)]) > 1 for one in stated)
        uncertain = sum(bool(one.uncertain) for one in stated)
        self.report.cases_with_several, self.report.cases_with_uncertain = several, uncertain
        self.report.rule = {name: str(value) for name, value in rule.to_json().items()}
        self.report.rule |= {
            "boxes": REGIONS if boxed else WHOLE,
            "readers": str(self._settings.get(READERS_PARAMETER.name, MAJORITY)),
        }
        if several:
            self._source.notes.append(
                tr_lazy_n(
                    "{n} case has several findings. Its finding was chosen by the rule several={rule}. All are "
                    "kept in its attribute 'findings'. `semblance finding-rule` changes the rule.",
                    "{n} cases have several findings. Their finding was chosen by the rule several={rule}. All are "
                    "kept in the attribute 'findings'. `semblance finding-rule` changes the rule.",
                    several,
                    rule=rule.chosen,
                )
            )
        if uncertain:
            self._source.notes.append(
                tr_lazy_n(
                    "{n} case has findings that its list calls uncertain (-1). They were counted by the rule "
                    "uncertain={rule}.",
                    "{n} cases have findings that their list calls uncertain (-1). They were counted by the rule "
                    "uncertain={rule}.",
                    uncertain,
                    rule=rule.uncertain,
                )
            )

    def note_images_without_row(self, images: Iterable[str]) -> None:
        """Say which images no list names."""
        missing = [path for path in images if path not in self._images and path not in self.table.companions]
        self.report.images_without_row = len(missing)
        self.report.first_images_without_row = [self._source.label(path) for path in missing[:_LISTED]]
        if missing:
            self._source.notes.append(
                tr_lazy_n(
                    "{n} image has no row in the lists, so it has no finding: {names}.",
                    "{n} images have no row in the lists, so they have no finding: {names}.",
                    len(missing),
                    names=", ".join(missing[:_NAMED]) + (", …" if len(missing) > _NAMED else ""),
                )
            )

    def _note_unmatched(self, path: str, n: int, total: int, first: Sequence[str]) -> None:
        if not n:
            return
        self.report.rows_without_image += n
        if n > _LISTED:
            reason = tr_lazy("{n:,} more rows name images that are not here.", n=n - _LISTED)
            self._unmatched.append(RejectedFile(f"{path}:…", reason, failed=False))
        self._source.notes.append(
            tr_lazy_n(
                "{n} row of {total:,} in '{path}' names an image that is not here: {names}.",
                "{n} rows of {total:,} in '{path}' name images that are not here: {names}.",
                n,
                total=total,
                path=path,
                names=", ".join(first[:_NAMED]) + (", …" if n > _NAMED else ""),
            )
        )

    def _note_parts(self) -> None:
        """Say which patients are in several official parts."""
        parts: dict[str, set[str]] = {}
        for lines in self.table.lines.values():
            for line in lines:
                if line.patient and (part := line.attributes.get("part")):
                    parts.setdefault(line.patient, set()).add(part)
        several = [patient for patient, found in parts.items() if len(found) > 1]
        if several:
            self._source.notes.append(
                tr_lazy_n(
                    "{n} patient is in several official parts.",
                    "{n} patients are in several official parts, so these cannot be used as a split by patients.",
                    len(several),
                )
            )

    def _reject(self, where: str, reason: str, *, failed: bool) -> None:
        self.table.rejected.append(RejectedFile(where, reason, failed=failed))


_A_TABLE = tr_lazy("a table; import it separately")


def _agreed(statements: Sequence[_Statement], *, by_majority: bool) -> StatedFindings:
    """What the rows of an image say together. Of several readers a finding counts that at least half of them named."""
    if len(statements) == 1:
        return StatedFindings(statements[0].present, statements[0].uncertain)
    readers = {one.reader for one in statements}
    named: dict[str, set[str]] = {}
    doubted: dict[str, None] = {}
    for one in statements:
        for name in one.present:
            named.setdefault(name, set()).add(one.reader)
        doubted |= dict.fromkeys(one.uncertain)
    needed = len(readers) / 2 if by_majority and len(readers) > 1 else 0
    present = tuple(name for name, of in named.items() if len(of) >= needed)
    found = tuple(name for name in present if not is_no_finding(name))
    return StatedFindings(found or present, tuple(name for name in doubted if name not in named))


def _one_for_each_place(boxes: Sequence[_BoxRow]) -> list[_BoxRow]:
    """The boxes, those of several readers around one finding in one place as one: the first, with their names."""
    kept: list[tuple[_BoxRow, list[str]]] = []
    for box in boxes:
        same = next(
            (
                readers
                for one, readers in kept
                if one.name == box.name
                and (
                    one.box == box.box
                    or (box.reader and box.reader not in readers and _overlap(one.box, box.box) >= _SAME_BOX)
                )
            ),
            None,
        )
        if same is None:
            kept.append((box, [box.reader]))
        elif box.reader not in same:
            same.append(box.reader)
    return [replace(box, reader=", ".join(filter(None, readers))) for box, readers in kept]


def _overlap(one: _Box, other: _Box) -> float:
    """The intersection over the union of two boxes."""
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    common = max(0.0, width) * max(0.0, height)
    union = one[2] * one[3] + other[2] * other[3] - common
    return common / union if union > 0 else 0.0


def _codes_of_columns(row: Sequence[str], columns: ListColumns, present: Sequence[str]) -> list[FindingCode]:
    """The codes in columns of their own: of several findings as many, in their order."""
    found: list[FindingCode] = []
    for place, scheme in columns.codes.items():
        values = codes_in_cell(row[place], scheme)
        if len(values) == len(present):
            found += [FindingCode(scheme, value, name) for name, value in zip(present, values, strict=True)]
    return found


def _attributes_of_row(row: Sequence[str], header: Sequence[str], columns: ListColumns) -> dict[str, str]:
    found = {name: row[place] for place, name in columns.attributes.items() if row[place]}
    found |= {header[place]: row[place] for place in columns.codes if row[place]}
    if columns.part is not None and row[columns.part]:
        found["part"] = _part(row[columns.part])
    return found


def _parts_of(name: str) -> tuple[str, ...]:
    return tuple(filter(None, name.split(", ")))


def _box_text(box: _Box) -> str:
    return ",".join(f"{value:.0f}" for value in box)


def _normal(name: str, text: str) -> str:
    """The text of an attribute as reports and filters know it."""
    if name == "sex":
        return _SEXES.get(text.casefold(), text)
    if name == "age":
        found = _AGE.fullmatch(text)
        return found[1] if found else text
    return _VIEWS.get(text.upper(), text.upper()) if name == "view" else text


def _part(text: str) -> str:
    return _PARTS.get(text.strip().casefold(), text.strip().casefold())


def patient_of_path(path: str) -> str | None:
    """The patient by the name of a folder around the image; ``None`` where none is named so."""
    folders = path.split("/")[:-1]
    return next((one for one in reversed(folders) if _PATIENT_FOLDER.fullmatch(one)), None)


class ImageMatcher:
    """Finds the image that a row of a list means, in time that grows with the rows and images only.

    A path is compared from its end: lists name folders that are called otherwise, or are not there, where the images
    are. How many leading folders of its paths a list has too many is the same for all its
    rows with as many folders.
    """

    def __init__(self, images: Sequence[str]) -> None:
        self._paths = images
        self._parts = [composed(path).casefold().split("/") for path in images]
        self._tails: dict[int, dict[str, list[int]]] = {}
        #: Whether rows of a list named images that are not here.
        self.is_partial = False

    def match(self, text: CsvText, columns: ListColumns, listing: str) -> list[list[str]]:
        """The images that each row means: none, one, or several of which one must be meant."""
        found: list[list[str]] = []
        if columns.image is not None:
            found = self.match_names([row[columns.image] for row in text.rows], listing)
        if not any(found) and columns.study is not None:
            found = self._match_studies([[row[i] for i in columns.study] for row in text.rows])
        if not any(found) and columns.patient is not None:
            # Lists of one image a patient (RSNA) name it by the patient.
            found = self.match_names([row[columns.patient] for row in text.rows], listing)
        self.is_partial = self.is_partial or not all(found)
        return found or [[] for _ in text.rows]

    def find(self, written: str) -> list[str]:
        """The images of a path or name."""
        parts = _parts_of_path(written)
        for dropped in range(len(parts)):
            if found := self._tail(parts[dropped:]):
                return [self._paths[i] for i in found]
        return []

    def match_names(self, written: Sequence[str], listing: str) -> list[list[str]]:
        """The images that each of the names in the file ``listing`` means, as :meth:`match` gives them."""
        divided = [_parts_of_path(one) for one in written]
        folder = composed(listing).casefold().rpartition("/")[0]
        results: list[list[str]] = [[] for _ in written]
        by_length: dict[int, list[int]] = {}
        for row, parts in enumerate(divided):
            by_length.setdefault(len(parts), []).append(row)
        for length, rows in by_length.items():
            for dropped in range(length):
                found = [self._tail(divided[row][dropped:]) for row in rows]
                if any(found):
                    for row, one in zip(rows, found, strict=True):
                        known = [self._paths[i] for i in one]
                        results[row] = self._nearest(one, divided[row], folder) if len(one) > 1 else known
                    break
        return results

    def _nearest(self, found: Sequence[int], parts: Sequence[str], folder: str) -> list[str]:
        """Of several images those where the list lies, else those that are written exactly so."""
        exact = "/".join([*folder.split("/"), *parts]) if folder else "/".join(parts)
        chosen = [i for i in found if "/".join(self._parts[i]) == exact] or [
            i for i in found if folder and "/".join(self._parts[i]).startswith(f"{folder}/")
        ]
        return [self._paths[i] for i in chosen or found]

    def _match_studies(self, written: Sequence[Sequence[str]]) -> list[list[str]]:
        """Images in the folder of a study within the folder of a patient: p10000032/s50414267."""
        by_study: dict[tuple[str, str], list[str]] = {}
        for path, parts in zip(self._paths, self._parts, strict=True):
            if len(parts) > 2:
                key = _digits(parts[-3]), _digits(parts[-2])
                by_study.setdefault(key, []).append(path)
        return [by_study.get((_digits(subject), _digits(study)), []) for subject, study in written]

    def _tail(self, parts: Sequence[str]) -> list[int]:
        n = len(parts)
        if n not in self._tails:
            tails: dict[str, list[int]] = {}
            for i, known in enumerate(self._parts):
                if len(known) >= n:
                    tail = "/".join(known[-n:])
                    tails.setdefault(tail, []).append(i)
                    stem = tail.rpartition(".")[0]
                    if stem and "/" not in tail[len(stem) :]:
                        tails.setdefault(stem, []).append(i)
            self._tails[n] = tails
        return self._tails[n].get("/".join(parts), [])


def _parts_of_path(written: str) -> list[str]:
    text = written if written.isascii() else composed(written)
    return [part for part in text.casefold().replace("\\", "/").split("/") if part not in ("", ".", "..")]


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text)).lstrip("0")
