"""The catalogue: the sources, files and cases of a library; every write is one transaction."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.errors import BadInput
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.library.case_details import case_details, slices_of_source, write_slices
from semblance.core.library.case_headers import DATE, GIVEN, GROUPS, READ, HeaderColumns
from semblance.core.library.case_names import SHIFTED
from semblance.core.library.database import (
    HAS_CASE_TEXTS,
    check_version,
    connect,
    in_batches,
    plain_errors,
    transaction,
    upsert,
)
from semblance.core.library.feature_chunks import clear_failures, clear_features
from semblance.core.library.lesion_group_rows import DETECTED, remove_from_groups
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import (
    NOT_THERE,
    CaseDetails,
    CaseExtent,
    CaseLabels,
    CaseRecord,
    FileRecord,
    SourceRecord,
    present,
    unique_name,
)
from semblance.core.library.schema import (
    CASE_TEXTS,
    HAS_IMAGE,
    HEADER_TEXTS,
    OF_CASES,
    TEXT_WEIGHTS,
    UNREAD,
    case_notes,
    cases,
    collection_items,
    files,
    json_text,
    lesion_groups,
    slices,
    sources,
)
from semblance.core.library.text_query import (
    UNSPACED,
    TextHit,
    TextTerm,
    folded,
    ranked_texts,
    text_hit,
    text_terms,
)
from semblance.core.normal_text import spellings

#: A catalogue that was written to so many seconds ago may change again without another time stamp.
_SETTLED_S = 2.0
#: Cases read by one statement where all are read: work of some hundredths of a second.
_CASES_AT_ONCE = 20_000


class Catalogue:
    """Reads and writes ``catalogue.sqlite``. Not shared between threads that write."""

    def __init__(self, file: Path, *, writable: bool) -> None:
        self.file, self.writable = file, writable
        self.engine = connect(file, writable=writable)
        try:
            is_current = check_version(self.engine, file, writable=writable)
            #: The index of texts: the version before has one of headers alone.
            self._texts = CASE_TEXTS if is_current else HEADER_TEXTS
        except BaseException:
            self.engine.dispose()
            raise

    def close(self) -> None:
        """Close every connection to the catalogue."""
        self.engine.dispose()

    @property
    def where(self) -> LibraryLocation:
        """The file of the catalogue, or the address of its server."""
        return self.file

    @property
    def library_name(self) -> str:
        """The name of the library in messages."""
        return self.file.parent.name

    def errors(self) -> contextlib.AbstractContextManager[None]:
        """Turns errors of the database or the disk into errors that name the library."""
        return plain_errors(self.file)

    def read(self, query: sa.Select[Any], **parameters: Any) -> Sequence[sa.Row[Any]]:
        """All rows of ``query``, with the values of its parameters.

        Raises:
            BadInput: the catalogue is damaged.
            SemblanceError: it cannot be read or is busy.
        """
        with self.errors(), self.engine.connect() as connection:
            return connection.execute(query, parameters).all()

    def read_columns(self, query: sa.Select[Any]) -> tuple[list[Any], ...]:
        """Each column of ``query``, of numbers and texts, as a list: of many rows a tenth of the time of :meth:`read`.

        Raises:
            BadInput: the catalogue is damaged.
            SemblanceError: it cannot be read or is busy.
        """
        rows = query.subquery()
        lists = self.read(sa.select(*(sa.func.json_group_array(column) for column in rows.c)))[0]
        return tuple(json.loads(listed) for listed in lists)

    def identity(self) -> tuple[int, int] | None:
        """The device and inode of the file; ``None`` while there is none."""
        try:
            found = self.file.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def stamp(self) -> tuple[Any, ...]:
        """A value that changes whenever any program wrote to the library; fast."""
        with self.errors():
            log = self.file.with_name(self.file.name + "-wal")
            facts = [file.stat() for file in (self.file, log) if file.exists()]
        return tuple((fact.st_mtime_ns, fact.st_size) for fact in facts if fact.st_size)

    def cases_stamp(self, stamp: tuple[Any, ...]) -> tuple[Any, ...]:
        """The part of ``stamp`` that changes with everything that searches are computed from, but not with judgements,
        concepts, saved searches and reader studies. In a folder all of it: a file has one time for everything."""
        return stamp

    def notes_own_changes(self, stamp: tuple[Any, ...]) -> bool:
        """Whether nobody wrote since ``stamp``: then :meth:`stamp_after_own_changes` can follow what is written now."""
        return stamp == self.stamp()

    def stamp_after_own_changes(self, stamp: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
        """The stamp after what was written here since :meth:`notes_own_changes`, as far as others wrote nothing, and
        whether that is all that was written here."""
        return self.stamp(), True

    def present(self) -> datetime.datetime:
        """The present moment, UTC, by the clock of the library: that of the server, or of this computer."""
        return present()

    def now(self) -> str:
        """:meth:`present` for records, to the second."""
        return self.present().isoformat(timespec="seconds")

    def author(self, name: str) -> str:
        """The author of what is stored now: ``name`` in a folder, which knows no accounts."""
        return name

    def may_change(self, author: str) -> bool:
        """Whether the user may change what ``author`` wrote: in a folder always."""
        return True

    def is_settled(self, stamp: tuple[Any, ...]) -> bool:
        """Whether every later write changes ``stamp``: a file system may give two writes at one moment one time."""
        return all(time.time() - changed / 1e9 >= _SETTLED_S for changed, _ in stamp)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """A connection that reads the catalogue as it is at its first statement, whatever others write."""
        with self.errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    def transaction(self) -> Any:
        """A write transaction as a context manager giving the connection."""
        return transaction(self.engine, self.file)

    # Sources

    def sources(self) -> list[SourceRecord]:
        """The imported sources in the order they were added."""
        rows = self.read(sa.select(sources).order_by(sources.c.id))
        return [_source(r) for r in rows]

    def add_source(
        self, kind: str, name: str, path: Path, columns: Sequence[str] = (), *, identified: bool = False
    ) -> SourceRecord:
        """The source of this kind at ``path``, added unless it is known already.

        ``name`` gets a number when another source has it already.
        """
        with self.transaction() as connection:
            same = sa.and_(sources.c.kind == kind, sources.c.path == str(path))
            for r in connection.execute(sa.select(sources).where(same)).all():
                return _source(r)
            taken_names = list(connection.execute(sa.select(sources.c.name)).scalars())
            unique = unique_name(name, taken_names)
            row = connection.execute(
                sources.insert().values(
                    kind=kind,
                    name=unique,
                    path=str(path),
                    columns=list(columns),
                    added=self.now(),
                    identified=identified,
                )
            )
            number = int(row.inserted_primary_key[0])
            return SourceRecord(number, kind, unique, path, tuple(columns), identified)

    def move_source(self, source: SourceRecord, path: Path, missing: Collection[str]) -> None:
        """Record that the images of ``source`` are now under ``path``, all except the files ``missing``."""
        with self.transaction() as connection:
            connection.execute(sources.update().where(sources.c.id == source.id).values(path=str(path)))
            of_source = files.update().where(files.c.source == source.id)
            connection.execute(of_source.where(files.c.state == "missing").values(state="ok", reason=""))
            for part in in_batches(sorted(missing)):
                connection.execute(
                    of_source.where(files.c.path.in_(part), files.c.state == "ok").values(
                        state="missing", reason=NOT_THERE
                    )
                )

    # Files and cases

    def files(self, source: SourceRecord) -> dict[str, FileRecord]:
        """The catalogued files of ``source`` by their path in it."""
        rows = self.read(sa.select(files).where(files.c.source == source.id))
        return {r.path: FileRecord(r.path, r.size, r.stamp, r.hash, r.state, r.reason) for r in rows}

    def set_columns(self, source: SourceRecord, columns: Sequence[str]) -> None:
        """Record the names of the numbers that the rows of a table have."""
        with self.transaction() as connection:
            connection.execute(
                sources.update().where(sources.c.id == source.id).values(columns=list(columns))
            )

    def put(
        self, source: SourceRecord, found: Iterable[FileRecord], new: Iterable[CaseRecord]
    ) -> list[tuple[str, str]]:
        """Write files and their cases in one transaction; known ones are replaced and keep their row ids.

        Cases whose content changed lose their features. Returns the ids of these cases and their earlier
        content.
        """
        file_rows = [
            {
                "source": source.id,
                "path": f.path,
                "size": f.size,
                "stamp": f.stamp,
                "hash": f.hash,
                "state": f.state,
                "reason": f.reason,
            }
            for f in found
        ]
        case_records = list(new)
        with self.transaction() as connection:
            if file_rows:
                connection.execute(upsert(connection, files, ("source", "path")), file_rows)
            if not case_records:
                return []
            changed = _changed_cases(connection, case_records)
            clear_features(connection, [row for row, _, _ in changed])
            remove_from_groups(connection, [row for row, _, _ in changed], DETECTED)
            paths = sorted({path for record in case_records for path in _paths(record)})
            ids: dict[str, int] = {}
            for part in in_batches(paths):
                query = sa.select(files.c.path, files.c.id).where(
                    files.c.source == source.id, files.c.path.in_(part)
                )
                ids.update((path, row) for path, row in connection.execute(query).all())
            connection.execute(
                upsert(connection, cases, ("case_id",)),
                [_case_values(record, ids[record.path]) for record in case_records],
            )
            write_slices(connection, case_records, ids)
        return [(case_id, before) for _, case_id, before in changed]

    def remove(self, source: SourceRecord, paths: Sequence[str], case_ids: Sequence[str]) -> None:
        """Remove files that have no cases, and cases that their file no longer holds."""
        with self.transaction() as connection:
            rows: list[int] = []
            for part in in_batches(case_ids):
                rows += connection.execute(sa.select(cases.c.id).where(cases.c.case_id.in_(part))).scalars()
            clear_features(connection, rows)
            clear_failures(connection, rows)
            remove_from_groups(connection, rows)
            for part in in_batches(rows):
                for table in OF_CASES:
                    connection.execute(table.delete().where(table.c.case.in_(part)))
                connection.execute(slices.delete().where(slices.c.case.in_(part)))
                connection.execute(cases.delete().where(cases.c.id.in_(part)))
            for part in in_batches(paths):
                connection.execute(files.delete().where(files.c.source == source.id, files.c.path.in_(part)))

    def relabel(self, changes: Iterable[tuple[str, str | None, str | None, Mapping[str, str]]]) -> None:
        """Set the labels of cases: (case_id, finding, patient, attributes)."""
        rows = [
            {"key": key, "new_finding": finding, "new_patient": patient, "new_attributes": dict(attributes)}
            for key, finding, patient, attributes in changes
        ]
        if not rows:
            return
        statement = (
            cases.update()
            .where(cases.c.case_id == sa.bindparam("key"))
            .values(
                finding=sa.bindparam("new_finding"),
                patient=sa.bindparam("new_patient"),
                attributes=sa.bindparam("new_attributes"),
            )
        )
        with self.transaction() as connection:
            connection.execute(statement, rows)

    def set_attribute(self, name: str, values: Mapping[int, str]) -> None:
        """Set the attribute ``name`` of cases by their row ids; remove it where the value is empty."""
        changed: list[dict[str, Any]] = []
        with self.transaction() as connection:
            for part in in_batches(list(values)):
                query = sa.select(cases.c.id, cases.c.attributes).where(cases.c.id.in_(part))
                for row, before in connection.execute(query).all():
                    if before.get(name, "") != values[row]:
                        kept = {key: value for key, value in before.items() if key != name}
                        added = {name: values[row]} if values[row] else {}
                        changed.append({"key": row, "new_attributes": kept | added})
            if changed:
                statement = cases.update().where(cases.c.id == sa.bindparam("key"))
                connection.execute(statement.values(attributes=sa.bindparam("new_attributes")), changed)

    def labels(self, source: SourceRecord) -> dict[str, CaseLabels]:
        """The labels of the cases of one source, by their ids."""
        query = (
            sa.select(
                cases.c.case_id,
                cases.c.finding,
                cases.c.patient,
                cases.c.attributes,
                cases.c.region,
                files.c.path,
            )
            .join(files, files.c.id == cases.c.file)
            .where(files.c.source == source.id)
        )
        parts = slices_of_source(self.read, source.id)
        return {
            r.case_id: CaseLabels(
                r.finding,
                r.patient,
                r.attributes,
                Region.from_json(r.region) if r.region else None,
                r.path,
                parts.get(r.case_id, ()),
            )
            for r in self.read(query)
        }

    def set_state(self, source: SourceRecord, paths: Sequence[str], state: str, reason: str = "") -> None:
        """Set the ``state`` (ok, failed, ignored or missing) of files of ``source``, and the ``reason`` of it."""
        with self.transaction() as connection:
            for part in in_batches(paths):
                connection.execute(
                    files.update()
                    .where(files.c.source == source.id, files.c.path.in_(part))
                    .values(state=state, reason=reason)
                )

    def case_files(self, source: SourceRecord) -> Iterator[tuple[str, str]]:
        """The id of each case of ``source`` and the path of its file."""
        query = sa.select(cases.c.case_id, files.c.path).join(files, files.c.id == cases.c.file)
        return zip(*self.read_columns(query.where(files.c.source == source.id)), strict=True)

    def paths_of_cases(self) -> Iterator[tuple[int, int, str, str, int | None]]:
        """Row id, source, path within it, member and frame of the image of each case; of a volume in several files also
        of each slice."""
        own = sa.select(cases.c.id, files.c.source, files.c.path, cases.c.member, cases.c.frame)
        of_slices = sa.select(slices.c.case, files.c.source, files.c.path, sa.literal(""), sa.null())
        yield from zip(*self.read_columns(own.join(files, files.c.id == cases.c.file)), strict=True)
        yield from zip(*self.read_columns(of_slices.join(files, files.c.id == slices.c.file)), strict=True)

    def image_contents(self) -> dict[str, str]:
        """Content -> id of the first case that shows it, of all cases with an image."""
        contents, case_ids = self.read_columns(
            sa.select(cases.c.content, cases.c.case_id).where(HAS_IMAGE).order_by(cases.c.id.desc())
        )
        return dict(zip(contents, case_ids, strict=True))

    def rows_of_contents(self, contents: Collection[str]) -> set[int]:
        """Row ids of the cases that show one of ``contents``."""
        found: set[int] = set()
        for part in in_batches(sorted(contents)):
            found.update(r.id for r in self.read(sa.select(cases.c.id).where(cases.c.content.in_(part))))
        return found

    def files_without_cases(self) -> list[tuple[str, str, str, str]]:
        """(source name, path, state, reason) of every file that gave no case or is missing."""
        query = (
            sa.select(sources.c.name, files.c.path, files.c.state, files.c.reason)
            .join(sources, sources.c.id == files.c.source)
            .where(files.c.state != "ok")
            .order_by(files.c.state, sources.c.name, files.c.path)
        )
        return [(r.name, r.path, r.state, r.reason) for r in self.read(query)]

    def all_cases(self) -> Sequence[sa.Row[Any]]:
        """id, case_id, finding, patient, content, state, has an image; in order of their ids.

        A volume has the state of its worst slice.
        """
        missing_slices = (
            sa.select(slices.c.case).join(files, files.c.id == slices.c.file).where(files.c.state != "ok")
        )
        query = (
            sa.select(
                cases.c.id,
                cases.c.case_id,
                cases.c.finding,
                cases.c.patient,
                cases.c.content,
                sa.case((cases.c.id.in_(missing_slices), "missing"), else_=files.c.state).label("state"),
                HAS_IMAGE.label("has_image"),
            )
            .join(files, files.c.id == cases.c.file)
            .order_by(cases.c.id)
        )
        return self.read(query)

    def cases_of_lesions(self) -> Sequence[sa.Row[Any]]:
        """id, case_id, finding, content and source of the cases that have an image or are in a same-lesion group."""
        grouped = sa.select(lesion_groups.c.case)
        query = (
            sa.select(cases.c.id, cases.c.case_id, cases.c.finding, cases.c.content, files.c.source)
            .join(files, files.c.id == cases.c.file)
            .where(sa.or_(HAS_IMAGE, cases.c.id.in_(grouped)))
        )
        return self.read(query.order_by(cases.c.id))

    def cases_with_attribute(self, name: str) -> Sequence[sa.Row[Any]]:
        """id, patient and attributes of cases whose attributes may have ``name``, which all that have it are among."""
        named = sa.cast(cases.c.attributes, sa.Text).contains(name, autoescape=True)
        return self.read(
            sa.select(cases.c.id, cases.c.patient, cases.c.attributes).where(named).order_by(cases.c.id)
        )

    def repeated_rows(self) -> tuple[int, Sequence[sa.Row[Any]]]:
        """The number of rows of tables, and id, patient and content of those of which another has the content."""
        is_row = cases.c.numbers.is_not(None)
        (n_rows,) = self.read(sa.select(sa.func.count()).where(is_row))[0]
        several = sa.select(cases.c.content).where(is_row).group_by(cases.c.content)
        query = sa.select(cases.c.id, cases.c.patient, cases.c.content).where(
            is_row, cases.c.content.in_(several.having(sa.func.count() > 1))
        )
        return n_rows, self.read(query.order_by(cases.c.id))

    def shown_images(self) -> dict[int, tuple[int, str, int | None]]:
        """Row id -> file, member and frame of the image that a case is, or is a region of.

        Rows of tables are left out, those with images too: their file is the table.
        """
        query = sa.select(cases.c.id, cases.c.file, cases.c.member, cases.c.frame).where(
            cases.c.numbers.is_(None)
        )
        return {r.id: (r.file, r.member, r.frame) for r in self.read(query)}

    def identities(self) -> Iterator[tuple[list[Any], ...]]:
        """id, patient, content and image of all cases, in order of their ids and some thousand at a time.

        The image is its file, member and frame. Content and image are ``None`` for rows of tables, as in
        :meth:`shown_images`.
        """
        shown = cases.c.numbers.is_(None)
        columns = (sa.case((shown, column)) for column in (cases.c.content, cases.c.file, cases.c.member))
        query = sa.select(cases.c.id, cases.c.patient, *columns, cases.c.frame).order_by(cases.c.id)
        (last,) = self.read(sa.select(sa.func.coalesce(sa.func.max(cases.c.id), 0)))[0]
        for start in range(0, last, _CASES_AT_ONCE):
            part = query.where(cases.c.id > start, cases.c.id <= start + _CASES_AT_ONCE)
            rows, patients, contents, file, member, frame = self.read_columns(part)
            images = [None if image[0] is None else image for image in zip(file, member, frame, strict=True)]
            yield rows, patients, contents, images

    def attributes(self, names: Collection[str] | None = None) -> dict[int, dict[str, str]]:
        """Row id -> those of the attributes ``names`` that the case has, of cases that have any attributes; without
        ``names`` all attributes, of all cases."""
        query = sa.select(cases.c.id, cases.c.attributes)
        if names is None:
            return {r.id: r.attributes for r in self.read(query)}
        # A million rows of a table usually have none.
        rows = self.read(query.where(sa.cast(cases.c.attributes, sa.Text) != "{}"))
        return {r.id: {name: r.attributes[name] for name in names if name in r.attributes} for r in rows}

    def finding_counts(self) -> dict[str, int]:
        """Finding -> its number of cases; "" counts those without one."""
        finding = sa.func.coalesce(cases.c.finding, "").label("finding")
        columns = [finding, sa.func.count().label("n_cases")]
        return {r.finding: r.n_cases for r in self.read(sa.select(*columns).group_by(finding))}

    def case_rows(self) -> npt.NDArray[np.int64]:
        """(n,) row ids of all cases, ascending."""
        return np.array(self.read_columns(sa.select(cases.c.id).order_by(cases.c.id))[0], dtype=np.int64)

    def kinds_of_cases(self) -> set[bool]:
        """Whether there are cases with an image (``True``) and without."""
        return {
            bool(has)
            for has in (False, True)
            if self.read(sa.select(cases.c.id).where(HAS_IMAGE.is_(has)).limit(1))
        }

    def states_of_cases(self) -> dict[int, str]:
        """Row id -> state of the file of each case for which it is not "ok"; of a volume, "missing" for a slice."""
        own = sa.select(cases.c.id, files.c.state).join(files, files.c.id == cases.c.file)
        of_slices = sa.select(slices.c.case).join(files, files.c.id == slices.c.file)
        found = {r.id: r.state for r in self.read(own.where(files.c.state != "ok"))}
        return found | {r.case: "missing" for r in self.read(of_slices.where(files.c.state != "ok"))}

    def headers(self) -> HeaderColumns:
        """The headers of the cases that have a modality or a view, in order of their ids
        (see :mod:`semblance.core.library.case_headers`)."""
        attributes = sa.case(
            (sa.func.json_valid(cases.c.attributes), cases.c.attributes), else_=sa.literal("{}", sa.Text)
        )

        def values(*names: str) -> sa.Function[Any]:
            return sa.func.json_extract(attributes, *(f"$.{name}" for name in names))

        date = sa.cast(values(DATE), sa.Text)
        is_shifted = sa.and_(sa.not_(sources.c.identified), values("study").is_not(None))
        query = (
            sa.select(
                cases.c.id,
                cases.c.depth,
                sa.cast(values(*READ), sa.Text).label("texts"),
                *(sa.cast(values(name), sa.Text).label(name) for name in GROUPS),
                sa.case((is_shifted, date + SHIFTED), else_=date).label(DATE),
            )
            .join(files, files.c.id == cases.c.file)
            .join(sources, sources.c.id == files.c.source)
        )
        rows, depths, texts, *groups = self.read_columns(
            query.where(sa.or_(*(values(name).is_not(None) for name in GIVEN))).order_by(cases.c.id)
        )
        return HeaderColumns(
            np.array(rows, dtype=np.int64), depths, texts, dict(zip((*GROUPS, DATE), groups, strict=True))
        )

    def extents(self) -> dict[int, CaseExtent]:
        """Row id -> where the case came from, and the size of its image and region."""
        region = cases.c.region
        query = sa.select(
            cases.c.id,
            files.c.source,
            cases.c.width,
            cases.c.height,
            sa.cast(json_text(region, "width"), sa.Integer).label("region_width"),
            sa.cast(json_text(region, "height"), sa.Integer).label("region_height"),
        ).join(files, files.c.id == cases.c.file)
        return {
            r.id: CaseExtent(r.source, r.width, r.height, r.region_width, r.region_height)
            for r in self.read(query)
        }

    def details(self, rows: Sequence[int]) -> dict[int, CaseDetails]:
        """Row id -> the details of the case."""
        return case_details(self.read, rows)

    def details_of(self, case_ids: Iterable[str]) -> dict[str, CaseDetails]:
        """Case id -> the details of the case, of those of ``case_ids`` that the library has."""
        rows = self.rows_of(list(dict.fromkeys(case_ids)))
        details = self.details(list(rows.values()))
        return {case_id: details[row] for case_id, row in rows.items() if row in details}

    def row_of(self, case_id: str) -> int:
        """The row of ``case_id``.

        Raises:
            BadInput: the library has no such case.
        """
        row = self.rows_of([case_id]).get(case_id)
        if row is None:
            raise self.no_such_case(case_id)
        return row

    def no_such_case(self, case_id: str) -> BadInput:
        """The error for a case that the library does not have."""
        return BadInput(
            tr_lazy("There is no case '{case_id}' in {parent}.", case_id=case_id, parent=self.library_name),
            "`semblance info LIB --json` lists the case ids.",
        )

    def rows_of(self, case_ids: Sequence[str]) -> dict[str, int]:
        """Case id -> row, of those of ``case_ids`` that the library has, its letters composed or not."""
        asked = [form for case_id in case_ids for form in spellings(case_id)]
        stored = {
            found.case_id: found.id
            for part in in_batches(asked)
            for found in self.read(sa.select(cases.c.case_id, cases.c.id).where(cases.c.case_id.in_(part)))
        }
        if len(asked) == len(case_ids):
            return stored
        written = {
            case_id: next((one for one in spellings(case_id) if one in stored), None) for case_id in case_ids
        }
        return {case_id: stored[form] for case_id, form in written.items() if form is not None}

    def patients_of(self, case_ids: Sequence[str]) -> dict[str, str | None]:
        """The patient of each case that there is, by its id."""
        out: dict[str, str | None] = {}
        for part in in_batches(case_ids):
            query = sa.select(cases.c.case_id, cases.c.patient).where(cases.c.case_id.in_(part))
            out |= {r.case_id: r.patient for r in self.read(query)}
        return out

    def rows_with_word(self, word: str) -> npt.NDArray[np.int64]:
        """(m,) ascending rows of the cases with a text in which a word begins with ``word``: in the finding, the header
        with imported texts, or the notes.

        Letter case and accents of Latin letters do not matter. Punctuation inside ``word`` separates words that follow
        each other: "2.0" is found in "2.0 lung". Nothing is found by punctuation alone.
        """
        words = tuple(folded(word).split())
        if not words:
            return np.empty(0, dtype=np.int64)
        return np.sort(self.find_text((TextTerm(words, True),), ranked=False)[0])

    def find_text(
        self, terms: Sequence[TextTerm], *, ranked: bool = True
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(m,) rows of the cases whose texts have all ``terms`` (at least one), the best first, and their ranks from 1;
        those that match as well have one rank.

        How well is by BM25 (S. Robertson and H. Zaragoza, "The probabilistic relevance framework: BM25 and beyond",
        2009), on a server by its like; a word counts most in the finding and more in notes than in a header. Parts in
        scripts without spaces only select. Not ``ranked``, which is quicker for many: in any order, all with one rank.
        """
        phrases, parts = [], []
        for term in terms:
            for is_unspaced, run in groupby(
                term.words, lambda word: re.fullmatch(UNSPACED, word) is not None
            ):
                words = list(run)
                ends = term.is_prefix and words[-1] is term.words[-1]
                if is_unspaced:
                    parts.append("".join(words))
                else:
                    phrases.append(f'"{" ".join(words)}"' + "*" * ends)
        table = self._text_index()
        columns = "finding || ' ' || header || ' ' || notes" if table == CASE_TEXTS else "text"
        where = [f"instr({columns}, :part{n})" for n in range(len(parts))]
        weights = "".join(f", {weight}" for weight in TEXT_WEIGHTS) if table == CASE_TEXTS else ""
        score = "0"
        values = {f"part{n}": part for n, part in enumerate(parts)}
        if phrases:
            where.append(f"{table} MATCH :match")
            values["match"] = " AND ".join(phrases)
            score = f"bm25({table}{weights})" if ranked else "0"
        query = f"SELECT rowid, {score} AS score FROM {table} WHERE {' AND '.join(where)}"
        with self.errors(), self.engine.connect() as connection:
            found = connection.execute(sa.text(query), values).all()
        rows = np.array([r[0] for r in found], dtype=np.int64)
        return ranked_texts(rows, np.array([r[1] for r in found], dtype=np.float64))

    def _text_index(self) -> str:
        """The index of texts. Another program may have brought the catalogue up to date since this one opened it."""
        if self._texts != CASE_TEXTS:
            # Only a new connection sees the change.
            self.engine.dispose()
            with self.errors(), self.engine.connect() as connection:
                if connection.exec_driver_sql(HAS_CASE_TEXTS).first() is not None:
                    self._texts = CASE_TEXTS
        return self._texts

    def text_hits(self, rows: Sequence[int], text: str) -> dict[int, TextHit]:
        """Row -> where the case has words of ``text``, of the cases at ``rows`` that have any."""
        terms = text_terms(text)
        self._text_index()
        listed = self.texts(rows).items() if terms else ()
        return {row: hit for row, texts in listed if (hit := text_hit(texts, terms)) is not None}

    def texts(self, rows: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
        """Row -> the texts of the case that :meth:`find_text` finds: ("finding", ...), ("notes", ...), ("collection",
        ...) for notes in teaching collections, and those of its header by their names."""
        found: dict[int, list[tuple[str, str]]] = {}
        for part in in_batches(list(rows)):
            query = sa.select(
                cases.c.id, cases.c.case_id, cases.c.finding, cases.c.attributes, case_notes.c.text
            )
            query = query.join(case_notes, case_notes.c.case == cases.c.id, isouter=True).where(
                cases.c.id.in_(part)
            )
            read = self.read(query)
            listed: dict[str, list[str]] = {}
            t = collection_items
            of_cases = sa.select(t.c.case, t.c.notes).where(
                t.c.case.in_([r.case_id for r in read]), t.c.notes != ""
            )
            for r in self.read(of_cases.order_by(t.c.id)):
                listed.setdefault(r.case, []).append(r.notes)
            for r in read:
                found[r.id] = [
                    *((name, text) for name, text in (("finding", r.finding), ("notes", r.text)) if text),
                    *(("collection", text) for text in listed.get(r.case_id, ())),
                    *((name, text) for name, text in r.attributes.items() if name not in UNREAD),
                ]
        return found

    def numbers(
        self, rows: Sequence[int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], list[str]]:
        """(n,) rows of the cases that came from a table, their values (n, d) and their contents."""
        found_rows: list[int] = []
        values: list[bytes] = []
        contents: list[str] = []
        for part in in_batches(list(rows)):
            query = sa.select(cases.c.id, cases.c.numbers, cases.c.content).where(
                cases.c.id.in_(part), cases.c.numbers.is_not(None)
            )
            for r in self.read(query.order_by(cases.c.id)):
                found_rows.append(r.id)
                values.append(r.numbers)
                contents.append(r.content)
        joined = np.frombuffer(b"".join(values), dtype=np.float64)
        return (
            np.array(found_rows, dtype=np.int64),
            joined.reshape(len(values), -1) if values else np.empty((0, 0)),
            contents,
        )


def _source(r: sa.Row[Any]) -> SourceRecord:
    return SourceRecord(r.id, r.kind, r.name, Path(r.path), tuple(r.columns), r.identified)


def _changed_cases(connection: sa.Connection, records: Sequence[CaseRecord]) -> list[tuple[int, str, str]]:
    """(row, case_id, earlier content) of the known cases among ``records`` whose content changed."""
    contents = {record.case_id: record.content for record in records}
    changed: list[tuple[int, str, str]] = []
    for part in in_batches(list(contents)):
        query = sa.select(cases.c.id, cases.c.case_id, cases.c.content).where(cases.c.case_id.in_(part))
        changed += [
            (r.id, r.case_id, r.content)
            for r in connection.execute(query).all()
            if r.content != contents[r.case_id]
        ]
    return changed


def _case_values(record: CaseRecord, file: int) -> dict[str, Any]:
    numbers = None if record.numbers is None else np.array(record.numbers, dtype=np.float64).tobytes()
    return {
        "case_id": record.case_id,
        "file": file,
        "member": record.member,
        "frame": record.frame,
        "finding": record.finding,
        "patient": record.patient,
        "region": None if record.region is None else record.region.to_json(),
        "attributes": dict(record.attributes),
        "width": record.width,
        "height": record.height,
        "content": record.content,
        "numbers": numbers,
        "depth": record.depth,
    }


def _paths(record: CaseRecord) -> list[str]:
    return [record.path, *(path for path, _ in record.slices)]
