"""The zarr stores that hold the values of feature sets: a folder each, with a file for every chunk."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from semblance.core.files import create_folder, make_private
from semblance.core.library.records import CHUNK

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
        fill_value=np.nan,
        compressors=[ZstdCodec(level=0), Crc32cCodec()],
    )
    make_private(store / DESCRIPTION)


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
