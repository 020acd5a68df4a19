"""The estimate from the findings of the similar cases, or why there is none, and the prevalences it is shifted to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.errors import BadArguments
from semblance.core.evaluation.calibration import MIN_CASES
from semblance.core.evaluation.data import DROPPED, parse_findings_map
from semblance.core.evaluation.evaluate_metric import chance_note
from semblance.core.evaluation.search_rankings import VOTERS
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.searches.similar_cases import Vote
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.evaluation.calibration import Calibration
    from semblance.core.retrieval.ranking import EmbeddedQuery
    from semblance.core.searches.query import Query
    from semblance.core.searches.search import Search
    from semblance.core.workflows.metrics.leakage import Ids
    from semblance.core.workflows.searches.loaded_metric import LoadedMetric


#: Reasons why there is no estimate, as texts for the user.
TRAINED = tr_lazy("No estimate: this case trained the ranking.")
NOT_CALIBRATED = tr_lazy(
    "The estimate of this metric was not calibrated: too few cases with a finding were held out."
)
ONE_FINDING = tr_lazy(
    "The estimate of this metric was not calibrated: the cases held out do not have two findings."
)
NOT_READABLE = tr_lazy(
    "The stored calibration of this metric cannot be read. Score it again to get an estimate."
)
NOT_SCORED = tr_lazy("This metric has no score yet, on which an estimate would rest.")
REFINED = tr_lazy("The ranking was refined since the metric was scored. Save it as a metric and score it.")
SHIFTED = tr_lazy("Concepts moved the query. The metric was scored with queries as they are.")
FEWER = tr_lazy("The metric was scored with all groups of features; this ranking is without some.")
OWN_PATIENT = tr_lazy(
    "Cases of the query's own patient are among the nearest. The estimate was calibrated without such cases."
)
OWN_LESION = tr_lazy(
    "Copies of the query or other cases of its lesion are among the nearest. The estimate was calibrated without them."
)
SAME_LESION = tr_lazy(
    "Several of the nearest are of one lesion. The estimate was calibrated with each lesion counted once."
)
REGION_QUERY = tr_lazy(
    "A region is compared with whole images, which finds fewer cases of the same finding, so nothing is counted or "
    "estimated. Search with the whole image."
)
WHOLE_IMAGE_QUERY = tr_lazy("The metric was scored with regions as queries; this query is a whole image.")
BY_PLACE = tr_lazy("Estimates are calibrated for the metric. This search compares places.")
BY_BOTH = tr_lazy("Estimates are calibrated for the metric alone. This search compares places too.")
BY_TEXT = tr_lazy("Estimates are calibrated for images. The words that were searched for changed the order.")
NO_FINDINGS = tr_lazy("None of the nearest has a finding the metric was scored on.")
NO_MATCH = tr_lazy("The nearest cases are farther from the query than is usual in this library.")


def estimate_from_neighbours(
    loaded: LoadedMetric, search: Search, query: EmbeddedQuery, voters: Sequence[int], *, changed: str = ""
) -> Vote:
    """The estimate for ``query`` from the cases at the positions ``voters``, nearest first.

    ``changed``: why the ranking differs from that of the metric as it was scored, else empty.
    """
    if changed not in (BY_PLACE, BY_BOTH) and other_kind_of_query(loaded, search.query) == REGION_QUERY:
        return Vote(trained=trained_on(loaded, query), why_not=REGION_QUERY)
    findings = tuple(loaded.findings[place] for place in voters[:VOTERS])
    given = [finding for finding in findings if finding is not None]
    counts = dict(sorted(Counter(given).items(), key=lambda item: (-item[1], given.index(item[0]))))
    top = next(iter(counts), None)
    # Nothing of the metric is in the order by place alone.
    trained = changed != BY_PLACE and trained_on(loaded, query)
    vote = Vote(findings, counts, top, trained=trained)
    calibration = loaded.calibration
    if trained:
        reason = TRAINED
    elif changed in (BY_PLACE, BY_BOTH):
        reason = changed
    else:
        reason = _not_calibrated(loaded) or changed or _why_not(loaded, search, query, voters)
    if reason or calibration is None:
        return replace(vote, why_not=reason)
    is_outside = search.query.case is None or calibration.n_patients is None
    estimate = calibration.estimate(_mapped(loaded, given), is_outside=is_outside)
    if estimate is None:
        return replace(vote, why_not=NO_FINDINGS)
    by_finding = loaded.cache.or_made(
        CasesByFinding, lambda: cases_by_finding(loaded.findings.tolist(), _renamed(loaded), DROPPED)
    )
    found = replace(
        vote,
        finding=estimate.finding,
        probability=estimate.probability,
        interval=estimate.interval,
        measured_on=calibration.measured_on,
        findings=calibration.findings,
        caution=_caution(calibration) if calibration.is_poor else "",
        measured=calibration.n_cases,
        library_share=by_finding.get(estimate.finding, 0) / max(1, sum(by_finding.values())),
    )
    return shift_to_prevalence(found, loaded.prevalences, by_finding) if loaded.prevalences else found


def _not_calibrated(loaded: LoadedMetric) -> str:
    """Why the metric has no calibration to rely on; empty if it has one."""
    scores = loaded.record.scores
    if loaded.calibration is not None:
        return chance_note(loaded.scores)
    if not scores:
        return NOT_SCORED
    if scores.get("calibration") and not loaded.without_patient:
        return NOT_READABLE
    return NOT_CALIBRATED if scores.get("n_queries", 0) < MIN_CASES else ONE_FINDING


def _why_not(loaded: LoadedMetric, search: Search, query: EmbeddedQuery, voters: Sequence[int]) -> str:
    """Why the calibration does not apply to this search; empty if it does."""
    nearest = list(voters)
    other_kind = other_kind_of_query(loaded, search.query)
    if other_kind:
        return other_kind
    if not search.hide_same_patient and query.same_patient_cases(loaded.patient_codes)[nearest].any():
        return OWN_PATIENT
    if search.group_duplicates:
        return ""
    if query.copies_among(loaded.keys)[nearest].any():
        return OWN_LESION
    keys = loaded.keys[nearest].tolist()
    return SAME_LESION if len(set(keys)) < len(keys) else ""


def other_kind_of_query(loaded: LoadedMetric, query: Query) -> str:
    """Why ``query`` is of another kind than the cases that estimates are calibrated on; or nothing."""
    if query.region is not None and not loaded.with_regions:
        return REGION_QUERY
    if query.image is not None and query.region is None and loaded.with_regions:
        return WHOLE_IMAGE_QUERY
    return ""


def _caution(calibration: Calibration) -> str:
    error, chance = calibration.ece, calibration.perfect
    if round(error, 2) == round(chance, 2):
        return tr_lazy(
            "calibrated poorly: error {error:.3f}, {chance:.3f} by chance", error=error, chance=chance
        )
    return tr_lazy("calibrated poorly: error {error:.2f}, {chance:.2f} by chance", error=error, chance=chance)


def _mapped(loaded: LoadedMetric, given: Sequence[str]) -> dict[str, int]:
    """Votes for the findings that the metric was scored on, equal ones in the order of distance."""
    renamed = _renamed(loaded)
    named = [name for one in given if (name := renamed.get(one, one)) != DROPPED]
    return dict(Counter(named))


def own_cases(loaded: LoadedMetric, embedded: EmbeddedQuery) -> Ids:
    """(p,) ids of the query itself, its copies and its patient's cases, as far as they are known."""
    places = [places for places in (embedded.same_patient, embedded.copies) if places is not None]
    if embedded.position is not None:
        places.append(np.array([embedded.position]))
    rows = [loaded.rows[one] for one in places]
    if embedded.position is None and embedded.patient is not None:
        # The case itself has no features yet, but other cases of its patient may be training cases.
        rows.append(loaded.rows[embedded.same_patient_cases(loaded.patient_codes)])
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


