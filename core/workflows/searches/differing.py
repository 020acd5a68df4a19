"""In what a case differs most from the query, in a word: for look-alikes with the other finding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.explain_distance import reasons


def differing(
    library: Path, search: Search, cases: Sequence[str], *, reporter: Reporter = SILENT
) -> list[str]:
    """For each of ``cases`` the group of features that makes most of its distance; empty where none does.

    Raises:
        BadArguments, BadInput: as :func:`semblance.core.workflows.searches.explain_distance.why`.
    """
    found = reasons(library, search, cases, reporter=reporter)
    largest = [max(one.parts, key=lambda part: part[1], default=("", 0.0)) for one in found]
    return [name if amount > 0.0 else "" for name, amount in largest]
