from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QPushButton

from semblance.app.evaluation.panel import (
    ACCURACY_TAB,
    CALIBRATION_TAB,
    OVERVIEW,
    ROC_TAB,
    TABLE,
    TRAINING_TAB,
    EvaluationPanel,
)
from semblance.app.evaluation.score_table import FULL
from semblance.app.shell.edit_operations import EDIT_TOPIC
from semblance.app.shell.jobs import Jobs
from semblance.app.shell.state import TrainingRun
from semblance.core.evaluation.evaluate_metric import HELD_OUT_CASES
from semblance.core.reports.curves import ACCURACY, ROC, TRAINING
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation import hardest_queries as hardest_module
from semblance.core.workflows.evaluation.hardest_queries import HardestQueries
from semblance.core.workflows.metrics import score_metric
from semblance.core.workflows.metrics.training_curve import CurvePoint
from semblance.core.workflows.searches import rank_cases
from tests.helpers.contexts import make_context
from tests.helpers.scored_snapshots import metric, snapshot, with_calibration
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
LIBRARY = snapshot(
    metric("plain", 0.6, learner="euclidean", rounds=0),
    metric("outdated", 0.9, n_test=20),
    metric("new", 0.8),
)
COLUMN = {column.key: index for index, column in enumerate(FULL)}


@pytest.fixture
def panel(qtbot, context):
    return show_widget(qtbot, EvaluationPanel(context), 1440, 220)


def labels(panel) -> dict[str, list[str]]:
    overview = panel.overview
    return {
        "accuracy": [curve.label for curve in overview.accuracy.view.curves],
        "roc": [curve.label for curve in overview.roc.view.curves],
        "table": overview.table.names(),
    }


def read(path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))


def click(qtbot, table, row: int) -> None:
    index = table.visualRect(table.model().index(row, 0)).center()
    qtbot.mouseClick(table.viewport(), LEFT, pos=index)


def test_the_empty_panel_shows_the_next_step(panel, context, qtbot):
    empty = panel.empty
    assert empty.isVisible()
    context.state.set_library(replace(LIBRARY, metrics=(), feature_sets=()))
    with qtbot.waitSignal(panel.extract_requested):
        qtbot.mouseClick(empty.findChild(QPushButton), LEFT)
    context.state.set_library(replace(LIBRARY, metrics=()))
    with qtbot.waitSignal(panel.train_requested):
        qtbot.mouseClick(empty.findChild(QPushButton), LEFT)
    context.state.set_library(LIBRARY)
    assert not empty.isVisible()
    assert panel.overview.isVisible()


def test_the_overview_shows_the_current_metric_beside_the_others(panel, context):
    context.state.set_library(LIBRARY)
    assert labels(panel) == {
        "accuracy": ["new", "plain"],
        "roc": ["new", "plain"],
        "table": ["new", "plain", "outdated"],
    }
    overview = panel.overview
    assert [curve.current for curve in overview.accuracy.view.curves] == [True, False]
    assert max(overview.accuracy.view.curves[0].k) == 20
    assert max(panel.accuracy.view.curves[0].k) == 50
    assert overview.roc._title.text() == "ROC, malignant against the rest"
    titles = [overview.table.horizontalHeaderItem(column).text() for column in range(4)]
    assert titles[1:] == ["accuracy @10", "chance", "mean AUC"]
    mean_auc = panel._metrics[0].scores.mean_auc
    assert overview.table.item(0, 3).text() == f"{mean_auc:.2f}"
    assert overview.accuracy.badge.kind == overview.metrics.badge.kind == "held-out"
    assert panel.header._subtitle.text() == "30 % held out by patient, seed 7"
    assert overview.curve.title == "Training new"


def test_the_badge_shows_the_least_trusted_split(panel, context):
    context.state.set_library(
        snapshot(metric("known", 0.8), metric("unknown patients", 0.7, measured_on=HELD_OUT_CASES))
    )
    assert panel.overview.accuracy.badge.kind == "unknown"
    assert panel.overview.accuracy.badge.text == "unknown patients"


