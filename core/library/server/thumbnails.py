"""The thumbnails of a library on a server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from semblance.core.errors import SemblanceError
from semblance.core.library.database import in_batches, upsert
from semblance.core.library.server.catalogue import ServerCatalogue
from semblance.core.library.server.files import ServerFiles
from semblance.core.library.server.tables import outlines, thumbnails
from semblance.core.library.thumbnails import ThumbnailStore

_PART = 200


class ServerThumbnails(ThumbnailStore):
    """:class:`semblance.core.library.thumbnails.ThumbnailStore` in tables of the server."""

    def __init__(self, catalogue: ServerCatalogue, files: ServerFiles, kept: ThumbnailStore) -> None:
        """``kept``: where those that were read are kept, if this computer has a copy of the library."""
        self._catalogue, self._files, self.kept = catalogue, files, kept

    def put(self, images: Iterable[tuple[str, bytes]]) -> None:
        """Store (content hash, encoded thumbnail) pairs; does nothing where the user may not: others see them."""
        self._write(thumbnails, [{"content": content, "image": image} for content, image in images])

    def get(self, contents: Sequence[str]) -> dict[str, bytes]:
        """Content hash -> thumbnail, for those of ``contents`` that are stored."""
        out: dict[str, bytes] = {}
        for start in range(0, len(contents), _PART):
            part = contents[start : start + _PART]
            rows = self._catalogue.read(sa.select(thumbnails).where(thumbnails.c.content.in_(part)))
            out.update((r.content, r.image) for r in rows)
        if self._files.has_copy:
            self.kept.put(out.items())
        return out

    def contents(self) -> list[str]:
        """The content hashes of all stored thumbnails, in order."""
        query = sa.select(thumbnails.c.content).order_by(thumbnails.c.content)
        return [r.content for r in self._catalogue.read(query)]

    def spread(self, count: int) -> list[bytes]:
        """At most ``count`` thumbnails, spread evenly over those that are stored."""
        stored = self.contents()
        places = sorted({place * len(stored) // count for place in range(count)}) if stored else []
        return list(self.get([stored[place] for place in places]).values())

    def contents_of(self, encoded: bytes) -> list[str]:
        """The content hashes whose thumbnail is exactly ``encoded``."""
        same = sa.and_(sa.func.length(thumbnails.c.image) == len(encoded), thumbnails.c.image == encoded)
        return [r.content for r in self._catalogue.read(sa.select(thumbnails.c.content).where(same))]

    def put_outlines(self, found: Iterable[tuple[str, bytes]]) -> None:
        """Store (content hash, outline of its thumbnail) pairs; does nothing where the user may not."""
        self._write(outlines, [{"content": content, "outline": outline} for content, outline in found])

    def outlines(self) -> dict[str, bytes]:
        """Content hash -> the outline stored for it."""
        return {r.content: r.outline for r in self._catalogue.read(sa.select(outlines))}

    def count_without_outline(self) -> int:
        """The number of thumbnails that no outline is stored for."""
        missing = ~sa.exists().where(outlines.c.content == thumbnails.c.content)
        return int(
            self._catalogue.read(sa.select(sa.func.count()).select_from(thumbnails).where(missing))[0][0]
        )

    def remove(self, contents: Iterable[str]) -> None:
        """Remove the thumbnails and outlines of ``contents``."""
        contents = list(contents)
        with self._catalogue.files_transaction() as connection:
            for table in (thumbnails, outlines):
                for part in in_batches(contents):
                    connection.execute(table.delete().where(table.c.content.in_(part)))

    def reset(self) -> None:
        """Remove all thumbnails."""
        self._delete(thumbnails)
        self._delete(outlines)
        self.kept.reset()

    def close(self) -> None:
        """Close what is on this computer; the connections are the catalogue's."""
        self.kept.close()

    def _write(self, table: sa.Table, rows: list[dict[str, Any]]) -> None:
        if not self._catalogue.may_store_images or not rows:
            return
        # In one order, so that two programs that store the same never wait for each other.
        rows.sort(key=lambda row: str(row["content"]))
        with contextlib.suppress(SemblanceError), self._catalogue.files_transaction() as connection:
            for part in in_batches(rows):
                connection.execute(upsert(connection, table, ("content",)), list(part))

    def _delete(self, table: sa.Table) -> None:
        if self._catalogue.may_store_images:
            with contextlib.suppress(SemblanceError), self._catalogue.files_transaction() as connection:
                connection.execute(table.delete())
