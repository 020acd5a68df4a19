"""The Experiments window: choosing, measuring, what is told on the way, and every result a click away."""

from __future__ import annotations

import contextlib

import pytest
from PySide6.QtCore import Qt

from semblance.app.research.experiments_dialog import ExperimentsDialog
from semblance.app.shell.settings import Settings
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.research import experiments
from tests.helpers.contexts import make_context
from tests.helpers.held_jobs import HeldJobs
from tests.helpers.inline_runner import InlineRunner
from tests.helpers.tables import table_library, write_table


@pytest.fixture
def context(qtbot, private_home, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def here(workers, scheduler):
        assert scheduler == ""
        yield InlineRunner()

    monkeypatch.setattr(experiments, "make_runner", here)
    settings = Settings()
    settings.set_text("experiments_folder", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    made = make_context(HeldJobs(), settings)
    yield made
    made.jobs.shutdown()


@pytest.fixture
def dialog(qtbot, context):
    made = ExperimentsDialog(context)
    qtbot.addWidget(made)
    made.show()
    return made


def choose(dialog, *tables, learners=("euclidean", "lda"), repeats=2):
    dialog.form.cases.tick([])
    for table in tables:
        dialog.form.add_case(str(table))
    dialog.form.learners.tick(learners)
    dialog.form.numbers.set_values({"repeats": repeats, "workers": 1})


def measured(dialog, context):
    dialog.run_button.click()
    context.jobs.let_run()
    return dialog


@pytest.fixture
def shown(dialog, context, tmp_path):
    choose(dialog, write_table(tmp_path / "a.csv", n=40), write_table(tmp_path / "b.csv", n=40, seed=3))
    return measured(dialog, context)


def cells(table):
    return [
        [table.item(row, c).text() for c in range(table.columnCount())] for row in range(table.rowCount())
    ]


def test_it_begins_with_what_can_be_measured_at_once(dialog):
    assert dialog.run_button.isEnabled()
    assert dialog.name.text() == "experiment-1"
    assert not dialog.resume_button.isVisible()
    assert not dialog.export_button.isEnabled()
    spec = dialog.form.spec("x")
    assert [one.name for one in spec.cases] == ["builtin:wine"]
    assert [one.learner for one in spec.learners] == ["bdm_v", "euclidean"]
    assert spec.protocols[0].protocol == "full"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.form.learners.tick([]), "No learner is named."),
        (lambda d: d.form.cases.tick([]), "Say what to measure on."),
        (lambda d: d.form.protocols.tick([]), "names no protocols"),
        (lambda d: d.form.grid.setPlainText("lda.rounds=2"), "does not name one of the learners"),
        (lambda d: d.form.grid.setPlainText("bdm_v.rounds=x"), "'rounds' cannot be 'x'"),
        (lambda d: d.form.steps.setCurrentText("polish"), "'polish' is not a step."),
        (lambda d: d.name.setText("a/b"), "a name without slashes"),
        (lambda d: d.name.setText(""), "a name without slashes"),
    ],
)
def test_what_cannot_be_measured_is_said_beside_the_button(dialog, change, said):
    change(dialog)
    assert not dialog.run_button.isEnabled()
    assert said in dialog._problem.text()
    assert dialog._problem.isVisible()


def test_values_to_choose_among_and_train_on_one(dialog, tmp_path):
    choose(dialog, write_table(tmp_path / "a.csv"), write_table(tmp_path / "b.csv"), learners=("bdm",))
    dialog.form.grid.setPlainText("bdm.rounds=2|4\n\nprotocol.draws=0")
    dialog.form.transfer.setChecked(True)
    assert dialog.form.unrelated.isVisible()
    dialog.form.unrelated.setChecked(True)
    spec = dialog.form.spec("x")
    assert [one.name for one in spec.cases] == ["a → b"]
    assert spec.cases[0].unrelated
    assert spec.learners[0].grid == {"rounds": (2, 4)}
    assert spec.protocols[0].settings == {"draws": 0}
    dialog.form.select.set_value("each")
    assert len(dialog.form.spec("x").variants()) == 2


def test_feature_sets_of_the_open_library_are_offered(qtbot, context, tmp_path):
    library = table_library(tmp_path, n=40)
    context.state.set_library(read_snapshot(library))
    dialog = ExperimentsDialog(context)
    qtbot.addWidget(dialog)
    (case,) = dialog.form.spec("x").cases
    assert (case.library, case.features) == (str(library), "raw")


def test_the_table_grows_and_ends_complete(dialog, context, tmp_path):
    choose(dialog, write_table(tmp_path / "a.csv", n=40))
    dialog.run_button.setFocus()
    dialog.run_button.click()
    assert dialog.cancel_button.isVisible()
    assert dialog.focusWidget() is dialog.cancel_button, "the keyboard ends what it began"
    assert not dialog.run_button.isEnabled()
    measured(dialog, context)
    assert not dialog.cancel_button.isVisible()
    assert dialog.focusWidget() is dialog.run_button
    assert dialog._state_told.text() == "4 of 4 cells, complete"
    assert dialog.badge.kind == "held-out"
    lines = cells(dialog.results.scores)
    assert [line[:3] for line in lines] == [["a", "LDA", "2 of 2"], ["a", "Euclidean", "2 of 2"]] or [
        line[:3] for line in lines
    ] == [["a", "Euclidean", "2 of 2"], ["a", "LDA", "2 of 2"]]
    assert all("(" in line[3] for line in lines)
    assert context.messages.history[-1].what == "Experiment experiment-1: 4 cells done."
    dialog.results.tabs.setCurrentIndex(1)
    assert "two tables" in dialog.results._ranks_told.text()


