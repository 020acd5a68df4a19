"""Images with boxes or outlines, as COCO and YOLO write them: each is a case with its category as the finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import read_text
from semblance.core.library.importers.drawn_regions import (
    DrawnRegion,
    read_coco,
    yolo_names,
    yolo_numbers,
    yolo_regions,
)
from semblance.core.library.importers.fitted_regions import RegionFitter
from semblance.core.library.importers.folder import split_of
from semblance.core.library.importers.image_files import common_folder, ignored_files, rejection_of
from semblance.core.library.importers.image_lists import ImageMatcher, patient_of_path
from semblance.core.library.importers.importer import (
    COMMON_PARAMETERS,
    FoundCase,
    Importer,
    Recognition,
    RejectedFile,
)
from semblance.core.library.importers.labels_csv import LabelTable, is_label_table, read_label_tables
from semblance.core.library.importers.source import Source
from semblance.core.parameters import Parameter, Value
from semblance.core.tasks import Reporter

NONE, BACKGROUND, SKIP = "none", "background", "skip"
WITHOUT_BOX_PARAMETER = Parameter(
    "without_box",
    NONE,
    "Images without a box: none (a case of the whole image without a finding), background (with the finding "
    "'background'), or skip (listed as ignored).",
    choices=(NONE, BACKGROUND, SKIP),
)
_COCO_NAMES = ("instances_", "_annotations.coco.json", "annotations.json", "coco.json")
_COCO_STARTS = (b'"images"', b'"annotations"', b'"categories"')
#: The official part in the name of a file: instances_train2017.json.
_PART = re.compile(r"instances_(train|val|test).*\.json", re.IGNORECASE)
_SAMPLED_BYTES = 4096
_CLASS_FILES = frozenset(("classes.txt", "obj.names", "_darknet.labels", "labels.txt"))
_SAMPLED_LABELS = 20
#: Names of a file that are listed one by one, and in a note.
_LISTED, _NAMED = 1000, 3


@dataclass
class _Annotations:
    """The regions of each image, all images that an annotation file names, their patients and official parts, and what
    is to be reported."""

    regions: dict[str, list[DrawnRegion]] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    patients: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    rejected: list[RejectedFile] = field(default_factory=list)

    def reject(self, where: str, reason: str, *, failed: bool) -> None:
        """Report a file or a line."""
        self.rejected.append(RejectedFile(where, reason, failed=failed))


class BoxesImporter(Importer):
    """Images with annotation files of COCO (JSON) or YOLO (a text file for each image).

    A case for each box, polygon or mask; its category is the finding. The key of a case is the path of its image and
    the id of the annotation, or in YOLO its box. No such file knows patients: those of a ``labels.csv``, of the entry
    of an image or of a folder count, and without any each image is one patient.
    """

    kind = "boxes"
    title = "Images with boxes (COCO, YOLO)"
    summary = "Images with boxes, polygons or masks in COCO's JSON or YOLO's text files; each is a case."
    parameters = (*COMMON_PARAMETERS, WITHOUT_BOX_PARAMETER)

    def __init__(self) -> None:
        self._without_box = NONE

    def with_settings(self, values: Mapping[str, Value]) -> Self:
        """An importer with a rule for images without a box."""
        made = super().with_settings(values)
        made._without_box = str(values.get(WITHOUT_BOX_PARAMETER.name, NONE))
        return made

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where an annotation file of COCO, or a label file of YOLO beside an image, is found."""
        images = [entry.path for entry in source.entries() if entry.path and has_image_name(entry.path)]
        if not images:
            return None
        what = tr_lazy_n("{n} image", "{n} images", len(images))
        coco = _coco_files(source)
        if coco:
            return Recognition(0.9, tr_lazy("{what} with boxes in '{file}' (COCO).", what=what, file=coco[0]))
        labels = _yolo_files(source, images)
        some = [path for path in list(labels.values())[:_SAMPLED_LABELS] if _is_yolo(source, path)]
        if not some:
            return None
        return Recognition(
            0.85, tr_lazy("{what} with boxes in text files such as '{file}' (YOLO).", what=what, file=some[0])
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """A case for each region, and for each image without any as the settings say."""
        yield from ignored_files(source)
        images: list[str] = []
        others: list[RejectedFile] = []
        for number, entry in enumerate(source.entries()):
            if number % 100 == 0:
                reporter.check_cancelled()
            if entry.path and is_label_table(entry.path):
                continue
            rejected = rejection_of(source, entry)
            if rejected is None:
                images.append(entry.path)
            else:
                others.append(rejected)
        coco = _coco_files(source)
        found = _read_coco_files(source, coco, images) if coco else _read_yolo_files(source, images, reporter)
        listing = read_label_tables(source, images)
        reported = {one.path for one in found.rejected}
        yield from (one for one in others if one.path not in reported)
        yield from found.rejected
        yield from listing.rejected
        yield from self._cases(source, images, found, listing, reporter)

    def _cases(
        self, source: Source, images: list[str], found: _Annotations, listing: LabelTable, reporter: Reporter
    ) -> Iterator[FoundCase | RejectedFile]:
        fitter, top = RegionFitter(source), common_folder(images)
        n_without, unknown, has_patients = 0, list[str](), False
        for number, path in enumerate(images):
            if number % 100 == 0:
                reporter.check_cancelled()
            line = next(iter(listing.lines.get(path, ())), None)
            label = source.label(path)
            patient = (line.patient if line else None) or found.patients.get(path) or patient_of_path(path)
            has_patients = has_patients or patient is not None
            part = {"part": found.parts[path]} if path in found.parts else {}
            attributes = split_of(path, top) | part | (line.attributes if line else {})
            used, refused = False, list[RejectedFile]()
            for one in found.regions.get(path, ()):
                region = one.region(path, fitter)
                if isinstance(region, str):
                    refused.append(RejectedFile(one.where, region, failed=True))
                    continue
                used = True
                yield FoundCase(
                    f"{label}#{one.key}",
                    path,
                    finding=one.finding,
                    patient=patient or label,
                    region=region,
                    attributes={**attributes, **one.attributes},
                )
            if not used:
                n_without += 1
                if path not in found.known:
                    unknown.append(label)
                if self._without_box == SKIP:
                    yield RejectedFile(path, tr_lazy("It has no box (without_box=skip)."), failed=False)
                else:
                    finding = BACKGROUND if self._without_box == BACKGROUND and path in found.known else None
                    yield FoundCase(
                        label,
                        path,
                        finding=(line.finding if line else None) or finding,
                        patient=patient or label,
                        attributes=attributes,
                    )
            yield from refused
        source.notes += [*fitter.notes, *self._notes(n_without, unknown, has_patients=has_patients)]

    def _notes(self, n_without: int, unknown: list[str], *, has_patients: bool) -> Iterator[str]:
        if not has_patients:
            yield tr_lazy(
                "No patients are known, so all regions of an image count as those of one patient, and images as those "
                "of different patients. A labels.csv with a column patient_id names the patients."
            )
        if n_without:
            yield tr_lazy_n(
                "{n} image has no box that can be used. It was taken by the rule without_box={rule}.",
                "{n} images have no box that can be used. They were taken by the rule without_box={rule}.",
                n_without,
                rule=self._without_box,
            )
        if unknown:
            yield tr_lazy_n(
                "{n} image is named by no annotation file: {names}.",
                "{n} images are named by no annotation file: {names}.",
                len(unknown),
                names=", ".join(unknown[:_NAMED]) + (", …" if len(unknown) > _NAMED else ""),
            )


def _coco_files(source: Source) -> list[str]:
    """The annotation files of COCO: those called instances_*.json where there are such."""
    found = []
    for entry in source.entries():
        if not entry.path.lower().endswith(".json"):
            continue
        try:
            with source.stream(entry.path) as file:
                head = file.read(_SAMPLED_BYTES)
        except BadInput:
            continue
        name = entry.path.lower()
        if any(start in head for start in _COCO_STARTS) or (
            b'"info"' in head and any(one in name for one in _COCO_NAMES)
        ):
            found.append(entry.path)
    instances = [path for path in found if path.rpartition("/")[2].lower().startswith("instances_")]
    return instances or found


def _read_coco_files(source: Source, paths: list[str], images: list[str]) -> _Annotations:
    found, matcher = _Annotations(), ImageMatcher(images)
    for path in paths:
        try:
            file = read_coco(source.read(path), path)
        except BadInput as error:
            found.reject(path, str(error), failed=True)
            continue
        found.reject(path, tr_lazy("Read as boxes."), failed=False)
        for where, reason in file.refused:
            found.reject(where, reason, failed=True)
        matched = matcher.match_names([name for name, _, _ in file.images], path)
        missing = []
        part = _PART.fullmatch(path.rpartition("/")[2])
        for (name, patient, regions), candidates in zip(file.images, matched, strict=True):
            if len(candidates) > 1:
                reason = tr_lazy(
                    "Several images are called '{name}': {images}. Write the path of the one that is meant.",
                    name=name,
                    images=", ".join(candidates[:_NAMED]),
                )
                found.reject(f"{path}:{name}", reason, failed=True)
            elif not candidates:
                missing.append(name)
                if len(missing) <= _LISTED:
                    found.reject(
                        f"{path}:{name}",
                        tr_lazy("It names '{name}', which does not exist.", name=name),
                        failed=False,
                    )
            else:
                found.known.add(candidates[0])
                found.regions.setdefault(candidates[0], []).extend(regions)
                if part is not None:
                    found.parts[candidates[0]] = part[1].lower()
                if patient:
                    found.patients[candidates[0]] = patient
        if missing:
            source.notes.append(
                tr_lazy_n(
                    "{n} image of '{path}' is not here: {names}.",
                    "{n} images of '{path}' are not here: {names}.",
                    len(missing),
                    path=path,
                    names=", ".join(missing[:_NAMED]) + (", …" if len(missing) > _NAMED else ""),
                )
            )
    _make_keys_unique(found)
    return found


def _make_keys_unique(found: _Annotations) -> None:
    """Two files may count their annotations in the same way."""
    for path, regions in found.regions.items():
        used: set[str] = set()
        for place, one in enumerate(regions):
            key, number = one.key, 2
            while key in used:
                key, number = f"{one.key}-{number}", number + 1
            used.add(key)
            regions[place] = replace(one, key=key)
        found.regions[path] = regions


def _yolo_files(source: Source, images: list[str]) -> dict[str, str]:
    """Image -> its label file: beside it, or in a folder ``labels`` where the image is in ``images``."""
    texts = {entry.path for entry in source.entries() if entry.path.lower().endswith(".txt")}
    if not texts:
        return {}
    found = {}
    for path in images:
        folder, _, name = path.rpartition("/")
        file = f"{name.rpartition('.')[0]}.txt"
        parts = folder.split("/") if folder else []
        places = [place for place, part in enumerate(parts) if part.casefold() == "images"]
        candidates = [f"{folder}/{file}" if folder else file]
        if places:
            changed = [*parts[: places[-1]], "labels", *parts[places[-1] + 1 :]]
            candidates.insert(0, "/".join([*changed, file]))
        known = next((one for one in candidates if one in texts), None)
        if known is not None:
            found[path] = known
    return found


def _is_yolo(source: Source, path: str) -> bool:
    """Whether the first line of a label file is one of YOLO."""
    try:
        first = source.head(path).splitlines()[:1]
    except BadInput:
        return False
    cells = first[0].decode("ascii", "replace").split() if first else []
    # An outline may be longer than what was read.
    return len(cells) >= 5 and yolo_numbers(cells[:5]) is not None


def _read_yolo_files(source: Source, images: list[str], reporter: Reporter) -> _Annotations:
    found, labels = _Annotations(), _yolo_files(source, images)
    names, named_in = _names_of_classes(source)
    if named_in:
        found.reject(named_in, tr_lazy("Read as the names of the classes."), failed=False)
    else:
        source.notes.append(
            tr_lazy("No data.yaml or classes.txt names the classes, so the findings are their numbers.")
        )
    for number, (image, path) in enumerate(labels.items()):
        if number % 100 == 0:
            reporter.check_cancelled()
        found.known.add(image)
        try:
            text = source.read(path).decode("utf-8-sig")
        except BadInput as error:
            found.reject(path, str(error), failed=True)
            continue
        except UnicodeDecodeError:
            found.reject(path, tr_lazy("It is no text."), failed=True)
            continue
        found.reject(path, tr_lazy("Read as the boxes of '{image}'.", image=image), failed=False)
        for one in yolo_regions(text, path, names):
            if isinstance(one, DrawnRegion):
                found.regions.setdefault(image, []).append(one)
            else:
                found.reject(*one, failed=True)
    if labels:
        # An image without a label file has no object in it.
        found.known.update(images)
    return found


def _names_of_classes(source: Source) -> tuple[dict[int, str], str]:
    """The names of the classes, and the file that has them."""
    for entry in source.entries():
        name = entry.path.rpartition("/")[2].lower()
        try:
            if name.endswith((".yaml", ".yml")):
                names = yolo_names(read_text(source, entry.path))
            elif name in _CLASS_FILES:
                lines = [line.strip() for line in read_text(source, entry.path).splitlines()]
                names = dict(enumerate(line for line in lines if line))
            else:
                continue
        except BadInput:
            continue
        if names:
            return names, entry.path
    return {}, ""
