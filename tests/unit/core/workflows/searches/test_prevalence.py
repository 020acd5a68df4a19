from __future__ import annotations

from dataclasses import replace

import pytest

from semblance.core.errors import BadArguments
from semblance.core.evaluation.prior_shift import shift_prior
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.prevalence import (
    cases_by_finding,
    parse_shares,
    prevalences,
    set_prevalences,
    shift_to_prevalence,
)
from semblance.core.workflows.searches.rank_cases import nearest_cases
from semblance.core.workflows.searches.vote import Vote
from tests.helpers.tables import PLAIN, table_library

VOTE = Vote(finding="malignant", probability=0.8, interval=(0.6, 0.9))
COUNTS = {"benign": 38, "malignant": 62}


def test_an_estimate_is_for_the_prevalence_that_was_set():
    shifted = shift_to_prevalence(VOTE, {"malignant": 0.1}, COUNTS)
    assert shifted.probability == shift_prior(0.8, 0.62, 0.1)
    assert shifted.interval == (shift_prior(0.6, 0.62, 0.1), shift_prior(0.9, 0.62, 0.1))
    assert shifted.prevalence == (0.1, 0.62)
    # With two findings one share gives the other.
    benign = shift_to_prevalence(replace(VOTE, finding="benign", probability=0.2), {"malignant": 0.1}, COUNTS)
    assert benign.prevalence == pytest.approx((0.9, 0.38))
    assert benign.probability == pytest.approx(1 - shifted.probability)


def test_findings_that_are_not_named_share_the_rest_as_in_the_library():
    counts = {"benign": 30, "malignant": 50, "normal": 20}
    shifted = shift_to_prevalence(replace(VOTE, finding="benign"), {"malignant": 0.1}, counts)
    assert shifted.prevalence == pytest.approx((0.9 * 0.6, 0.3))


def test_an_estimate_stays_without_a_prevalence_for_its_findings():
    assert shift_to_prevalence(VOTE, {"other": 0.1}, COUNTS) == VOTE
    assert shift_to_prevalence(VOTE, {"malignant": 0.1}, {"malignant": 9}) == VOTE
    assert shift_to_prevalence(Vote(), {"malignant": 0.1}, COUNTS) == Vote()


def test_cases_are_counted_as_the_metric_names_findings():
    findings = ["a", "b", None, "c", "c"]
    assert cases_by_finding(findings, {"a": "x", "b": "x", "c": "-"}, "-") == {"x": 2}


def test_a_library_keeps_its_prevalence_and_searches_follow_it(tmp_path):
    library = table_library(tmp_path, n=200, metrics=(PLAIN,))
    before = nearest_cases(library, "plain", Query("t/c0"), no_match_rate=0.0).vote
    assert (before.prevalence, before.to_json()["prevalence"]) == (None, None)
    set_prevalences(library, {"kind 1": 0.02})
    assert prevalences(library) == {"kind 1": 0.02}
    after = nearest_cases(library, "plain", Query("t/c0"), no_match_rate=0.0).vote
    share = 0.02 if after.finding == "kind 1" else 0.98
    assert after.prevalence == pytest.approx((share, 0.5))
    assert after.probability == pytest.approx(shift_prior(before.probability, 0.5, share))
    assert after.counts == before.counts
    set_prevalences(library, {})
    assert nearest_cases(library, "plain", Query("t/c0"), no_match_rate=0.0).vote == before


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ({"kind 1": 1.2}, "impossible"),
        ({"kind 1": 0.7, "kind 0": 0.6}, "more than 1"),
        ({"kind 9": 0.1}, "no finding 'kind 9'"),
    ],
)
def test_impossible_prevalences_are_refused(tmp_path, shares, says):
    library = table_library(tmp_path)
    with pytest.raises(BadArguments, match=says):
        set_prevalences(library, shares)
    assert prevalences(library) == {}


def test_shares_are_read_from_arguments():
    assert parse_shares(["malignant=0.1", "a=b=.5"]) == {"malignant": 0.1, "a=b": 0.5}
    for texts in (["malignant"], ["=0.1"], ["a=x"], ["a=0.1", "a=0.2"]):
        with pytest.raises(BadArguments, match="how frequent"):
            parse_shares(texts)
