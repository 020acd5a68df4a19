"""A query: a case or an image, or a region of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from semblance.core.errors import BadArguments

if TYPE_CHECKING:
    from semblance.core.imaging.region import Region


@dataclass(frozen=True)
class Query:
    """A case of the library or an image file, as a whole or a region of it."""

    case: str | None = None
    image: Path | None = None
    region: Region | None = None

    def to_json(self) -> dict[str, Any]:
        """The query as it is saved, and as ``semblance search --json`` prints it."""
        return {
            "case_id": self.case,
            "image": None if self.image is None else str(self.image),
            "region": None if self.region is None else self.region.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The query that :meth:`to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: other data.
        """
        from semblance.core.imaging.region import Region

        image, region = data.get("image"), data.get("region")
        return cls(
            data.get("case_id"),
            Path(image) if image else None,
            Region.from_json(dict(region)) if region else None,
        )


def check_one_query(query: Query) -> None:
    """Raises BadArguments unless ``query`` is either a case or an image."""
    if (query.case is None) == (query.image is None):
        raise BadArguments("A search needs one query.", "Give either --case or --image.")
