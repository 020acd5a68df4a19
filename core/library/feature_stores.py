"""The zarr stores that hold the numbers of feature sets: a folder each, with a file for every chunk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semblance.core.library.records import CHUNK

#: What describes a store.
DESCRIPTION = "zarr.json"
_SUM_BYTES = 4


def create_store(store: Path, rows: int, width: int, dtype: str, *, checked: bool = True) -> None:
    """An empty store; ``checked``: each chunk carries a CRC-32C, and one that no longer agrees is not read.

    Stores made before there were such sums have none.
    """
    import zarr
    from zarr.codecs import Crc32cCodec, ZstdCodec

    zarr.create_array(
        store,
        shape=(rows, width),
        chunks=(CHUNK, max(1, width)),
        dtype=dtype,
        fill_value=np.nan,
        compressors=[ZstdCodec(level=0), Crc32cCodec()] if checked else [ZstdCodec(level=0)],
    )


def chunk_file(store: Path, number: int) -> Path:
    """Where zarr keeps a chunk of a store."""
    return store / "c" / str(number) / "0"


def sum_of_chunk(store: Path, number: int) -> int | None:
    """The last bytes of a chunk's file, its CRC-32C where it has one; ``None`` where there is no such file.

    The catalogue keeps it: a chunk that is whole, but another one or an older one, is not taken for this.
    """
    try:
        with chunk_file(store, number).open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _SUM_BYTES))
            return int.from_bytes(file.read(), "little")
    except FileNotFoundError:
        return None
