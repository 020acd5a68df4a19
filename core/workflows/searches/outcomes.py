"""Enter the later diagnoses of past queries, and compare them with the estimates given at the time.

An estimate is stored with a search when it is saved under a name. Searching again later does not change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.evaluation.outcome_drift import (
    MIN_OUTCOMES,
    PERIODS,
    QUARTER,
    Outcome,
    PeriodScore,
    outcome_drift,
)
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.stored_searches import StoredSearch, set_outcome, stored_searches
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.open_metrics import without_reload

#: Keys of a saved search: the estimate when it was saved, and the later diagnosis.
ESTIMATE, OUTCOME = "estimate", "outcome"
#: The diagnosis of a query that has none of the library's findings.
OTHER_FINDING = "another finding"


@dataclass(frozen=True)
class FollowedSearch(JsonDocument):
    """A saved search with its ``estimate`` (``None``: it had none) and its later diagnosis, "" where not entered."""

    name: str
    query: str
    time: str
    metric: str
    content_hash: str
    estimated: str
    probability: float | None
    interval: tuple[float, float] | None
    outcome: str
    entered: str


@dataclass(frozen=True)
class DriftReport(JsonDocument):
    """``scores``: of all outcomes first, then by period. ``searches``: saved ones; ``estimates``: those with one;
    ``outcomes``: diagnoses entered for these; ``reference``: the Brier score on the held-out cases of the metric that
    gave the last estimate, ``None`` where unknown."""

    searches: int
    estimates: int
    outcomes: int
    period: str
    scores: tuple[PeriodScore, ...]
    reference: float | None = None
    minimum: int = MIN_OUTCOMES


class OutcomeConflict(SemblanceError):
    """The later diagnosis was entered or changed by others after the person saw it. Nothing was written."""

    #: What it is now, "" where it was removed, and when it was entered (ISO 8601, UTC).
    current: str = ""
    time: str = ""


def followed_searches(library: LibraryLocation, *, reporter: Reporter = SILENT) -> list[FollowedSearch]:
    """The saved searches with their estimates and outcomes, newest first; those that cannot be read are left out.

    Raises:
        BadInput: not a library.
    """
    with open_library(library) as opened:
        found = (_followed(stored) for stored in stored_searches(opened.catalogue))
        return [one for one in found if one is not None]


def enter_outcome(
    library: LibraryLocation, name: str, finding: str, *, seen: str | None = None, reporter: Reporter = SILENT
) -> FollowedSearch:
    """Enter the later diagnosis of the query of the saved search ``name``; "" removes it again.

    A diagnosis that the library does not have is :data:`OTHER_FINDING`, because leaving such queries out would make
    the estimates look better than they were. ``seen``: what was entered when the person decided; ``None`` for any.

    Raises:
        OutcomeConflict: another diagnosis than was seen, and not the new one either; nothing was changed.
        BadArguments: no such search, or a finding that the library does not have.
    """

    with open_library(library, writable=True) as opened, without_reload(library):
        known = sorted({r.finding for r in opened.catalogue.all_cases() if r.finding})
        if finding and finding not in (*known, OTHER_FINDING):
            raise BadArguments(
                tr_lazy("No case of the library has the finding '{finding}'.", finding=finding),
                tr_lazy("There are: {names}.", names=", ".join((*known, OTHER_FINDING))),
            )

        def renewed(stored: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
            current = stored or {}
            found = str(current.get("finding") or "")
            if seen is not None and found not in (seen, finding):
                error = OutcomeConflict(
                    tr_lazy(
                        "Another person changed the later diagnosis of '{name}' after you saw it.", name=name
                    ),
                    tr_lazy("Nothing was changed. Look at it again."),
                )
                error.current, error.time = found, str(current.get("time") or "")
                raise error
            return {"finding": finding, "time": opened.catalogue.now()} if finding else None

        set_outcome(opened.catalogue, name, renewed, key=OUTCOME)
        found = next(one for one in stored_searches(opened.catalogue) if one.name == name)
        followed = _followed(found)
    if followed is None:
        raise BadInput(
            tr_lazy("The search '{name}' cannot be read.", name=name), "Delete it and search again."
        )
    return followed


def drift_report(
    library: LibraryLocation, period: str = QUARTER, *, reporter: Reporter = SILENT
) -> DriftReport:
    """How well the stored estimates agree with the outcomes, by ``period``: month, quarter or year.

    Raises:
        BadArguments: another period.
    """
    if period not in PERIODS:
        raise BadArguments(
            tr_lazy("'{period}' is no period.", period=period),
            tr_lazy("There are: {names}.", names=", ".join(PERIODS)),
        )
    followed = followed_searches(library)
    estimated = [one for one in followed if one.probability is not None]
    outcomes = [
        Outcome(one.time, one.probability, one.outcome == one.estimated, one.query)
        for one in estimated
        if one.outcome and one.probability is not None
    ]
    return DriftReport(
        len(followed),
        len(estimated),
        len(outcomes),
        period,
        outcome_drift(outcomes, period),
        _reference(library, next((one for one in estimated if one.outcome), None)),
    )


def kept_estimate(
    stored: Mapping[str, Any] | None, state: Mapping[str, Any], time: str = "", content_hash: str = ""
) -> dict[str, Any]:
    """Estimate and outcome of a saved search: those ``stored`` before, else the estimate in ``state``, given at
    ``time`` (ISO 8601, UTC) by the metric with ``content_hash``."""
    if stored is not None:
        return {key: stored[key] for key in (ESTIMATE, OUTCOME) if key in stored}
    estimate = state.get(ESTIMATE)
    return {} if not estimate else {ESTIMATE: {**estimate, "time": time, "content_hash": content_hash}}


def _reference(library: LibraryLocation, last: FollowedSearch | None) -> float | None:
    from semblance.core.evaluation.calibration import stored_calibration

    if last is None:
        return None
    with open_library(library) as opened:
        records = [one for one in opened.metrics() if one.card.get("content_hash") == last.content_hash]
        calibration = stored_calibration(records[0].scores) if records else None
    if calibration is None or not calibration.cases:
        return None
    # The score of the other of two findings has the same square.
    squares = [(p - had_finding) ** 2 for _, p, had_finding in calibration.cases]
    return sum(squares) / len(squares)


def _followed(stored: StoredSearch) -> FollowedSearch | None:
    try:
        search = Search.from_json(stored.state)
        estimate = stored.state.get(ESTIMATE) or {}
        outcome = stored.state.get(OUTCOME) or {}
        ends = estimate.get("interval")
        return FollowedSearch(
            stored.name,
            search.query.image.name if search.query.case is None and search.query.image else search.query.key,
            str(estimate.get("time") or stored.saved),
            str(estimate.get("metric") or search.metric),
            str(estimate.get("content_hash") or ""),
            str(estimate.get("finding") or ""),
            None if estimate.get("probability") is None else float(estimate["probability"]),
            None if not ends else (float(ends[0]), float(ends[1])),
            str(outcome.get("finding") or ""),
            str(outcome.get("time") or ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