def test_a_stale_metric_can_be_evaluated_again(panel, context, jobs, qtbot, monkeypatch):
    requests = []

    def evaluate(*args, **_options):
        requests.append(args)
        return {"n_test": 1200}

    monkeypatch.setattr(score_metric, "score_metric", evaluate)
    context.state.set_library(LIBRARY)
    context.messages.info("2 metrics are out of date now.", topic=EDIT_TOPIC)
    assert not panel.evaluate_again_button.isVisible()
    context.state.set_metric("outdated")
    assert panel.overview.accuracy.badge.kind == "stale"
    assert panel.overview.accuracy.view.curves[0].stale
    assert panel.overview.metrics.badge.kind == "held-out"
    jobs.pending.clear()
    qtbot.mouseClick(panel.evaluate_again_button, LEFT)
    assert not panel.score_button.isEnabled()
    assert not panel.evaluate_again_button.isVisible()
    jobs.pending[0].run()
    qtbot.waitUntil(panel.score_button.isEnabled)
    assert requests == [(LIBRARY.location, "outdated")]
    # It takes the place of the message that the metric is out of date.
    message = context.messages.history[-1]
    assert message.what == "outdated was evaluated again on 1,200 held-out cases."
    assert message.topic == EDIT_TOPIC


def test_a_metric_trained_on_all_cases_cannot_be_evaluated(panel, context):
    context.state.set_library(snapshot(metric("alike", None, learner="euclidean", card={"split": None})))
    context.state.set_metric("alike")
    assert not panel.evaluate_again_button.isVisible()
    assert not panel.score_button.isEnabled()
    assert panel.header._subtitle.text() == "not tested: trained on all cases"
    item = panel.table.item(0, 0)
    assert item.data(Qt.ItemDataRole.AccessibleTextRole) == "alike, the current metric, not tested"
    assert item.toolTip().startswith("The metric was trained on all cases")


def test_a_read_only_library_is_not_evaluated(panel, context):
    context.state.set_library(replace(LIBRARY, writable=False))
    assert not panel.score_button.isEnabled()
    assert panel.save_button.isEnabled()


def test_a_plot_shows_the_hardest_queries(panel, context, jobs, qtbot, monkeypatch):
    requests = []

    def hardest(library, metric, finding="", **_more):
        requests.append((metric, finding))
        return HardestQueries((7, 3), (0.1, 0.2), 10, 24, 24)

    monkeypatch.setattr(hardest_module, "hardest_queries", hardest)
    context.state.set_library(snapshot(metric("good", 0.9)))
    qtbot.mouseClick(panel.overview.accuracy.view, Qt.MouseButton.LeftButton)
    jobs.run_pending()
    assert context.state.selected_rows.tolist() == [3, 7]
    qtbot.keyClick(panel.overview.roc.view, Qt.Key.Key_Return)
    jobs.run_pending()
    assert requests == [("good", ""), ("good", panel._finding)]
    assert panel._finding
    assert "2 hardest of 24" in context.messages.history[-1].what
    assert panel.overview.roc.view.menu().actions()[0].text() == "Show this finding's hardest queries"


def test_a_metric_without_scores_stays_in_the_table(panel, context):
    context.state.set_library(snapshot(metric("bare", None)))
    assert labels(panel) == {"accuracy": [], "roc": [], "table": ["bare"]}
    assert not panel.save_button.isEnabled()
    assert panel.evaluate_again_button.isVisible()
    assert not panel.overview.accuracy.badge.isVisible()
    panel.save_plot()
    assert "no plot to save" in context.messages.history[-1].what


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_metric_chosen_in_a_table_becomes_current(panel, context, jobs, qtbot, monkeypatch, by):
    ranked = []
    monkeypatch.setattr(rank_cases, "rank_cases", lambda _library, search, **_: ranked.append(search.metric))
    context.state.set_library(LIBRARY)
    context.state.set_query(Query(case="c001"))
    jobs.pending.clear()
    table = panel.overview.table
    if by == "mouse":
        click(qtbot, table, 1)
    else:
        table.setFocus()
        qtbot.keyClick(table, Qt.Key.Key_Down)
        qtbot.keyClick(table, Qt.Key.Key_Return)
    assert context.state.metric.name == "plain"
    assert labels(panel)["accuracy"] == ["plain", "new"]
    jobs.pending[0].run()
    assert ranked == ["plain"]
    click(qtbot, table, 1)
    assert ranked == ["plain"]


