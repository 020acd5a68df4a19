"""Figures of notebooks are Matplotlib's, without pyplot, and have the numbers they say."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from PIL import Image

from semblance.core.evaluation.intervals import over_repeats
from semblance.core.evaluation.result import (
    EvaluationResult,
    FitSeconds,
    LearnerResult,
    ScoreCurve,
    SplitFacts,
)
from semblance.core.evaluation.roc import Roc
from semblance.core.reports.document import ReportDocument, ReportedCase, ReportedQuery
from semblance.core.reports.figures import MapDrawing
from semblance.display import ShownCase, ShownRanking
from semblance.figures import map_figure, ranking_figure, roc_data, roc_figure, scores_figure


def learner(name, accuracy):
    summary = over_repeats([accuracy - 0.01, accuracy + 0.01])
    curve = ScoreCurve((1, 10), (0.9, accuracy), (0.02, 0.0141))
    roc = Roc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 1.0]))
    scores = {"retrieval_accuracy@10": summary, "auc:malignant": over_repeats([0.75, 0.75])}
    return LearnerResult(
        name, {}, "", scores, {"retrieval_accuracy": curve}, {"malignant": roc}, FitSeconds(0, 0, 0)
    )


def result(*learners, compared=("retrieval_accuracy@10",)):
    split = SplitFacts("half", True, 10, 10)
    return EvaluationResult("bdm", {}, 0, 2, split, learners, (), (), compared, {})


def pixels(figure):
    data, size = figure._repr_png_()
    image = Image.open(io.BytesIO(data)).convert("RGB")
    # Twice as many pixels as it is shown with.
    assert image.size == (2 * size["width"], 2 * size["height"])
    return np.asarray(image)


def test_the_area_of_a_roc_is_that_of_the_scores_and_its_plot_needs_no_pyplot():
    data = roc_data(learner("lda", 0.8), "malignant", "held-out")
    assert data.auc == 0.75
    assert data.fpr.tolist() == [0.0, 0.5, 1.0]
    assert repr(data) == "<ROC of 'malignant' by 'lda': AUC 0.75 (0.75–0.75), 3 points>"
    assert pixels(data.plot()).std() > 0
    assert pixels(roc_figure([data, data], theme="dark")).mean() < 80
    assert "matplotlib.pyplot" not in sys.modules or sys.modules["matplotlib.pyplot"].get_fignums() == []


def test_scores_are_drawn_as_curves_or_where_there_are_none_as_points(tmp_path):
    figure = scores_figure(result(learner("euclidean", 0.7), learner("lda", 0.8)))
    lines = [list(line.get_ydata()) for line in figure.axes[0].lines]
    assert [0.9, 0.7] in lines and [0.9, 0.8] in lines
    figure.savefig(tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
    plain = learner("pa", 0.6)
    plain.curves.clear()
    assert pixels(scores_figure(result(plain))).std() > 0


@pytest.mark.parametrize("with_images", [True, False])
def test_a_ranking_is_a_grid_of_images_or_bars_of_distances(with_images):
    rows = tuple(ReportedCase(rank, rank, f"c{rank}", rank / 2, "benign", None, "") for rank in (1, 2, 3))
    document = ReportDocument("", "", "", "m", ReportedQuery("q"), rows)
    image = np.full((20, 30), 200, dtype=np.uint8) if with_images else None
    frame = (0.25, 0.25, 0.5, 0.75)
    shown = ShownRanking(document, tuple(ShownCase(row, image, "", frame) for row in document.ranking), image)
    figure = ranking_figure(shown, columns=2)
    assert len(figure.axes) == (4 if with_images else 1)
    texts = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert ("benign" in texts) == with_images
    assert "c1" not in texts and pixels(figure).std() > 0


def test_a_map_has_a_mark_for_each_case():
    places = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    figure = map_figure(MapDrawing(places, np.zeros(9, dtype=np.int16), ("benign",), "Map"))
    assert sum(len(line.get_xdata()) for line in figure.axes[0].lines) == 9
