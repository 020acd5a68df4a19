"""A query: a case or an image, or a region of it, or a vector that another program made."""

from __future__ import annotations

import hashlib
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

    ``vector``: its numbers in the features of the metric, which are then not measured, alone or beside a case or image,
    whose patient is then recognised as ever.
    ``slices``: :data:`ALL_SLICES` or :data:`IN_ORDER` for a whole volume by its slices; ``region`` is then all of the
    slice on which the similar cases open.
    """

    JSON_KEYS: ClassVar[JsonKeys] = (("case_id", "case"), "image", "region", "slices", "vector")

    case: str | None = None
    image: Path | None = None
    region: Region | None = None
    slices: str = ""
    vector: tuple[float, ...] | None = None

    @property
    def key(self) -> str:
        """The case, the path of the image, or a name made of the vector: how judgements name the query."""
        if self.case is not None:
            return self.case
        if self.image is None and self.vector is not None:
            return f"vector {hashlib.sha256(repr(self.vector).encode()).hexdigest()[:16]}"
        return str(self.image)

    def to_json(self) -> dict[str, Any]:
        """The query; of a volume by its slices with ``slices``, of a given vector with ``vector``."""
        found = super().to_json()
        if not self.slices:
            del found["slices"]
        if self.vector is None:
            del found["vector"]
        return found

    @classmethod
    def _json_types(cls) -> dict[str, Any]:
        from semblance.core.imaging.region import Region

        return {"Region": Region}


def check_one_query(query: Query) -> None:
    """Raises BadArguments unless ``query`` is either a case or an image, or a vector, alone or with one of them."""
    none = query.case is None and query.image is None
    if (none and query.vector is None) or (query.case is not None and query.image is not None):
        raise BadArguments("A search needs one query.", "Give either --case or --image, or --vector.")
    if query.vector is not None and (query.slices or (none and query.region is not None)):
        raise BadArguments(
            "A vector has neither regions nor slices.",
            "Give the vector that was made of the region, without it.",
        )
    if query.slices not in ("", ALL_SLICES, IN_ORDER):
        raise BadArguments(
            tr_lazy("'{slices}' is no way to compare slices.", slices=query.slices),
            tr_lazy("Use '{every}' or '{in_order}'.", every=ALL_SLICES, in_order=IN_ORDER),
        )