def test_the_table_shows_and_sorts_scores(panel, context, qtbot):
    context.state.set_library(LIBRARY)
    panel.header.tabs.setCurrentIndex(TABLE)
    table = panel.table
    row = table.names().index("new")
    cells = {key: table.item(row, index).text() for key, index in COLUMN.items()}
    assert cells["@1"] == "0.80 (0.75–0.84)"
    assert cells["@10"] == "0.78 (0.73–0.82)"
    assert (cells["n_train"], cells["n_test"], cells["seed"]) == ("70", "30", "7")
    assert cells["measured"] == "held-out patients"
    table.sortByColumn(COLUMN["@10"], Qt.SortOrder.AscendingOrder)
    assert table.names() == ["plain", "new", "outdated"]
    table.sortByColumn(COLUMN["@10"], Qt.SortOrder.DescendingOrder)
    assert table.names() == ["outdated", "new", "plain"]
    click(qtbot, table, 2)
    assert context.state.metric.name == "plain"
    assert table.names() == ["outdated", "new", "plain"]
    text = table.item(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert text == "outdated, stale: evaluate it again"


def test_the_finding_of_the_roc_curve_is_chosen(panel, context, qtbot):
    context.state.set_library(LIBRARY)
    panel.header.tabs.setCurrentIndex(ROC_TAB)
    assert not panel.finding_box.isVisible()
    names = ("benign", "cyst", "malignant")
    context.state.set_library(snapshot(metric("m", 0.8, findings=names), findings=names))
    assert panel.finding_box.isVisible()
    assert panel.finding_box.currentText() == "malignant"
    qtbot.keyClick(panel.finding_box, Qt.Key.Key_End)
    panel.finding_box.activated.emit(panel.finding_box.currentIndex())
    assert panel.overview.roc._title.text() == "ROC, cyst against the rest"


def test_the_bins_are_read_in_a_narrow_panel(panel, context, qtbot):
    context.state.set_library(snapshot(with_calibration(metric("new", 0.8))))
    panel.header.tabs.setCurrentIndex(CALIBRATION_TAB)
    for width, below in ((1440, False), (420, True)):
        panel.resize(width, 500)
        page = panel.calibration
        qtbot.waitUntil(lambda page=page, below=below: (page.bins.y() > page.plot.y()) == below)
    bins = page.bins
    needed = [bins.sizeHintForColumn(column) for column in range(bins.columnCount())]
    assert all(bins.columnWidth(column) >= width for column, width in enumerate(needed))


def test_a_narrow_table_keeps_the_names(panel, context):
    names = ("encoder + BDM+V", "encoder + Euclidean")
    context.state.set_library(snapshot(*(metric(name, 0.8) for name in names)))
    panel.header.tabs.setCurrentIndex(TABLE)
    panel.resize(500, 300)
    assert panel.table.columnWidth(0) > panel.table.fontMetrics().horizontalAdvance(names[1])


def test_a_narrow_panel_hides_the_table(panel, context, qtbot):
    context.state.set_library(LIBRARY)
    assert panel.overview.has_table
    assert not panel.overview.accuracy.view._named
    panel.resize(1100, 220)
    qtbot.waitUntil(lambda: not panel.overview.has_table)
    assert panel.overview.accuracy.view._named
    panel.resize(1300, 220)
    qtbot.waitUntil(lambda: panel.overview.has_table)


def test_the_first_training_shows_its_curve(panel, context, qtbot):
    context.state.set_library(replace(LIBRARY, metrics=()))
    assert panel.empty.isVisible()
    context.state.set_training(TrainingRun("first", "bdm", 10, (CurvePoint(1, 2.0, 0.5),)))
    assert panel.overview.isVisible()
    qtbot.waitUntil(lambda: panel.overview.curve.note == "round 1 of 10")
    context.state.set_library(LIBRARY)
    assert panel.overview.curve.title == "Training new"


@pytest.mark.parametrize(
    ("tab", "kinds"),
    [
        (OVERVIEW, [ACCURACY, ROC, TRAINING]),
        (ACCURACY_TAB, [ACCURACY]),
        (ROC_TAB, [ROC]),
        (TRAINING_TAB, [TRAINING]),
    ],
)
def test_the_plots_of_the_tab_are_saved(panel, context, jobs, monkeypatch, tmp_path, tab, kinds):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "p.csv"), ""))
    context.state.set_library(LIBRARY)
    panel.header.tabs.setCurrentIndex(tab)
    panel.save_plot()
    jobs.run_pending()
    files = sorted(path.name for path in tmp_path.iterdir())
    assert len(files) == len(kinds)
    rows = read(tmp_path / files[0])
    assert {row["measured_on"] for row in rows} == {"30 cases of held-out patients"}
    assert files[0] in context.messages.history[-1].what


