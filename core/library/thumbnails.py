"""Thumbnails by content: a derived file that may be lost and is made again as images are seen."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from semblance.core.library.database import BUSY_S

_PART = 500


class ThumbnailStore:
    """Encoded thumbnails (JPEG or PNG bytes) keyed by the hash of what they show.

    Nothing depends on it: a damaged file is replaced, a full disk costs the thumbnails only.
    """

    def __init__(self, file: Path, *, writable: bool) -> None:
        self._file, self._writable = file, writable
        self._connection: sqlite3.Connection | None = None
        if writable or file.exists():
            self._open()

    def put(self, images: Iterable[tuple[str, bytes]]) -> None:
        """Keep (content hash, encoded thumbnail) pairs; does nothing in a read-only library."""
        kept = list(images)
        if self._connection is None or not self._writable or not kept:
            return
        try:
            self._insert(kept)
        except sqlite3.OperationalError:
            return
        except sqlite3.DatabaseError:
            self._replace()
            with contextlib.suppress(sqlite3.Error):
                self._insert(kept)

    def get(self, contents: Sequence[str]) -> dict[str, bytes]:
        """Those of ``contents`` that are kept."""
        out: dict[str, bytes] = {}
        for start in range(0, len(contents), _PART):
            if self._connection is None:
                break
            part = contents[start : start + _PART]
            marks = ",".join("?" * len(part))
            query = f"SELECT content, image FROM thumbnails WHERE content IN ({marks})"
            try:
                out.update(self._connection.execute(query, list(part)).fetchall())
            except sqlite3.OperationalError:
                continue
            except sqlite3.DatabaseError:
                self._replace()
        return out

    def contents_of(self, encoded: bytes) -> list[str]:
        """The contents whose thumbnail is exactly ``encoded``: images of equal pixels have equal thumbnails."""
        if self._connection is None:
            return []
        # Comparing lengths first reads no image.
        query = "SELECT content FROM thumbnails WHERE length(image) = ? AND image = ?"
        try:
            return [row[0] for row in self._connection.execute(query, (len(encoded), encoded))]
        except sqlite3.DatabaseError:
            return []

    def renew(self) -> None:
        """Begin anew, without any thumbnail."""
        self._replace()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _open(self) -> None:
        try:
            self._connection = self._connect()
        except sqlite3.OperationalError:
            self.close()
        except sqlite3.DatabaseError:
            self._replace()

    def _replace(self) -> None:
        """Begin anew in place of a damaged file."""
        self.close()
        if not self._writable:
            return
        with contextlib.suppress(OSError, sqlite3.Error):
            for end in ("", "-wal", "-shm"):
                found = self._file.with_name(self._file.name + end)
                shutil.rmtree(found) if found.is_dir() else found.unlink(missing_ok=True)
            self._connection = self._connect()

    def _connect(self) -> sqlite3.Connection:
        if not self._writable:
            uri = f"{self._file.absolute().as_uri()}?mode=ro&immutable=1"
            return sqlite3.connect(uri, uri=True, check_same_thread=False)
        connection = sqlite3.connect(self._file, timeout=BUSY_S, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")
            with connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS thumbnails (content TEXT PRIMARY KEY, image BLOB)"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _insert(self, images: list[tuple[str, bytes]]) -> None:
        if self._connection is not None:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO thumbnails VALUES (?, ?)", images)
