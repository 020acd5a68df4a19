from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit

from semblance.app.metrics.train_panel import DEFAULT_LEARNER, UNSUPERVISED_LEARNER, TrainPanel
from semblance.app.shell.actions import available
from semblance.app.shell.state import Change
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.core.library.case_columns import case_columns
from semblance.core.library.location import library_location
from semblance.core.metrics.registry import grouped_learners, learners
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.query import Query
from semblance.core.workflows.library import library_snapshot
from semblance.core.workflows.library.library_snapshot import FeatureSetFacts
from semblance.core.workflows.metrics import train_metric
from semblance.core.workflows.metrics.train_metric import TrainResult
from semblance.core.workflows.metrics.training_curve import CurvePoint
from semblance.core.workflows.searches import open_metrics
from semblance.core.workflows.searches.rank_cases import RankedSearch
from tests.helpers.scored_snapshots import CASES, metric, snapshot
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
LIBRARY = snapshot(metric("Euclidean", 0.7, learner="euclidean"))
TITLES = {learner.name: learner.title for learner in learners()}


@pytest.fixture
def panel(qtbot, context):
    panel = show_widget(qtbot, TrainPanel(context), 320, 900)
    context.state.set_library(LIBRARY)
    return panel


@pytest.fixture
def requests(monkeypatch):
    """The requests of the trained metrics. Each metric is then in the library."""
    requests = []

    def train(library, request, **_):
        requests.append(request)
        return TrainResult(str(library), request.name, {}, None, 0.0)

    def read_snapshot(_path, **_):
        return replace(
            LIBRARY, metrics=(*LIBRARY.metrics, *(metric(request.name, 0.8) for request in requests))
        )

    monkeypatch.setattr(train_metric, "train_metric", train)
    monkeypatch.setattr(library_snapshot, "read_snapshot", read_snapshot)
    return requests


def check_box(panel, learner) -> QCheckBox:
    return panel.learner_rows[learner].box


def forms(panel) -> dict[str, ParameterForm]:
    return {name: form for name, form in panel.forms.items() if form.isVisible()}


def field(panel, name) -> QLineEdit:
    return next(e for e in panel.findChildren(QLineEdit) if e.accessibleName() == name)


def problem(panel) -> str:
    return panel.problem_label.text() if panel.problem_label.isVisible() else ""


def press(qtbot, button) -> None:
    qtbot.mouseClick(button, LEFT)


def test_every_learner_is_offered_with_one_line_of_advice(panel):
    for learner in learners():
        labels = [label.text() for label in panel.learner_rows[learner.name].findChildren(QLabel)]
        assert labels == [learner.summary]
        assert "\n" not in learner.summary
        assert learner.summary
        assert check_box(panel, learner.name).text() == learner.title
    assert panel.chosen_learners() == [DEFAULT_LEARNER]


def test_without_findings_to_learn_from_the_learner_that_needs_none_is_ticked(panel, context):
    library = snapshot(findings=("Liver",))
    context.state.set_library(library)
    assert panel.chosen_learners() == [UNSUPERVISED_LEARNER]
    assert panel.learner_rows[UNSUPERVISED_LEARNER].isVisible()
    context.state.set_library(LIBRARY)
    assert panel.chosen_learners() == [DEFAULT_LEARNER]
    panel.set_learners(["bdm", "ccml"])
    context.state.set_library(library)
    assert panel.chosen_learners() == ["bdm", "ccml"]


def test_findings_that_an_import_adds_later_tick_the_learner_that_needs_them(panel, context):
    first_part = snapshot(findings=("Liver",))
    context.state.set_library(first_part)
    assert panel.chosen_learners() == [UNSUPERVISED_LEARNER]
    context.state.renew_library(replace(LIBRARY, location=first_part.location))
    assert panel.chosen_learners() == [DEFAULT_LEARNER]


def test_a_missing_learner_is_reported(panel):
    panel.set_learners([])
    assert "No learner is ticked" in problem(panel)
    panel.set_learners(["bdm"])
    assert problem(panel) == ""


def test_learners_are_grouped_by_paper(panel):
    papers = list(dict.fromkeys(learner.paper for learner in grouped_learners()[0]))
    headers = {label.text(): label for label in panel.findChildren(ElidedLabel) if label.text() in papers}
    assert list(headers) == papers
    top = {paper: header.mapTo(panel, header.rect().topLeft()).y() for paper, header in headers.items()}
    for learner in grouped_learners()[0]:
        box = panel.learner_rows[learner.name]
        y = box.mapTo(panel, box.rect().topLeft()).y()
        assert max((paper for paper in papers if top[paper] < y), key=top.get) == learner.paper
        assert headers[learner.paper].isVisible()


