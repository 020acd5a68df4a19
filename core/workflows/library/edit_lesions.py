"""List the same-lesion groups of a library, and join and split them by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.library import lesion_groups
from semblance.core.library.lesion_groups import BY_HAND, GroupChange
from semblance.core.library.open_library import open_library


@dataclass(frozen=True)
class LesionGroup:
    """Ids and findings of the cases of one lesion; ``by_hand``: a person joined or split it."""

    cases: tuple[tuple[str, str | None], ...]
    by_hand: bool

    def to_json(self) -> dict[str, Any]:
        """As ``semblance lesions --json`` lists it."""
        return {
            "cases": [{"case_id": case_id, "finding": finding} for case_id, finding in self.cases],
            "by_hand": self.by_hand,
        }


def list_lesions(library: Path) -> list[LesionGroup]:
    """The groups of two cases or more, by their first case.

    Raises:
        BadInput: the library cannot be read.
    """
    with open_library(library) as opened:
        groups = lesion_groups.read_groups(opened.catalogue)
        members: dict[int, list[Any]] = {}
        for r in opened.catalogue.all_cases():
            if r.id in groups:
                members.setdefault(groups[r.id].group, []).append(r)
    return [
        LesionGroup(
            tuple((r.case_id, r.finding) for r in rows), any(groups[r.id].source == BY_HAND for r in rows)
        )
        for rows in members.values()
        if len(rows) > 1
    ]


def join_lesions(library: Path, case_ids: Sequence[str]) -> GroupChange:
    """Make the cases ``case_ids``, with all cases of their groups, one group; what :func:`undo_lesions` takes.

    Raises:
        BadArguments: fewer than two cases.
        BadInput: no such case.
        SemblanceError: the library cannot be written to.
    """
    if len(set(case_ids)) < 2:
        raise BadArguments("At least two cases are needed to join.", "Name several, separated by commas.")
    with open_library(library, writable=True) as opened:
        rows = [opened.catalogue.row_of(case_id) for case_id in case_ids]
        return lesion_groups.join(opened.catalogue, rows)


def split_lesions(library: Path, case_ids: Sequence[str]) -> GroupChange:
    """Take each of the cases ``case_ids`` out of its group; what :func:`undo_lesions` takes.

    Raises:
        BadInput: no such case.
        SemblanceError: the library cannot be written to.
    """
    with open_library(library, writable=True) as opened:
        rows = [opened.catalogue.row_of(case_id) for case_id in case_ids]
        return lesion_groups.split(opened.catalogue, rows)


def undo_lesions(library: Path, change: GroupChange) -> GroupChange:
    """Undo a join or a split; what undoes this again.

    Raises:
        SemblanceError: the library cannot be written to.
    """
    with open_library(library, writable=True) as opened:
        return lesion_groups.restore(opened.catalogue, change)
