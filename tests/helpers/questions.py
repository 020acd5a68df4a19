"""Answers questions from the findings."""

from __future__ import annotations

from semblance.core.library.case_columns import CaseColumns
from semblance.core.searches.feedback.questions import QuestionAnswer
from semblance.core.workflows.searches.feedback.next_question import CaseQuestion


def answer_by_findings(columns: CaseColumns, question: CaseQuestion) -> QuestionAnswer:
    """The answer of a user who knows the findings of the cases."""
    query, first, second = (
        columns.finding_name(columns.index_of_id(case))
        for case in (question.query, question.first, question.second)
    )
    answers = {
        (True, False): QuestionAnswer.FIRST,
        (False, True): QuestionAnswer.SECOND,
        (True, True): QuestionAnswer.BOTH,
    }
    return answers.get((first == query, second == query), QuestionAnswer.NEITHER)