def test_the_table_is_saved_as_numbers(panel, context, jobs, monkeypatch, tmp_path):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "t.csv"), ""))
    context.state.set_library(LIBRARY)
    panel.header.tabs.setCurrentIndex(TABLE)
    panel.save_plot()
    jobs.run_pending()
    rows = read(tmp_path / "t.csv")
    assert [row["metric"] for row in rows] == ["new", "plain", "outdated"]


def test_another_library_clears_the_panel(panel, context):
    context.state.set_library(LIBRARY)
    context.state.set_library(snapshot(metric("other", 0.7)))
    assert labels(panel)["table"] == ["other"]
    context.state.set_library(None)
    assert labels(panel) == {"accuracy": [], "roc": [], "table": []}
    assert panel.empty.isVisible()
    assert panel.header._subtitle.text() == ""


def test_plots_are_drawn_in_the_worker_process(qtbot):
    jobs = Jobs()
    context = make_context(jobs)
    panel = show_widget(qtbot, EvaluationPanel(context), 1440, 220)
    context.state.set_library(LIBRARY)
    views = [panel.overview.accuracy.view, panel.overview.roc.view]
    qtbot.waitUntil(lambda: all(not view.image().isNull() for view in views))
    assert context.messages.history == []
    jobs.shutdown()
    jobs.deleteLater()


def test_a_bin_of_the_calibration_shows_its_cases(panel, context, qtbot):
    context.state.set_library(snapshot(with_calibration(metric("sure", 0.8))))
    panel.header.tabs.setCurrentIndex(CALIBRATION_TAB)
    page = panel.calibration
    assert page.bins.isVisible()
    assert page.plot.badge.kind == "held-out"
    calibration = panel._current_metric.calibration
    assert page.bins.rowCount() == len(calibration.bins)
    assert page.bins.item(0, 1).text() == str(calibration.bins[0].n)
    assert "calibration error" in page.plot.view.accessibleDescription()
    qtbot.mouseClick(page.bins.viewport(), LEFT, pos=page.bins.visualItemRect(page.bins.item(1, 0)).center())
    assert context.state.selected_rows.tolist() == sorted(calibration.rows_of_bin(1))
    qtbot.keyClick(page.bins, Qt.Key.Key_Home)
    page.bins.setCurrentCell(0, 0)
    qtbot.keyClick(page.bins, Qt.Key.Key_Return)
    assert context.state.selected_rows.tolist() == sorted(calibration.rows_of_bin(0))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (
            replace(metric("few", 0.8), scores={**metric("few", 0.8).scores, "calibration": None}),
            "At least 20",
        ),
        (metric("never", None), "Press Evaluate again"),
    ],
)
def test_a_missing_calibration_is_explained(panel, context, facts, expected):
    context.state.set_library(snapshot(facts))
    panel.header.tabs.setCurrentIndex(CALIBRATION_TAB)
    text = " ".join(label.text() for label in panel.calibration.findChildren(QLabel) if label.isVisible())
    assert "Not calibrated" in text
    assert expected in text


def test_a_metric_without_scores_is_not_tested_rather_than_stale(panel, context):
    untested = replace(metric("imported", 0.8), scores=None)
    context.state.set_library(snapshot(metric("plain", 0.6, learner="euclidean", rounds=0), untested))
    context.state.set_metric("imported")
    panel.header.tabs.setCurrentIndex(TABLE)
    row = panel.table.names().index("imported")
    assert "not tested" in panel.table.item(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    panel.header.tabs.setCurrentIndex(CALIBRATION_TAB)
    assert any("Press Evaluate again" in label.text() for label in panel.calibration.findChildren(QLabel))
    panel.header.tabs.setCurrentIndex(TRAINING_TAB)
    assert not any("was not trained in rounds" in label.text() for label in panel.findChildren(QLabel))
