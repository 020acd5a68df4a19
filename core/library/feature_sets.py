"""Feature sets: which extractor made which numbers of which cases, and the zarr stores holding them."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.clear_features import clear_features
from semblance.core.library.feature_stores import create_store, sum_of_chunk
from semblance.core.library.records import CHUNK, FeatureSet, now
from semblance.core.library.schema import HAS_IMAGE, cases, feature_chunks, feature_failures, feature_sets


class FeatureSets:
    """The feature sets of one library."""

    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self._catalogue, self._folder = catalogue, folder

    def all(self) -> list[FeatureSet]:
        """The feature sets in the order they were made."""
        return _all(self._catalogue.read(sa.select(feature_sets).order_by(feature_sets.c.id)))

    def get(self, name: str | None) -> FeatureSet:
        """The set called ``name``; without a name the only one there is.

        Raises:
            BadArguments: no such set, or none named while there are several (the message lists them).
            BadInput: the library has no feature set yet.
        """
        found = self.all()
        if not found:
            raise BadInput(
                tr_lazy("{parent} has no features yet.", parent=self._catalogue.file.parent.name),
                "Extract some first: semblance features LIB --extractor gabor.",
            )
        names = ", ".join(feature_set.name for feature_set in found)
        if name is None:
            if len(found) > 1:
                raise BadArguments(
                    "The library has several feature sets.",
                    tr_lazy("Choose one with --features: {names}.", names=names),
                )
            return found[0]
        for feature_set in found:
            if feature_set.name == name:
                return feature_set
        raise BadArguments(
            tr_lazy("There is no feature set '{name}'.", name=name),
            tr_lazy("There are: {names}.", names=names),
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
        """The set called ``name``, made now unless it is there with the same extractor and settings.

        Raises:
            BadArguments: ``name`` is taken by numbers made otherwise.
        """
        with self._catalogue.writing() as connection:
            for known in _all(connection.execute(sa.select(feature_sets)).all()):
                if known.name == name:
                    return _same(known, extractor, version, settings, columns)
            row = connection.execute(
                feature_sets.insert().values(
                    name=name,
                    extractor=extractor,
                    version=version,
                    settings=dict(settings),
                    columns=[list(column) for column in columns],
                    created=now(),
                )
            )
            made = FeatureSet(
                int(row.inserted_primary_key[0]), name, extractor, version, dict(settings), tuple(columns)
            )
            store = self.store_of(made)
            shutil.rmtree(store, ignore_errors=True)
            create_store(store, 0, len(columns), dtype)
        return made

    def store_of(self, feature_set: FeatureSet) -> Path:
        """The folder holding the numbers of ``feature_set``."""
        return self._folder / f"{feature_set.id}.zarr"

    def _array(self, feature_set: FeatureSet, mode: str) -> Any:
        import zarr

        store, width = self.store_of(feature_set), len(feature_set.columns)
        try:
            # Only the form we write: others may hold objects, which would have to be unpickled.
            array = zarr.open_array(store, mode=mode, zarr_format=3)
        except (FileNotFoundError, KeyError, ValueError, TypeError) as error:
            raise _damaged(feature_set, store) from error
        except OSError as error:
            raise _closed(feature_set, store, error) from error
        # What a store says of itself is not trusted: a block as large as it likes would be read whole.
        fits = array.ndim == 2 and array.shape[1] == width and array.chunks == (CHUNK, max(1, width))
        if not fits or array.dtype.kind != "f":
            raise _damaged(feature_set, store)
        return array

    def _select(self, feature_set: FeatureSet, array: Any, rows: Any) -> npt.NDArray[Any]:
        """``rows`` (positions or a slice) of the store.

        Raises:
            BadInput: what should be there is lost or damaged.
        """
        try:
            values: npt.NDArray[Any] = array[rows] if isinstance(rows, slice) else array.oindex[rows]
        except OSError as error:
            raise _closed(feature_set, self.store_of(feature_set), error) from error
        except Exception as error:
            # The codecs' own libraries raise what they like.
            raise _damaged(feature_set, self.store_of(feature_set)) from error
        return values

    def _refuse_changed(
        self, feature_set: FeatureSet, numbers: Collection[int], sums: Mapping[int, int]
    ) -> None:
        store = self.store_of(feature_set)
        try:
            changed = any(self.is_changed(feature_set, number, sums) for number in numbers)
        except OSError as error:
            raise _closed(feature_set, store, error) from error
        if changed:
            raise _damaged(feature_set, store)

    def _checked(self, feature_set: FeatureSet, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Extractors never give a row of NaN, but a chunk without a sum whose file was lost reads as such."""
        if values.dtype == np.float32 and np.isnan(values).all(axis=1).any():
            raise _damaged(feature_set, self.store_of(feature_set))
        return values

    def chunk_rows(self, feature_set: FeatureSet) -> dict[int, npt.NDArray[np.int64]]:
        """Chunk number -> ids of the cases in its rows."""
        query = sa.select(feature_chunks.c.chunk, feature_chunks.c.case_rows).where(
            feature_chunks.c.feature_set == feature_set.id
        )
        return {r.chunk: np.frombuffer(r.case_rows, dtype=np.int64) for r in self._catalogue.read(query)}

    def is_changed(self, feature_set: FeatureSet, number: int, sums: Mapping[int, int]) -> bool:
        """Whether the file of a chunk is not the one that was written; ``sums`` of :meth:`chunk_sums`.

        Raises:
            OSError: it cannot be read.
        """
        return number in sums and sum_of_chunk(self.store_of(feature_set), number) != sums[number]

    def chunk_sums(self, feature_set: FeatureSet) -> dict[int, int]:
        """Chunk number -> the end of its file; none of chunks written before version 6."""
        query = sa.select(feature_chunks.c.chunk, feature_chunks.c.file_sum).where(
            feature_chunks.c.feature_set == feature_set.id, feature_chunks.c.file_sum.is_not(None)
        )
        return {r.chunk: r.file_sum for r in self._catalogue.read(query)}

    def cases_of(self, feature_set: FeatureSet) -> npt.NDArray[np.int64]:
        """(n,) ids of the cases whose current content has numbers, ascending."""
        return np.sort(self._positions(feature_set)[0])

    def waiting(self, feature_set: FeatureSet, *, images: bool) -> npt.NDArray[np.int64]:
        """(n,) ids of cases without numbers and without a recorded failure on their present content.

        ``images``: cases that have an image, else rows of tables.
        """
        has = HAS_IMAGE if images else cases.c.numbers.is_not(None)
        everything = self._catalogue.read(
            sa.select(cases.c.id, cases.c.content).where(has).order_by(cases.c.id)
        )
        failed = {
            r.case: r.content
            for r in self._catalogue.read(
                sa.select(feature_failures.c.case, feature_failures.c.content).where(
                    feature_failures.c.feature_set == feature_set.id
                )
            )
        }
        done = set(self.cases_of(feature_set).tolist())
        return np.array(
            [r.id for r in everything if r.id not in done and failed.get(r.id) != r.content], dtype=np.int64
        )

    def write_chunk(
        self,
        feature_set: FeatureSet,
        rows: npt.NDArray[np.int64],
        values: npt.NDArray[Any],
        failures: Sequence[tuple[int, str, str]] = (),
        contents: Sequence[str] | None = None,
    ) -> int:
        """Add one chunk: ``rows`` (n <= CHUNK,) ids and ``values`` (n, d); then count it.

        ``failures``: (case id, content, reason); an empty content is tried again next time. ``contents`` are
        what the cases of ``rows`` showed when they were read: those that were taken out or show something
        else by now are left out. Returns how many cases were counted.

        The catalogue counts the chunk only after its numbers are written, so a process killed in between
        leaves nothing half counted; the write transaction around both keeps two programs from taking the
        same chunk.
        """
        with self._catalogue.writing() as connection:
            known = {
                r.chunk: np.frombuffer(r.case_rows, dtype=np.int64)
                for r in connection.execute(
                    sa.select(feature_chunks).where(feature_chunks.c.feature_set == feature_set.id)
                )
            }
            showing = _contents(connection, [*rows.tolist(), *(case for case, _, _ in failures)])
            new = np.array([int(row) in showing for row in rows], dtype=bool)
            if known:
                new &= ~np.isin(rows, np.concatenate(list(known.values())))
            if contents is not None:
                new &= np.array([showing.get(int(r)) == c for r, c in zip(rows, contents, strict=True)], bool)
            if new.any():
                number = max(known, default=-1) + 1
                self._write(feature_set, number, values[new])
                connection.execute(
                    feature_chunks.insert().values(
                        feature_set=feature_set.id,
                        chunk=number,
                        case_rows=rows[new].astype(np.int64).tobytes(),
                        file_sum=sum_of_chunk(self.store_of(feature_set), number),
                    )
                )
                connection.execute(
                    feature_failures.delete().where(
                        feature_failures.c.feature_set == feature_set.id,
                        feature_failures.c.case == sa.bindparam("row"),
                    ),
                    [{"row": row} for row in rows[new].tolist()],
                )
            told = [
                {"feature_set": feature_set.id, "case": case, "content": content, "reason": reason}
                for case, content, reason in failures
                if case in showing
            ]
            if told:
                connection.execute(feature_failures.insert().prefix_with("OR REPLACE"), told)
        return int(new.sum())

    def _write(self, feature_set: FeatureSet, number: int, values: npt.NDArray[Any]) -> None:
        # A chunk may miss every value, and has a file all the same: one that is gone is noticed.
        array = self._array(feature_set, "r+").with_config({"write_empty_chunks": True})
        needed = (number + 1) * CHUNK
        if array.shape[0] < needed:
            array.resize((needed, array.shape[1]))
        block = np.full((CHUNK, array.shape[1]), np.nan, dtype=array.dtype)
        block[: len(values)] = values
        array[number * CHUNK : needed] = block

    def forget(self, case_rows: Sequence[int]) -> None:
        """Cases whose image changed have no numbers any more: every set extracts them anew."""
        if len(case_rows):
            with self._catalogue.writing() as connection:
                clear_features(connection, case_rows)

    def failures(self, feature_set: FeatureSet) -> list[tuple[str, str]]:
        """(case_id, reason) of the cases the extractor could not read."""
        query = (
            sa.select(cases.c.case_id, feature_failures.c.reason)
            .join(cases, cases.c.id == feature_failures.c.case)
            .where(
                feature_failures.c.feature_set == feature_set.id,
                feature_failures.c.content.in_((cases.c.content, "")),
            )
            .order_by(cases.c.case_id)
        )
        return [(r.case_id, r.reason) for r in self._catalogue.read(query)]

    def read(
        self, feature_set: FeatureSet, case_rows: npt.NDArray[np.int64] | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """(n,) case ids, ascending, and their numbers (n, d): all of the set, or those of ``case_rows``."""
        ids, positions = self._positions(feature_set)
        if case_rows is not None:
            wanted = np.isin(ids, case_rows)
            ids, positions = ids[wanted], positions[wanted]
        order = np.argsort(ids)
        ids, positions = ids[order], positions[order]
        array = self._array(feature_set, "r")
        if len(positions) == 0:
            return ids, np.empty((0, array.shape[1]), dtype=array.dtype)
        numbers = np.unique(positions // CHUNK).tolist()
        self._refuse_changed(feature_set, numbers, self.chunk_sums(feature_set))
        if len(positions) * 2 > array.shape[0]:
            values = self._select(feature_set, array, slice(None))
            if len(positions) < len(values) or (positions != np.arange(len(values))).any():
                values = values[positions]
        else:
            values = self._select(feature_set, array, positions)
        return ids, self._checked(feature_set, values)

    def blocks(self, feature_set: FeatureSet, chunks: int = 16) -> Any:
        """Yield (case ids, numbers) of the whole set, ``chunks`` chunks at a time."""
        array = self._array(feature_set, "r")
        known, sums = self.chunk_rows(feature_set), self.chunk_sums(feature_set)
        numbers = sorted(known)
        for start in range(0, len(numbers), chunks):
            part = numbers[start : start + chunks]
            self._refuse_changed(feature_set, [n for n in part if (known[n] >= 0).any()], sums)
            block = self._select(feature_set, array, slice(part[0] * CHUNK, (part[-1] + 1) * CHUNK))
            if len(block) < (part[-1] + 1 - part[0]) * CHUNK:
                raise _damaged(feature_set, self.store_of(feature_set))
            ids = np.full(len(block), -1, dtype=np.int64)
            for number in part:
                offset = (number - part[0]) * CHUNK
                ids[offset : offset + len(known[number])] = known[number]
            kept = ids >= 0
            yield ids[kept], self._checked(feature_set, block[kept])

    def _positions(self, feature_set: FeatureSet) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Ids of cases and their rows in the store, unordered."""
        ids: list[npt.NDArray[np.int64]] = []
        positions: list[npt.NDArray[np.int64]] = []
        for number, rows in self.chunk_rows(feature_set).items():
            kept = np.flatnonzero(rows >= 0)
            ids.append(rows[kept])
            positions.append(kept + number * CHUNK)
        if not ids:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        return np.concatenate(ids), np.concatenate(positions).astype(np.int64)


def _all(rows: Sequence[sa.Row[Any]]) -> list[FeatureSet]:
    return [
        FeatureSet(r.id, r.name, r.extractor, r.version, r.settings, tuple((n, g) for n, g in r.columns))
        for r in rows
    ]


def _same(
    known: FeatureSet,
    extractor: str,
    version: int,
    settings: Mapping[str, Any],
    columns: Sequence[tuple[str, str]],
) -> FeatureSet:
    """``known``, if it was made just so.

    Raises:
        BadArguments: it was made otherwise.
    """
    wanted = (extractor, version, dict(settings), tuple(columns))
    if (known.extractor, known.version, dict(known.settings), known.columns) != wanted:
        raise BadArguments(
            tr_lazy(
                "The feature set '{known}' was made otherwise (by {extractor} {version}).",
                known=known.name,
                extractor=known.extractor,
                version=known.version,
            ),
            "Give the new one another name with --name.",
        )
    return known


def _contents(connection: sa.Connection, rows: Sequence[int]) -> dict[int, str]:
    """What the cases ``rows`` show now; those taken out are not in it."""
    found = connection.execute(sa.select(cases.c.id, cases.c.content).where(cases.c.id.in_(rows)))
    return {r.id: r.content for r in found.all()}


def _closed(feature_set: FeatureSet, store: Path, error: OSError) -> BadInput:
    return BadInput(
        tr_lazy(
            "The numbers of the feature set '{feature_set}' ({store}) cannot be read: {reason}.",
            feature_set=feature_set.name,
            store=store,
            reason=error.strerror or error,
        ),
        "Look who may read it and whether its disk is there; `semblance doctor LIB` says more.",
    )


def _damaged(feature_set: FeatureSet, store: Path) -> BadInput:
    return BadInput(
        tr_lazy(
            "The numbers of the feature set '{feature_set}' ({store}) are lost or damaged.",
            feature_set=feature_set.name,
            store=store,
        ),
        "The rest can be used. File > Verify library… (`semblance doctor LIB --repair`) repairs them.",
    )
