"""Libraries as older versions of the program made them, from the SQL text in ``schemas``.

Those texts are frozen records of what each version wrote: they repeat each other, and are never changed.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import numpy as np

from semblance.core.library.feature_sets import CHUNK
from semblance.core.library.records import CATALOGUE

SCHEMAS = Path(__file__).parent / "schemas"
#: One text for each version there was.
VERSIONS = tuple(sorted(int(file.stem.removeprefix("version_")) for file in SCHEMAS.glob("version_*.sql")))


def older_library(folder: Path, version: int) -> Path:
    """A library of catalogue ``version``: four cases (and from version 2 a volume), numbers without check
    sums, a search, a metric without its file, from version 4 a judgement."""
    import zarr

    for subfolder in ("features", "metrics"):
        (folder / subfolder).mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(folder / CATALOGUE)) as connection, connection:
        connection.executescript((SCHEMAS / f"version_{version}.sql").read_text(encoding="utf-8"))
    # As those versions made it: with zarr's own defaults.
    store = zarr.create_array(
        folder / "features" / "1.zarr",
        shape=(CHUNK, 2),
        chunks=(CHUNK, 2),
        dtype="float32",
        fill_value=np.nan,
    )
    store[:4] = np.arange(8, dtype=np.float32).reshape(4, 2)
    return folder


def described(path: Path) -> dict[str, tuple]:
    """Columns and indices of every table, in the order they stand."""
    with contextlib.closing(sqlite3.connect(path / CATALOGUE)) as connection:
        names = [r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        return {
            name: (
                sorted(r[1:] for r in connection.execute(f"PRAGMA table_info({name})")),
                sorted(r[2:5] for r in connection.execute(f"PRAGMA foreign_key_list({name})")),
                sorted(r[1] for r in connection.execute(f"PRAGMA index_list({name})")),
            )
            for name in sorted(names)
        }
