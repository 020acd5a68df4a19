"""The log of edits: changes that a user made in a library, each with its rows before and after, to undo it.

One edit is one transaction. It is undone by writing the earlier rows where nothing else has changed them meanwhile.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.database import advance_numbers, in_batches
from semblance.core.library.feature_chunks import NO_CASE
from semblance.core.library.metric_scores import (
    CHANGED_FINDINGS,
    CHANGED_LESIONS,
    CHANGED_PATIENTS,
    CHANGES_SINCE,
    REMOVED_CASES,
    note_in_scores,
)
from semblance.core.library.records import DELETED, METRIC_FILE, Edit, Reversal, account, unique_name
from semblance.core.library.schema import (
    OF_CASES,
    case_annotations,
    cases,
    edits,
    feature_chunks,
    feature_failures,
    feature_sets,
    lesion_groups,
    meta,
    metrics,
    searches,
    slices,
)

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.library_files import LibraryFiles

#: The tables that edits may change.
_TABLES = {
    table.name: table
    for table in (
        cases,
        feature_chunks,
        feature_failures,
        feature_sets,
        lesion_groups,
        meta,
        metrics,
        searches,
        slices,
        *OF_CASES,
    )
}
#: Rows whose number may be used by another row when they come back.
_NUMBERED = (case_annotations, cases, metrics)
_PLACES = "feature places"
#: The kind of an edit that changes by which rule findings are chosen.
FINDING_RULE = "finding rule"

Key = tuple[Any, ...]
Values = dict[str, Any]


@dataclass
class RowChange:
    """Rows of one table by their keys; ``None`` before: the row was added, ``None`` after: it was deleted."""

    table: sa.Table
    columns: list[str]
    keys: list[Key] = field(default_factory=list)
    before: list[Values | None] = field(default_factory=list)
    after: list[Values | None] = field(default_factory=list)

    def inverted(self) -> RowChange:
        """The change that undoes this one."""
        return RowChange(self.table, self.columns, self.keys, self.after, self.before)

    def to_json(self) -> dict[str, Any]:
        """The change as the log stores it."""

        def listed(rows: list[Values | None]) -> list[Any]:
            return [None if row is None else [_encoded(row[name]) for name in self.columns] for row in rows]

        return {
            "table": self.table.name,
            "columns": self.columns,
            "keys": [list(key) for key in self.keys],
            "before": listed(self.before),
            "after": listed(self.after),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RowChange:
        """
        Raises:
            KeyError, TypeError, ValueError: not what :meth:`to_json` gave.
        """
        table, columns = _TABLES[value["table"]], list(value["columns"])
        if not set(columns) <= set(table.c.keys()):
            raise ValueError("unknown columns")

        def rows(listed: list[Any]) -> list[Values | None]:
            return [
                None
                if row is None
                else {name: _decoded(table.c[name], one) for name, one in zip(columns, row, strict=True)}
                for row in listed
            ]

        keys = [tuple(key) for key in value["keys"]]
        before, after = rows(value["before"]), rows(value["after"])
        if not len(keys) == len(before) == len(after):
            raise ValueError("rows without a key")
        return cls(table, columns, keys, before, after)


@dataclass
class FeaturePlaces:
    """Places (feature set, chunk, place in it, case row) whose values a removed case has left, or has got back."""

    places: list[tuple[int, int, int, int]]
    removed: bool

    def inverted(self) -> FeaturePlaces:
        """The change that undoes this one."""
        return FeaturePlaces(self.places, not self.removed)

    def to_json(self) -> dict[str, Any]:
        """The change as the log stores it."""
        return {"table": _PLACES, "places": [list(place) for place in self.places], "removed": self.removed}


Change = RowChange | FeaturePlaces


class EditRecorder:
    """Changes rows within a running transaction and records what they were."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.changes: list[Change] = []

    def update(self, table: sa.Table, rows: Mapping[Any, Values]) -> int:
        """Set columns, the same of all rows, by key (a value, or a tuple); the number of rows that it changed."""
        if not rows:
            return 0
        columns = list(next(iter(rows.values())))
        wanted = {_as_key(key): values for key, values in rows.items()}
        present = _read(self.connection, table, columns, list(wanted))
        change = RowChange(table, columns)
        for key, before in present.items():
            if before != wanted[key]:
                change.keys.append(key)
                change.before.append(before)
                change.after.append(wanted[key])
        if change.keys:
            names = _key_names(table)
            statement = table.update().values({name: sa.bindparam(f"new_{name}") for name in columns})
            for name in names:
                statement = statement.where(table.c[name] == sa.bindparam(f"key_{name}"))
            self.connection.execute(
                statement,
                [
                    {f"new_{name}": wanted[key][name] for name in columns}
                    | {f"key_{name}": part for name, part in zip(names, key, strict=True)}
                    for key in change.keys
                ],
            )
            self.changes.append(change)
        return len(change.keys)

    def delete(self, table: sa.Table, where: sa.ColumnElement[bool]) -> list[Values]:
        """Delete rows; those that there were."""
        found = [dict(r._mapping) for r in self.connection.execute(sa.select(table).where(where))]
        if found:
            names = _key_names(table)
            change = RowChange(table, list(table.c.keys()))
            change.keys = [tuple(row[name] for name in names) for row in found]
            change.before, change.after = list(found), [None] * len(found)
            self.connection.execute(table.delete().where(where))
            self.changes.append(change)
        return found

    def insert(self, table: sa.Table, rows: Sequence[Values]) -> None:
        """Insert whole rows."""
        if rows:
            self.connection.execute(table.insert(), list(rows))
            advance_numbers(self.connection, table)
            names = _key_names(table)
            change = RowChange(table, list(table.c.keys()))
            change.keys = [tuple(row[name] for name in names) for row in rows]
            change.before, change.after = [None] * len(rows), list(rows)
            self.changes.append(change)

    def set_value(self, key: str, value: Any) -> None:
        """Store ``value`` as :func:`semblance.core.library.stored_values.store_value` does."""
        text = json.dumps(value)
        if _read(self.connection, meta, ["value"], [(key,)]):
            self.update(meta, {key: {"value": text}})
        else:
            self.insert(meta, [{"key": key, "value": text}])

    def delete_feature_set(self, row: int) -> None:
        """Delete a feature set with its places and failures; its metrics have to be deleted before."""
        for table in (feature_failures, feature_chunks):
            self.delete(table, table.c.feature_set == row)
        self.delete(feature_sets, feature_sets.c.id == row)

    def delete_cases(self, rows: Sequence[int]) -> list[Values]:
        """Delete cases with all that belongs to them; their rows. The values of their features stay in the stores."""
        self._clear_places(rows)
        found: list[Values] = []
        for part in in_batches(list(rows)):
            for table in (slices, lesion_groups, feature_failures, *OF_CASES):
                self.delete(table, table.c.case.in_(part))
            found += self.delete(cases, cases.c.id.in_(part))
        return found

    def _clear_places(self, rows: Sequence[int]) -> None:
        removed = np.array(sorted(rows), dtype=np.int64)
        places = [
            (chunk.feature_set, chunk.chunk, int(place), int(held[place]))
            for chunk in self.connection.execute(sa.select(feature_chunks)).all()
            for held in (np.frombuffer(chunk.case_rows, dtype=np.int64),)
            for place in np.flatnonzero(np.isin(held, removed))
        ]
        self.set_places(FeaturePlaces(places, removed=True))

    def set_places(self, change: FeaturePlaces) -> None:
        """Empty places, or fill those that are empty."""
        by_chunk: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for feature_set, chunk, place, row in change.places:
            by_chunk.setdefault((feature_set, chunk), []).append((place, row))
        done: list[tuple[int, int, int, int]] = []
        for (feature_set, number), pairs in by_chunk.items():
            where = sa.and_(feature_chunks.c.feature_set == feature_set, feature_chunks.c.chunk == number)
            stored = self.connection.execute(sa.select(feature_chunks.c.case_rows).where(where)).scalar()
            if stored is None:
                continue
            held = np.frombuffer(stored, dtype=np.int64).copy()
            for place, row in pairs:
                expected, value = (row, NO_CASE) if change.removed else (NO_CASE, row)
                if 0 <= place < len(held) and held[place] == expected:
                    held[place] = value
                    done.append((feature_set, number, place, row))
            self.connection.execute(feature_chunks.update().where(where).values(case_rows=held.tobytes()))
        if done:
            self.changes.append(FeaturePlaces(done, change.removed))


