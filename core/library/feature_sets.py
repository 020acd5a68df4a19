"""Feature sets: which extractor measured which features of which cases, and the zarr stores that hold them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.database import in_batches, upsert
from semblance.core.library.feature_chunks import (
    chunk_checksum,
    clear_features,
    create_store,
    empty_rows,
    keep_chunks_private,
)
from semblance.core.library.library_files import LibraryFiles, chunk_name, description_name
from semblance.core.library.records import (
    CHUNK,
    DELETED,
    PART,
    PART_OF,
    PLUGIN,
    FeatureSet,
    MetricRecord,
    unique_name,
)
from semblance.core.library.schema import HAS_IMAGE, cases, feature_chunks, feature_failures, feature_sets

#: The folder of the stores among the files of a library.
_FOLDER = "features"


class FeatureSets:
    """The feature sets of one library."""

    def __init__(self, catalogue: Catalogue, files: LibraryFiles) -> None:
        self._catalogue, self._files = catalogue, files

    def all(self) -> list[FeatureSet]:
        """The feature sets that a metric can use, oldest first."""
        return [one for one in self.every() if not one.is_packed]

    def every(self) -> list[FeatureSet]:
        """All feature sets, oldest first, those of packed descriptions among them."""
        return _records(self._catalogue.read(sa.select(feature_sets).order_by(feature_sets.c.id)))

    def part(self, feature_set: FeatureSet, part: str) -> FeatureSet | None:
        """What the pass of ``feature_set`` described besides: one of :data:`semblance.core.features.places.PARTS`;
        ``None`` where nothing of it is stored."""
        return next((one for one in self.parts(feature_set) if one.part == part), None)

    def parts(self, feature_set: FeatureSet) -> list[FeatureSet]:
        """The sets that were described in the same pass as ``feature_set``."""
        return [one for one in self.every() if one.part and one.part_of == feature_set.id]

    def whole(self, feature_set: FeatureSet) -> FeatureSet:
        """The set in whose pass ``feature_set`` was described; itself where it is a set of its own."""
        if not feature_set.part:
            return feature_set
        return next((one for one in self.every() if one.id == feature_set.part_of), feature_set)

    def get(self, name: str | None) -> FeatureSet:
        """The set called ``name``, of those that a metric can use; without a name the only one of its own.

        Raises:
            BadArguments: no such set, or none named while there are several (the message lists them).
            BadInput: the library has no feature set yet.
        """
        found = self.all()
        if not found:
            raise BadInput(
                tr_lazy("{parent} has no features yet.", parent=self._catalogue.library_name),
                "Extract some first: semblance features LIB --extractor gabor (raw for the rows of a table).",
            )
        names = ", ".join(feature_set.name for feature_set in found)
        if name is None:
            own = [feature_set for feature_set in found if not feature_set.part]
            if len(own) > 1:
                raise BadArguments(
                    "The library has several feature sets.",
                    tr_lazy("Choose one with --features: {names}.", names=names),
                )
            return own[0]
        for feature_set in found:
            if feature_set.name == name:
                return feature_set
        raise BadArguments(
            tr_lazy("There is no feature set '{name}'.", name=name),
            tr_lazy("There are: {names}.", names=names),
        )

    def of_metric(self, metric: MetricRecord) -> FeatureSet:
        """The set whose features a stored metric needs.

        Raises:
            BadInput: the catalogue has no such set.
        """
        for feature_set in self.all():
            if feature_set.id == metric.feature_set:
                return feature_set
        raise BadInput(
            tr_lazy(
                "The metric '{metric}' belongs to a feature set that the catalogue {file} does not have.",
                metric=metric.name,
                file=self._catalogue.where,
            ),
            "Verify the library (semblance doctor LIB --repair, or File > Verify library…), restore a backup, or train "
            "the metric again.",
        )

    def make(
        self,
        name: str,
        extractor: str,
        version: int,
        settings: Mapping[str, Any],
        columns: Sequence[tuple[str, str]],
        *,
        dtype: str,
    ) -> FeatureSet:
        """The set called ``name``, created unless it exists with the same extractor and settings.

        Raises:
            BadArguments: a set of that name has another extractor or other settings.
        """
        with self._catalogue.transaction() as connection:
            for known in _records(connection.execute(sa.select(feature_sets)).all()):
                if known.name == name:
                    return _check_same(known, extractor, version, settings, columns)
            new = FeatureSet(
                self.free_number(connection), name, extractor, version, dict(settings), tuple(columns)
            )
            self._add(connection, new, dtype)
        return new

    def make_part(
        self,
        feature_set: FeatureSet,
        part: str,
        settings: Mapping[str, Any],
        columns: Sequence[tuple[str, str]] = (),
        *,
        dtype: str,
    ) -> FeatureSet:
        """The ``part`` of ``feature_set``, created with ``settings`` besides those of its extractor unless there is
        one, of whatever settings."""
        with self._catalogue.transaction() as connection:
            every = _records(connection.execute(sa.select(feature_sets)).all())
            for known in every:
                if known.part == part and known.part_of == feature_set.id:
                    return known
            new = FeatureSet(
                self.free_number(connection),
                unique_name(f"{feature_set.name} {part}", [known.name for known in every]),
                feature_set.extractor,
                feature_set.version,
                {**feature_set.settings, **settings, PART: part, PART_OF: feature_set.id},
                tuple(columns),
            )
            self._add(connection, new, dtype)
        return new

    def recode(self, feature_set: FeatureSet, settings: Mapping[str, Any]) -> FeatureSet:
        """Give a set of packed descriptions another coding in ``settings``, and forget what it holds; the set as it
        is then. Where another program did so first, its coding stays."""
        with self._catalogue.transaction() as connection:
            of_set = feature_sets.c.id == feature_set.id
            found = _records(connection.execute(sa.select(feature_sets).where(of_set)).all())
            if not found or found[0].settings != feature_set.settings:
                return found[0] if found else feature_set
            changed = {**feature_set.settings, **settings}
            connection.execute(feature_sets.update().where(of_set).values(settings=changed))
            rows = feature_chunks.c.feature_set == feature_set.id
            held = connection.execute(sa.select(feature_chunks.c.case_rows).where(rows)).scalars()
            ids = np.concatenate([np.empty(0, np.int64), *(np.frombuffer(one, np.int64) for one in held)])
            clear_features(connection, ids[ids >= 0].tolist(), [feature_set.id])
        return replace(feature_set, settings=changed)

    def _add(self, connection: sa.Connection, new: FeatureSet, dtype: str) -> None:
        connection.execute(
            feature_sets.insert().values(
                id=new.id,
                name=new.name,
                extractor=new.extractor,
                version=new.version,
                settings=dict(new.settings),
                columns=[list(column) for column in new.columns],
                created=self._catalogue.now(),
            )
        )
        store = self.store_of(new)
        shutil.rmtree(store, ignore_errors=True)
        create_store(store, 0, new.width, dtype)
        self._files.store(connection, [description_name(self.store_name(new))])

    def free_number(self, connection: sa.Connection) -> int:
        """A number that no set has, nor a deleted one that may come back."""
        used: list[int] = [0, *connection.execute(sa.select(feature_sets.c.id)).scalars()]
        deleted = [name.removesuffix(".zarr") for name in self._files.children(f"{DELETED}/{_FOLDER}")]
        return 1 + max([*used, *(int(name) for name in deleted if name.isdecimal())])

    def store_of(self, feature_set: FeatureSet) -> Path:
        """The folder of the store of ``feature_set``."""
        return self._files.folder / self.store_name(feature_set)

    def store_name(self, feature_set: FeatureSet) -> str:
        """The name of the store of ``feature_set`` among the files of the library."""
        return f"{_FOLDER}/{feature_set.id}.zarr"

    def fetch(self, feature_set: FeatureSet, numbers: Collection[int], sums: Mapping[int, int]) -> None:
        """Have the chunks ``numbers`` in the folder of the store; ``sums`` of :meth:`chunk_sums`."""
        self._files.fetch_chunks(self.store_name(feature_set), numbers, sums)

    def _open_array(self, feature_set: FeatureSet, mode: str) -> Any:
        import zarr

        store, width = self.store_of(feature_set), feature_set.width
        try:
            # Only format 3, which we write: others may hold objects, which would have to be unpickled.
            array = zarr.open_array(store, mode=mode, zarr_format=3)
        except (FileNotFoundError, KeyError, ValueError, TypeError) as error:
            raise _damage_error(feature_set, store) from error
        except OSError as error:
            raise _read_error(feature_set, store, error) from error
        # The store's own shape is not trusted: an arbitrarily large block would be read whole.
        fits = array.ndim == 2 and array.shape[1] == width and array.chunks == (CHUNK, max(1, width))
        kind = "i1" if feature_set.is_packed else "f"
        if not fits or not array.dtype.str[1:].startswith(kind):
            raise _damage_error(feature_set, store)
        return array

    def _read_rows(self, feature_set: FeatureSet, array: Any, rows: Any) -> npt.NDArray[Any]:
        """``rows`` (positions or a slice) of the store.

        Raises:
            BadInput: they are lost or damaged.
        """
        try:
            values: npt.NDArray[Any] = array[rows] if isinstance(rows, slice) else array.oindex[rows]
        except OSError as error:
            raise _read_error(feature_set, self.store_of(feature_set), error) from error
        except Exception as error:
            # The codecs' own libraries raise what they like.
            raise _damage_error(feature_set, self.store_of(feature_set)) from error
        return values

    def _check_unchanged(
        self, feature_set: FeatureSet, numbers: Collection[int], sums: Mapping[int, int]
    ) -> None:
        store = self.store_of(feature_set)
        try:
            changed = any(self.is_changed(feature_set, number, sums) for number in numbers)
        except OSError as error:
            raise _read_error(feature_set, store, error) from error
        if changed:
            raise _damage_error(feature_set, store)

    def _check_values(self, feature_set: FeatureSet, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Refuse rows of nothing: extractors never give one, but a lost chunk without a checksum reads as such."""
        if empty_rows(values).any():
            raise _damage_error(feature_set, self.store_of(feature_set))
        return values

    def chunk_rows(self, feature_set: FeatureSet) -> dict[int, npt.NDArray[np.int64]]:
        """Chunk number -> (n,) ids of the cases in its rows."""
        query = sa.select(feature_chunks.c.chunk, feature_chunks.c.case_rows).where(
            feature_chunks.c.feature_set == feature_set.id
        )
        return {r.chunk: np.frombuffer(r.case_rows, dtype=np.int64) for r in self._catalogue.read(query)}

    def is_changed(self, feature_set: FeatureSet, number: int, sums: Mapping[int, int]) -> bool:
        """Whether the file of a chunk is not the one that was written; ``sums`` of :meth:`chunk_sums`.

        Raises:
            OSError: it cannot be read.
        """
        return number in sums and chunk_checksum(self.store_of(feature_set), number) != sums[number]

    def chunk_sums(self, feature_set: FeatureSet) -> dict[int, int]:
        """Chunk number -> checksum of its file, except where a recovered catalogue lost it."""
        query = sa.select(feature_chunks.c.chunk, feature_chunks.c.file_sum).where(
            feature_chunks.c.feature_set == feature_set.id, feature_chunks.c.file_sum.is_not(None)
        )
        return {r.chunk: r.file_sum for r in self._catalogue.read(query)}

    def cases_of(self, feature_set: FeatureSet) -> npt.NDArray[np.int64]:
        """(n,) ids of the cases whose current content has features, ascending."""
        return np.sort(self._positions(feature_set)[0])

    def cases_to_extract(
        self, feature_set: FeatureSet, *, images: bool | None, parts: Collection[str] = ()
    ) -> npt.NDArray[np.int64]:
        """(n,) ids of cases without features, or without one of the ``parts`` that their pass gives besides, and
        without a recorded failure on their present content.

        ``images``: cases that have an image, or rows of tables; ``None``: all cases.
        """
        has = sa.true() if images is None else HAS_IMAGE if images else cases.c.numbers.is_not(None)
        (every,) = self._catalogue.read_columns(sa.select(cases.c.id).where(has).order_by(cases.c.id))
        failed = self._catalogue.read(
            sa.select(feature_failures.c.case)
            .join(cases, cases.c.id == feature_failures.c.case)
            .where(
                feature_failures.c.feature_set == feature_set.id,
                feature_failures.c.content == cases.c.content,
            )
        )
        done = self.cases_of(feature_set)
        companions = {one.part: one for one in self.parts(feature_set)} if parts else {}
        for part in parts:
            known = self.cases_of(companions[part]) if part in companions else done[:0]
            done = np.intersect1d(done, known, assume_unique=True)
        done = np.concatenate([done, np.array([r.case for r in failed], dtype=np.int64)])
        rows = np.array(every, dtype=np.int64)
        return rows[~np.isin(rows, done)]

    def write_chunk(
        self,
        feature_set: FeatureSet,
        rows: npt.NDArray[np.int64],
        values: npt.NDArray[Any],
        failures: Sequence[tuple[int, str, str]] = (),
        contents: Sequence[str] | None = None,
    ) -> int:
        """Add ``rows`` (n,) ids and their ``values`` (n, d) as one chunk for every CHUNK of them; then count these.

        ``failures``: (case id, content, reason); a case with an empty content is tried again next time, and one that
        has features is not recorded. ``contents`` are the content hashes of the cases of ``rows`` when they were read:
        cases that were removed or changed since then are left out. Nothing is added to a set of packed descriptions
        whose coding has changed. Returns the number of cases that were counted.

        The catalogue counts chunks only after their values are written, so a process killed in between leaves
        no incomplete chunk. The write transaction around both keeps two programs from writing the same chunk.
        """
        with self._catalogue.transaction() as connection:
            if feature_set.is_packed and not _is_coded_so(connection, feature_set):
                return 0
            known = {
                r.chunk: np.frombuffer(r.case_rows, dtype=np.int64)
                for r in connection.execute(
                    sa.select(feature_chunks).where(feature_chunks.c.feature_set == feature_set.id)
                )
            }
            current = _current_contents(connection, [*rows.tolist(), *(case for case, _, _ in failures)])
            new = np.array([int(row) in current for row in rows], dtype=bool)
            held = np.concatenate([np.empty(0, dtype=np.int64), *known.values()])
            new &= ~np.isin(rows, held)
            if contents is not None:
                new &= np.array([current.get(int(r)) == c for r, c in zip(rows, contents, strict=True)], bool)
            if new.any():
                first, added = max(known, default=-1) + 1, rows[new].astype(np.int64)
                self._write(feature_set, first, values[new])
                store, count = self.store_name(feature_set), -(-len(added) // CHUNK)
                written = [chunk_name(store, first + place) for place in range(count)]
                self._files.store(connection, [description_name(store), *written])
                connection.execute(
                    feature_chunks.insert(),
                    [
                        {
                            "feature_set": feature_set.id,
                            "chunk": first + place,
                            "case_rows": added[place * CHUNK : (place + 1) * CHUNK].tobytes(),
                            "file_sum": chunk_checksum(self.store_of(feature_set), first + place),
                        }
                        for place in range(count)
                    ],
                )
                of_set = feature_failures.c.feature_set == feature_set.id
                for part in in_batches(added.tolist()):
                    connection.execute(
                        feature_failures.delete().where(of_set, feature_failures.c.case.in_(part))
                    )
            recorded = [
                {"feature_set": feature_set.id, "case": case, "content": content, "reason": reason}
                for case, content, reason in failures
                if case in current and case not in held
            ]
            if recorded:
                connection.execute(upsert(connection, feature_failures, ("feature_set", "case")), recorded)
        return int(new.sum())

    def _write(self, feature_set: FeatureSet, first: int, values: npt.NDArray[Any]) -> None:
        """Write ``values`` as whole chunks from the chunk ``first`` on."""
        # Write a file also for a chunk without any value, so that a missing file is noticed.
        self.fetch(feature_set, (), {})
        array = self._open_array(feature_set, "r+").with_config({"write_empty_chunks": True})
        needed = (first - (-len(values) // CHUNK)) * CHUNK
        if array.shape[0] < needed:
            array.resize((needed, array.shape[1]))
        block = np.full((needed - first * CHUNK, array.shape[1]), array.fill_value, dtype=array.dtype)
        block[: len(values)] = values
        array[first * CHUNK : needed] = block
        keep_chunks_private(self.store_of(feature_set), range(first, needed // CHUNK))

    def forget(self, case_rows: Sequence[int], sets: Sequence[FeatureSet] | None = None) -> None:
        """Remove the features of cases that changed, so that every set, or each of ``sets``, extracts them again."""
        if len(case_rows):
            with self._catalogue.transaction() as connection:
                clear_features(connection, case_rows, None if sets is None else [one.id for one in sets])

    def failures(self, feature_set: FeatureSet) -> list[tuple[str, str]]:
        """(case_id, reason) of the cases the extractor could not read."""
        query = (
            sa.select(cases.c.case_id, feature_failures.c.reason)
            .join(cases, cases.c.id == feature_failures.c.case)
            .where(
                feature_failures.c.feature_set == self.whole(feature_set).id,
                feature_failures.c.content.in_((cases.c.content, "")),
            )
            .order_by(cases.c.case_id)
        )
        return [(r.case_id, r.reason) for r in self._catalogue.read(query)]

    def read(
        self, feature_set: FeatureSet, case_rows: npt.NDArray[np.int64] | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """(n,) case ids, ascending, and their values (n, d): all of the set, or those of ``case_rows``."""
        ids, positions = self._positions(feature_set)
        if case_rows is not None:
            requested = np.isin(ids, case_rows)
            ids, positions = ids[requested], positions[requested]
        order = np.argsort(ids)
        ids, positions = ids[order], positions[order]
        numbers, sums = np.unique(positions // CHUNK).tolist(), self.chunk_sums(feature_set)
        self.fetch(feature_set, numbers, sums)
        array = self._open_array(feature_set, "r")
        if len(positions) == 0:
            return ids, np.empty((0, array.shape[1]), dtype=array.dtype)
        self._check_unchanged(feature_set, numbers, sums)
        if len(positions) * 2 > array.shape[0]:
            values = self._read_rows(feature_set, array, slice(None))
            if len(positions) < len(values) or (positions != np.arange(len(values))).any():
                values = values[positions]
        else:
            values = self._read_rows(feature_set, array, positions)
        return ids, self._check_values(feature_set, values)

    def blocks(self, feature_set: FeatureSet, chunks: int = 16) -> Any:
        """Yield (case ids, values) of the whole set, ``chunks`` chunks at a time."""
        known, sums = self.chunk_rows(feature_set), self.chunk_sums(feature_set)
        numbers = sorted(known)
        self.fetch(feature_set, [n for n in numbers if (known[n] >= 0).any()], sums)
        array = self._open_array(feature_set, "r")
        for start in range(0, len(numbers), chunks):
            part = numbers[start : start + chunks]
            self._check_unchanged(feature_set, [n for n in part if (known[n] >= 0).any()], sums)
            block = self._read_rows(feature_set, array, slice(part[0] * CHUNK, (part[-1] + 1) * CHUNK))
            if len(block) < (part[-1] + 1 - part[0]) * CHUNK:
                raise _damage_error(feature_set, self.store_of(feature_set))
            ids = np.full(len(block), -1, dtype=np.int64)
            for number in part:
                offset = (number - part[0]) * CHUNK
                ids[offset : offset + len(known[number])] = known[number]
            valid = ids >= 0
            yield ids[valid], self._check_values(feature_set, block[valid])

    def _positions(self, feature_set: FeatureSet) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Ids of cases and their rows in the store, unordered."""
        chunks = self.chunk_rows(feature_set)
        ids = np.concatenate([np.empty(0, dtype=np.int64), *chunks.values()])
        lengths = np.array([len(rows) for rows in chunks.values()], dtype=np.int64)
        # Where each chunk begins in the store, less where it begins here.
        shifts = np.array(list(chunks), dtype=np.int64) * CHUNK - (np.cumsum(lengths) - lengths)
        positions = np.arange(len(ids), dtype=np.int64) + np.repeat(shifts, lengths)
        valid = ids >= 0
        return (ids, positions) if valid.all() else (ids[valid], positions[valid])


def features_stamp(chunks: Mapping[int, npt.NDArray[np.int64]]) -> str:
    """A text that changes whenever the features do of which ``chunks`` hold the cases."""
    stamp = hashlib.blake2b(digest_size=12)
    for number in sorted(chunks):
        stamp.update(chunks[number].tobytes())
    return stamp.hexdigest()


def _records(rows: Sequence[sa.Row[Any]]) -> list[FeatureSet]:
    return [
        FeatureSet(
            r.id, r.name, r.extractor, r.version, dict(r.settings), tuple((n, g) for n, g in r.columns)
        )
        for r in rows
    ]


def _check_same(
    known: FeatureSet,
    extractor: str,
    version: int,
    settings: Mapping[str, Any],
    columns: Sequence[tuple[str, str]],
) -> FeatureSet:
    """``known``, if it has this extractor and these settings and columns.

    Raises:
        BadArguments: it has not.
    """

    def plain(given: Mapping[str, Any]) -> dict[str, Any]:
        # Its extractor says by its version whether another version of a package gives other numbers.
        return {name: value for name, value in given.items() if name != PLUGIN}

    requested = (extractor, version, plain(settings), tuple(columns))
    if (known.extractor, known.version, plain(known.settings), known.columns) != requested:
        raise BadArguments(
            tr_lazy(
                "The feature set '{known}' has another extractor or other settings ({extractor} {version}).",
                known=known.name,
                extractor=known.extractor,
                version=known.version,
            ),
            "Give the new one another name with --name.",
        )
    return known


def _is_coded_so(connection: sa.Connection, feature_set: FeatureSet) -> bool:
    """Whether a set of packed descriptions still has the coding that ``feature_set`` was read with."""
    query = sa.select(feature_sets.c.settings).where(feature_sets.c.id == feature_set.id)
    settings = connection.execute(query).scalar()
    return settings is not None and dict(settings) == feature_set.settings


def _current_contents(connection: sa.Connection, rows: Sequence[int]) -> dict[int, str]:
    """Row -> current content hash of the cases ``rows`` that the catalogue still has."""
    found: dict[int, str] = {}
    for part in in_batches(rows):
        query = sa.select(cases.c.id, cases.c.content).where(cases.c.id.in_(part))
        found.update((row, content) for row, content in connection.execute(query).all())
    return found


def _read_error(feature_set: FeatureSet, store: Path, error: OSError) -> BadInput:
    return BadInput(
        tr_lazy(
            "The features of the feature set '{feature_set}' ({store}) cannot be read: {reason}.",
            feature_set=feature_set.name,
            store=store,
            reason=error.strerror or error,
        ),
        "Check its permissions and that its disk is connected. `semblance doctor LIB` gives details.",
    )


def _damage_error(feature_set: FeatureSet, store: Path) -> BadInput:
    return BadInput(
        tr_lazy(
            "The features of the feature set '{feature_set}' ({store}) are lost or damaged.",
            feature_set=feature_set.name,
            store=store,
        ),
        "The rest can be used. File > Verify library… (`semblance doctor LIB --repair`) repairs them.",
    )
