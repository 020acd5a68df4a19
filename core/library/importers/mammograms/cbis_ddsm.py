"""CBIS-DDSM: R. S. Lee et al., "A curated mammography data set", Scientific Data 4:170177, 2017.

Tables ``mass_case_description_train_set.csv`` and the like, a line an abnormality, beside the images as
DICOM files or saved as PNG or JPEG under the same folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from semblance.core.errors import BadInput
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import CsvText, column_named, read_list
from semblance.core.library.importers.importer import FoundCase, Recognition, RejectedFile
from semblance.core.library.importers.mammograms.collection import (
    Collection,
    case_keys,
    is_mammogram_file,
    rejection_of_mammogram,
)
from semblance.core.library.importers.masks import NoMask, WrongSize, read_mask
from semblance.core.library.importers.source import Entry, Source
from semblance.core.normal_text import composed
from semblance.core.tasks import Reporter

FINDING = {"BENIGN": "benign", "BENIGN_WITHOUT_CALLBACK": "benign", "MALIGNANT": "malignant"}

_IMAGE, _CROP, _MASK = "image file path", "cropped image file path", "roi mask file path"
_ATTRIBUTES = {
    "left or right breast": "breast",
    "image view": "view",
    "breast density": "density",
    "breast_density": "density",
    "abnormality type": "abnormality",
    "mass shape": "shape",
    "mass margins": "margins",
    "calc type": "calcification type",
    "calc distribution": "calcification distribution",
    "assessment": "assessment",
    "subtlety": "subtlety",
}


@dataclass(frozen=True)
class _AbnormalityRow:
    where: str
    cells: Mapping[str, str]
    split: str


class CBISDDSM(Collection):
    """One case an abnormality; its region the mask's. ``BENIGN_WITHOUT_CALLBACK`` counts as benign.

    The tables of the collection exchange crop and mask here and there: the one that is black and white and
    has the size of the image is taken.
    """

    title = "CBIS-DDSM"

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where a table of CBIS-DDSM lies beside mammograms."""
        tables = [e.path for e in source.entries() if _is_table(e)]
        images = [e.path for e in source.entries() if e.path and is_mammogram_file(e.path)]
        if not tables or not images:
            return None
        files = tr_lazy_n("{n} image file", "{n} image files", len(images))
        return Recognition(
            0.95, tr_lazy("{files} described by {tables}.", files=files, tables=", ".join(tables))
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each abnormality of the tables, with the region of its mask."""
        images: list[str] = []
        rows: list[_AbnormalityRow] = []
        for number, entry in enumerate(source.entries()):
            if number % 100 == 0:
                reporter.check_cancelled()
            if _is_table(entry):
                yield from _read_table(source, entry.path, rows)
                continue
            rejected = rejection_of_mammogram(source, entry)
            if rejected is None:
                images.append(entry.path)
            else:
                yield rejected
        finder = _ImageFinder(images)
        by_image: dict[str, list[_AbnormalityRow]] = {}
        for row in rows:
            found = finder.find(row.cells[_IMAGE])
            if found is None:
                reason = tr_lazy("Its image '{cells}' does not exist.", cells=_shorten(row.cells[_IMAGE]))
                yield RejectedFile(row.where, reason, failed=True)
            else:
                by_image.setdefault(found, []).append(row)
        yield from self._described_cases(source, images, by_image, finder, reporter)

    def _described_cases(
        self,
        source: Source,
        images: list[str],
        by_image: dict[str, list[_AbnormalityRow]],
        finder: _ImageFinder,
        reporter: Reporter,
    ) -> Iterator[FoundCase | RejectedFile]:
        """The cases of the described images, then the masks, crops and images that are none."""
        reported: dict[str, RejectedFile] = {}
        with ImageReader() as reader:
            for path in images:
                image_rows = by_image.get(path, [])
                for key, row in zip(case_keys(path, len(image_rows)), image_rows, strict=False):
                    reporter.check_cancelled()
                    region = _region(source, reader, finder, path, row, reported)
                    yield _case(key, path, row, region)
        for path in images:
            if path not in by_image:
                yield reported.get(path) or RejectedFile(
                    path, tr_lazy("No table describes it."), failed=False
                )


def _is_table(entry: Entry) -> bool:
    name = PurePosixPath(entry.path).name.lower()
    return name.endswith(".csv") and "_case_description_" in name


def _read_table(source: Source, path: str, rows: list[_AbnormalityRow]) -> Iterator[RejectedFile]:
    """Add the rows of one table to ``rows`` and report its damage."""
    try:
        read, rejected = _rows(read_list(source, path), path)
    except BadInput as error:
        yield RejectedFile(path, str(error), failed=True)
        return
    yield RejectedFile(path, tr_lazy("Read as descriptions of cases."), failed=False)
    yield from rejected
    rows += read


def _rows(text: CsvText, path: str) -> tuple[list[_AbnormalityRow], list[RejectedFile]]:
    """
    Raises:
        BadInput: a column that is needed is missing.
    """
    header = [name.strip().casefold() for name in text.header]
    for needed in ("patient_id", "pathology", _IMAGE):
        if column_named(header, needed) is None:
            raise BadInput(
                tr_lazy("'{path}' has no column '{needed}'.", path=path, needed=needed),
                "Use the table as the collection provides it.",
            )
    split = "test" if "test" in PurePosixPath(path).name.lower() else "train"
    rejected = [
        RejectedFile(
            f"{path}:{f.line}", tr_lazy("Line {line}: {reason}.", line=f.line, reason=f.reason), failed=True
        )
        for f in text.failed
    ]
    rows = [
        _AbnormalityRow(f"{path}:{line}", dict(zip(header, cells, strict=True)), split)
        for cells, line in zip(text.rows, text.lines, strict=True)
    ]
    return rows, rejected


def _case(key: str, path: str, row: _AbnormalityRow, region: Region | None) -> FoundCase:
    pathology = row.cells["pathology"].upper()
    attributes = {new: row.cells[old].lower() for old, new in _ATTRIBUTES.items() if row.cells.get(old)}
    if pathology == "BENIGN_WITHOUT_CALLBACK":
        attributes["callback"] = "no"
    names = [
        row.cells.get(name, "") for name in ("left or right breast", "abnormality type", "abnormality id")
    ]
    # The views of one abnormality have its number.
    lesion = {"lesion_id": " ".join(names)} if all(names) else {}
    return FoundCase(
        key,
        path,
        finding=FINDING.get(pathology, pathology.lower() or None),
        patient=row.cells["patient_id"] or None,
        region=region,
        attributes=attributes | lesion | {"split": row.split},
    )


def _region(
    source: Source,
    reader: ImageReader,
    finder: _ImageFinder,
    path: str,
    row: _AbnormalityRow,
    reported: dict[str, RejectedFile],
) -> Region | None:
    """The region of the row's mask. How mask and crop were used is added to ``reported``."""
    named = [finder.find(row.cells.get(column, ""), other_than=path) for column in (_MASK, _CROP)]
    neighbours = [
        neighbour for name in named if name is not None for neighbour in finder.others_in_folder(name)
    ]
    candidates = list(dict.fromkeys([name for name in named if name is not None] + neighbours))
    if not candidates:
        return None
    try:
        image = reader.open(source.address(path))
        size = (image.height, image.width)
    except BadInput:
        # The import reads the image itself and reports its failure.
        size = None
    problems: dict[str, BadInput] = {}
    region = None
    for mask in candidates:
        if region is None:
            try:
                marked = read_mask(source, mask, reader, size)
                region = region_of_mask(marked)
            except NoMask as error:
                problems[mask], reason = error, tr_lazy("A detail of '{path}'.", path=path)
            except BadInput as error:
                problems[mask], reason = error, str(error)
            else:
                reported[mask] = RejectedFile(mask, tr_lazy("The mask of '{path}'.", path=path), failed=False)
                continue
        else:
            reason = tr_lazy("It lies beside the mask of '{path}' and was not needed.", path=path)
        is_damaged = mask in problems and not isinstance(problems[mask], NoMask)
        reported.setdefault(mask, RejectedFile(mask, reason, failed=is_damaged))
    if region is None:
        # The table may name the detail as the mask; what is black and white is the mask.
        mask = next((one for one in candidates if isinstance(problems[one], WrongSize)), candidates[0])
        reported[mask] = RejectedFile(
            mask,
            tr_lazy("No mask for '{path}': {problem}", path=path, problem=str(problems[mask])),
            failed=True,
        )
    return region


def _shorten(path: str) -> str:
    return path if len(path) <= 80 else f"{path[:40]}…{path[-38:]}"


class _ImageFinder:
    """Finds the file that a table's path means: as written, with another ending, by its folder alone where
    that holds one image (the archive renamed its files), or by the folder of its series."""

    def __init__(self, images: list[str]) -> None:
        self._by_path: dict[str, list[str]] = {}
        self._by_folder: dict[str, list[str]] = {}
        for path in images:
            parts = PurePosixPath(composed(path)).with_suffix("").parts
            for start in range(len(parts)):
                self._by_path.setdefault("/".join(parts[start:]), []).append(path)
            for folder in set(parts[:-1]):
                self._by_folder.setdefault(folder, []).append(path)

    def find(self, written: str, other_than: str | None = None) -> str | None:
        parts = PurePosixPath(written.strip().replace("\\", "/").removeprefix("./"))
        if not parts.name:
            return None
        exact = self._by_path.get("/".join(parts.with_suffix("").parts), [])
        if len(exact) == 1:
            return exact[0]
        # The folder between, of the study, may be shared by several views.
        for folder in (*parts.parts[:1], *parts.parts[1:-1][-1:]):
            inside = [path for path in self._by_folder.get(folder, []) if path != other_than]
            if inside:
                return inside[0]
        return None

    def others_in_folder(self, path: str) -> list[str]:
        """The other images in the folder of ``path``."""
        folder = PurePosixPath(path).parent
        inside = self._by_folder.get(composed(folder.name), [])
        return [other for other in inside if PurePosixPath(other).parent == folder and other != path]