def _renamed(loaded: LoadedMetric) -> dict[str, str]:
    text = loaded.record.card.get("findings_map") or ""
    return parse_findings_map(text) if text else {}


def trained_on(loaded: LoadedMetric, embedded: EmbeddedQuery) -> bool:
    """Whether the metric was trained on the finding or judgements of the query, a copy of it or a case of its
    patient."""
    trained = loaded.trained_cases
    return bool(len(trained)) and bool(np.isin(own_cases(loaded, embedded), trained).any())


def prevalences(library: LibraryLocation, *, reporter: Reporter = SILENT) -> dict[str, float]:
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


def set_prevalences(
    library: LibraryLocation, shares: Mapping[str, float], *, reporter: Reporter = SILENT
) -> None:
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
                        "{library} has no finding '{finding}'.", library=opened.location.name, finding=finding
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


class CasesByFinding(Counter[str]):
    """The number of cases of each finding."""


def cases_by_finding(findings: list[str | None], renamed: Mapping[str, str], dropped: str) -> CasesByFinding:
    """The number of cases of each finding, as ``renamed`` for a metric; cases ``dropped`` or without one left out."""
    named = (renamed.get(name, name) for name in findings if name)
    return CasesByFinding(name for name in named if name != dropped)


def shift_prior(probability: float, measured: float, prevalence: float) -> float:
    """Adjust ``probability``, estimated at a share ``measured`` of the finding, to its ``prevalence``.

    M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities",
    Neural Computation 14, 2002, equation 2.4, for the finding and all others. Cases with the finding, and those
    without it, are assumed to have the same distribution in both places. All numbers are shares from 0 to 1,
    ``measured`` is neither 0 nor 1.
    """
    with_finding = probability * prevalence / measured
    without = (1.0 - probability) * (1.0 - prevalence) / (1.0 - measured)
    total = with_finding + without
    return with_finding / total if total > 0.0 else probability
