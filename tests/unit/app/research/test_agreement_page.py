"""The dialog of agreement: coefficients by subject, and the cases that were marked differently."""

from __future__ import annotations

import pytest

from semblance.app.research.agreement_page import AgreementPage
from semblance.core.evaluation.agreement import AgreementCoefficient
from semblance.core.workflows.research import annotator_agreement
from semblance.core.workflows.research.annotator_agreement import (
    Annotator,
    AnnotatorDifference,
    PairAgreement,
    SubjectAgreement,
)
from tests.helpers.scored_snapshots import snapshot
from tests.helpers.widgets import show_widget

PAIR = PairAgreement(("ann", "bob"), 40, 30, AgreementCoefficient(0.5, (0.31, 0.69)))


def subject(kind, name, differences, alpha=PAIR.kappa):
    people = (Annotator("ann", 44), Annotator("bob", 40))
    return SubjectAgreement(kind, name, people, 40, alpha, 40, None, (PAIR,), differences)


@pytest.fixture
def dialog(qtbot, context, monkeypatch):
    context.state.set_library(snapshot())
    known = context.state.columns.ids[1]
    found = (
        subject("concept", "round", (AnnotatorDifference((known,), {"ann": "with", "bob": "without"}),)),
        subject(
            "similarity", "", (AnnotatorDifference(("gone", "also"), {"ann": "more like this"}),), alpha=None
        ),
    )
    monkeypatch.setattr(annotator_agreement, "annotator_agreement", lambda _path, reporter=None: found)
    dialog = show_widget(qtbot, AgreementPage(context), 1120, 620)
    dialog.load()
    context.jobs.run_pending()
    return dialog


def texts(table):
    return [[table.item(r, c).text() for c in range(table.columnCount())] for r in range(table.rowCount())]


def test_each_subject_shows_its_pairs_and_differences(dialog):
    assert texts(dialog.subjects) == [
        ["Concept: round", "ann (44), bob (40)", "40", "0.50 (0.31 to 0.69)", "40", "–"],
        ["More or less like the query", "ann (44), bob (40)", "40", "–", "40", "–"],
    ]
    assert texts(dialog.pairs) == [["ann · bob", "40", "75 %", "0.50 (0.31 to 0.69)"]]
    assert texts(dialog.differences)[0][1] == "ann: with, bob: without"
    dialog.subjects.setCurrentCell(1, 0)
    assert texts(dialog.differences) == [["gone · also", "ann: more like this"]]
    assert "All answers are the same" in dialog.facts.text()


def test_a_difference_leads_to_its_case(dialog, context, qtbot):
    shown = []
    dialog.case_requested.connect(shown.append)
    dialog.differences.entered.emit(0)
    dialog.subjects.setCurrentCell(1, 0)
    dialog.differences.entered.emit(0)
    assert shown == [int(context.state.columns.case_row[1])]
