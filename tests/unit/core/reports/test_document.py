"""What a report says of the nearest cases together."""

from __future__ import annotations

from semblance.core.reports.document import VoteFacts
from tests.helpers.reports import report


def test_the_nearest_stand_in_order_of_rank_where_it_is_known():
    counts = {"benign": 2, "malignant": 1}
    voters = ("benign", None, "malignant", "benign")
    assert VoteFacts(counts, without=1, voters=voters).neighbour_findings() == voters
    assert VoteFacts(counts, without=1).neighbour_findings() == ("benign", "benign", "malignant", None)


def test_the_estimate_names_the_prevalence_it_is_for():
    vote = VoteFacts(
        {"malignant": 7}, "malignant", True, 0.128, (0.05, 0.3), "held-out patients", prevalence=(0.1, 0.62)
    )
    assert report(vote=vote).estimate_text() == (
        "Estimate for malignant: 0.13 (0.05–0.30) for a prevalence of 10 % instead of the library's 62 %, "
        "from held-out patients."
    )
