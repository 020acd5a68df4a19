from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from semblance.core.reports.experiment_figures import (
    NamedCurve,
    ScoreInterval,
    critical_difference_figure,
    curves_figure,
    scores_figure,
)
from semblance.core.reports.plot import PlotLayout

RANKS = {
    "bdm": 1.25,
    "lda": 2.0,
    "a learner with a very long name (rounds=5|20|50, margin=0.25)": 3.5,
    "l1": 3.25,
}

PRINT = PlotLayout("print", (640, 0))


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


@pytest.mark.parametrize("theme", ["dark", "light", "print"])
@pytest.mark.parametrize("text_scale", [1.0, 2.0])
def test_nothing_is_cut_at_the_edges(theme, text_scale):
    layout = PlotLayout(theme, (640, 0), text_scale=text_scale)
    many = {f"learner {number}": float(number) for number in range(1, 13)}
    lines = [ScoreInterval(cases, name, 0.5, 0.4, 0.6) for cases in ("a", "b") for name in RANKS]
    for content in (
        critical_difference_figure(
            RANKS,
            1.5,
            [["bdm", "lda"], ["lda", "l1"]],
            replace(layout, title="Average ranks", note="14 tables"),
        ),
        critical_difference_figure({"a": 1.0, "b": 2.0}, 1.13, [], layout),
        critical_difference_figure(many, 4.0, [], layout),
        scores_figure("auc", lines, replace(layout, title="full")),
    ):
        drawn = pixels(content)
        background = drawn[0, 0]
        edges = np.concatenate([drawn[0], drawn[-1], drawn[:, 0], drawn[:, -1]])
        assert (edges == background).all()
        assert (drawn != background).any()


def test_better_ranks_are_on_the_left_and_a_bar_joins_learners_without_a_significant_difference():
    def ink(alike):
        return (pixels(critical_difference_figure(RANKS, 1.0, alike, PRINT)) < 40).all(axis=2)

    assert ink([["bdm", "lda"]]).sum() > ink([]).sum() + 100


def test_only_printed_values_and_the_main_curves_have_the_accent():
    def coloured(content):
        drawn = pixels(content)
        return bool((np.ptp(drawn, axis=2) > 60).any())

    for special in (True, False):
        lines = [
            ScoreInterval("t", "lda", 0.5, 0.4, 0.6),
            ScoreInterval("t", "bdm", 0.7, None, None, printed=special),
        ]
        assert coloured(scores_figure("auc", lines, PRINT)) == special
        # The last curve is not the main one.
        curves = [NamedCurve("bdm", [1, 2], [0.5, 0.6], main=special), NamedCurve("lda", [1, 2], [0.4, 0.5])]
        figure = curves_figure(curves, replace(PRINT, size=(640, 320)), x_label="k", y_label="nDCG")
        assert coloured(figure) == special


def test_equal_input_equal_bytes_in_every_format():
    lines = [ScoreInterval("t", "lda", 0.5, None, None)]
    for form in ("png", "svg", "pdf"):
        layout = replace(PRINT, format=form)
        assert scores_figure("auc", lines, layout) == scores_figure("auc", lines, layout)
        first = critical_difference_figure(RANKS, 1.0, [], layout)
        assert first == critical_difference_figure(RANKS, 1.0, [], layout)


def test_figures_without_data():
    with pytest.raises(ValueError, match="two learners"):
        critical_difference_figure({"a": 1.0}, 1.0, [], PRINT)
    with pytest.raises(ValueError, match="needs one"):
        scores_figure("auc", [], PRINT)