def test_learners_to_compare_with_are_collapsed_unless_ticked(qtbot, panel):
    papers, others = grouped_learners()
    visible = {name for name, row in panel.learner_rows.items() if row.isVisible()}
    assert visible == {learner.name for learner in papers}
    panel.compared_header.set_expanded(True)
    assert all(panel.learner_rows[learner.name].isVisible() for learner in others)
    panel.set_learners(["euclidean"])
    panel.compared_header.set_expanded(False)
    assert panel.learner_rows["euclidean"].isVisible()
    assert not panel.learner_rows["l1"].isVisible()


def test_only_the_parameters_of_ticked_learners_are_shown(qtbot, panel):
    assert list(forms(panel)) == [DEFAULT_LEARNER]
    check_box(panel, "metricboost").setFocus()
    qtbot.keyClick(check_box(panel, "metricboost"), Qt.Key.Key_Space)
    assert set(forms(panel)) == {DEFAULT_LEARNER, "metricboost"}
    panel.set_learners(["euclidean"])
    assert forms(panel) == {}


@pytest.mark.parametrize(
    ("ticked", "text", "enabled"),
    [([], "Train", False), (["bdm"], "Train", True), (["bdm", "euclidean"], "Train 2 metrics", True)],
)
def test_the_button_says_how_many_are_trained(panel, ticked, text, enabled):
    panel.set_learners(ticked)
    assert panel.train_button.text() == text
    assert panel.train_button.isEnabled() is enabled


@pytest.mark.parametrize(
    ("library", "why"),
    [
        (None, "Open a library"),
        (snapshot(writable=False), "read-only"),
        (replace(LIBRARY, feature_sets=()), "no features"),
    ],
)
def test_the_button_is_disabled_if_nothing_can_be_trained_and_says_why(panel, context, library, why):
    context.state.set_library(library)
    assert not panel.train_button.isEnabled()
    assert why in panel.train_button.toolTip()


def test_an_unknown_step_is_reported_and_trains_nothing(qtbot, panel, requests, jobs):
    steps = panel.steps_box.lineEdit()
    steps.selectAll()
    qtbot.keyClicks(steps, "standardise,magic")
    assert "'magic' is not a step." in problem(panel)
    assert not panel.train_button.isEnabled()
    panel.train()
    jobs.run_pending()
    assert requests == []
    steps.selectAll()
    qtbot.keyClicks(steps, "pca:5")
    assert problem(panel) == ""
    press(qtbot, panel.train_button)
    jobs.run_pending()
    assert [request.steps for request in requests] == ["pca:5"]


def test_a_metric_of_a_library_on_a_server_gets_its_search_index(
    qtbot, panel, requests, jobs, context, monkeypatch
):
    indexed = []
    monkeypatch.setattr(open_metrics, "prepare_searches", lambda *given, **_: indexed.append(given))
    press(qtbot, panel.train_button)
    jobs.run_pending()
    assert (len(requests), indexed) == (1, [])
    server = library_location("postgresql://db.example.org/chest")
    context.state.set_library(replace(LIBRARY, location=server))
    press(qtbot, panel.train_button)
    jobs.run_pending()
    assert indexed == [(server, requests[1].name)]


def test_an_invalid_parameter_trains_nothing(qtbot, panel, requests, jobs):
    form = panel.forms[DEFAULT_LEARNER]
    name = next(
        p.name for p in panel.learner_rows[DEFAULT_LEARNER].learner.parameters if isinstance(p.default, int)
    )
    editor = form.editor(name)
    editor.selectAll()
    qtbot.keyClicks(editor, "-7")
    assert form.problems()
    assert not panel.train_button.isEnabled()
    panel.train()
    jobs.run_pending()
    assert requests == []
    panel.set_learners(["euclidean"])
    assert panel.train_button.isEnabled()


def test_an_invalid_split_trains_nothing(qtbot, panel, requests, jobs):
    editor = panel.split_form.editor("held_out")
    editor.selectAll()
    qtbot.keyClicks(editor, "99")
    assert not panel.train_button.isEnabled()
    editor.selectAll()
    qtbot.keyClicks(editor, "50")
    assert panel.train_button.isEnabled()
    panel.train()
    jobs.run_pending()
    assert [request.held_out for request in requests] == [0.5]


def test_metrics_get_different_names(qtbot, panel, context, requests, jobs):
    panel.set_learners(["euclidean", "bdm", "bdm_v"])
    press(qtbot, panel.train_button)
    panel.set_learners(["bdm"])
    press(qtbot, panel.train_button)
    jobs.run_pending()
    names = [request.name for request in requests]
    assert len(names) == 4
    assert len(set(names)) == 4
    assert "Euclidean" not in names
    assert [request.learner for request in requests] == ["euclidean", "bdm", "bdm_v", "bdm"]
    assert context.state.metric.name in names


