from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor

from semblance.app.shell.state import TrainingRun
from semblance.app.shell.theme import DARK, LIGHT, set_theme
from semblance.app.widgets.plots.live_curve import REDRAW_MS, LiveCurve, thin_out
from semblance.core.reports.curves import TrainingCurve
from semblance.core.workflows.metrics.training_curve import CurvePoint
from tests.helpers.widgets import finish_delayed_calls, show_widget

STORED = TrainingCurve("BDM 0.1", (1, 2, 3), (4.0, 2.0, 1.0), (0.5, None, 0.7), current=True)


def points(n: int) -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(r, 30 * 0.99**r, 0.9 - 0.3 * 0.98**r if r % 3 == 1 else None) for r in range(1, n + 1)
    )


@pytest.fixture
def curve(qtbot, context):
    return show_widget(qtbot, LiveCurve(context), 360, 166)


@pytest.fixture
def drawings(curve, monkeypatch):
    """The courses drawn, one after the other."""
    curves = []
    draw = curve.plot.show_curve

    def note(course, words=""):
        curves.append(course)
        draw(course, words)

    monkeypatch.setattr(curve.plot, "show_curve", note)
    return curves


def has_colour(widget, colour: str) -> bool:
    image, expected = widget.grab().toImage(), QColor(colour).rgb()
    return any(image.pixel(x, y) == expected for x in range(image.width()) for y in range(image.height()))


def test_it_grows_with_the_training(curve, drawings, context, qtbot):
    context.state.set_training(TrainingRun("BDM 0.4", "bdm", 200, points(10)))
    qtbot.waitUntil(lambda: bool(drawings))
    assert (curve.title, curve.note) == ("Training BDM 0.4", "round 10 of 200")
    assert drawings[-1].last == 200
    assert drawings[-1].objective[0] == 1.0
    assert drawings[-1].measured.tolist() == [1, 4, 7, 10]
    context.state.set_training(TrainingRun("BDM 0.4", "bdm", 200, points(40)))
    qtbot.waitUntil(lambda: len(drawings[-1].rounds) == 40)
    assert drawings[-1].best == len(drawings[-1].accuracy) - 1
    assert has_colour(curve, DARK.accent)


def test_however_fast_points_come_it_is_drawn_at_most_fifteen_times_a_second(curve, drawings, context, qtbot):
    assert 1000 / REDRAW_MS <= 15
    every = points(300)
    for n in range(1, 301):
        context.state.set_training(TrainingRun("fast", "bdm", 300, every[:n]))
    assert not drawings
    qtbot.waitUntil(lambda: bool(drawings))
    assert len(drawings) == 1
    assert len(drawings[0].rounds) == 300


def test_the_end_is_drawn_at_once_and_emitted(curve, drawings, context):
    context.state.set_training(TrainingRun("BDM 0.4", "bdm", 200, points(50), running=False))
    assert drawings[-1].last == 50
    assert curve.accessibleName() == "Training BDM 0.4"
    assert "round 50 of 200, best held-out accuracy 0.7" in curve.accessibleDescription()


def test_another_training_of_the_same_name_starts_again(curve, drawings, context, qtbot):
    context.state.set_training(TrainingRun("again", "bdm", None, points(30), running=False))
    context.state.set_training(TrainingRun("again", "bdm", None, points(40), running=False))
    assert drawings[-1].rounds.tolist() == list(range(1, 41))


def test_without_a_number_of_rounds_the_axis_grows_in_steps(curve, drawings, context, qtbot):
    for n, end in ((3, 20), (19, 40), (30, 40)):
        context.state.set_training(TrainingRun("open", "bdm", None, points(n)))
        qtbot.waitUntil(lambda n=n: bool(drawings) and len(drawings[-1].rounds) == n)
        assert drawings[-1].last == end
        assert curve.note == f"round {n}"


def test_while_nothing_trains_the_stored_curve_is_shown(curve, drawings, context):
    curve.set_stored(STORED)
    assert (curve.title, curve.note) == ("Training BDM 0.1", "3 rounds")
    assert drawings[-1].measured.tolist() == [1, 3]
    assert "best held-out accuracy 0.70 in round 3" in curve.accessibleDescription()
    context.state.set_training(TrainingRun("BDM 0.4", "bdm", 200, points(5)))
    assert curve.shown_run is not None
    context.state.set_training(TrainingRun("BDM 0.4", "bdm", 200, points(5), running=False))
    assert curve.shown_run is None
    assert curve.title == "Training BDM 0.1"


def test_it_says_why_there_is_no_curve(curve, drawings, context):
    curve.set_stored(None, "Euclidean was not trained in rounds.")
    assert drawings[-1] is None
    assert has_colour(curve, DARK.third)
    context.state.set_training(TrainingRun("stopped", "bdm", 9, (), running=False))
    assert drawings[-1] is None
    assert curve.note == ""


@pytest.mark.parametrize(
    "bad", [CurvePoint(1, float("nan"), None), CurvePoint(1, -3.0, 1.0), CurvePoint(1, float("inf"), 0.0)]
)
def test_odd_points_are_drawn(curve, context, bad):
    context.state.set_training(TrainingRun("odd", "bdm", 1, (bad,), running=False))
    assert not curve.grab().isNull()


def test_hidden_it_does_not_draw(curve, drawings, context, qtbot):
    curve.hide()
    context.state.set_training(TrainingRun("BDM 0.4", "bdm", 200, points(5)))
    finish_delayed_calls(qtbot, curve)
    assert not drawings
    curve.show()
    assert len(drawings) == 1


def test_the_theme_is_followed(curve, context, qapp):
    context.state.set_training(TrainingRun("BDM 0.4", "bdm", 50, points(50), running=False))
    assert has_colour(curve, DARK.accent)
    set_theme(qapp, "light")
    assert has_colour(curve, LIGHT.accent)
    assert not has_colour(curve, DARK.accent)


def test_points_beyond_the_pixels_are_left_out_on_the_way_to_the_screen(curve, context):
    context.state.set_training(TrainingRun("long", "bdm", 5000, points(5000), running=False))
    x, _ = curve.plot._objective.getData()
    assert len(x) <= curve.width() + 2


@given(st.integers(1, 3000), st.integers(64, 500), st.integers(0, 99))
def test_thinning_keeps_ends_and_extremes(n, most, seed):
    x = np.arange(n, dtype=np.float64)
    y = np.random.default_rng(seed).normal(size=n)
    few_x, few_y = thin_out(x, y, most)
    assert len(few_x) <= max(most + 2, 2)
    assert (np.diff(few_x) > 0).all()
    assert {0.0, n - 1.0} <= set(few_x.tolist())
    whole = n if n <= most else n // int(np.ceil(2 * n / most)) * int(np.ceil(2 * n / most))
    assert few_y.max() >= y[:whole].max()
    assert few_y.min() <= y[:whole].min()
    np.testing.assert_array_equal(few_y, y[few_x.astype(int)])
