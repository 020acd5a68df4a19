"""The comparison of encoders: the table before and after it, own encoders, what failed, copying."""

from __future__ import annotations

import csv
import io

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from semblance.app.research.encoders_page import TITLES, EncodersPage
from semblance.core.errors import BadInput
from semblance.core.workflows.evaluation import compare_encoders
from semblance.core.workflows.evaluation.compare_encoders import COMPARED_EXTRACTORS
from tests.helpers.scored_snapshots import snapshot
from tests.helpers.widgets import show_widget

RANDOM = "encoder, random weights"


def encoder(name, accuracy):
    score = {"mean": accuracy, "ci95": [accuracy - 0.05, accuracy + 0.04]}
    scores = {"retrieval_accuracy@10": score, "auc": {"mean": 0.75, "ci95": None}}
    return {"name": name, "n_features": 1280, "results": [{"learner": "euclidean", "scores": scores}]}


def document(*encoders, failed=(), left_out=(), patients="known"):
    return {
        "source": {"n_cases": 200, "patients": patients},
        "seed": 0,
        "repeats": 5,
        "measured_on": "held-out",
        "encoders": list(encoders),
        "comparisons": [
            {
                "a": "encoder",
                "b": one["name"],
                "learner": "euclidean",
                "difference": 0.1,
                "ci95": [-0.02, 0.22],
            }
            | {"p_value": 0.08}
            for one in encoders[1:]
        ],
        "failed": list(failed),
        "left_out": list(left_out),
    }


@pytest.fixture
def requests(monkeypatch):
    """The requests of the comparisons, and what they are answered with."""
    requests, answers = [], [document(encoder("encoder", 0.68), encoder(RANDOM, 0.58))]

    def compare(_library, request, **_):
        requests.append(request)
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    monkeypatch.setattr(compare_encoders, "compare_encoders", compare)
    return requests, answers


@pytest.fixture
def dialog(qtbot, context, requests):
    context.state.set_library(snapshot())
    return show_widget(qtbot, EncodersPage(context), 1080, 500)


def compare(dialog, context):
    dialog.compare_button.click()
    context.jobs.run_pending()


def texts(dialog):
    table = dialog.table
    return [[table.item(row, column).text() for column in range(7)] for row in range(table.rowCount())]


def test_the_encoders_are_listed_before_they_are_measured(dialog):
    assert [row[0] for row in texts(dialog)] == [TITLES[one.name] for one in COMPARED_EXTRACTORS]
    assert {cell for row in texts(dialog) for cell in row[1:]} == {"–"}
    assert not dialog.copy_button.isEnabled()


def test_scores_have_intervals_and_say_on_what_they_were_measured(dialog, context):
    compare(dialog, context)
    first, random = texts(dialog)[:2]
    assert first[1:5] == ["Euclidean", "1,280", "0.680 (0.630–0.720)", "0.750"]
    assert first[5:] == ["–", "–"]
    assert random[5:] == ["−0.100 (−0.220 to +0.020)", "0.080"]
    measured = dialog.table.item(0, 7).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "held-out patients" in measured
    assert "200 cases, 5 random halves" in dialog.facts.text()
    assert not dialog.progress.isVisible()
    assert dialog.compare_button.hasFocus()
    failed = next(row for row in range(dialog.table.rowCount()) if texts(dialog)[row][0] == "Gabor")
    assert not dialog.table.item(failed, 7).data(Qt.ItemDataRole.AccessibleTextRole), "it was not measured"


def test_unknown_patients_are_reported(dialog, context, requests):
    requests[1][0] = document(encoder("encoder", 0.68), patients="unknown")
    compare(dialog, context)
    assert "one patient may be on both sides" in dialog.facts.text()
    assert "unknown patients" in dialog.table.item(0, 7).data(Qt.ItemDataRole.AccessibleTextRole)


def test_the_copy_is_csv_with_names_and_whole_numbers(dialog, context):
    compare(dialog, context)
    dialog.copy_button.click()
    first, random, *_ = csv.DictReader(io.StringIO(QGuiApplication.clipboard().text()))
    assert (first["encoder"], first["learner"], first["cases"]) == ("encoder", "euclidean", "200")
    assert float(first["retrieval_accuracy@10_low"]) == pytest.approx(0.63)
    assert float(random["difference"]) == pytest.approx(-0.1)
    assert float(random["difference_high"]) == pytest.approx(0.02)


def test_an_own_encoder_is_added_with_the_settings_beside_it_and_removed(
    dialog, context, requests, monkeypatch, tmp_path
):
    model = tmp_path / "vit.onnx"
    model.with_suffix(".json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(model), ""))
    compare(dialog, context)
    dialog.add_button.click()
    assert texts(dialog)[-1][0] == "vit"
    assert {row[3] for row in texts(dialog)} == {"–"}
    compare(dialog, context)
    assert requests[0][-1].own == ((model, model.with_suffix(".json")),)
    dialog.table.setCurrentCell(0, 0)
    assert not dialog.remove_button.isEnabled()
    dialog.table.setCurrentCell(dialog.table.rowCount() - 1, 0)
    dialog.remove_button.click()
    assert "vit" not in [row[0] for row in texts(dialog)]


def test_encoders_and_cases_that_failed_are_named_with_the_reason(dialog, context, requests):
    requests[1][0] = document(
        encoder("encoder", 0.68),
        failed=[{"name": "gabor", "reason": "It is broken."}],
        left_out=[{"case_id": "c1", "reason": "It is damaged."}],
    )
    compare(dialog, context)
    assert next(row for row in texts(dialog) if row[0] == "Gabor")[1] == "failed"
    assert "Gabor: It is broken." in dialog.problems.text()
    assert "1 case was left out" in dialog.problems.text()
    assert "It is damaged." in dialog.problems.text()


def test_too_few_cases_are_an_error_whose_details_can_be_copied(dialog, context, requests):
    requests[1][0] = BadInput("There are too few findings.", "Give more.")
    compare(dialog, context)
    assert dialog.empty.isVisible()
    assert dialog.empty.copy_details.isVisible()
    assert dialog.compare_button.isEnabled()


def test_a_cancelled_comparison_can_be_started_again(dialog, context):
    dialog.compare_button.click()
    assert dialog.progress.isVisible()
    assert not dialog.compare_button.isEnabled()
    dialog.progress.cancel_requested.emit()
    assert not dialog.progress.isVisible()
    compare(dialog, context)
    assert texts(dialog)[0][1] == "Euclidean"


def test_a_closed_dialog_says_when_it_is_done_and_another_library_clears_it(dialog, context):
    dialog.compare_button.click()
    dialog.close()
    context.jobs.run_pending()
    assert "Compare encoders" in context.messages.history[-1].hint
    context.state.set_library(None)
    assert {row[3] for row in texts(dialog)} == {"–"}