def test_a_typed_name_is_used(qtbot, panel, requests, jobs):
    qtbot.keyClicks(field(panel, "Name of the new metric"), "  My metric ")
    panel.set_learners(["euclidean", "bdm"])
    panel.train()
    jobs.run_pending()
    assert [request.name for request in requests] == ["My metric", "My metric 2"]


def test_settings_reach_the_training(panel, requests, jobs):
    panel.forms[DEFAULT_LEARNER].set_values({"rounds": 7})
    panel.split_form.set_values({"seed": 42})
    panel.train()
    jobs.run_pending()
    (request,) = requests
    assert request.settings["rounds"] == 7
    assert (request.seed, request.features, request.held_out) == (42, "gabor", 0.3)


def test_stop_and_cancel_are_there_only_while_training(qtbot, panel, context, requests, jobs):
    assert not panel.stop_button.isVisible()
    assert not panel.cancel_button.isVisible()
    panel.set_learners(["bdm", "bdm_v"])
    panel.train()
    assert panel.stop_button.isVisible()
    stopped = []
    for task in jobs.pending:
        task.stop = lambda task=task: stopped.append(task)
    press(qtbot, panel.stop_button)
    assert stopped == jobs.pending
    press(qtbot, panel.cancel_button)
    assert not panel.stop_button.isVisible()
    assert not panel.cancel_button.isVisible()
    jobs.run_pending()
    assert requests == []
    assert "training" not in available(context.state)


def test_the_curve_belongs_to_a_running_training(qtbot, panel, context, requests, jobs):
    panel.set_learners(["bdm", "bdm_v"])
    panel.train()
    first, second = (job for job in jobs.listed if job.title.startswith("Training"))
    assert context.state.training.learner == "bdm_v"
    first_point = CurvePoint(1, 5.0, None)
    second.partial.emit(CurvePoint(1, 9.0, 0.6))
    qtbot.waitUntil(lambda: context.state.training.points[-1:] == (CurvePoint(1, 9.0, 0.6),))
    second.cancel()
    assert not context.state.training.running
    first.partial.emit(first_point)
    qtbot.waitUntil(lambda: context.state.training.learner == "bdm")
    assert context.state.training.points == (first_point,)
    # Rounds that come together are shown together.
    last = replace(first_point, held_out_accuracy=0.7)
    shown = []
    context.state.on_change(Change.TRAINING, panel, lambda: shown.append(context.state.training.points))
    for point in (last, replace(last, round=2), replace(last, round=3)):
        first.partial.emit(point)
    qtbot.waitUntil(lambda: bool(shown))
    assert shown == [(last, replace(last, round=2), replace(last, round=3))]
    assert "training" in available(context.state)
    first.cancel()
    assert "training" not in available(context.state)


def test_a_training_of_a_closed_library_shows_no_curve(panel, context, jobs, requests):
    panel.train()
    (job,) = jobs.listed
    context.state.set_library(None)
    job.partial.emit(CurvePoint(1, 9.0, 0.6))
    assert context.state.training is None
    job.cancel()


@pytest.mark.parametrize(("patients", "how"), [(True, "by patient"), (False, "by case, patients unknown")])
def test_the_split_is_described(panel, context, patients, how):
    names = [f"P{n}" if patients else None for n in range(CASES)]
    columns = case_columns(range(CASES), list(LIBRARY.columns.ids), ["a", "b"] * 50, names, [0] * CASES)
    context.state.set_library(replace(LIBRARY, columns=columns))
    assert panel.split_label.text() == f"about 70 training, 30 held out {how}"
    panel.split_form.set_values({"held_out": 50})
    assert panel.split_label.text() == f"about 50 training, 50 held out {how}"
    context.state.set_library(None)
    assert panel.split_label.text() == ""


def test_steps_follow_the_chosen_features(panel, context):
    assert panel.steps_box.currentText() == "standardise,pca:200"
    raw = replace(LIBRARY.feature_sets[0], name="numbers", extractor="raw")
    context.state.set_library(replace(LIBRARY, metrics=(), feature_sets=(raw,)))
    assert panel.steps_box.currentText() == "standardise"
    for extractor, settings, steps in (
        ("imported", {"form": "embedding"}, "l2,pca:64"),
        ("imported", {"form": "columns"}, "standardise"),
        ("encoder", {"description": "levels"}, "levels:generalised,l2,pca:64"),
    ):
        one = replace(raw, name=f"{extractor} {steps}", extractor=extractor, settings=settings)
        context.state.set_library(replace(LIBRARY, metrics=(), feature_sets=(one,)))
        assert panel.steps_box.currentText() == steps, "as the commands propose for these settings"


