"""The queries of a window in the order they were searched, as a browser has its pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semblance.core.searches.search import Search

#: Queries that are remembered; the oldest is forgotten.
MOST = 50


@dataclass(frozen=True)
class PastQuery:
    """``search``: as it was when another query followed. ``is_named``: whether it was saved under a name."""

    search: Search
    is_named: bool

    def has_image_of(self, other: PastQuery) -> bool:
        """Whether both queries are of the same case or file."""
        return _image(self.search) == _image(other.search)


class QueryHistory:
    """``entries``: one for each image that followed another, the oldest first; the regions and marks of an image change
    its entry. ``place``: that of the present query, -1 for none."""

    def __init__(self) -> None:
        self.entries: list[PastQuery] = []
        self.place = -1

    def clear(self) -> None:
        """Forget all, as for another library."""
        self.entries, self.place = [], -1

    def record(self, search: Search, *, is_named: bool) -> None:
        """Note the present search. Another image than that of the present entry follows it, in place of what was
        forward."""
        entry = PastQuery(search, is_named)
        if self.place >= 0 and entry.has_image_of(self.entries[self.place]):
            self.entries[self.place] = entry
            return
        self.entries = [*self.entries[: self.place + 1], entry][-MOST:]
        self.place = len(self.entries) - 1

    def can_go(self, steps: int) -> bool:
        """Whether there is an entry ``steps`` after the present one; before it if negative."""
        return 0 <= self.place + steps < len(self.entries)

    def remove(self, is_gone: Callable[[Search], bool]) -> None:
        """Forget the queries that ``is_gone``, but not the present one."""
        kept: list[PastQuery] = []
        place = self.place
        for at, entry in enumerate(self.entries):
            if at == self.place:
                # The present entry takes the place of an equal one before it.
                if kept and entry.has_image_of(kept[-1]):
                    kept.pop()
                place = len(kept)
            elif is_gone(entry.search) or (kept and entry.has_image_of(kept[-1])):
                continue
            kept.append(entry)
        self.entries, self.place = kept, place


def _image(search: Search) -> tuple[object, object]:
    return search.query.case, search.query.image
