"""Radiographs with IRMA codes, as the ImageCLEF medical annotation tasks of 2005 to 2009 gave them out.

The code (Lehmann et al., Methods of Information in Medicine 43(4), 2004) is TTTT-DDD-AAA-BBB: technique,
direction, anatomy, and biological system, each a path from coarse to fine; ``*`` means unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.csv_text import (
    DELIMITERS,
    PATIENT_COLUMNS,
    column_named,
    read_csv,
    read_text,
)
from semblance.core.library.importers.encodings import decoded_start
from semblance.core.library.importers.image_files import ignored_files, rejection_of
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition, RejectedFile
from semblance.core.library.importers.source import Entry, Source
from semblance.core.normal_text import composed
from semblance.core.tasks import Reporter

CODE = re.compile(r"[0-9a-z*]{4}-[0-9a-z*]{3}-[0-9a-z*]{3}-[0-9a-z*]{3}", re.IGNORECASE)

_AXES = ("technique", "direction", "anatomy", "system")
_NAMED_CODE = ("irma_code", "irma", "irmacode", "code")
_NAMED_IMAGE = ("image_id", "image", "file", "filename", "path", "picture", "id")
_NAMED_FINDING = ("category", "finding", "label")
_TABLES = (".csv", ".txt", ".tsv")
#: Larger files are not searched for codes: 12,000 lines of a whole task take 0.5 MB.
_LARGEST = 16 << 20


@dataclass(frozen=True)
class _CodeRow:
    where: str
    image: str
    code: str
    finding: str | None
    patient: str | None
    attributes: dict[str, str]


class ImageCLEFImporter(Importer):
    """A folder or zip of radiographs and a table of image and IRMA code, with or without a header row.

    The finding is the column ``category`` (or ``finding``, ``label``) where there is one, else the whole
    code, of which ``--findings`` merges those that should count as one. The code and its four axes become
    attributes. Images the table does not name have no finding.
    """

    kind = "imageclef"
    title = "Radiographs with IRMA codes"
    summary = "ImageCLEF: radiographs and a table of image and IRMA code, the finding."

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where a table beside the images holds IRMA codes."""
        entries = source.entries()
        images = [e.path for e in entries if e.path and has_image_name(e.path)]
        if not images:
            return None
        for entry in entries:
            if _may_be_table(entry) and _holds_codes(source, entry):
                codes = tr_lazy("'{entry}' has their IRMA codes", entry=entry.path)
                return Recognition(
                    0.95,
                    tr_lazy(
                        "{what}; {codes}.",
                        what=tr_lazy_n("{n} image", "{n} images", len(images)),
                        codes=codes,
                    ),
                )
        return None

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each image that the table names; the finding is its code."""
        yield from ignored_files(source)
        images: list[str] = []
        tables: list[Entry] = []
        for number, entry in enumerate(source.entries()):
            if number % 100 == 0:
                reporter.check_cancelled()
            if _may_be_table(entry) and _holds_codes(source, entry):
                tables.append(entry)
                continue
            rejected = rejection_of(source, entry)
            if rejected is None:
                images.append(entry.path)
            else:
                yield rejected
        rows: dict[str, _CodeRow] = {}
        by_name = _images_by_name(images)
        for entry in tables:
            yield from _read_table(source, entry, by_name, rows)
        for path in images:
            row = rows.get(path)
            if row is None:
                yield FoundCase(path, path)
            else:
                finding = row.finding or row.code or None
                yield FoundCase(path, path, finding=finding, patient=row.patient, attributes=row.attributes)


def axes(code: str) -> dict[str, str]:
    """The four axes of an IRMA code by name; empty for other texts."""
    return dict(zip(_AXES, code.split("-"), strict=True)) if CODE.fullmatch(code) else {}


def _may_be_table(entry: Entry) -> bool:
    return PurePosixPath(entry.path).suffix.lower() in _TABLES and 0 < entry.size <= _LARGEST


def _holds_codes(source: Source, entry: Entry) -> bool:
    """Whether its first bytes, a line or two, hold an IRMA code."""
    try:
        head = source.head(entry.path)
    except BadInput:
        return False
    return CODE.search(decoded_start(head)) is not None


def _images_by_name(images: list[str]) -> dict[str, list[str]]:
    """Path, name and name without ending -> the images that have it."""
    found: dict[str, list[str]] = {}
    for path in images:
        parts = PurePosixPath(composed(path))
        for key in {str(parts).casefold(), parts.name.casefold(), parts.stem.casefold()}:
            found.setdefault(key, []).append(path)
    return found


def _read_table(
    source: Source, entry: Entry, by_name: dict[str, list[str]], rows: dict[str, _CodeRow]
) -> Iterator[RejectedFile]:
    """Fill ``rows`` from one table and report its damage."""
    try:
        rows_read = list(_parse_rows(source, entry.path))
    except BadInput as error:
        yield RejectedFile(entry.path, str(error), failed=True)
        return
    yield RejectedFile(entry.path, tr_lazy("Read as IRMA codes."), failed=False)
    for row in rows_read:
        if isinstance(row, RejectedFile):
            yield row
            continue
        name = row.image.replace("\\", "/").casefold()
        paths = by_name.get(name) or by_name.get(PurePosixPath(name).name) or [""]
        path = paths[0]
        if len(paths) > 1:
            reason = tr_lazy("It names '{image}', and several images are called so.", image=row.image)
            yield RejectedFile(row.where, reason, failed=True)
        elif not path:
            yield RejectedFile(
                row.where, tr_lazy("It names '{image}', which does not exist.", image=row.image), failed=True
            )
        elif path in rows:
            yield RejectedFile(
                row.where, tr_lazy("It names '{image}' a second time.", image=row.image), failed=True
            )
        else:
            rows[path] = row


def _parse_rows(source: Source, name: str) -> Iterator[_CodeRow | RejectedFile]:
    """
    Raises:
        BadInput: no table, or no column of codes.
    """
    written = read_text(source, name)
    first = written.lstrip().partition("\n")[0].strip()
    shift = 0
    if CODE.search(first):
        separator = next((mark for mark in DELIMITERS if mark in first), " ")
        columns = first.count(separator) + 1
        if separator == " ":
            written, separator = written.replace(" ", ","), ","
        names = ["image", "code", *(f"column_{number}" for number in range(3, columns + 1))]
        # The header takes no line of its own, so that line numbers stay those of the file.
        written, shift = separator.join(names) + "\n" + written, 1
    text = read_csv(written.encode(), name)
    code = column_named(text.header, *_NAMED_CODE)
    if code is None:
        matching = [i for i in range(len(text.header)) if text.rows and CODE.fullmatch(text.rows[0][i])]
        if not matching:
            raise BadInput(
                tr_lazy("No column of '{name}' contains IRMA codes.", name=name),
                tr_lazy("Name it '{named_code}'.", named_code=_NAMED_CODE[0]),
            )
        code = matching[0]
    image = column_named(text.header, *_NAMED_IMAGE)
    if image is None:
        image = next(i for i in range(len(text.header) + 1) if i != code)
        if image == len(text.header):
            raise BadInput(
                tr_lazy("No column of '{name}' names the images.", name=name),
                tr_lazy("Name it '{named_image}'.", named_image=_NAMED_IMAGE[0]),
            )
    finding, patient = column_named(text.header, *_NAMED_FINDING), column_named(text.header, *PATIENT_COLUMNS)
    for failed in text.failed:
        yield RejectedFile(
            f"{name}:{failed.line - shift}", tr_lazy("{reason}.", reason=failed.reason), failed=True
        )
    others = [i for i in range(len(text.header)) if i not in (image, code, finding, patient)]
    for cells, line in zip(text.rows, text.lines, strict=True):
        where = f"{name}:{line - shift}"
        if cells[code] and not CODE.fullmatch(cells[code]):
            yield RejectedFile(
                where,
                tr_lazy("'{cells}' is not an IRMA code (TTTT-DDD-AAA-BBB).", cells=cells[code]),
                failed=True,
            )
            continue
        irma = {"irma_code": cells[code], **axes(cells[code])} if cells[code] else {}
        yield _CodeRow(
            where,
            cells[image],
            cells[code],
            (cells[finding] or None) if finding is not None else None,
            (cells[patient] or None) if patient is not None else None,
            irma | {text.header[i]: cells[i] for i in others if cells[i]},
        )
