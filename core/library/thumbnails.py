"""Thumbnails by content hash: a derived file that may be lost and is filled again as images are shown."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from semblance.core.files import create_private
from semblance.core.library.database import BUSY_S

_PART = 500


class ThumbnailStore:
    """Encoded thumbnails (JPEG or PNG bytes) by the content hash of their image.

    Nothing depends on it: a damaged file is replaced, and with a full disk only thumbnails are missing.
    """

    def __init__(self, file: Path, *, writable: bool) -> None:
        self._file, self._writable = file, writable
        self._connection: sqlite3.Connection | None = None
        if writable or file.exists():
            self._open()

    def put(self, images: Iterable[tuple[str, bytes]]) -> None:
        """Store (content hash, encoded thumbnail) pairs; does nothing in a read-only library."""
        thumbnails = list(images)
        if self._connection is None or not self._writable or not thumbnails:
            return
        try:
            self._insert(thumbnails)
        except sqlite3.OperationalError:
            return
        except sqlite3.DatabaseError:
            self._replace()
            with contextlib.suppress(sqlite3.Error):
                self._insert(thumbnails)

    def get(self, contents: Sequence[str]) -> dict[str, bytes]:
        """Content hash -> thumbnail, for those of ``contents`` that are stored."""
        out: dict[str, bytes] = {}
        for start in range(0, len(contents), _PART):
            if self._connection is None:
                break
            part = contents[start : start + _PART]
            placeholders = ",".join("?" * len(part))
            query = f"SELECT content, image FROM thumbnails WHERE content IN ({placeholders})"
            try:
                out.update(self._connection.execute(query, list(part)).fetchall())
            except sqlite3.OperationalError:
                continue
            except sqlite3.DatabaseError:
                self._replace()
        return out

    def contents(self) -> list[str]:
        """The content hashes of all stored thumbnails, in order."""
        if self._connection is None:
            return []
        try:
            return [
                row[0] for row in self._connection.execute("SELECT content FROM thumbnails ORDER BY content")
            ]
        except sqlite3.DatabaseError:
            return []

    def spread(self, count: int) -> list[bytes]:
        """At most ``count`` thumbnails, spread evenly over those that are stored."""
        if self._connection is None:
            return []
        try:
            (stored,) = self._connection.execute("SELECT count(*) FROM thumbnails").fetchone()
            query = "SELECT image FROM thumbnails LIMIT 1 OFFSET ?"
            places = sorted({place * stored // count for place in range(count)}) if stored else []
            return [self._connection.execute(query, (place,)).fetchone()[0] for place in places]
        except sqlite3.DatabaseError:
            return []

    def contents_of(self, encoded: bytes) -> list[str]:
        """The content hashes whose thumbnail is exactly ``encoded``: equal images have equal thumbnails."""
        if self._connection is None:
            return []
        # Comparing lengths first reads no image.
        query = "SELECT content FROM thumbnails WHERE length(image) = ? AND image = ?"
        try:
            return [row[0] for row in self._connection.execute(query, (len(encoded), encoded))]
        except sqlite3.DatabaseError:
            return []

    def put_outlines(self, outlines: Iterable[tuple[str, bytes]]) -> None:
        """Store (content hash, outline of its thumbnail) pairs; does nothing in a read-only library."""
        if self._connection is not None and self._writable:
            with contextlib.suppress(sqlite3.Error), self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO outlines VALUES (?, ?)", list(outlines))

    def outlines(self) -> dict[str, bytes]:
        """Content hash -> the outline stored for it."""
        if self._connection is None:
            return {}
        try:
            return dict(self._connection.execute("SELECT content, outline FROM outlines"))
        except sqlite3.Error:
            return {}

    def count_without_outline(self) -> int:
        """The number of thumbnails that no outline is stored for: they were not compared with others yet."""
        if self._connection is None:
            return 0
        query = "SELECT count(*) FROM thumbnails WHERE content NOT IN (SELECT content FROM outlines)"
        try:
            return int(self._connection.execute(query).fetchone()[0])
        except sqlite3.Error:
            return 0

    def remove(self, contents: Iterable[str]) -> None:
        """Remove the thumbnails of ``contents``."""
        if self._connection is not None and self._writable:
            with contextlib.suppress(sqlite3.Error), self._connection:
                self._connection.executemany(
                    "DELETE FROM thumbnails WHERE content = ?", ((content,) for content in contents)
                )

    def reset(self) -> None:
        """Remove all thumbnails."""
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
        """Replace the file, which may be damaged, by an empty one."""
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
        # SQLite says why it cannot be created.
        with contextlib.suppress(OSError):
            create_private(self._file)
        connection = sqlite3.connect(self._file, timeout=BUSY_S, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")
            with connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS thumbnails (content TEXT PRIMARY KEY, image BLOB)"
                )
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS outlines (content TEXT PRIMARY KEY, outline BLOB)"
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _insert(self, images: list[tuple[str, bytes]]) -> None:
        if self._connection is not None:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO thumbnails VALUES (?, ?)", images)
