"""What a check of a library found, in words and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from semblance.core.language import join_texts, tr_lazy, tr_lazy_n

#: Names spelled out in a sentence.
FEW = 3


def few(names: Sequence[str]) -> str:
    """The first names, and how many more there are; an empty one is the source itself, a single file."""
    listed = join_texts(name or tr_lazy("the file itself") for name in names[:FEW])
    return (
        tr_lazy("{listed} and {n:,} more", listed=listed, n=len(names) - FEW) if len(names) > FEW else listed
    )


@dataclass(frozen=True)
class Problem:
    """Something that is not as it should be.

    ``part``: catalogue, catalogue rows, features, metric, thumbnails, derived, images, link, permissions or
    left over; ``path`` what it is about; ``harm`` whether anything is lost by it; ``remedy`` what a person
    can do; ``repaired`` what was done; ``files`` those meant, where there may be several.
    """

    part: str
    path: str
    says: str
    remedy: str = ""
    harm: bool = True
    repaired: str = ""
    files: tuple[str, ...] = ()


def _counted(part: str, count: int) -> str:
    counts = {
        "catalogues": tr_lazy_n("{n} catalogue", "{n} catalogues", count),
        "images": tr_lazy_n("{n} image", "{n} images", count),
        "feature sets": tr_lazy_n("{n} feature set", "{n} feature sets", count),
        "metrics": tr_lazy_n("{n} metric", "{n} metrics", count),
        "prepared metrics": tr_lazy_n("{n} prepared metric", "{n} prepared metrics", count),
    }
    return counts[part]


@dataclass
class VerificationResult:
    """What was found, what was checked (counts by part), and what of the library can be used."""

    library: str
    findings: list[Problem] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    works: list[str] = field(default_factory=list)
    moved_to: str = ""

    def add(self, finding: Problem, repaired: str = "") -> None:
        """Add a problem, with what was done to repair it."""
        self.findings.append(replace(finding, repaired=repaired) if repaired else finding)

    @property
    def open_harm(self) -> list[Problem]:
        """What is lost or damaged still."""
        return [finding for finding in self.findings if finding.harm and not finding.repaired]

    @property
    def counted(self) -> str:
        """What was checked, in words."""
        return join_texts(_counted(part, count) for part, count in self.checked.items())

    def to_json(self) -> dict[str, Any]:
        """The result as ``semblance doctor --json`` prints it; scripts rely on the keys."""
        return {
            "library": self.library,
            "sound": not self.open_harm,
            "findings": [{**vars(finding), "files": list(finding.files)} for finding in self.findings],
            "works": self.works,
            "checked": self.checked,
            "counted": self.counted,
            "moved_to": self.moved_to,
        }
