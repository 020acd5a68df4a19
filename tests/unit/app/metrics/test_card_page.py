from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QLabel, QPushButton

from semblance.app.metrics.card_page import MetricCardPage, card_document
from semblance.core.library.metric_scores import sealed_card
from semblance.core.reports.card_document import NOT_MEASURED
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.tables import table_library


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    library = table_library(tmp_path_factory.mktemp("cards"))
    for learner, name in (("bdm", "mine"), ("euclidean", "plain")):
        train_metric(library, TrainRequest(learner, name, steps="standardise,mrmr:3"))
    return read_snapshot(library).metrics


@pytest.fixture
def open_dialog(qtbot, metrics):
    def make(save=None):
        dialog = MetricCardPage(metrics[0], metrics, save)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return make


def texts(dialog) -> list[str]:
    return [label.text() for label in dialog.findChildren(QLabel) if label.isVisibleTo(dialog)]


def press(dialog, label: str) -> None:
    next(b for b in dialog.findChildren(QPushButton) if b.text() == label).click()


def test_the_card_shows_scores_and_what_they_were_measured_on(open_dialog):
    dialog = open_dialog()
    lines = dict(dialog.document.lines())
    assert "held-out" in lines["Measured on"]
    assert lines["Learner"].startswith("BDM")
    assert "mrmr" in lines["Steps"]
    assert lines["Selected columns"].count(",") == 2
    assert "Yang et al. 2010" in lines["Paper"]
    visible = {text.replace("\u200b", "") for text in texts(dialog)}
    assert {text for line in dialog.document.lines() for text in line} <= visible
    for title in ("Scores", "Where it fails", "Calibration"):
        assert title in texts(dialog)


def test_the_card_is_copied_as_text(open_dialog):
    press(open_dialog(), "Copy")
    assert QGuiApplication.clipboard().text().startswith("# Metric card: mine\n\n## Metric")


def test_two_metrics_are_compared(open_dialog, qtbot):
    dialog = open_dialog()
    assert "plain" not in texts(dialog)
    dialog.other_metric_box.setCurrentText("plain")
    qtbot.waitUntil(lambda: "plain" in texts(dialog))
    assert "differs" in texts(dialog)
    press(dialog, "Copy")
    assert QGuiApplication.clipboard().text().startswith("|  | mine | plain |  |")
    dialog.other_metric_box.setCurrentIndex(0)
    qtbot.waitUntil(lambda: "differs" not in texts(dialog))


def test_the_card_is_saved_to_the_chosen_file(open_dialog, monkeypatch, tmp_path):
    saved = []
    dialog = open_dialog(lambda *args: saved.append(args))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "card.json"), ""))
    press(dialog, "Save…")
    assert saved == [("mine", tmp_path / "card.json")]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    press(dialog, "Save…")
    assert len(saved) == 1


def with_card(metric, new_scores, **changes):
    """``metric`` with ``new_scores`` and a changed card, as the program would have written it."""
    return replace(metric, card=sealed_card({**metric.card, **changes}, new_scores), scores=new_scores)


def test_an_unscored_metric_has_no_accuracy(metrics):
    unscored = with_card(metrics[0], None, measured_on="", scores={})
    document = card_document(unscored)
    assert dict(document.lines())["Measured on"] == NOT_MEASURED
    assert not [label for label, _ in document.lines() if "accuracy" in label.lower()]


def test_a_damaged_card_shows_the_error(metrics):
    assert "card" in dict(card_document(replace(metrics[0], card={"learner": 3})).lines())["Card"]


def test_the_authors_of_judgements_are_shown_but_not_written(metrics):
    document = card_document(with_card(metrics[0], metrics[0].scores, authors=["ann"]))
    assert dict(document.lines())["Judged by"] == "ann"
    assert "ann" not in str(document.values)


def test_the_card_does_not_scroll_sideways(open_dialog, qtbot):
    dialog = open_dialog()
    qtbot.waitExposed(dialog)
    assert dialog.area.horizontalScrollBar().maximum() == 0
