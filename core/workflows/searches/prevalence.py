"""How frequent findings are in the user's practice: set per library, and applied to estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from semblance.core.errors import BadArguments
from semblance.core.evaluation.prior_shift import shift_prior
from semblance.core.language import tr_lazy
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.vote import Vote


def prevalences(library: Path, *, reporter: Reporter = SILENT) -> dict[str, float]:
    """The shares set for findings of ``library``; empty if its own shares are used."""
    from semblance.core.library.open_library import open_library

    with open_library(library) as opened:
        return opened.prevalences


def parse_shares(texts: Sequence[str]) -> dict[str, float]:
    """Finding -> share, of ``FINDING=SHARE``.

    Raises:
        BadArguments: a text of another form, or a finding named twice.
    """
    found: dict[str, float] = {}
    for text in texts:
        finding, _, share = text.rpartition("=")
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if not finding or finding in found or value < 0.0:
            raise BadArguments(
                tr_lazy("'{text}' does not say how frequent a finding is.", text=text),
                "Name each finding once, such as malignant=0.1.",
            )
        found[finding] = value
    return found


def set_prevalences(library: Path, shares: Mapping[str, float], *, reporter: Reporter = SILENT) -> None:
    """Record how frequent findings are in the practice, in place of earlier shares; none: as in the library.

    Findings that are not named share the rest as they do in the library.

    Raises:
        BadArguments: a share not between 0 and 1, shares of more than 1 together, or an unknown finding.
    """
    from semblance.core.library.open_library import open_library

    for finding, share in shares.items():
        if not 0.0 < share < 1.0:
            raise BadArguments(
                tr_lazy(
                    "A prevalence of {share:g} for '{finding}' is impossible.", share=share, finding=finding
                ),
                "Give a share between 0 and 1, such as 0.1.",
            )
    if sum(shares.values()) > 1.0 + 1e-9:
        raise BadArguments("The prevalences are more than 1 together.", "Give shares of all cases.")
    with open_library(library, writable=True) as opened:
        known = {row.finding for row in opened.catalogue.all_cases()}
        for record in opened.metrics():
            # Findings may be renamed for a metric.
            known.update(((record.scores or {}).get("calibration") or {}).get("findings", ()))
        for finding in shares:
            if finding not in known:
                raise BadArguments(
                    tr_lazy(
                        "{library} has no finding '{finding}'.", library=opened.path.name, finding=finding
                    ),
                    "`semblance info LIB` lists the findings.",
                )
        opened.set_prevalences(shares)


def shift_to_prevalence(vote: Vote, shares: Mapping[str, float], counts: Mapping[str, int]) -> Vote:
    """``vote`` adjusted to findings with the ``shares``; ``counts``: the library's cases by finding.

    Unchanged if no share is set for these findings, or the library has no case of another finding.
    """
    total = sum(counts.values())
    known = {finding: share for finding, share in shares.items() if counts.get(finding)}
    if vote.probability is None or vote.interval is None or vote.finding is None or not known:
        return vote
    measured = counts.get(vote.finding, 0) / total
    if not 0.0 < measured < 1.0:
        return vote
    now = known.get(vote.finding)
    if now is None:
        others = total - sum(counts[finding] for finding in known)
        now = (1.0 - sum(known.values())) * counts[vote.finding] / others
    shifted = [shift_prior(one, measured, now) for one in (vote.probability, *vote.interval)]
    return replace(
        vote, probability=shifted[0], interval=(shifted[1], shifted[2]), prevalence=(now, measured)
    )


def cases_by_finding(findings: list[str | None], renamed: Mapping[str, str], dropped: str) -> Counter[str]:
    """The number of cases of each finding, as ``renamed`` for a metric; cases ``dropped`` or without one left out."""
    named = (renamed.get(name, name) for name in findings if name)
    return Counter(name for name in named if name != dropped)
