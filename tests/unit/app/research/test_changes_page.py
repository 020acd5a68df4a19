"""The dialog of changes over time: choosing a change lists those of other patients."""

from __future__ import annotations

from semblance.app.research.changes_page import ChangesPage
from semblance.core.workflows.research import patient_changes
from semblance.core.workflows.research.patient_changes import PatientChange, SimilarChange
from tests.helpers.scored_snapshots import snapshot
from tests.helpers.widgets import show_widget


def _change(patient, row, days=30):
    dates = ("2020-01-01", "2020-01-31")
    return PatientChange(patient, f"{row}", f"{row + 1}", row, row + 1, dates, days, "benign")


def test_the_changes_most_like_the_selected_one_are_listed(qtbot, context, monkeypatch):
    context.state.set_library(snapshot())
    asked = []

    def similar(_library, current, features, reporter=None):
        asked.append((current, features))
        return (
            SimilarChange(_change("C", 5), 1.5, 0.61, 0.4),
            SimilarChange(_change("D", 7), 0.2, 0.3, None),
        )

    listed = (_change("A", 1), _change("B", 3, None))
    monkeypatch.setattr(patient_changes, "patient_changes", lambda _path, reporter=None: listed)
    monkeypatch.setattr(patient_changes, "similar_changes", similar)
    dialog = show_widget(qtbot, ChangesPage(context), 1120, 620)
    context.jobs.run_pending()
    context.jobs.run_pending()
    assert [dialog.changes.item(row, 0).text() for row in range(2)] == ["A", "B"]
    assert dialog.changes.item(1, 4).text() == "–"
    dialog.changes.setCurrentCell(1, 0)
    context.jobs.run_pending()
    assert asked[-1][0] == "4"
    assert [dialog.similar.item(row, 5).text() for row in range(2)] == ["0.40", "–"]
    with qtbot.waitSignal(dialog.case_requested) as shown:
        dialog.similar.entered.emit(1)
    assert shown.args == [8]
