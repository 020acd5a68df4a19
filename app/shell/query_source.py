"""The image of a query, by which a page knows whether it still shows the search of the window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from semblance.core.errors import BadInput
from semblance.core.library.location import LibraryLocation

if TYPE_CHECKING:
    from semblance.core.imaging.display import DisplayImage
    from semblance.core.imaging.region import Region
    from semblance.core.library.case_columns import CaseColumns
    from semblance.core.searches.query import Query


@dataclass(frozen=True)
class QuerySource:
    """A case of a library or a file, without the region."""

    library: LibraryLocation | None
    case: str | None
    image: Path | None

    @classmethod
    def of(cls, library: LibraryLocation | None, query: Query) -> Self:
        """The image of ``query`` in ``library``."""
        return cls(library, query.case, query.image)

    @property
    def name(self) -> str:
        """The whole id, or the file's name."""
        return self.case or (self.image.name if self.image else "")

    def label(self, columns: CaseColumns) -> str:
        """The library's short name of the case, or the file name."""
        return columns.name_of_id(self.case) if self.case else self.name


def inside(region: Region | None, image: DisplayImage) -> Region | None:
    """``region`` clipped to ``image``; ``None`` if it lies outside, as one from another image may, or is all of a
    slice, around which nothing is drawn."""
    if region is None or (region.z is not None and region.covers(image.height, image.width)):
        return None
    try:
        return region.clipped(image.height, image.width)
    except BadInput:
        return None
