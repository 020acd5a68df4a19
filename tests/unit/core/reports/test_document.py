"""What a report says of the nearest cases together."""

from __future__ import annotations

from semblance.core.reports.document import VoteFacts


def test_the_nearest_stand_in_order_of_rank_where_it_is_known():
    counts = {"benign": 2, "malignant": 1}
    voters = ("benign", None, "malignant", "benign")
    assert VoteFacts(counts, without=1, voters=voters).neighbour_findings() == voters
    assert VoteFacts(counts, without=1).neighbour_findings() == ("benign", "benign", "malignant", None)
