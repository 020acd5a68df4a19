"""A query: a case or an image, or a region of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from semblance.core.errors import BadArguments
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from semblance.core.imaging.region import Region

#: How a volume is searched with by its slices: each finds its best slice in another volume, anywhere or in the order of
#: space.
ALL_SLICES, IN_ORDER = "all", "in order"


@dataclass(frozen=True)
class Query(JsonDocument):
    """A case of the library or an image file, as a whole or a region of it.

    ``slices``: :data:`ALL_SLICES` or :data:`IN_ORDER` for a whole volume by its slices; ``region`` is then all of the
    slice on which the similar cases open.
    """

    JSON_KEYS: ClassVar[JsonKeys] = (("case_id", "case"), "image", "region", "slices")

    case: str | None = None
    image: Path | None = None
    region: Region | None = None
    slices: str = ""

    def to_json(self) -> dict[str, Any]:
        """The query; of a volume by its slices with ``slices``."""
        found = super().to_json()
        if not self.slices:
            del found["slices"]
        return found

    @classmethod
    def _json_types(cls) -> dict[str, Any]:
        from semblance.core.imaging.region import Region

        return {"Region": Region}


def check_one_query(query: Query) -> None:
    """Raises BadArguments unless ``query`` is either a case or an image."""
    if (query.case is None) == (query.image is None):
        raise BadArguments("A search needs one query.", "Give either --case or --image.")
    if query.slices not in ("", ALL_SLICES, IN_ORDER):
        raise BadArguments(
            tr_lazy("'{slices}' is no way to compare slices.", slices=query.slices),
            tr_lazy("Use '{every}' or '{in_order}'.", every=ALL_SLICES, in_order=IN_ORDER),
        )
