from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton

from app.dialogs.metric_card import NOT_MEASURED, MetricCardDialog, metric_lines
from core.workflows.opening import publish
from core.workflows.training import TrainRequest, train_metric
from tests.helpers.tables import table_library


def trained(tmp_path, learner="bdm", **request):
    library = table_library(tmp_path)
    train_metric(library, TrainRequest(learner, "mine", steps="standardise,mrmr:3", **request))
    return publish(library).metrics[0]


def test_the_card_says_what_was_measured_on_what(qtbot, tmp_path):
    metric = trained(tmp_path)
    dialog = MetricCardDialog(metric)
    qtbot.addWidget(dialog)
    lines = dict(dialog.lines)
    assert "held-out" in lines["Measured on"]
    assert lines["Learner"].startswith("BDM")
    assert "mrmr" in lines["Steps"]
    assert lines["Selected columns"].count(",") == 2
    assert "Retrieval accuracy @10" in lines
    assert "Yang et al. 2010" in lines["Paper"]
    shown = {label.text() for label in dialog.findChildren(QLabel)}
    assert {word for line in dialog.lines for word in line} <= shown


def test_it_is_copied_as_text(qtbot, tmp_path):
    dialog = MetricCardDialog(trained(tmp_path))
    qtbot.addWidget(dialog)
    next(b for b in dialog.findChildren(QPushButton) if b.text() == "Copy").click()
    assert QGuiApplication.clipboard().text().startswith("Metric: mine\nMeasured on: held-out")


def test_an_unscored_metric_claims_nothing(tmp_path):
    metric = trained(tmp_path)
    card = {**metric.card, "measured_on": "", "scores": {}}
    lines = dict(metric_lines(type(metric)(**{**vars(metric), "card": card})))
    assert lines["Measured on"] == NOT_MEASURED
    assert "Retrieval accuracy @10" not in lines


def test_a_damaged_card_says_so(tmp_path):
    metric = trained(tmp_path)
    lines = metric_lines(type(metric)(**{**vars(metric), "card": {"learner": 3}}))
    assert "card" in dict(lines)["Card"]
