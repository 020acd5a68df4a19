"""``labels.csv`` beside the images: which finding and patient each image has.

A line names its image in ``path``, ``file``, ``filename``, ``image`` or ``image``, relative to the folder
of ``labels.csv``; its finding in ``label``, ``finding``, ``class`` or ``diagnosis``; its patient in
``patient_id``, ``patient`` or ``subject``; a ``case_id`` of its own if it likes. The other columns become
attributes. Several lines of one image are several cases. An empty finding is no finding; without a column
of findings the sub-folders give them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from semblance.core.errors import BadInput
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.library.finding_codes import (
    FindingCode,
    codes_in_cell,
    plain_column,
    scheme_of_column,
    stored_codes,
    without_codes,
)
from semblance.core.library.importers.csv_text import (
    FINDING_COLUMNS,
    IMAGE_COLUMNS,
    PATIENT_COLUMNS,
    CsvText,
    column_named,
    read_list,
)
from semblance.core.library.importers.finding_rules import ListReport
from semblance.core.library.importers.importer import RejectedFile
from semblance.core.library.importers.source import Source
from semblance.core.normal_text import composed

NAME = "labels.csv"
#: Images that a message names.
_LISTED = 5


@dataclass(frozen=True)
class LabelTableLine:
    """The line of an image; ``has_finding_column`` is False when there is no column of findings. ``region``: a part of
    the image that it is about, with the ``suffix`` of its key."""

    where: str
    finding: str | None
    has_finding_column: bool
    patient: str | None
    case_id: str
    attributes: dict[str, str]
    region: Region | None = None
    suffix: str = ""


@dataclass
class LabelTable:
    """All ``labels.csv`` of a source, or its other lists: lines by image, the images named as companions (masks) of
    others, what is to be reported, and how other lists were read (``report``)."""

    lines: dict[str, list[LabelTableLine]] = field(default_factory=dict)
    companions: dict[str, str] = field(default_factory=dict)
    rejected: list[RejectedFile] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    report: ListReport | None = None


def is_label_table(path: str) -> bool:
    """Whether a path is that of a ``labels.csv``."""
    return path.rpartition("/")[2].lower() == NAME


def read_label_tables(source: Source, images: list[str]) -> LabelTable:
    """Every ``labels.csv`` of the source, matched with ``images``; damage is reported, never raised."""
    listing = LabelTable()
    for entry in source.entries():
        if entry.path and is_label_table(entry.path):
            listing.files.add(entry.path)
            try:
                text = read_list(source, entry.path)
                _add_lines(text, entry.path, images, listing)
            except BadInput as error:
                listing.rejected.append(RejectedFile(entry.path, str(error), failed=True))
            else:
                listing.rejected.append(RejectedFile(entry.path, tr_lazy("Read as labels."), failed=False))
    for path in listing.lines:
        listing.companions.pop(path, None)
    return listing


def _add_lines(text: CsvText, path: str, images: list[str], listing: LabelTable) -> None:
    header = text.header
    image = column_named(header, *IMAGE_COLUMNS)
    if image is None:
        raise BadInput(
            tr_lazy("No column of '{path}' names the images, so it was not used.", path=path),
            tr_lazy("Name it '{image}'.", image=IMAGE_COLUMNS[1]),
        )
    finding, patient = column_named(header, *FINDING_COLUMNS), column_named(header, *PATIENT_COLUMNS)
    case_id = column_named(header, "case_id")
    others = [i for i in range(len(header)) if i not in (image, finding, patient, case_id)]
    schemes = {i: scheme for i in others if (scheme := scheme_of_column(plain_column(header[i])))}
    finder = _ImageFinder(images, path)
    for failed in text.failed:
        listing.rejected.append(
            RejectedFile(
                f"{path}:{failed.line}",
                tr_lazy("Line {line}: {reason}.", line=failed.line, reason=failed.reason),
                failed=True,
            )
        )
    for row, number in zip(text.rows, text.lines, strict=True):
        found = finder.find(row[image])
        if found is None:
            several = finder.several(row[image])
            reason = (
                tr_lazy(
                    "Line {number} names '{row}', and several images are called so: {images}. Write the path of the "
                    "one that is meant.",
                    number=number,
                    row=row[image],
                    images=", ".join(several[:_LISTED]),
                )
                if several
                else tr_lazy(
                    "Line {number} names '{row}', which does not exist.", number=number, row=row[image]
                )
            )
            listing.rejected.append(RejectedFile(f"{path}:{number}", reason, failed=True))
            continue
        name, codes = without_codes(row[finding]) if finding is not None else ("", [])
        for index, scheme in schemes.items():
            codes += [FindingCode(scheme, value) for value in codes_in_cell(row[index], scheme)[:1]]
        named = [replace(code, finding=name) for code in codes] if name else []
        listing.lines.setdefault(found, []).append(
            LabelTableLine(
                f"{path}:{number}",
                name or None,
                finding is not None,
                (row[patient] or None) if patient is not None else None,
                row[case_id] if case_id is not None else "",
                {header[i]: row[i] for i in others if row[i]} | stored_codes(named),
            )
        )
        for index in others:
            for companion in _named_images(row[index], finder):
                listing.companions.setdefault(companion, found)


def _named_images(cell: str, finder: _ImageFinder) -> Iterator[str]:
    """Images that a cell of another column names (masks, other views), several parted by ``;``."""
    for part in cell.split(";"):
        found = finder.find_exact(part.strip())
        if found is not None:
            yield found


class _ImageFinder:
    """Finds the image that a line means: by its path, without regard to case, or by its name alone where
    only one has it (also without the ending)."""

    def __init__(self, images: list[str], listing: str) -> None:
        # Names on a disk and in a list may be composed differently.
        listing = composed(listing)
        self._folder = listing[: len(listing) - len(PurePosixPath(listing).name)]
        self._paths: dict[str, str] = {}
        self._by_folded_name: dict[str, list[str]] = {}
        for path in images:
            self._paths.setdefault(composed(path), path)
            parts = PurePosixPath(composed(path))
            for key in {str(parts), str(parts.with_suffix("")), parts.name, parts.stem}:
                self._by_folded_name.setdefault(key.casefold(), []).append(path)

    def find_exact(self, text: str) -> str | None:
        written = text.replace("\\", "/").removeprefix("./")
        return self._paths.get(self._folder + written) or self._paths.get(written)

    def find(self, text: str) -> str | None:
        exact = self.find_exact(text)
        if exact is not None or not text:
            return exact
        return next((found[0] for found in self._candidates(text) if len(found) == 1), None)

    def several(self, text: str) -> list[str]:
        """The images that ``text`` may mean where :meth:`find` finds none; empty where it means none at all."""
        return next((found for found in self._candidates(text) if found), [])

    def _candidates(self, text: str) -> Iterator[list[str]]:
        written = text.replace("\\", "/").removeprefix("./").casefold()
        for name in (self._folder.casefold() + written, written, PurePosixPath(written).name):
            yield self._by_folded_name.get(name, [])