#: Edits that are searched for who changed a row last.
_RECENT = 500


def last_change(
    connection: sa.Connection, table: str, column: str, keys: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Key -> author and time of the last of the newest edits in force that set ``column`` of the row."""
    newest = (
        sa.select(edits.c.author, edits.c.time, edits.c.changes)
        .where(edits.c.undone.is_(None))
        .order_by(edits.c.id.desc())
        .limit(_RECENT)
    )
    found: dict[str, tuple[str, str]] = {}
    for r in connection.execute(newest):
        for change in r.changes:
            if change.get("table") == table and column in change.get("columns", ()):
                changed = {key[0] for key in change["keys"]}
                for key in changed.intersection(keys):
                    found.setdefault(key, (r.author, r.time))
    return found


class _Application:
    """Writes recorded changes again, or backwards, where their rows are as they were left."""

    def __init__(self, recorder: EditRecorder) -> None:
        self.recorder, self.skipped = recorder, 0
        #: (table, number before) -> number now, of rows that came back under another number.
        self._numbers: dict[tuple[str, int], int] = {}
        #: (table, number) of the rows that did not come back.
        self._lost: set[tuple[str, int]] = set()
        self._existing: set[tuple[sa.Column[Any], Any]] = set()

    def apply(self, change: Change) -> None:
        if isinstance(change, FeaturePlaces):
            self._set_places(change)
            return
        present = _read(self.recorder.connection, change.table, change.columns, change.keys)
        updates: dict[Key, Values] = {}
        unwanted: list[tuple[Key, Values]] = []
        for key, expected, wanted in zip(change.keys, change.before, change.after, strict=True):
            there = present.get(key)
            if wanted is None:
                unwanted += [] if there is None else [(key, there)]
            elif expected is None:
                self._insert(change.table, wanted, is_taken=there is not None)
            elif there == expected:
                updates[key] = wanted
            else:
                self.skipped += there != wanted
        self.recorder.update(change.table, updates)
        if change.table is cases:
            self.recorder.delete_cases([row["id"] for _, row in unwanted])
            return
        for key, _ in unwanted:
            self._delete(change.table, key)

    def _delete(self, table: sa.Table, key: Key) -> None:
        if table is feature_sets:
            _refuse_used(self.recorder.connection, key[0])
            self.recorder.delete_feature_set(key[0])
        else:
            names = _key_names(table)
            self.recorder.delete(
                table, sa.and_(*(table.c[name] == part for name, part in zip(names, key, strict=True)))
            )

    def _insert(self, table: sa.Table, row: Values, *, is_taken: bool) -> None:
        connection = self.recorder.connection
        row, number = dict(row), row.get("id", 0)
        has_all = all(
            self._refers(row, column.name, reference.column)
            for column in table.c
            for reference in column.foreign_keys
        )
        if not has_all or (is_taken and table not in (case_annotations, metrics)):
            self.skipped += 1
            self._lost.add((table.name, number))
            return
        if table in _NUMBERED and _has_number(connection, table, number):
            row["id"] = 1 + connection.execute(sa.select(sa.func.max(table.c.id))).scalar_one()
            self._numbers[table.name, number] = row["id"]
        if table in (metrics, feature_sets):
            row["name"] = unique_name(
                row["name"], list(connection.execute(sa.select(table.c.name)).scalars())
            )
        self.recorder.insert(table, [row])

    def _refers(self, row: Values, name: str, target: sa.Column[Any]) -> bool:
        """Whether the row that ``row`` refers to by ``name`` exists; it may have another number now."""
        reference = (target.table.name, row[name])
        if reference in self._lost:
            return False
        row[name] = self._numbers.get(reference, row[name])
        if (target, row[name]) not in self._existing:
            query = sa.select(target).where(target == row[name])
            if self.recorder.connection.execute(query).first() is None:
                return False
            self._existing.add((target, row[name]))
        return True

    def _set_places(self, change: FeaturePlaces) -> None:
        places = [
            (feature_set, chunk, place, self._numbers.get((cases.name, row), row))
            for feature_set, chunk, place, row in change.places
            if (cases.name, row) not in self._lost
        ]
        self.recorder.set_places(FeaturePlaces(places, change.removed))


@contextlib.contextmanager
def recorded_edit(library: Library, kind: str, summary: Mapping[str, Any]) -> Iterator[EditRecorder]:
    """One transaction whose changes become one edit of the log; without a change there is no edit.

    ``summary`` is stored as it is at the end. Edits that were undone can no longer be redone.
    """
    with library.catalogue.transaction() as connection:
        recorder = EditRecorder(connection)
        yield recorder
        if not recorder.changes:
            return
        _note_label_changes(connection, recorder.changes)
        dropped = _drop_undone(connection)
        connection.execute(
            edits.insert().values(
                kind=kind,
                summary=dict(summary),
                changes=[change.to_json() for change in recorder.changes],
                author=account(),
                time=library.catalogue.now(),
            )
        )
    _purge(library, dropped)
    _move_files(library.files, recorder.changes)


def read_edits(library: Library) -> list[Edit]:
    """The edits, oldest first."""
    columns = [column for column in edits.c if column is not edits.c.changes]
    return [_edit(r) for r in library.catalogue.read(sa.select(*columns).order_by(edits.c.id))]


def undo_edit(library: Library, edit: int | None = None) -> Reversal | None:
    """Undo the newest edit in force, or the one with the id ``edit``; ``None`` where there is none."""
    newest = sa.select(edits).where(edits.c.undone.is_(None)).order_by(edits.c.id.desc())
    return _reverse(library, newest if edit is None else newest.where(edits.c.id == edit), undo=True)


def redo_edit(library: Library) -> Reversal | None:
    """Redo the edit that was undone last; ``None`` where there is none."""
    last = sa.select(edits).where(edits.c.undone.is_not(None)).order_by(edits.c.undone.desc(), edits.c.id)
    return _reverse(library, last, undo=False)


def _reverse(library: Library, query: sa.Select[Any], *, undo: bool) -> Reversal | None:
    with library.catalogue.transaction() as connection:
        row = connection.execute(query.limit(1)).first()
        if row is None:
            return None
        recorder = EditRecorder(connection)
        application = _Application(recorder)
        recorded = _changes(row.changes)
        for change in [one.inverted() for one in reversed(recorded)] if undo else recorded:
            application.apply(change)
        done = recorder.changes
        _restore_files(library.files, done)
        _note_label_changes(connection, done)
        kept = [one.inverted() for one in reversed(done)] if undo else done
        connection.execute(
            edits.update()
            .where(edits.c.id == row.id)
            .values(
                changes=[change.to_json() for change in kept],
                undone=library.catalogue.now() if undo else None,
            )
        )
    _move_files(library.files, done)
    return Reversal(_edit(row), application.skipped)


def given_labels(library: Library) -> dict[str, dict[str, str | None]]:
    """Case id -> the finding and the patient that edits in force gave it last; a new import does not change them.

    Findings that a rule chose are not given: an import chooses them by that rule again.
    """
    given: dict[str, dict[str, str | None]] = {}
    for change in _row_changes(library, without=FINDING_RULE):
        if change.table is cases:
            for key, values in zip(change.keys, change.after, strict=True):
                if values is not None and change.columns != list(cases.c.keys()):
                    given.setdefault(key[0], {}).update(values)
    return given


def removed_case_ids(library: Library) -> frozenset[str]:
    """The cases that edits in force removed."""
    removed: set[str] = set()
    for change in _row_changes(library):
        if change.table is cases:
            removed |= {key[0] for key, row in zip(change.keys, change.after, strict=True) if row is None}
    return frozenset(removed)


def _row_changes(library: Library, *, without: str = "") -> Iterator[RowChange]:
    in_force = (
        sa.select(edits.c.changes)
        .where(edits.c.undone.is_(None), edits.c.kind != without)
        .order_by(edits.c.id)
    )
    for r in library.catalogue.read(in_force):
        yield from (change for change in _changes(r.changes) if isinstance(change, RowChange))


def deleted_bytes(library: Library) -> int:
    """The size of the files of deleted feature sets and metrics."""
    return library.files.size(DELETED)


def forget_deleted(library: Library) -> int:
    """Remove the files of deleted feature sets and metrics for good, with the edits that deleted them; the bytes."""
    size = deleted_bytes(library)
    with contextlib.suppress(OSError):
        library.files.remove(DELETED)
    with library.catalogue.transaction() as connection:
        for r in connection.execute(sa.select(edits.c.id, edits.c.changes, edits.c.undone)).all():
            if _touched(_changes(r.changes), deleted=r.undone is None):
                connection.execute(edits.delete().where(edits.c.id == r.id))
    return size


# Files


def _files(row: Values, table: sa.Table) -> list[str]:
    """The file or folder of a metric or a feature set, within the library."""
    if table is metrics and METRIC_FILE.fullmatch(str(row["file"])):
        return [f"metrics/{row['file']}"]
    return [f"features/{int(row['id'])}.zarr"] if table is feature_sets else []


def _touched(changes: Sequence[Change], *, deleted: bool) -> list[str]:
    return [
        name
        for change in changes
        if isinstance(change, RowChange) and change.table in (metrics, feature_sets)
        for row, other in (
            zip(change.before, change.after, strict=True)
            if deleted
            else zip(change.after, change.before, strict=True)
        )
        if row is not None and other is None
        for name in _files(row, change.table)
    ]


def _move_files(files: LibraryFiles, changes: Sequence[Change]) -> None:
    """Move what belongs to deleted rows into the folder of deleted files, once the catalogue has no such rows."""
    for name in _touched(changes, deleted=True):
        if files.exists(name):
            files.move(name, f"{DELETED}/{name}")


def _restore_files(files: LibraryFiles, changes: Sequence[Change]) -> None:
    """Move the files of restored rows back, before the catalogue has these rows.

    Raises:
        SemblanceError: they no longer exist.
    """
    for name in _touched(changes, deleted=False):
        if files.exists(f"{DELETED}/{name}"):
            files.move(f"{DELETED}/{name}", name)
        elif not files.exists(name):
            raise SemblanceError(
                tr_lazy("The deleted file {name} no longer exists.", name=name),
                "Restore a backup, or make it again: extract the features, or train the metric.",
            )


def _drop_undone(connection: sa.Connection) -> list[str]:
    """Drop the edits that could be redone; the files that only they had."""
    undone = connection.execute(sa.select(edits.c.id, edits.c.changes).where(edits.c.undone.is_not(None)))
    names: list[str] = []
    for r in undone.all():
        names += _touched(_changes(r.changes), deleted=False)
        connection.execute(edits.delete().where(edits.c.id == r.id))
    return names


def _purge(library: Library, names: Sequence[str]) -> None:
    for name in names:
        library.files.remove(f"{DELETED}/{name}")


# Rows


def _note_label_changes(connection: sa.Connection, changes: Sequence[Change]) -> None:
    """Note in the scores of metrics what the cases are now."""
    before: dict[str, dict[str, Any]] = {key: {} for key in CHANGES_SINCE}
    after: dict[str, dict[str, Any]] = {key: {} for key in before}
    names = {"finding": CHANGED_FINDINGS, "patient": CHANGED_PATIENTS}
    # The groups of removed cases go and come with them.
    removed = {
        whole["id"]
        for change in changes
        if isinstance(change, RowChange) and change.table is cases
        for old, new in zip(change.before, change.after, strict=True)
        for whole in (old if new is None else new if old is None else None,)
        if whole is not None
    }
    for change in changes:
        if isinstance(change, RowChange) and change.table is lesion_groups:
            ids = _case_ids(connection, [row for (row,) in change.keys])
            for (row,), old, new in zip(change.keys, change.before, change.after, strict=True):
                if row in ids and row not in removed:
                    before[CHANGED_LESIONS].setdefault(ids[row], None if old is None else old["group"])
                    after[CHANGED_LESIONS][ids[row]] = None if new is None else new["group"]
        if not isinstance(change, RowChange) or change.table is not cases:
            continue
        for (case_id,), old, new in zip(change.keys, change.before, change.after, strict=True):
            if old is None or new is None:
                before[REMOVED_CASES].setdefault(case_id, None if old is None else True)
                after[REMOVED_CASES][case_id] = None if new is None else True
                continue
            for name, key in names.items():
                if name in change.columns:
                    before[key].setdefault(case_id, old[name])
                    after[key][case_id] = new[name]
    for key, then in before.items():
        note_in_scores(connection, key, then, after[key])


def _case_ids(connection: sa.Connection, rows: Sequence[int]) -> dict[int, str]:
    return {
        r.id: r.case_id
        for part in in_batches(list(rows))
        for r in connection.execute(sa.select(cases.c.id, cases.c.case_id).where(cases.c.id.in_(part)))
    }


def _has_number(connection: sa.Connection, table: sa.Table, number: int) -> bool:
    return connection.execute(sa.select(table.c.id).where(table.c.id == number)).first() is not None


def _refuse_used(connection: sa.Connection, feature_set: int) -> None:
    """
    Raises:
        SemblanceError: a metric uses the feature set.
    """
    query = sa.select(metrics.c.name).where(metrics.c.feature_set == feature_set)
    name = connection.execute(query).scalar()
    if name is not None:
        raise SemblanceError(
            tr_lazy("The metric '{name}' uses the feature set.", name=name), "Delete the metric first."
        )


def _key_names(table: sa.Table) -> list[str]:
    """Cases have their id as key, because the number of a removed one may be used again."""
    return ["case_id"] if table is cases else [column.name for column in table.primary_key]


def _as_key(key: Any) -> Key:
    return key if isinstance(key, tuple) else (key,)


def _read(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], keys: Sequence[Key]
) -> dict[Key, Values]:
    """Key -> the values of ``columns``, of the rows that there are."""
    names = _key_names(table)
    found: dict[Key, Values] = {}
    selected = [table.c[name] for name in dict.fromkeys([*names, *columns])]
    for part in in_batches(list(keys)):
        if len(names) == 1:
            where: sa.ColumnElement[bool] = table.c[names[0]].in_([key[0] for key in part])
        else:
            where = sa.tuple_(*(table.c[name] for name in names)).in_(part)
        for r in connection.execute(sa.select(*selected).where(where)):
            values = r._mapping
            found[tuple(values[name] for name in names)] = {name: values[name] for name in columns}
    return found


def _encoded(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _decoded(column: sa.Column[Any], value: Any) -> Any:
    if value is not None and isinstance(column.type, sa.LargeBinary):
        return base64.b64decode(value, validate=True)
    return value


def _changes(stored: Sequence[Mapping[str, Any]]) -> list[Change]:
    """
    Raises:
        BadInput: they are damaged.
    """
    try:
        return [
            FeaturePlaces(
                [(int(s), int(n), int(p), int(r)) for s, n, p, r in one["places"]], bool(one["removed"])
            )
            if one["table"] == _PLACES
            else RowChange.from_json(one)
            for one in stored
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput("An edit in the log of the library is damaged.", "Restore a backup.") from error


def _edit(r: sa.Row[Any]) -> Edit:
    return Edit(r.id, r.kind, r.summary, r.author, r.time, r.undone is not None)
