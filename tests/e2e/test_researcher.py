"""A researcher with a table of features: drop it, see how the metric was tested, save the ROC, compare learners by
repeated splits, and export the result. By mouse and keys, in the workspace Research."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from semblance.app.evaluation.panel import ROC_TAB
from semblance.app.research.experiments_page import ExperimentsPage
from semblance.app.screenshot import wait_until_idle
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from tests.helpers.windows import open_window, wait_for

LEFT = Qt.MouseButton.LeftButton
PATIENTS = 90


def write_features(file: Path) -> Path:
    """Two nodules of each patient with 6 features, of which two tell benign from malignant."""
    rng = np.random.default_rng(0)
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["patient", *(f"feature {n}" for n in range(6)), "label"])
        for number in range(2 * PATIENTS):
            is_malignant = number // 2 % 2
            values = rng.normal(size=6)
            values[:2] += 2 * is_malignant
            values[2:] *= 3
            label = "malignant" if is_malignant else "benign"
            writer.writerow([f"P{number // 2:03}", *(f"{value:.4f}" for value in values), label])
    return file


def drop(widget: QWidget, path: Path) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    where, copying = widget.rect().center(), Qt.DropAction.CopyAction
    held = (mime, LEFT, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, QDragEnterEvent(where, copying, *held))
    QApplication.sendEvent(widget, QDropEvent(QPointF(where), copying, *held))


def test_a_table_is_dropped_tested_compared_and_exported(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, plot = write_features(tmp_path / "nodules.csv"), tmp_path / "roc.svg"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(plot), ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    with open_window() as window:
        state: Any = window.state
        panels = window.panels
        drop(window, table)
        wait_for(window, lambda: state.ranking is not None and not window.jobs.active)
        assert state.library.patients == PATIENTS
        assert state.library.feature_sets[0].n_features == 6
        assert set(state.columns.findings) == {"benign", "malignant"}
        learnt = next(metric for metric in state.library.metrics if metric.name == state.metric.name)
        plain = next(metric for metric in state.library.metrics if metric.name == "raw + Euclidean")
        accuracy, plain_accuracy = (one.scores["retrieval_accuracy"]["mean"][9] for one in (learnt, plain))
        assert accuracy >= plain_accuracy
        assert learnt.scores["measured_on"] == HELD_OUT_PATIENTS

        tabs = panels.evaluation.header.tabs
        qtbot.mouseClick(tabs, LEFT, pos=tabs.tabRect(ROC_TAB).center())
        wait_until_idle(window)
        assert tabs.currentIndex() == ROC_TAB
        panels.evaluation.save_plot()
        wait_for(window, plot.exists)
        text = plot.read_text(encoding="utf-8")
        assert learnt.name in text
        assert "AUC" in text

        window.context.settings.set_text("experiments_folder", str(tmp_path / "experiments"))
        window.context.actions["experiments"].trigger()
        dialog: Any = window.findChild(ExperimentsPage)
        form = dialog.form
        assert form.cases.ticked() == (f"library:{state.location}:raw",)
        form.learners.tick(["rca", "euclidean"])
        form.numbers.set_values({"repeats": 2})
        qtbot.mouseClick(dialog.run_button, LEFT)
        wait_for(window, lambda: dialog.document.get("complete"))
        dialog.export(tmp_path / "export")
        wait_for(window, (tmp_path / "export" / "scores.csv").exists)
        scores = (tmp_path / "export" / "scores.csv").read_text(encoding="utf-8")
        rows = list(csv.DictReader(scores.splitlines()))
        assert {row["learner"] for row in rows} == {"rca", "euclidean"}
        dialog.close()
