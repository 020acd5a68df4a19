"""Rows of tables, many at once: millions of cases without images are written by columns, not one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from semblance.core.errors import SemblanceError
from semblance.core.library.database import in_batches
from semblance.core.library.feature_chunks import clear_features
from semblance.core.library.lesion_group_rows import DETECTED, remove_from_groups
from semblance.core.library.records import FileRecord, SourceRecord
from semblance.core.library.schema import cases, files

if TYPE_CHECKING:
    from semblance.core.library.catalogue import Catalogue

#: The columns of a row, in the order of the table.
_COLUMNS = ("case_id", "file", "finding", "patient", "attributes", "content", "numbers")


@dataclass(frozen=True)
class TableRowRecords:
    """n rows of a table to be written; ``numbers``: the bytes of each row's float64 values."""

    case_ids: Sequence[str]
    findings: Sequence[str | None]
    patients: Sequence[str | None]
    attributes: Sequence[Mapping[str, str]]
    contents: Sequence[str]
    numbers: Sequence[bytes]


@dataclass
class WrittenRows:
    """How many rows were there before with the same numbers, and of these how many have new labels; the ids in the
    catalogue of the rows whose numbers ``changed``; how many are new."""

    added: int = 0
    unchanged: int = 0
    relabelled: int = 0
    changed: list[int] = field(default_factory=list)


def put_rows(
    catalogue: Catalogue,
    source: SourceRecord,
    file: FileRecord,
    rows: TableRowRecords,
    *,
    may_be_known: bool = True,
) -> WrittenRows:
    """Write rows of a table and its file in one transaction; known rows are replaced and keep their ids.

    Rows whose numbers changed lose their features. ``may_be_known``: whether the catalogue may have some of them.
    """
    if not may_be_known:
        try:
            return _put_new_rows(catalogue, source, file, rows)
        except SemblanceError as error:
            # Another program has written some meanwhile.
            if not isinstance(error.__cause__, sa.exc.IntegrityError):
                raise
    written = WrittenRows()
    with catalogue.transaction() as connection:
        number = _put_file(connection, source, file)
        columns = (rows.findings, rows.patients, rows.attributes, rows.contents, rows.numbers)
        known = _known_rows(connection, rows.case_ids)
        new, again = [], []
        for case_id, finding, patient, attributes, content, numbers in zip(
            rows.case_ids, *columns, strict=True
        ):
            before = known.get(case_id)
            if before is None:
                new.append(
                    (
                        case_id,
                        number,
                        finding,
                        patient,
                        json.dumps(attributes) if attributes else "{}",
                        content,
                        numbers,
                    )
                )
                continue
            same = before.numbers == numbers
            relabelled = (before.finding, before.patient, before.attributes) != (finding, patient, attributes)
            if same:
                written.unchanged += 1
                written.relabelled += relabelled
            else:
                written.changed.append(before.id)
            if not same or relabelled or before.file != number:
                again.append(
                    {
                        "row": before.id,
                        "file": number,
                        "finding": finding,
                        "patient": patient,
                        "attributes": dict(attributes),
                        "content": content,
                        "numbers": numbers,
                    }
                )
        written.added = len(new)
        if new:
            _insert(connection, new)
        if again:
            connection.execute(cases.update().where(cases.c.id == sa.bindparam("row")), again)
        clear_features(connection, written.changed)
        remove_from_groups(connection, written.changed, DETECTED)
    return written


def _put_new_rows(
    catalogue: Catalogue, source: SourceRecord, file: FileRecord, rows: TableRowRecords
) -> WrittenRows:
    texts = [json.dumps(one) if one else "{}" for one in rows.attributes]
    with catalogue.transaction() as connection:
        numbers = repeat(_put_file(connection, source, file), len(texts))
        columns = (rows.findings, rows.patients, texts, rows.contents, rows.numbers)
        _insert(connection, list(zip(rows.case_ids, numbers, *columns, strict=False)))
    return WrittenRows(added=len(texts))


def _put_file(connection: sa.Connection, source: SourceRecord, file: FileRecord) -> int:
    """The number of ``file``, which is written."""
    of_file = sa.and_(files.c.source == source.id, files.c.path == file.path)
    values = {
        "size": file.size,
        "stamp": file.stamp,
        "hash": file.hash,
        "state": file.state,
        "reason": file.reason,
    }
    number = connection.execute(sa.select(files.c.id).where(of_file)).scalar()
    if number is not None:
        connection.execute(files.update().where(files.c.id == number).values(values))
        return int(number)
    connection.execute(files.insert().values(source=source.id, path=file.path, **values))
    return int(connection.execute(sa.select(files.c.id).where(of_file)).scalar_one())


def _known_rows(connection: sa.Connection, case_ids: Sequence[str]) -> dict[str, sa.Row[Any]]:
    """Those of ``case_ids`` that the catalogue has."""
    columns = (cases.c.id, *(cases.c[name] for name in _COLUMNS))
    known: dict[str, sa.Row[Any]] = {}
    for part in in_batches(case_ids):
        found = connection.execute(sa.select(*columns).where(cases.c.case_id.in_(part)))
        known.update((r.case_id, r) for r in found.all())
    return known


def _insert(connection: sa.Connection, rows: list[tuple[Any, ...]]) -> None:
    """Insert ``rows`` of :data:`_COLUMNS` by the driver itself, which is several times faster than by SQLAlchemy."""
    compiled = cases.insert().compile(dialect=connection.dialect, column_keys=_COLUMNS)
    if compiled.positional:
        connection.exec_driver_sql(compiled.string, rows)
    else:
        connection.exec_driver_sql(compiled.string, [dict(zip(_COLUMNS, row, strict=True)) for row in rows])
