"""Later diagnoses of saved searches: the estimate of then stays, whatever is trained or searched later."""

from __future__ import annotations

import datetime

import pytest
import sqlalchemy as sa

from semblance.core.errors import BadArguments
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.library import Library
from semblance.core.library.schema import metrics
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger
from semblance.core.workflows.library.edit_metrics import duplicate_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import saved_searches
from semblance.core.workflows.searches.batch_queries import held_out_cases
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.outcomes import (
    OTHER_FINDING,
    OutcomeConflict,
    drift_report,
    enter_outcome,
    followed_searches,
)
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture
def library(tmp_path):
    yield table_library(tmp_path, n=120, metrics=(PLAIN,))
    close_loaded_metrics()


def saved(library, name="mine", case=None):
    """A search with an estimate, saved as ``name``; its record as the window has it."""
    search = Search("plain", Query(case=case or held_out_cases(library, "plain")[0]), new_ledger())
    record = saved_searches.search_record(search, rank_cases(library, search, k=20), {}, name)
    saved_searches.save(library, name, record)
    return record


def test_a_diagnosis_that_others_entered_meanwhile_is_kept(library):
    saved(library)
    enter_outcome(library, "mine", "kind 1", seen="")
    for mine in ("kind 0", ""):
        with pytest.raises(OutcomeConflict, match="Another person changed the later diagnosis") as conflict:
            enter_outcome(library, "mine", mine, seen="kind 0")
        assert conflict.value.current == "kind 1"
        assert conflict.value.time == followed_searches(library)[0].entered
    # The same one is no conflict, nor is another after the person saw theirs.
    assert enter_outcome(library, "mine", "kind 1", seen="").outcome == "kind 1"
    assert enter_outcome(library, "mine", "kind 0", seen="kind 1").outcome == "kind 0"


def test_times_are_those_of_the_clock_of_the_library(library, monkeypatch):
    server = datetime.datetime(2031, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
    monkeypatch.setattr(Catalogue, "present", lambda _: server)
    saved(library)
    entered = enter_outcome(library, "mine", "kind 1")
    duplicate_metric(library, "plain", "copy")
    with Library.open(library) as opened, opened.catalogue.snapshot() as connection:
        copied = connection.execute(sa.select(metrics.c.created).where(metrics.c.name == "copy")).scalar()
    assert {entered.time, entered.entered, copied} == {"2031-02-03T04:05:06+00:00"}


def test_the_estimate_is_kept_with_the_diagnosis(library):
    record = saved(library)
    (before,) = followed_searches(library)
    assert before.probability == record["estimate"]["probability"]
    assert before.outcome == ""
    with Library.open(library) as opened:
        assert before.content_hash == opened.metric("plain").card["content_hash"]
    entered = enter_outcome(library, "mine", "kind 1")
    assert entered.outcome == "kind 1"
    # Trained again with fewer features, and searched again: the window saves what it shows now.
    train_metric(library, TrainRequest("pca", "plain", settings={"components": 1}))
    changed = {**record, "name": "mine", "estimate": {**record["estimate"], "probability": 0.123}}
    saved_searches.save_current(library, changed)
    assert followed_searches(library) == [entered]
    assert saved_searches.saved_searches(library)[0].outcome == "kind 1"
    assert saved_searches.rename(library, "mine", "renamed") == "renamed"
    assert followed_searches(library)[0].outcome == "kind 1"
    assert enter_outcome(library, "renamed", "").outcome == ""
    assert followed_searches(library)[0].probability == before.probability


def test_a_search_that_had_no_estimate_gets_none_later(library):
    with Library.open(library) as opened:
        trained = set(opened.metric("plain").training.tolist())
        case = next(r.case_id for r in opened.catalogue.all_cases() if r.id not in trained)
    search = Search("plain", Query(case=case), new_ledger())
    saved_searches.save(library, "early", saved_searches.search_record(search, None, {}, "early"))
    shown = saved_searches.search_record(search, rank_cases(library, search, k=20), {}, "early")
    assert "estimate" in shown
    saved_searches.save_current(library, shown)
    assert followed_searches(library)[0].probability is None
    enter_outcome(library, "early", "kind 0")
    report = drift_report(library)
    assert (report.searches, report.estimates, report.outcomes) == (1, 0, 0)


def test_what_is_entered_must_be_known(library):
    saved(library)
    assert enter_outcome(library, "mine", OTHER_FINDING).outcome == OTHER_FINDING
    assert drift_report(library).outcomes == 1
    with pytest.raises(BadArguments, match="'kind 7'"):
        enter_outcome(library, "mine", "kind 7")
    with pytest.raises(BadArguments, match="no search 'other'"):
        enter_outcome(library, "other", "kind 0")
    with pytest.raises(BadArguments, match="'day'"):
        drift_report(library, "day")


def test_drift_is_claimed_from_twenty_outcomes_on(library):
    cases = held_out_cases(library, "plain")
    with Library.open(library) as opened:
        findings = {r.case_id: r.finding for r in opened.catalogue.all_cases()}
    for number, case in enumerate(cases[:20]):
        name = f"q{number}"
        result = nearest_cases(library, "plain", Query(case=case))
        saved_searches.save_result(library, name, result)
        if number == 19:
            report = drift_report(library)
            assert (report.outcomes, len(report.scores), report.scores[0].brier) == (19, 1, None)
        enter_outcome(library, name, findings[case])
    report = drift_report(library, "year")
    whole, year = report.scores
    assert (report.searches, report.estimates, report.outcomes) == (20, 20, 20)
    assert whole.n == year.n == 20
    followed = followed_searches(library)
    expected = sum((one.probability - (one.outcome == one.estimated)) ** 2 for one in followed) / 20
    assert whole.brier == pytest.approx(expected)
    with Library.open(library) as opened:
        cases = opened.metric("plain").scores["calibration"]["cases"]
    assert report.reference == pytest.approx(sum((p - had) ** 2 for _, p, had in cases) / len(cases))
