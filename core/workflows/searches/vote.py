"""The findings of the nearest cases, and the estimate from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Vote:
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
    def calibrated(self) -> bool:
        """Whether there is an estimate besides the counts."""
        return self.probability is not None

    def without_estimate(self, why_not: str) -> Vote:
        """The counts without an estimate, with the reason."""
        return Vote(
            self.voters, self.counts, next(iter(self.counts), None), trained=self.trained, why_not=why_not
        )

    def to_json(self) -> dict[str, Any]:
        """The part ``vote`` of ``semblance search --json``."""
        return {
            "voters": len(self.voters),
            "counts": self.counts,
            "calibrated": self.calibrated,
            "measured_on": self.measured_on,
            "finding": self.finding,
            "probability": self.probability,
            "interval": None if self.interval is None else list(self.interval),
            "library_share": self.library_share,
            "prevalence": None if self.prevalence is None else list(self.prevalence),
            "query_trained_on": self.trained,
            "caution": self.caution or None,
            "why_not": self.why_not or None,
        }
