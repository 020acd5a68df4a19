"""Ask me next through the calls a window makes: which cases a question has, and when the next one comes."""

from __future__ import annotations

import dataclasses

import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.searches.feedback.questions import (
    FEW_QUESTIONS,
    MANY_QUESTIONS,
    QuestionAnswer,
    answer_judgements,
)
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.feedback import next_question
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements
from semblance.core.workflows.searches.rank_cases import RankedSearch, rank_cases
from tests.helpers.libraries import finding_of
from tests.helpers.ranked_searches import ranked


@pytest.fixture
def table(eighty):
    return eighty


def request_for(metric="plain", case="t/c0") -> Search:
    return Search(metric, Query(case=case), "mine")


def store_answer(library, search, question, answer, **options) -> RankedSearch:
    """As the window does."""
    made = answer_judgements(answer, question.query, question.first, question.second)
    return add_judgements(library, search, made, **options)


def test_clicks_bring_cases_of_the_finding_forward(table):
    findings, request = finding_of(table), request_for()
    first = rank_cases(table, request, k=36)
    for _ in range(12):
        question = next_question.next_question(table, request)
        kinds = tuple(findings[case] == findings["t/c0"] for case in (question.first, question.second))
        given = {
            (True, True): QuestionAnswer.BOTH,
            (True, False): QuestionAnswer.FIRST,
            (False, True): QuestionAnswer.SECOND,
        }
        last = store_answer(
            table, request, question, given.get(kinds, QuestionAnswer.NEITHER), k=36, author="ann"
        )
    alike = [sum(findings[case] == findings["t/c0"] for case in ranked(one)) for one in (first, last)]
    assert alike[1] > alike[0]
    assert len(last.entries) == 24
    assert {entry.judgement.author for entry in last.entries} == {"ann"}
    assert all(entry.judgement.time for entry in last.entries)
    assert any(shift > 0 for shift in last.shifts)


def test_questions_are_about_training_cases_of_other_patients(table):
    request = request_for()
    with Library.open(table, writable=False) as opened:
        trained = set(opened.metric("plain").training.tolist())
        rows = {row.case_id: int(row.id) for row in opened.catalogue.all_cases()}
    cases = set()
    while (question := next_question.next_question(table, request)) is not None:
        assert question.query == "t/c0"
        assert {rows[question.first], rows[question.second]} <= trained
        assert not {question.first, question.second} & {"t/c0", "t/c1", *cases}
        cases |= {question.first, question.second}
        store_answer(table, request, question, QuestionAnswer.NEITHER)
    assert len(cases) >= 50
    passed = next_question.next_question(table, dataclasses.replace(request, ledger="new"))
    again = next_question.next_question(table, dataclasses.replace(request, ledger="new"), [passed.first])
    assert passed.first not in (again.first, again.second)


def test_it_moves_on_to_another_training_case_where_few_are_like_the_query(table):
    request, about, queried_cases = request_for(), None, []
    with Library.open(table, writable=False) as opened:
        trained = set(opened.metric("plain").training.tolist())
        cases = {row.case_id for row in opened.catalogue.all_cases() if int(row.id) in trained}
    for _ in range(3 * FEW_QUESTIONS):
        one = next_question.next_question_anywhere(table, request, about=about)
        assert {one.first, one.second} <= cases - {one.query}
        about = one.query
        queried_cases.append(about)
        store_answer(table, request, one, QuestionAnswer.NEITHER)
    assert queried_cases[0] == "t/c0"
    assert set(queried_cases[FEW_QUESTIONS:]) <= cases
    assert len(set(queried_cases)) >= 2
    assert max(queried_cases.count(query) for query in queried_cases) < MANY_QUESTIONS


def test_it_stays_where_half_of_all_cases_are_like_the_query(table):
    request, findings = request_for(), finding_of(table)
    for _ in range(5 * FEW_QUESTIONS):
        one = next_question.next_question_anywhere(table, request)
        assert one.query == "t/c0"
        kinds = tuple(findings[case] == findings["t/c0"] for case in (one.first, one.second))
        given = {
            (True, True): QuestionAnswer.BOTH,
            (True, False): QuestionAnswer.FIRST,
            (False, True): QuestionAnswer.SECOND,
        }
        store_answer(table, request, one, given.get(kinds, QuestionAnswer.NEITHER))


def test_questions_are_about_whole_cases_but_move_on_from_what_is_none(table):
    part = Search("plain", Query(case="t/c0", region=Region(0, 0, 4, 4)), "mine")
    with pytest.raises(BadInput, match="whole case"):
        next_question.next_question(table, part)
    assert next_question.next_question_anywhere(table, part).query != "t/c0"
    assert next_question.next_question(table, part, about="t/c9").query == "t/c9"


def test_a_metric_without_coordinates_is_refused(table):
    with pytest.raises(BadInput, match="coordinates"):
        next_question.next_question_anywhere(table, request_for("city"))


def test_no_question_is_left_when_all_cases_are_skipped(table):
    cases = sorted(finding_of(table))
    assert next_question.next_question(table, request_for(), cases) is None
    assert next_question.next_question_anywhere(table, request_for(), cases) is None
