"""Edits in the window: the menu of a case, the dialogs, what is out of date, and Ctrl+Z."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtWidgets import QMenu, QWidget

from semblance.app.library.edit_commands import EditCommands
from semblance.app.shell.theme import FINDING_COLOURS, finding_colour
from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.workflows.library.edit_findings import list_findings, recolour_finding
from semblance.core.workflows.library.edit_lesions import list_lesions
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import PREPARED
from tests.helpers.libraries import finding_of, make_library, numbers_set


@pytest.fixture
def path(tmp_path):
    path = make_library(tmp_path / "lib.semblance")
    with Library.open(path) as library:
        features, file = numbers_set(library), library.new_metric_file()
        library.add_metric("m", "euclidean", features.id, file, {}, np.empty(0, np.int64), {"auc": 0.8})
    return path


@pytest.fixture
def commands(qtbot, context, path):
    context.state.set_library(read_snapshot(path))
    parent = QWidget()
    qtbot.addWidget(parent)
    commands = EditCommands(context, parent, lambda: [1, 3])
    commands.list_requested.connect(lambda _name, panel: qtbot.addWidget(panel))
    return commands


def entries(menu):
    return {action.text(): action for action in menu.actions() if action.text()}


def newest_message(context):
    message = context.messages.history[-1]
    return message.what, message.hint, [text for text, _ in message.actions]


def test_the_menu_labels_the_selected_cases_and_shows_first_what_becomes_out_of_date(commands, context, path):
    menu = QMenu()
    commands.fill_menu(menu, 3)
    assert list(entries(menu)) == [
        "Set finding of 2 cases",
        "Set patient of 2 cases…",
        "Mark 2 cases as one lesion",
        "Remove 2 cases from the library",
        "1 metric and its scores become out of date.",
    ]
    findings = entries(entries(menu)["Set finding of 2 cases"].menu())
    assert [name for name, action in findings.items() if action.font().bold()] == ["benign"]
    findings["malignant"].trigger()
    context.jobs.run_pending()
    assert finding_of(path)["s/0.png"] == finding_of(path)["s/2.png"] == "malignant"
    assert newest_message(context) == (
        "Done: Label 2 cases malignant.",
        "1 metric and its scores are out of date now.",
        ["Undo", "Evaluate again"],
    )
    assert context.state.columns.finding_counts.tolist() == [5, 1, 0]
    assert context.actions["undo_edit"].text() == "Undo: Label 2 cases malignant"
    # Another case than the selected ones is alone.
    menu = QMenu()
    commands.fill_menu(menu, 2)
    assert list(entries(menu)) == ["Set finding", "Set patient…", "Remove from the library"]


def test_a_metric_that_a_preparation_made_is_offered_to_be_trained_again(qtbot, context, path):
    with Library.open(path) as library:
        features, file = numbers_set(library), library.new_metric_file()
        scores, card = {"auc": 0.8}, {PREPARED: {}}
        library.add_metric("prepared", "bdm_v", features.id, file, card, np.empty(0, np.int64), scores)
    context.state.set_library(read_snapshot(path))
    context.state.set_metric("prepared")
    parent = QWidget()
    qtbot.addWidget(parent)
    commands = EditCommands(context, parent, lambda: [1])
    commands.set_finding([1], None)
    context.jobs.run_pending()
    assert newest_message(context)[2] == ["Undo", "Train again", "Evaluate again"]
    started = []
    context.actions["prepare"].triggered.connect(lambda: started.append(True))
    dict(context.messages.history[-1].actions)["Train again"]()
    assert started == [True]


def test_undo_and_redo_name_what_they_do(commands, context, path):
    before = finding_of(path)
    commands.set_finding([1], None)
    context.jobs.run_pending()
    commands.commands["undo_edit"]()
    context.jobs.run_pending()
    assert finding_of(path) == before
    assert newest_message(context) == ("Undone: Remove the finding of 1 case.", "", ["Redo"])
    assert context.actions["undo_edit"].text() == "Undo edit"
    assert context.actions["redo_edit"].text() == "Redo: Remove the finding of 1 case"
    commands.commands["redo_edit"]()
    context.jobs.run_pending()
    assert finding_of(path)["s/0.png"] is None


def test_ctrl_z_undoes_what_was_done_last(commands, context):
    def keys():
        return [
            action.shortcut().toString()
            for action in (context.actions["undo_edit"], context.actions["undo_judgement"])
        ]

    assert keys() == ["Ctrl+Alt+Z", "Ctrl+Z"]
    commands.set_finding([1], "x")
    context.jobs.run_pending()
    assert keys() == ["Ctrl+Z", ""]
    judged = SimpleNamespace(undone=None, judgement=SimpleNamespace(time="2999-01-01T00:00:00+00:00"))
    context.state.set_ranked_search(SimpleNamespace(entries=[judged], result=None))
    assert keys() == ["Ctrl+Alt+Z", "Ctrl+Z"]


def test_a_removed_query_is_not_searched_with(commands, context, path):
    context.state.set_query(Query(case="s/0.png"))
    commands.remove([3])
    context.jobs.run_pending()
    assert context.state.query == Query(case="s/0.png")
    commands.remove([1])
    context.jobs.run_pending()
    assert context.state.query is None


@pytest.mark.parametrize("meanwhile", [None, "s/2.png"])
def test_a_query_comes_back_with_its_case_unless_another_one_followed(commands, context, meanwhile):
    state = context.state
    state.set_query(Query(case="s/0.png"))
    state.set_in_report("s/3.png", True)
    commands.remove([1])
    context.jobs.run_pending()
    assert state.query is None
    if meanwhile is not None:
        state.set_query(Query(case=meanwhile))
        # Going back would lead to a case that is not there.
        assert [entry.search.query.case for entry in state.history.entries] == [meanwhile]
    commands.commands["undo_edit"]()
    context.jobs.run_pending()
    assert state.query == Query(case=meanwhile or "s/0.png")
    assert state.is_in_report("s/3.png") == (meanwhile is None)


def test_the_dialog_sets_or_removes_a_patient(commands, context, monkeypatch):
    from semblance.app.library import edit_commands

    shown = []

    def answer(dialog):
        shown.append(dialog.field.text())
        dialog.field.setText(" P7 ")
        return dialog.DialogCode.Accepted

    monkeypatch.setattr(edit_commands.SetLabelDialog, "exec", answer)
    commands.ask_patient([1, 2])
    context.jobs.run_pending()
    commands.ask_patient([1, 3])
    context.jobs.run_pending()
    # The first two were of one patient, of the others only one is P7.
    assert shown == ["P0", ""]
    columns = context.state.columns
    assert [columns.patient_name(index) for index in range(3)] == ["P7", "P7", "P7"]


def test_a_read_only_library_offers_no_edits(commands, context):
    context.state.set_library(replace(context.state.library, writable=False))
    menu = QMenu()
    commands.fill_menu(menu, 1)
    assert entries(menu) == {}


def test_findings_are_renamed_merged_moved_and_added_in_their_dialog(commands, context, path):
    dialog = commands.show_findings()
    dialog.show()
    assert dialog.table.names() == ["malignant", "benign"]
    dialog.new_name.setText("normal")
    dialog.add_button.click()
    context.jobs.run_pending()
    assert dialog.table.names() == ["malignant", "benign", "normal"]
    assert dialog.selected() == ["normal"]
    dialog.up_button.click()
    context.jobs.run_pending()
    assert dialog.table.names() == ["malignant", "normal", "benign"]
    dialog.table.item(0, 0).setText("cancer")
    context.jobs.run_pending()
    assert dialog.table.names() == ["cancer", "normal", "benign"]
    # A name that there is already merges.
    dialog.table.item(1, 0).setText("benign")
    context.jobs.run_pending()
    assert [(one.name, one.cases) for one in list_findings(path)] == [("cancer", 3), ("benign", 3)]
    dialog.table.select_names(["cancer"])
    dialog.delete_button.click()
    context.jobs.run_pending()
    assert dialog.table.names() == ["benign"]
    for _ in range(5):
        dialog.undo_button.click()
        context.jobs.run_pending()
    assert dialog.table.names() == ["malignant", "benign"]
    assert not dialog.undo_button.isEnabled()


def test_a_finding_has_the_colour_that_was_chosen(context, path):
    recolour_finding(path, "benign", "yellow")
    context.state.set_library(read_snapshot(path))
    assert [finding_colour(code) for code in (0, 1, -1)] == [
        FINDING_COLOURS[0],
        FINDING_COLOURS[6],
        "#6E6E76",
    ]
    context.state.set_library(None)
    assert finding_colour(1) == FINDING_COLOURS[1]


def test_the_history_lists_edits_and_undoes_them(commands, context):
    commands.set_finding([1], "x")
    context.jobs.run_pending()
    dialog = commands.show_history()
    dialog.show()
    assert dialog.table.item(0, 2).text() == "Label 1 case x"
    dialog.undo_button.click()
    context.jobs.run_pending()
    assert dialog.table.item(0, 2).text() == "Label 1 case x (undone)"
    assert (dialog.undo_button.isEnabled(), dialog.redo_button.isEnabled()) == (False, True)
    assert not dialog.free_button.isVisible()


def lesions(path):
    return {tuple(case for case, _ in group.cases) for group in list_lesions(path)}


def test_cases_are_marked_as_one_lesion_and_as_others_and_it_is_undone(commands, context, path):
    context.state.set_query(Query(case="s/5.png"))
    menu = QMenu()
    commands.fill_menu(menu, 2)
    entries(menu)["Mark as the same lesion as the query"].trigger()
    context.jobs.run_pending()
    assert lesions(path) == {("s/1.png", "s/5.png")}
    # The search fails, because the metric has no file.
    told = {message.what: message.hint for message in context.messages.history}
    assert told["Done: Mark 2 cases as one lesion."] == "1 metric and its scores are out of date now."
    menu = QMenu()
    commands.fill_menu(menu, 2)
    assert "Mark as the same lesion as the query" not in entries(menu)
    entries(menu)["Mark as another lesion"].trigger()
    context.jobs.run_pending()
    assert lesions(path) == set()
    for _ in range(2):
        commands.commands["undo_edit"]()
        context.jobs.run_pending()
    assert lesions(path) == set()
    commands.commands["redo_edit"]()
    context.jobs.run_pending()
    assert context.state.library.lesions[2].rows == (2, 6)
    assert context.state.library.lesions[2].by_hand


def test_labels_of_a_file_are_shown_before_they_are_applied(commands, context, path, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("case_id,finding\ns/0.png,odd\ns/1.png,malignant\ns/7.png,odd\n", encoding="utf-8")
    commands.preview_labels(file)
    context.jobs.run_pending()
    dialog = commands._labels
    listed = [
        [dialog.table.item(row, column).text() for column in (1, 3)] for row in range(dialog.table.rowCount())
    ]
    assert listed == [["s/7.png", ""], ["s/0.png", "benign → odd"]]
    assert "1 metric" in dialog._note.text()
    dialog.show_same.setChecked(True)
    assert dialog.table.rowCount() == 3
    before = finding_of(path)
    assert dialog.accept_button.text() == "Label 1 case"
    dialog.accept_button.click()
    context.jobs.run_pending()
    assert finding_of(path) == before | {"s/0.png": "odd"}
    assert newest_message(context)[0] == "Done: Label 1 case from labels.csv."
