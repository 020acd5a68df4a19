"""The line beside an estimate: that it is for another prevalence, or less reliable than it looks."""

from __future__ import annotations

from semblance.core.language import tr, tr_name, translate
from semblance.core.reports.formatting import prevalence_text
from semblance.core.searches.similar_cases import Vote

#: The query was among the training cases.
TRAINED_ON_QUERY = tr(
    "The metric learned from the finding of this query or of its patient. Its order is partly remembered, so there "
    "is no estimate."
)


def estimate_caution(vote: Vote) -> tuple[str, str]:
    """What to know of the estimate, and the explanation: a prevalence that was set, and that it is badly calibrated.

    Else two empty texts.
    """
    shift = "" if vote.prevalence is None else translate(prevalence_text(vote.prevalence))
    if not vote.caution:
        return shift, tr("Search > Set prevalence… changes it.") if shift else ""
    what = tr_name(vote.measured_on or "")
    return "; ".join(filter(None, (shift, translate(vote.caution)))), tr(
        "This is the mean error of the estimates on {n:,} held-out cases ({what}). A perfect "
        "estimate stays below the second number in 95 of 100 measurements. See the tab "
        "Calibration in Evaluation.",
        n=vote.measured,
        what=what,
    )
