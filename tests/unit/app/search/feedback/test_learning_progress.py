"""The curve of clicks: what it holds, says and draws."""

from __future__ import annotations

import pytest

from semblance.app.search.feedback.learning_progress import LearningCurve
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore
from tests.helpers.widgets import show_widget


def score(accuracy: float) -> HeldOutScore:
    return HeldOutScore(accuracy, (accuracy - 0.05, accuracy + 0.05), 0.6, 80, "held-out patients")


@pytest.fixture
def curve(qtbot) -> LearningCurve:
    return show_widget(qtbot, LearningCurve(), 280, 190)


def test_curve_describes_its_last_point(curve) -> None:
    empty = curve.grab().toImage()
    curve.add(2, score(0.62))
    one = curve.grab().toImage()
    curve.add(4, score(0.7))
    assert sorted(curve.points) == [2, 4]
    assert "0.70 (0.65–0.75) after 4 judgements, 0.60 before any" in curve.accessibleDescription()
    assert curve.grab().toImage() != one != empty


def test_undone_judgements_remove_points(curve) -> None:
    for judged in (2, 4, 6):
        curve.add(judged, score(0.6 + judged / 100))
    curve.add(4, score(0.64))
    assert sorted(curve.points) == [2, 4]


def test_empty_curve_shows_the_reason(curve) -> None:
    curve.add(2, score(0.62))
    curve.clear("Nothing is held out.")
    assert not curve.points
    assert curve.accessibleDescription() == "Nothing is held out."
