"""The dialog of outcomes: nothing is claimed of few, and drift is marked."""

from __future__ import annotations

import pytest

from semblance.app.research.outcomes_page import OutcomesPage
from semblance.core.errors import BadInput
from semblance.core.evaluation.outcome_drift import PeriodScore
from semblance.core.workflows.searches import outcomes
from semblance.core.workflows.searches.outcomes import DriftReport
from tests.helpers.scored_snapshots import snapshot
from tests.helpers.widgets import show_widget

ALL = PeriodScore("", 60, 0.6, 0.5, (0.4, 0.6), 0.2, (0.15, 0.25), 0.08, 0.12, 0.2)
DRIFTED = PeriodScore("2026 Q2", 40, 0.7, 0.4, (0.3, 0.5), 0.3, (0.25, 0.35), 0.2, 0.12, 0.001)
FEW = PeriodScore("2026 Q3", 20 - 1)


@pytest.fixture
def asked(monkeypatch):
    asked = {"report": DriftReport(70, 65, 60, "quarter", (ALL, DRIFTED, FEW), 0.18), "periods": []}

    def report(_library, period, reporter=None):
        asked["periods"].append(period)
        if isinstance(asked["report"], Exception):
            raise asked["report"]
        return asked["report"]

    monkeypatch.setattr(outcomes, "drift_report", report)
    return asked


@pytest.fixture
def dialog(qtbot, context, asked):
    context.state.set_library(snapshot())
    dialog = show_widget(qtbot, OutcomesPage(context), 980, 480)
    dialog.load()
    context.jobs.run_pending()
    return dialog


def texts(dialog):
    table = dialog.table
    return [[table.item(r, c).text() for c in range(table.columnCount())] for r in range(table.rowCount())]


def test_periods_have_intervals_and_drift_is_marked(dialog, asked, context):
    whole, drifted, few = texts(dialog)
    assert whole == ["all", "60", "0.60", "0.50 (0.40–0.60)", "0.20 (0.15–0.25)", "0.08 (0.12)", "0.200"]
    assert drifted[3] == "0.40 (0.30–0.50) *"
    assert few[:3] == ["2026 Q3", "19", "too few"]
    assert "60 outcomes were entered for 65 saved searches" in dialog.facts.text()
    assert "held-out cases was 0.18" in dialog.facts.text()
    assert "more than chance" in dialog.facts.text()
    dialog.period.setCurrentIndex(2)
    context.jobs.run_pending()
    assert asked["periods"] == ["quarter", "year"]


def test_nothing_is_claimed_of_few_outcomes(dialog, asked, context):
    asked["report"] = DriftReport(5, 4, 3, "quarter", (PeriodScore("", 3),))
    dialog.load()
    context.jobs.run_pending()
    assert texts(dialog) == []
    assert "Below 20 outcomes nothing is claimed." in dialog.facts.text()


def test_an_error_is_shown_with_its_remedy(dialog, asked, context):
    asked["report"] = BadInput("No.", "Do this.")
    dialog.load()
    context.jobs.run_pending()
    assert dialog.error_line.text == "No. Do this."
