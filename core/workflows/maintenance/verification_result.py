"""The result of verifying a library, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from semblance.core.language import join_texts, tr_lazy, tr_lazy_n

#: Names listed in a sentence.
MAX_LISTED = 3


def first_names(names: Sequence[str]) -> str:
    """The first of ``names``, and the number of the others; an empty name is a source that is a single file."""
    listed = join_texts(name or tr_lazy("the file itself") for name in names[:MAX_LISTED])
    return (
        tr_lazy("{listed} and {n:,} more", listed=listed, n=len(names) - MAX_LISTED)
        if len(names) > MAX_LISTED
        else listed
    )


@dataclass(frozen=True)
class LibraryProblem:
    """A problem of a library.

    ``part``: catalogue, catalogue rows, features, encoder, metric, thumbnails, derived, images, link, permissions
    (that the user lacks), access (that others have) or left over; ``path``: the file or folder; ``says``: the problem;
    ``harm``: whether data are lost; ``remedy``: what the user can do; ``repaired``: what was done; ``files``: the
    files, where there may be several.
    """

    part: str
    path: str
    says: str
    remedy: str = ""
    harm: bool = True
    repaired: str = ""
    files: tuple[str, ...] = ()


def _count_text(part: str, count: int) -> str:
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
    """``findings``: the problems; ``checked``: counts by part; ``works``: what of the library can be used."""

    library: str
    findings: list[LibraryProblem] = field(default_factory=list)
    checked: dict[str, int] = field(default_factory=dict)
    works: list[str] = field(default_factory=list)
    moved_to: str = ""

    def add(self, finding: LibraryProblem, repaired: str = "") -> None:
        """Add a problem, with what was done to repair it."""
        self.findings.append(replace(finding, repaired=repaired) if repaired else finding)

    @property
    def unrepaired_problems(self) -> list[LibraryProblem]:
        """Problems with lost or damaged data that were not repaired."""
        return [finding for finding in self.findings if finding.harm and not finding.repaired]

    @property
    def counted(self) -> str:
        """The counts of what was checked, as text."""
        return join_texts(_count_text(part, count) for part, count in self.checked.items())

    def to_json(self) -> dict[str, Any]:
        """The result as ``semblance doctor --json`` prints it; scripts rely on the keys."""
        return {
            "library": self.library,
            "sound": not self.unrepaired_problems,
            "findings": [{**vars(finding), "files": list(finding.files)} for finding in self.findings],
            "works": self.works,
            "checked": self.checked,
            "counted": self.counted,
            "moved_to": self.moved_to,
        }
