"""Thumbnails by content: a derived file that may be lost and is made again as pictures are seen."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from core.library.database import BUSY_S

_PART = 500


class ThumbnailStore:
    """Encoded thumbnails (JPEG or PNG bytes) keyed by the hash of what they show."""

    def __init__(self, file: Path, *, writable: bool) -> None:
        self._file, self._writable = file, writable
        self._connection: sqlite3.Connection | None = None
        if not writable and not file.exists():
            return
        try:
            self._connection = self._connect()
        except sqlite3.DatabaseError:
            # Derived data: a damaged file is replaced, its pictures are shown again from their files.
            if writable:
                file.unlink(missing_ok=True)
                self._connection = self._connect()

    def _connect(self) -> sqlite3.Connection:
        if not self._writable:
            uri = f"{self._file.absolute().as_uri()}?mode=ro&immutable=1"
            return sqlite3.connect(uri, uri=True, check_same_thread=False)
        connection = sqlite3.connect(self._file, timeout=BUSY_S, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=OFF")
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS thumbnails (content TEXT PRIMARY KEY, image BLOB)")
        return connection

    def put(self, images: Iterable[tuple[str, bytes]]) -> None:
        """Keep (content hash, encoded thumbnail) pairs; does nothing in a read-only library."""
        if self._connection is None or not self._writable:
            return
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO thumbnails VALUES (?, ?)", images)

    def get(self, contents: Sequence[str]) -> dict[str, bytes]:
        """Those of ``contents`` that are kept."""
        if self._connection is None:
            return {}
        out: dict[str, bytes] = {}
        for start in range(0, len(contents), _PART):
            part = contents[start : start + _PART]
            marks = ",".join("?" * len(part))
            query = f"SELECT content, image FROM thumbnails WHERE content IN ({marks})"
            with contextlib.suppress(sqlite3.DatabaseError):
                out.update(self._connection.execute(query, list(part)).fetchall())
        return out

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
