"""Answering questions as a person does who knows the findings."""

from __future__ import annotations

from semblance.core.library.case_columns import CaseColumns
from semblance.core.searches.questions import Answer
from semblance.core.workflows.searches.next_question import CaseQuestion


def by_findings(columns: CaseColumns, asked: CaseQuestion) -> Answer:
    """What the findings of the cases say."""
    query, first, second = (
        columns.finding_name(columns.index_of_id(case)) for case in (asked.query, asked.first, asked.second)
    )
    said = {(True, False): Answer.FIRST, (False, True): Answer.SECOND, (True, True): Answer.BOTH}
    return said.get((first == query, second == query), Answer.NEITHER)
