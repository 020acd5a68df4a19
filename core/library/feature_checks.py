"""Whether the numbers of feature sets are those that were written, and what to do where they are not."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.language import tr_lazy
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.clear_features import NO_CASE
from semblance.core.library.feature_sets import FeatureSets
from semblance.core.library.feature_stores import DESCRIPTION, chunk_file, create_store
from semblance.core.library.records import CHUNK, FeatureSet
from semblance.core.library.schema import cases, feature_chunks
from semblance.core.tasks import SILENT, Reporter


@dataclass(frozen=True)
class StoreState:
    """What reading a whole feature set gave.

    ``description``: whether the store's own description can be used; ``checked``: chunks carry check sums;
    ``damaged``: numbers of the chunks that cannot be read, lack rows, or are not the ones that were written;
    ``cases`` in them; ``sound`` cases.
    """

    description: bool
    checked: bool
    damaged: tuple[int, ...]
    cases: int
    sound: int


def store_state(features: FeatureSets, feature_set: FeatureSet, reporter: Reporter = SILENT) -> StoreState:
    """Read every counted chunk of ``feature_set``."""
    known = features.chunk_rows(feature_set)
    counts = {number: int((rows >= 0).sum()) for number, rows in known.items()}
    needed = sorted(number for number, count in counts.items() if count)
    store = features.store_of(feature_set)
    array = _opened(store, len(feature_set.columns), max(needed, default=-1) + 1)
    if array is None:
        lost = sum(counts.values())
        return StoreState(False, False, tuple(needed), lost, 0)
    sums = features.chunk_sums(feature_set)
    damaged = []
    for done, number in enumerate(needed):
        reporter.check_cancelled()
        reporter.progress(done, len(needed), tr_lazy("Checking {feature_set}", feature_set=feature_set.name))
        if not _sound(array, number, known[number]) or _changed(features, feature_set, number, sums):
            damaged.append(number)
    lost = sum(counts[number] for number in damaged)
    checked = any(type(codec).__name__ == "Crc32cCodec" for codec in array.metadata.codecs)
    return StoreState(True, checked, tuple(damaged), lost, sum(counts.values()) - lost)


def _opened(store: Path, width: int, chunks: int) -> Any:
    import zarr

    try:
        array = zarr.open_array(store, mode="r", zarr_format=3)
    except (OSError, KeyError, ValueError, TypeError):
        return None
    fits = (
        array.dtype.kind == "f"
        and array.ndim == 2
        and array.shape[1] == width
        and array.shape[0] >= chunks * CHUNK
    )
    return array if fits and array.chunks == (CHUNK, max(1, width)) else None


def _sound(array: Any, number: int, rows: npt.NDArray[np.int64]) -> bool:
    try:
        values = array[number * CHUNK : number * CHUNK + len(rows)]
    except Exception:  # noqa: BLE001 - the codecs' own libraries raise what they like
        return False
    there = values[rows >= 0]
    if there.dtype == np.float32:
        return not np.isnan(there).all(axis=1).any()
    # A row of a table may miss every value; a chunk whose file is gone is told by its file.
    return chunk_file(Path(str(array.store.root)), number).is_file()


def _changed(features: FeatureSets, feature_set: FeatureSet, number: int, sums: Mapping[int, int]) -> bool:
    try:
        return features.is_changed(feature_set, number, sums)
    except OSError:
        return True


def clear_chunks(catalogue: Catalogue, feature_set: FeatureSet, numbers: Collection[int]) -> None:
    """The cases in these chunks have no numbers any more and wait to be extracted again."""
    with catalogue.writing() as connection:
        here = feature_chunks.c.feature_set == feature_set.id
        for number in numbers:
            one = sa.and_(here, feature_chunks.c.chunk == number)
            known = connection.execute(sa.select(feature_chunks.c.case_rows).where(one)).scalar()
            if known is not None:
                gone = np.full(len(known) // 8, NO_CASE, dtype=np.int64)
                connection.execute(feature_chunks.update().where(one).values(case_rows=gone.tobytes()))


def clear_unknown_rows(catalogue: Catalogue) -> int:
    """Rows of stores that stand for cases the catalogue does not know are let go; how many there were."""
    with catalogue.writing() as connection:
        known = np.fromiter(connection.execute(sa.select(cases.c.id)).scalars(), dtype=np.int64)
        found = 0
        for chunk in connection.execute(sa.select(feature_chunks)).all():
            rows = np.frombuffer(chunk.case_rows, dtype=np.int64).copy()
            strange = (rows >= 0) & ~np.isin(rows, known)
            if strange.any():
                found += int(strange.sum())
                rows[strange] = NO_CASE
                one = sa.and_(
                    feature_chunks.c.feature_set == chunk.feature_set, feature_chunks.c.chunk == chunk.chunk
                )
                connection.execute(feature_chunks.update().where(one).values(case_rows=rows.tobytes()))
        return found


def count_unknown_rows(catalogue: Catalogue) -> int:
    """How many rows of stores stand for cases the catalogue does not know."""
    known = np.array([r.id for r in catalogue.read(sa.select(cases.c.id))], dtype=np.int64)
    chunks = catalogue.read(sa.select(feature_chunks.c.case_rows))
    every = [np.frombuffer(chunk.case_rows, dtype=np.int64) for chunk in chunks]
    return sum(int(((rows >= 0) & ~np.isin(rows, known)).sum()) for rows in every)


def rewrite_description(features: FeatureSets, feature_set: FeatureSet, dtype: str) -> None:
    """Write the description of a store anew, as the catalogue knows it, so that its chunks can be read.

    The old description must have been moved away. Whether its chunks carry check sums is found by trying;
    where none can be read, those that are made again will.
    """
    known = features.chunk_rows(feature_set)
    store, width = features.store_of(feature_set), len(feature_set.columns)
    rows = (max(known, default=-1) + 1) * CHUNK
    for checked in (True, False, True):
        (store / DESCRIPTION).unlink(missing_ok=True)
        create_store(store, rows, width, dtype, checked=checked)
        if not known or len(store_state(features, feature_set).damaged) < len(known):
            return


def dtype_of(store: Path) -> str | None:
    """The kind of number a store's description names; ``None`` where it cannot be read."""
    try:
        found = json.loads((store / DESCRIPTION).read_text(encoding="utf-8")).get("data_type")
    except (OSError, ValueError, AttributeError):
        return None
    return found if found in ("float32", "float64") else None
