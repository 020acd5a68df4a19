"""The page of the data check: its states, sorting, the way to the cases, and decisions that can be undone."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.research.data_check_page import DataCheckPage
from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.workflows.library import check_data
from semblance.core.workflows.library.check_data import DataCheck
from semblance.core.workflows.library.data_issues import DataIssue, IssueKind, Severity
from semblance.core.workflows.library.edit_lesions import join_lesions, list_lesions
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.libraries import case_rows, finding_of, make_library
from tests.helpers.widgets import show_widget

CONFLICT = ("s/0.png", "s/1.png")


@pytest.fixture
def path(tmp_path):
    return make_library(tmp_path / "lib.semblance", cases=6)


@pytest.fixture
def answers(monkeypatch, path):
    """What checks are answered with, one after another; the last one stays."""
    with Library.open(path) as library:
        rows = case_rows(library).tolist()

    def issue(check, severity, *places, findings=()):
        ids = tuple(f"s/{n}.png" for n in places)
        return DataIssue(check, severity, tuple(rows[n] for n in places), ids, f"About {ids[0]}.", findings)

    issues = (
        issue(IssueKind.LABEL_CONFLICT, Severity.HIGH, 0, 1, findings=("benign", "malignant")),
        issue(IssueKind.TEXT, Severity.MEDIUM, 3),
        issue(IssueKind.OUTLIER, Severity.LOW, 2),
    )
    missed = ((IssueKind.WRONG_SIDE, "They were mirrored."),)
    answers = [
        DataCheck(str(path), 6, "encoder", issues, 0, 2, missed, (("s/5.png", "It is damaged."),), 0.1)
    ]

    def check(_library, **_):
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(check_data, "check_data", check)
    return answers


@pytest.fixture
def page(qtbot, context, path, answers):
    context.state.set_library(read_snapshot(path))
    return show_widget(qtbot, DataCheckPage(context, None), 1100, 600)


def listed(page):
    return [page.table.issues.texts(row)[:3] for row in range(page.table.issues.rowCount())]


def test_it_checks_when_it_is_shown_and_lists_the_most_severe_first(page, context):
    assert not page.table.isVisible()
    context.jobs.run_pending()
    assert listed(page) == [
        ("Label conflict", "high", "0 and 1 other"), ("Burnt-in text", "medium", "3"), ("Outlier", "low", "2"),
    ]  # fmt: skip
    assert page.summary.text().splitlines() == [
        "3 issues in 6 cases. 2 reviewed before. Neighbours by encoder.",
        "Not checked: Wrong side. They were mirrored.",
        "1 image could not be read: s/5.png. It is damaged.",
    ]
    page.table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    assert [case for _, _, case in listed(page)] == ["3", "2", "0 and 1 other"]
    page.kind.setCurrentIndex(page.kind.findText("Outlier (1)"))
    assert [kind for kind, *_ in listed(page)] == ["Outlier"]


def test_issues_lead_to_their_cases(page, context):
    context.jobs.run_pending()
    issues = [page.table.issues.issue(row) for row in range(3)]
    page.table.entered.emit(issues[0])
    assert context.state.selected_rows.tolist() == list(issues[0].rows)
    page.table.entered.emit(issues[1])
    assert context.state.query.case == "s/3.png"


def test_a_finding_is_given_to_all_cases_and_that_is_undone(page, context, path):
    context.jobs.run_pending()
    texts = ["Set to benign", "Set to malignant", "Not the same lesion"]
    assert [button.text() for button in page.finding_buttons] == texts
    before = finding_of(path)
    page.finding_buttons[1].click()
    assert not page.keep_button.isEnabled()
    context.jobs.run_pending()
    assert finding_of(path) == before | dict.fromkeys(CONFLICT, "malignant")
    assert context.state.columns.finding_name(0) == "malignant"
    assert [kind for kind, *_ in listed(page)] == ["Burnt-in text", "Outlier"]
    assert page.finding_buttons == []
    page.keep_button.click()
    context.jobs.run_pending()
    assert [kind for kind, *_ in listed(page)] == ["Outlier"]
    for kinds in (["Burnt-in text", "Outlier"], ["Label conflict", "Burnt-in text", "Outlier"]):
        assert page.undo_button.isVisible()
        page.undo_button.click()
        context.jobs.run_pending()
        assert [kind for kind, *_ in listed(page)] == kinds
    assert finding_of(path) == before
    assert not page.undo_button.isVisible()


def test_an_error_and_an_empty_result_say_so(page, context, answers):
    answers.insert(0, BadInput("The library is damaged.", "Restore a backup."))
    context.jobs.run_pending()
    assert page.empty.isVisible()
    assert page.empty.accessibleName() == "The data could not be checked."
    assert not page.check_button.isVisible()
    answers[0] = DataCheck("lib", 6, "", (), 0, 0, (), (), 0.1)
    page.check()
    context.jobs.run_pending()
    assert page.summary.text() == "No doubtful cases were found among 6."
    assert not page.keep_button.isVisible()


def test_a_read_only_library_is_only_listed(qtbot, context, path, answers):
    from dataclasses import replace

    context.state.set_library(replace(read_snapshot(path), writable=False))
    page = show_widget(qtbot, DataCheckPage(context, None), 1100, 600)
    context.jobs.run_pending()
    assert not any(button.isEnabled() for button in (page.keep_button, *page.finding_buttons))
    assert page.keep_button.toolTip() == "The library is read-only."


def test_another_library_starts_without_a_list(page, context, path):
    context.jobs.run_pending()
    context.state.set_library(read_snapshot(path))
    assert not page.table.isVisible()
    assert page.kind.isHidden()


def test_cases_of_a_conflict_are_told_apart(page, context, path):
    join_lesions(path, CONFLICT)
    context.jobs.run_pending()
    assert [button.text() for button in page.finding_buttons][-1] == "Not the same lesion"
    page.finding_buttons[-1].click()
    context.jobs.run_pending()
    assert list_lesions(path) == []
    assert [kind for kind, *_ in listed(page)] == ["Burnt-in text", "Outlier"]
    assert "Not the same lesion" not in [button.text() for button in page.finding_buttons]
