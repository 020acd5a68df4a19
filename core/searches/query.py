"""What is asked: a case or an image, whole or in part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from semblance.core.imaging.region import Region


@dataclass(frozen=True)
class Query:
    """A case of the library, or an image from outside; either as a whole or its region."""

    case: str | None = None
    image: Path | None = None
    region: Region | None = None

    def to_json(self) -> dict[str, Any]:
        """As stored in searches and shown by ``semblance search --json``."""
        return {
            "case_id": self.case,
            "image": None if self.image is None else str(self.image),
            "region": None if self.region is None else self.region.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What :meth:`to_json` gave.

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
