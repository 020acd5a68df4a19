"""The Experiments window: its form, running and resuming, and the results."""

from __future__ import annotations

import contextlib

import pytest
from PySide6.QtCore import Qt

from semblance.app.research.experiments_page import ExperimentsPage
from semblance.app.shell.settings import Settings
from semblance.app.widgets.message_lines import ErrorLine
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.research import experiments
from tests.helpers.contexts import make_context
from tests.helpers.inline_runner import InlineRunner
from tests.helpers.manual_jobs import ManualJobs
from tests.helpers.tables import table_library, write_table


@pytest.fixture
def context(qtbot, private_home, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def here(workers, scheduler):
        assert scheduler == ""
        yield InlineRunner()

    monkeypatch.setattr(experiments, "open_engine", here)
    settings = Settings()
    settings.set_text("experiments_folder", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    dialog = make_context(ManualJobs(), settings)
    yield dialog
    dialog.jobs.shutdown()


@pytest.fixture
def dialog(qtbot, context):
    dialog = ExperimentsPage(context)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def fill_form(dialog, *tables, learners=("euclidean", "lda"), repeats=2):
    dialog.form.cases.tick([])
    for table in tables:
        dialog.form.add_case(str(table))
    dialog.form.learners.tick(learners)
    dialog.form.numbers.set_values({"repeats": repeats, "workers": 1})


def run_experiment(dialog, context):
    dialog.run_button.click()
    context.jobs.run_pending()
    return dialog


@pytest.fixture
def finished_dialog(dialog, context, tmp_path):
    fill_form(dialog, write_table(tmp_path / "a.csv", n=40), write_table(tmp_path / "b.csv", n=40, seed=3))
    return run_experiment(dialog, context)


def cell_texts(table):
    return [
        [table.item(row, c).text() for c in range(table.columnCount())] for row in range(table.rowCount())
    ]


def test_the_form_can_be_run_at_once(dialog):
    assert dialog.run_button.isEnabled()
    assert dialog.name.text() == "experiment-1"
    assert not dialog.resume_button.isVisible()
    assert not dialog.export_button.isEnabled()
    spec = dialog.form.spec("x")
    assert [entry.name for entry in spec.cases] == ["builtin:wine"]
    assert [entry.learner for entry in spec.learners] == ["bdm_v", "euclidean"]
    assert spec.protocols[0].protocol == "full"


def test_a_problem_of_the_form_is_shown_beside_the_button(dialog):
    form = dialog.form
    for change, undo, expected in (
        (lambda: form.learners.tick([]), lambda: form.learners.tick(["bdm_v"]), "No learner is named."),
        (lambda: form.cases.tick([]), lambda: form.cases.tick(form.cases.keys()[:1]), "what to measure on"),
        (lambda: form.protocols.tick([]), lambda: form.protocols.tick(["full"]), "names no protocols"),
        (lambda: form.grid.setPlainText("lda.rounds=2"), form.grid.clear, "name one of the learners"),
        (lambda: form.grid.setPlainText("bdm_v.rounds=x"), form.grid.clear, "'rounds' cannot be 'x'"),
        (lambda: form.steps.setCurrentText("polish"), form.steps.clearEditText, "'polish' is not a step."),
        (lambda: dialog.name.setText("a/b"), lambda: dialog.name.setText("a"), "a name without slashes"),
        (lambda: dialog.name.setText(""), lambda: dialog.name.setText("a"), "a name without slashes"),
    ):
        change()
        assert not dialog.run_button.isEnabled(), expected
        assert expected in dialog.problem.text()
        assert dialog.problem.isVisible()
        undo()
        assert dialog.run_button.isEnabled(), expected
        assert not dialog.problem.isVisible()


def test_parameter_grids_and_transfer(dialog, tmp_path):
    fill_form(dialog, write_table(tmp_path / "a.csv"), write_table(tmp_path / "b.csv"), learners=("bdm",))
    dialog.form.grid.setPlainText("bdm.rounds=2|4\n\nprotocol.draws=0")
    dialog.form.transfer.setChecked(True)
    assert dialog.form.unrelated.isVisible()
    dialog.form.unrelated.setChecked(True)
    spec = dialog.form.spec("x")
    assert [entry.name for entry in spec.cases] == ["a → b"]
    assert spec.cases[0].unrelated
    assert spec.learners[0].grid == {"rounds": (2, 4)}
    assert spec.protocols[0].settings == {"draws": 0}
    dialog.form.select.set_value("each")
    assert len(dialog.form.spec("x").variants()) == 2


def test_feature_sets_of_the_open_library_are_listed(qtbot, context, tmp_path):
    library = table_library(tmp_path, n=40)
    context.state.set_library(read_snapshot(library))
    dialog = ExperimentsPage(context)
    qtbot.addWidget(dialog)
    (case,) = dialog.form.spec("x").cases
    assert (case.library, case.features) == (str(library), "raw")


def test_running_an_experiment_fills_the_table(dialog, context, tmp_path):
    fill_form(dialog, write_table(tmp_path / "a.csv", n=40))
    dialog.run_button.setFocus()
    dialog.run_button.click()
    assert dialog.progress.isAncestorOf(dialog.focusWidget()), "the keyboard ends what it began"
    assert not dialog.run_button.isEnabled()
    context.jobs.run_pending()
    assert not dialog.progress.isVisible()
    assert dialog.focusWidget() is dialog.run_button
    assert dialog.state_label.text() == "4 of 4 cells, complete"
    assert dialog.badge.kind == "held-out"
    rows = cell_texts(dialog.results.scores)
    assert [row[:3] for row in rows] == [["a", "LDA", "2 of 2"], ["a", "Euclidean", "2 of 2"]] or [
        row[:3] for row in rows
    ] == [["a", "Euclidean", "2 of 2"], ["a", "LDA", "2 of 2"]]
    assert all("(" in row[3] for row in rows)
    assert context.messages.history[-1].what == "Experiment experiment-1: 4 cells done."
    dialog.results.tabs.setCurrentIndex(1)
    assert "two tables" in dialog.results.ranks_note.text()


def test_ranks_over_several_tables_are_drawn(finished_dialog, context):
    finished_dialog.results.tabs.setCurrentIndex(1)
    context.jobs.run_pending()
    assert not finished_dialog.results.ranks.pixmap().isNull()
    assert "Euclidean" in finished_dialog.results.ranks.accessibleName()
    assert "over 2 tables" in finished_dialog.results.ranks_note.text()


def test_differences_are_shown_for_each_score(finished_dialog):
    finished_dialog.results.tabs.setCurrentIndex(2)
    assert finished_dialog.results.score.count() == 9
    for index in range(9):
        finished_dialog.results.score.setCurrentIndex(index)
        rows = cell_texts(finished_dialog.results.differences)
        assert [row[:1] for row in rows] == [["a"], ["b"]]
        assert all(0 <= float(row[4].removeprefix("<")) <= 1 for row in rows)


def test_worst_queries_and_findings(finished_dialog):
    finished_dialog.results.tabs.setCurrentIndex(3)
    rows = cell_texts(finished_dialog.results.queries)
    assert rows and all(row[0].startswith("c") for row in rows)
    means = [float(row[2]) for row in rows]
    assert means == sorted(means)
    finished_dialog.results.findings.cellClicked.emit(0, 0)
    finding = finished_dialog.results.findings.item(0, 0).text()
    assert {row[1] for row in cell_texts(finished_dialog.results.queries)} == {finding}
    finished_dialog.results.queries.setCurrentCell(0, 0)
    assert finished_dialog.results.worst_note.text() == "A row of a table has no image."


def test_a_case_is_opened_by_double_click_and_enter(qtbot, dialog, context, tmp_path):
    library = table_library(tmp_path / "l", n=40)
    fill_form(dialog, library, learners=("euclidean",), repeats=1)
    run_experiment(dialog, context)
    dialog.results.tabs.setCurrentIndex(3)
    with qtbot.waitSignal(dialog.results.case_requested) as signal:
        dialog.results.queries.doubleClicked.emit(dialog.results.queries.model().index(0, 0))
    assert signal.args == [str(library), dialog.results.queries.case(0)]
    dialog.results.queries.setCurrentCell(1, 0)
    with qtbot.waitSignal(dialog.results.case_requested) as signal:
        qtbot.keyClick(dialog.results.queries, Qt.Key.Key_Return)
    assert signal.args == [str(library), dialog.results.queries.case(1)]


def test_an_incomplete_experiment_is_resumed(dialog, context, tmp_path):
    table = write_table(tmp_path / "a.csv", n=40)
    fill_form(dialog, table, repeats=1)
    run_experiment(dialog, context)
    cell_files = sorted((tmp_path / "home" / "experiment-1" / "cells").iterdir())
    cell_files[0].unlink()
    dialog.open_experiment(tmp_path / "home" / "experiment-1")
    context.jobs.run_pending()
    assert dialog.state_label.text() == "1 of 2 cells, interrupted"
    assert dialog.resume_button.isVisible()
    dialog.resume_button.click()
    dialog.cancel()
    assert not dialog.progress.isVisible()
    context.jobs.run_pending()
    dialog.resume_button.click()
    context.jobs.run_pending()
    assert dialog.state_label.text() == "2 of 2 cells, complete"
    assert not dialog.resume_button.isVisible()


def test_failed_learners_and_omitted_cases_are_in_the_notes(dialog, context, tmp_path):
    (tmp_path / "bad.csv").write_text("a,label\n1,x\n2,x\n")
    table = write_table(tmp_path / "a.csv", n=40)
    fill_form(dialog, table, tmp_path / "bad.csv", learners=("euclidean", "conv_ccml"), repeats=1)
    run_experiment(dialog, context)
    assert dialog.results.tabs.tabText(4) == "Notes (2)"
    assert "a, ConvCCML: " in dialog.results.notes.text()
    assert "only the finding" in dialog.results.notes.text()
    assert "failed" in [row[2] for row in cell_texts(dialog.results.scores)]


def test_an_error_is_shown(dialog, context, tmp_path):
    (tmp_path / "bad.csv").write_text("a,label\n1,x\n2,x\n")
    fill_form(dialog, tmp_path / "bad.csv")
    run_experiment(dialog, context)
    errors = [message for message in context.messages.history if message.level == "error"]
    assert [error.what for error in errors] == ["None of the cases can be used."]
    assert dialog.run_button.isEnabled()
    assert "None of the cases can be used." in dialog.findChild(ErrorLine).text


@pytest.mark.slow
def test_export(finished_dialog, context, tmp_path):
    finished_dialog.export(tmp_path / "x")
    context.jobs.run_pending()
    assert (tmp_path / "x" / "repeat.sh").is_file()
    assert "files into" in context.messages.history[-1].what
    assert finished_dialog.state_label.text().endswith("files into x")


def test_fields_and_tables_have_accessible_names(dialog):
    form = dialog.form
    for widget in (form.cases, form.learners, form.protocols, form.grid, form.steps, form.scheduler):
        assert widget.accessibleName()
    for table in (
        dialog.results.scores,
        dialog.results.differences,
        dialog.results.queries,
        dialog.results.findings,
    ):
        assert table.accessibleName()


def test_missing_results_hide_their_tables(qtbot, finished_dialog):
    partial = dict(finished_dialog.results.document)
    for key in ("over_tables", "comparisons", "worst_queries", "worst_findings"):
        del partial[key]
    finished_dialog.results.show_document(partial)
    for tab, hidden in ((1, "test"), (2, "score"), (3, "row")):
        finished_dialog.results.tabs.setCurrentIndex(tab)
        assert not getattr(finished_dialog.results, hidden).isVisible()
    assert not finished_dialog.results.queries.isVisible()
    assert "Shown when the experiment ends" in finished_dialog.results.ranks_note.text()
