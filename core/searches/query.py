"""A query: a case or an image, or a region of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from semblance.core.errors import BadArguments
from semblance.core.json_document import JsonDocument, JsonKeys

if TYPE_CHECKING:
    from semblance.core.imaging.region import Region


@dataclass(frozen=True)
class Query(JsonDocument):
    """A case of the library or an image file, as a whole or a region of it."""

    JSON_KEYS: ClassVar[JsonKeys] = (("case_id", "case"), "image", "region")

    case: str | None = None
    image: Path | None = None
    region: Region | None = None

    @classmethod
    def _json_types(cls) -> dict[str, Any]:
        from semblance.core.imaging.region import Region

        return {"Region": Region}


def check_one_query(query: Query) -> None:
    """Raises BadArguments unless ``query`` is either a case or an image."""
    if (query.case is None) == (query.image is None):
        raise BadArguments("A search needs one query.", "Give either --case or --image.")
