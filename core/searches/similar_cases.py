"""What a search finds: a ranked case, and the vote of the nearest cases."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any, ClassVar

from semblance.core.imaging.region import Box, Region
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.retrieval.index import CaseRow, Rank


@dataclass(frozen=True)
class Vote(JsonDocument):
    """The findings of the nearest cases, and the estimate from them.

    ``voters``: the finding of each of the nearest, nearest first, ``None`` if it has none; ``counts``: the most
    frequent first. ``finding`` has most votes. Its ``probability`` and the 95 % ``interval`` are calibrated on
    ``measured_on``; if both are ``None``, ``why_not`` gives the reason. ``findings``: all findings of the
    calibration. ``trained``: the metric was trained on the finding of the query or of a case of its patient, so its
    order is partly remembered and there is no estimate. ``caution``: if the error of the estimates on the
    ``measured`` cases is significant, its size, otherwise empty. ``library_share``: the share of the finding among the
    library's cases that have one. ``prevalence``: the share of the finding that was set for the library, and that of
    the library; ``None`` where none was set.
    """

    #: The part ``vote`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = (
        ("voters", "n_voters"),
        "counts",
        "calibrated",
        "measured_on",
        "finding",
        "probability",
        "interval",
        "library_share",
        "prevalence",
        ("query_trained_on", "trained"),
        "caution",
        "why_not",
    )
    JSON_NULL: ClassVar[tuple[str, ...]] = ("caution", "why_not")

    voters: tuple[str | None, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    finding: str | None = None
    probability: float | None = None
    interval: tuple[float, float] | None = None
    measured_on: str | None = None
    findings: tuple[str, ...] = ()
    trained: bool = False
    why_not: str = ""
    caution: str = ""
    measured: int = 0
    library_share: float | None = None
    prevalence: tuple[float, float] | None = None

    @property
    def n_voters(self) -> int:
        """The number of the nearest cases whose findings were counted."""
        return len(self.voters)

    @property
    def n_without_finding(self) -> int:
        """The number of the nearest cases that have no finding."""
        return self.n_voters - sum(self.counts.values())

    @property
    def calibrated(self) -> bool:
        """Whether there is an estimate besides the counts."""
        return self.probability is not None

    def without_estimate(self, why_not: str) -> Vote:
        """The counts without an estimate, with the reason."""
        return Vote(
            self.voters, self.counts, next(iter(self.counts), None), trained=self.trained, why_not=why_not
        )


@dataclass(frozen=True)
class MatchedPlace(JsonDocument):
    """Where in a case a place search found the query: a rectangle in pixels of the case's image, from ``x``, ``y``, on
    the ``slice`` of a volume, counted from 1 in the order of space (``None`` for an image), and the ``similarity`` of
    the query's places to their best matches, the mean cosine, at most 1. The image has ``image_width`` x
    ``image_height`` pixels."""

    x: float
    y: float
    width: float
    height: float
    slice: int | None
    similarity: float
    image_width: int = 0
    image_height: int = 0

    @property
    def box(self) -> Box:
        """Left, top, right and bottom in pixels."""
        return self.x, self.y, self.x + self.width, self.y + self.height

    @property
    def number(self) -> int | None:
        """The slice counted from 0; ``None`` for an image."""
        return None if self.slice is None else self.slice - 1

    @property
    def region(self) -> Region:
        """The rectangle in whole pixels, which it touches, on its slice."""
        left, top = max(0, floor(self.x)), max(0, floor(self.y))
        right, bottom = ceil(self.x + self.width), ceil(self.y + self.height)
        if self.image_width and self.image_height:
            right, bottom = min(right, self.image_width), min(bottom, self.image_height)
        return Region(left, top, max(1, right - left), max(1, bottom - top), z=self.number)

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole image, as where a slice is searched with."""
        least = min(self.width - self.image_width, self.height - self.image_height)
        return bool(self.image_width) and least > -0.5

    @property
    def share(self) -> Box:
        """Left, top, right and bottom as shares of the image's width and height.

        Raises:
            ZeroDivisionError: the size of the image is not known.
        """
        left, top, right, bottom = self.box
        return (
            left / self.image_width,
            top / self.image_height,
            right / self.image_width,
            bottom / self.image_height,
        )


@dataclass(frozen=True)
class RankedCase(JsonDocument):
    """A ranked case; ``row``: its row id in the catalogue.

    ``near_duplicates`` counts its grouped near-duplicates, ``near_duplicate_rows`` are the ids of the first of them,
    with their ``near_duplicate_distances``; ``near_duplicate_findings`` are the findings they have and it has not.
    ``rank`` is 0 for a case outside the ranking. ``near_liked`` and ``near_disliked``: the ids of the liked and of
    the disliked case it is nearest to if marks order the ranking, ``None`` if no other case has such a mark;
    ``nearer_to_liked``: to which of the two it is nearer. ``place``: where a place search found the query.
    """

    #: A line of ``results`` and ``other_finding`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = (
        "rank",
        "case_id",
        "distance",
        "finding",
        "path",
        "near_duplicates",
        "near_duplicate_findings",
    )
    JSON_NULL: ClassVar[tuple[str, ...]] = ("rank",)

    rank: Rank
    row: CaseRow
    case_id: str
    distance: float
    finding: str | None
    patient: str | None
    path: str
    near_duplicates: int = 0
    near_duplicate_rows: tuple[int, ...] = ()
    near_duplicate_distances: tuple[float, ...] = ()
    near_duplicate_findings: tuple[str, ...] = ()
    near_liked: str | None = None
    near_disliked: str | None = None
    nearer_to_liked: bool = False
    place: MatchedPlace | None = None

    def to_json(self) -> dict[str, Any]:
        """The line, with the ``place`` of a place search."""
        found = super().to_json()
        return found if self.place is None else {**found, "place": self.place.to_json()}
