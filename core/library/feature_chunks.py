"""The values of feature sets in chunks: zarr stores with a file for each, and the rows that name their cases."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.files import create_folder, make_private
from semblance.core.library.records import CHUNK
from semblance.core.library.schema import feature_chunks, feature_failures

#: The file that describes a store.
DESCRIPTION = "zarr.json"
_SUM_BYTES = 4


def create_store(store: Path, rows: int, width: int, dtype: str) -> None:
    """Create an empty store, in which each chunk carries a CRC-32C, and is not read where it does not agree."""
    import zarr
    from zarr.codecs import Crc32cCodec, ZstdCodec

    # Before zarr creates it with the permissions of the umask.
    create_folder(store)
    zarr.create_array(
        store,
        shape=(rows, width),
        chunks=(CHUNK, max(1, width)),
        dtype=dtype,
        fill_value=np.nan if np.dtype(dtype).kind == "f" else 0,
        compressors=[ZstdCodec(level=0), Crc32cCodec()],
    )
    make_private(store / DESCRIPTION)


def empty_rows(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """(n,) which of the rows ``values`` (n, d) of a store hold nothing. A row of a table, which is float64, may."""
    if values.dtype == np.float32:
        return np.asarray(np.isnan(values).all(axis=1))
    return (
        np.asarray(~values.any(axis=1)) if values.dtype.kind == "i" else np.zeros(len(values), dtype=np.bool_)
    )


def keep_chunks_private(store: Path, numbers: Iterable[int]) -> None:
    """After zarr wrote the chunks ``numbers`` into the private folder ``store``, have them private too."""
    files = [chunk_file(store, number) for number in numbers]
    for path in (store / DESCRIPTION, store / "c", *(file.parent for file in files), *files):
        make_private(path)


def chunk_file(store: Path, number: int) -> Path:
    """The file of a chunk of a store."""
    return store / "c" / str(number) / "0"


def chunk_checksum(store: Path, number: int) -> int | None:
    """The last bytes of a chunk's file, its CRC-32C; ``None`` where there is no such file.

    The catalogue stores it, so that an intact file of another chunk or of an older one is recognised.
    """
    try:
        with chunk_file(store, number).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _SUM_BYTES))
            return int.from_bytes(file.read(), "little")
    except FileNotFoundError:
        return None


#: The case id of a row of a chunk whose features were removed.
NO_CASE = -1


def clear_features(
    connection: sa.Connection, case_rows: Collection[int], sets: Collection[int] | None = None
) -> None:
    """Remove the features of the cases ``case_rows`` from every feature set, or from those with the ids ``sets``, so
    that they are extracted again."""
    removed = np.array(sorted(case_rows), dtype=np.int64)
    if not len(removed):
        return
    chunks = sa.select(feature_chunks)
    if sets is not None:
        chunks = chunks.where(feature_chunks.c.feature_set.in_(sets))
    for chunk in connection.execute(chunks).all():
        rows = np.frombuffer(chunk.case_rows, dtype=np.int64).copy()
        matches = np.isin(rows, removed)
        if matches.any():
            rows[matches] = NO_CASE
            connection.execute(
                feature_chunks.update()
                .where(
                    feature_chunks.c.feature_set == chunk.feature_set, feature_chunks.c.chunk == chunk.chunk
                )
                .values(case_rows=rows.tobytes())
            )


def clear_failures(connection: sa.Connection, case_rows: Collection[int]) -> None:
    """Remove the recorded extraction failures of the cases ``case_rows``."""
    if case_rows:
        connection.execute(
            feature_failures.delete().where(feature_failures.c.case == sa.bindparam("row")),
            [{"row": int(row)} for row in case_rows],
        )