def test_several_feature_sets_are_trained_as_on_the_command_line(panel, context, requests, jobs):
    sets = [
        FeatureSetFacts(name, extractor, 8, CASES, 0)
        for name, extractor in (
            ("shape", "mass"),
            ("gabor", "gabor"),
            ("encoder", "encoder"),
            ("words", "visual_words"),
            ("columns", "raw"),
            ("gabor,encoder", "fusion"),
        )
    ]
    context.state.set_library(replace(LIBRARY, feature_sets=tuple(sets)))
    context.state.set_features("encoder")
    assert panel.further_sets.names == ["shape", "gabor"], (
        "what gives no row of numbers for an image is not offered"
    )
    assert panel.further_sets.isVisible()
    panel.further_sets._boxes["gabor"].click()
    panel.further_sets._boxes["shape"].click()
    assert panel.steps_box.currentText() == "sets"
    assert panel.features() == "shape,gabor,encoder"
    context.state.set_features("gabor")
    assert panel.further_sets.names == ["shape", "encoder"]
    panel.further_sets._boxes["shape"].setChecked(False)
    assert (panel.features(), panel.steps_box.currentText()) == ("gabor", "standardise,pca:200")
    context.state.set_features("gabor,encoder")
    assert panel.further_sets.names == []
    assert panel.features() == "gabor,encoder"
    context.state.set_features("encoder")
    panel.further_sets._boxes["gabor"].click()
    panel.train_button.click()
    jobs.run_pending()
    assert (requests[0].features, requests[0].steps) == ("gabor,encoder", "sets")


def test_local_descriptors_need_a_codebook(panel, context):
    feature_set = replace(LIBRARY.feature_sets[0], name="words", extractor="visual_words")
    context.state.set_library(replace(LIBRARY, metrics=(), feature_sets=(feature_set,)))
    assert panel.steps_box.currentText() == "codebook:200"
    assert not panel.problem_label.text()
    panel.steps_box.setCurrentText("standardise")
    assert "counted first" in panel.problem_label.text()
    assert not panel.train_button.isEnabled()


# Learn from


def set_judgements(context, *judgements: Judgement) -> None:
    entries = tuple(LedgerEntry(number, judgement) for number, judgement in enumerate(judgements))
    context.state.set_query(Query(case="a"))
    context.state.set_ranked_search(RankedSearch(context.state.search, None, entries=entries))


def test_judgements_can_be_learnt_from(qtbot, panel, context, jobs, requests) -> None:
    sources = panel.sources
    assert not sources.judgements.isEnabled()
    set_judgements(
        context, Judgement(JudgementKind.ALIKE, "a", "b"), Judgement(JudgementKind.CLOSER, "a", "b", "c")
    )
    assert sources.judgements.accessibleName() == "Learn from marks, 2 pairs"
    sources.judgements.click()
    panel.train()
    jobs.run_pending()
    assert requests[-1].judgements == context.state.ledger
    assert requests[-1].from_findings


def test_findings_can_be_unticked_only_with_judgements(panel, context, jobs, requests) -> None:
    panel.sources.findings.setChecked(False)
    assert "Nothing to learn from" in problem(panel)
    assert not panel.train_button.isEnabled()
    set_judgements(context, Judgement(JudgementKind.ALIKE, "a", "b"))
    panel.sources.judgements.setChecked(True)
    assert problem(panel) == ""
    panel.train()
    jobs.run_pending()
    assert not requests[-1].from_findings


def test_without_visual_neighbours_the_setting_is_0(panel, jobs, requests) -> None:
    assert panel.chosen_learners() == [DEFAULT_LEARNER]
    assert "about" in panel.sources.visual.accessibleName()
    panel.sources.visual.setChecked(False)
    panel.train()
    jobs.run_pending()
    assert requests[-1].settings["visual_neighbours"] == 0
    panel.set_learners(["lda"])
    assert not panel.sources.visual.isVisible()


def test_a_learner_that_takes_no_judgements_is_reported(panel, context) -> None:
    set_judgements(context, Judgement(JudgementKind.ALIKE, "a", "b"))
    panel.sources.judgements.setChecked(True)
    panel.set_learners(["lda"])
    assert "cannot learn from marks" in problem(panel)


def test_another_search_unticks_judgements(panel, context) -> None:
    set_judgements(context, Judgement(JudgementKind.ALIKE, "a", "b"))
    panel.sources.judgements.setChecked(True)
    context.state.set_ranked_search(None)
    assert panel.sources.ledger == ""
