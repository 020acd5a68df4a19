"""Check that the stored values of feature sets are those that were written, and clear those that are not."""

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
from semblance.core.library.feature_chunks import DESCRIPTION, NO_CASE, chunk_file, create_store, empty_rows
from semblance.core.library.feature_sets import FeatureSets
from semblance.core.library.records import CHUNK, FeatureSet
from semblance.core.library.schema import cases, feature_chunks
from semblance.core.tasks import SILENT, Reporter


@dataclass(frozen=True)
class FeatureDamage:
    """The result of reading a whole feature set.

    ``description``: whether the store's own description can be used; ``damaged``: numbers of the chunks that cannot be
    read, lack rows, or are not the ones that were written; ``cases``: cases in those chunks; ``intact``: cases in the
    others.
    """

    description: bool
    damaged: tuple[int, ...]
    cases: int
    intact: int


def feature_damage(
    features: FeatureSets, feature_set: FeatureSet, reporter: Reporter = SILENT
) -> FeatureDamage:
    """Read every counted chunk of ``feature_set``."""
    known = features.chunk_rows(feature_set)
    counts = {number: int((rows >= 0).sum()) for number, rows in known.items()}
    needed = sorted(number for number, count in counts.items() if count)
    sums = features.chunk_sums(feature_set)
    features.fetch(feature_set, needed, sums)
    store = features.store_of(feature_set)
    array = _open_array(store, feature_set, max(needed, default=-1) + 1)
    if array is None:
        n_lost = sum(counts.values())
        return FeatureDamage(False, tuple(needed), n_lost, 0)
    damaged = []
    for done, number in enumerate(needed):
        reporter.check_cancelled()
        reporter.progress(done, len(needed), tr_lazy("Checking {feature_set}", feature_set=feature_set.name))
        if not _is_intact(array, number, known[number]) or _is_changed(features, feature_set, number, sums):
            damaged.append(number)
    n_lost = sum(counts[number] for number in damaged)
    return FeatureDamage(True, tuple(damaged), n_lost, sum(counts.values()) - n_lost)


def _open_array(store: Path, feature_set: FeatureSet, chunks: int) -> Any:
    import zarr

    try:
        array = zarr.open_array(store, mode="r", zarr_format=3)
    except (OSError, KeyError, ValueError, TypeError):
        return None
    width = feature_set.width
    fits = (
        array.dtype.str[1:].startswith("i1" if feature_set.is_packed else "f")
        and array.ndim == 2
        and array.shape[1] == width
        and array.shape[0] >= chunks * CHUNK
    )
    return array if fits and array.chunks == (CHUNK, max(1, width)) else None


def _is_intact(array: Any, number: int, rows: npt.NDArray[np.int64]) -> bool:
    try:
        values = array[number * CHUNK : number * CHUNK + len(rows)]
    except Exception:  # noqa: BLE001 - the codecs' own libraries raise what they like
        return False
    there = values[rows >= 0]
    if there.dtype != np.float64:
        return not empty_rows(there).any()
    # A row of a table may have no value at all, so a lost chunk is recognised by its missing file.
    return chunk_file(Path(str(array.store.root)), number).is_file()


def _is_changed(features: FeatureSets, feature_set: FeatureSet, number: int, sums: Mapping[int, int]) -> bool:
    try:
        return features.is_changed(feature_set, number, sums)
    except OSError:
        return True


def clear_chunks(catalogue: Catalogue, feature_set: FeatureSet, numbers: Collection[int]) -> None:
    """Remove the features of the cases in these chunks, so that they are extracted again."""
    with catalogue.transaction() as connection:
        in_feature_set = feature_chunks.c.feature_set == feature_set.id
        for number in numbers:
            one = sa.and_(in_feature_set, feature_chunks.c.chunk == number)
            known = connection.execute(sa.select(feature_chunks.c.case_rows).where(one)).scalar()
            if known is not None:
                cleared = np.full(len(known) // 8, NO_CASE, dtype=np.int64)
                connection.execute(feature_chunks.update().where(one).values(case_rows=cleared.tobytes()))


def clear_unknown_rows(catalogue: Catalogue) -> int:
    """Clear rows of stores that belong to cases the catalogue does not have; the number of them."""
    with catalogue.transaction() as connection:
        known = np.fromiter(connection.execute(sa.select(cases.c.id)).scalars(), dtype=np.int64)
        found = 0
        for chunk in connection.execute(sa.select(feature_chunks)).all():
            rows = np.frombuffer(chunk.case_rows, dtype=np.int64).copy()
            unknown = (rows >= 0) & ~np.isin(rows, known)
            if unknown.any():
                found += int(unknown.sum())
                rows[unknown] = NO_CASE
                one = sa.and_(
                    feature_chunks.c.feature_set == chunk.feature_set, feature_chunks.c.chunk == chunk.chunk
                )
                connection.execute(feature_chunks.update().where(one).values(case_rows=rows.tobytes()))
        return found


def count_unknown_rows(catalogue: Catalogue) -> int:
    """The number of rows of stores that belong to cases the catalogue does not have."""
    known = np.array([r.id for r in catalogue.read(sa.select(cases.c.id))], dtype=np.int64)
    chunks = catalogue.read(sa.select(feature_chunks.c.case_rows))
    all_rows = [np.frombuffer(chunk.case_rows, dtype=np.int64) for chunk in chunks]
    return sum(int(((rows >= 0) & ~np.isin(rows, known)).sum()) for rows in all_rows)


def rewrite_description(features: FeatureSets, feature_set: FeatureSet, dtype: str) -> None:
    """Write the description of a store again from the catalogue, so that its chunks can be read.

    The old description must have been moved away.
    """
    rows = (max(features.chunk_rows(feature_set), default=-1) + 1) * CHUNK
    create_store(features.store_of(feature_set), rows, feature_set.width, dtype)


def dtype_of(store: Path) -> str | None:
    """The data type that a store's description names; ``None`` where it cannot be read."""
    try:
        found = json.loads((store / DESCRIPTION).read_text(encoding="utf-8")).get("data_type")
    except (OSError, ValueError, AttributeError):
        return None
    return found if found in ("float32", "float64", "int8") else None