def test_several_tables_are_ranked_and_drawn(shown, context):
    shown.results.tabs.setCurrentIndex(1)
    context.jobs.let_run()
    assert not shown.results.ranks.pixmap().isNull()
    assert "Euclidean" in shown.results.ranks.accessibleName()
    assert "over 2 tables" in shown.results._ranks_told.text()


def test_differences_score_by_score(shown):
    shown.results.tabs.setCurrentIndex(2)
    assert shown.results.score.count() == 7
    for place in range(7):
        shown.results.score.setCurrentIndex(place)
        lines = cells(shown.results.differences)
        assert [line[:1] for line in lines] == [["a"], ["b"]]
        assert all(0 <= float(line[4].removeprefix("<")) <= 1 for line in lines)


def test_worst_queries_and_findings(shown):
    shown.results.tabs.setCurrentIndex(3)
    lines = cells(shown.results.queries)
    assert lines and all(line[0].startswith("c") for line in lines)
    means = [float(line[2]) for line in lines]
    assert means == sorted(means)
    shown.results.findings.cellClicked.emit(0, 0)
    finding = shown.results.findings.item(0, 0).text()
    assert {line[1] for line in cells(shown.results.queries)} == {finding}
    shown.results.queries.setCurrentCell(0, 0)
    assert shown.results._worst_told.text() == "A row of a table has no image."


def test_a_case_of_a_library_is_wanted_by_double_click_and_enter(qtbot, dialog, context, tmp_path):
    library = table_library(tmp_path / "l", n=40)
    choose(dialog, library, learners=("euclidean",), repeats=1)
    measured(dialog, context)
    dialog.results.tabs.setCurrentIndex(3)
    with qtbot.waitSignal(dialog.case_requested) as wanted:
        dialog.results.queries.cellDoubleClicked.emit(0, 0)
    assert wanted.args == [str(library), dialog.results.queries.case(0)]
    dialog.results.queries.setCurrentCell(1, 0)
    with qtbot.waitSignal(dialog.case_requested) as wanted:
        qtbot.keyClick(dialog.results.queries, Qt.Key.Key_Return)
    assert wanted.args == [str(library), dialog.results.queries.case(1)]


def test_cancelled_and_resumed(dialog, context, tmp_path):
    table = write_table(tmp_path / "a.csv", n=40)
    choose(dialog, table, repeats=1)
    measured(dialog, context)
    kept = sorted((tmp_path / "home" / "experiment-1" / "cells").iterdir())
    kept[0].unlink()
    dialog.open_experiment(tmp_path / "home" / "experiment-1")
    context.jobs.let_run()
    assert dialog._state_told.text() == "1 of 2 cells, interrupted"
    assert dialog.resume_button.isVisible()
    dialog.resume_button.click()
    dialog.cancel()
    assert not dialog.cancel_button.isVisible()
    context.jobs.let_run()
    dialog.resume_button.click()
    context.jobs.let_run()
    assert dialog._state_told.text() == "2 of 2 cells, complete"
    assert not dialog.resume_button.isVisible()


def test_a_learner_that_fails_and_what_is_left_out_stand_in_the_notes(dialog, context, tmp_path):
    (tmp_path / "bad.csv").write_text("a,label\n1,x\n2,x\n")
    table = write_table(tmp_path / "a.csv", n=40)
    choose(dialog, table, tmp_path / "bad.csv", learners=("euclidean", "conv_ccml"), repeats=1)
    measured(dialog, context)
    assert dialog.results.tabs.tabText(4) == "Notes (2)"
    assert "a, ConvCCML: " in dialog.results.notes.text()
    assert "only the finding" in dialog.results.notes.text()
    assert "failed" in [line[2] for line in cells(dialog.results.scores)]


def test_an_error_is_told(dialog, context, tmp_path):
    (tmp_path / "bad.csv").write_text("a,label\n1,x\n2,x\n")
    choose(dialog, tmp_path / "bad.csv")
    measured(dialog, context)
    errors = [message for message in context.messages.history if message.level == "error"]
    assert [error.what for error in errors] == ["None of the cases can be used."]
    assert dialog.run_button.isEnabled()
    assert "None of the cases can be used." in dialog._problem.text()


def test_export(shown, context, tmp_path):
    shown.export(tmp_path / "x")
    context.jobs.let_run()
    assert (tmp_path / "x" / "repeat.sh").is_file()
    assert "files into" in context.messages.history[-1].what
    assert shown._state_told.text().endswith("files into x")


def test_names_for_who_cannot_see(dialog):
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


def test_what_is_not_known_yet_shows_no_empty_choices_or_tables(qtbot, shown):
    live = dict(shown.results._document)
    for later in ("over_tables", "comparisons", "worst_queries", "worst_findings"):
        del live[later]
    shown.results.show_document(live)
    for tab, hidden in ((1, "test"), (2, "score"), (3, "row")):
        shown.results.tabs.setCurrentIndex(tab)
        assert not getattr(shown.results, hidden).isVisible()
    assert not shown.results.queries.isVisible()
    assert "Shown when the experiment ends" in shown.results._ranks_told.text()
