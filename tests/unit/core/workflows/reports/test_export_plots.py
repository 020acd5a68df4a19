from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from PIL import Image
from pypdf import PdfReader

from semblance.core.engine import Engine
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.reports.curves import ACCURACY, CALIBRATION, KINDS, ROC, TRAINING
from semblance.core.reports.plot import PlotLayout
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.evaluation.scored_metrics import (
    accuracy_curves,
    calibration_curves,
    roc_curves,
    scored_metrics,
    training_curves,
)
from semblance.core.workflows.reports.export_plots import (
    SAVED_RATIO,
    SAVED_SIZE,
    draw,
    export_plots,
    export_scores,
)
from tests.helpers.scored_snapshots import metric, snapshot, with_calibration

METRICS = scored_metrics(
    snapshot(with_calibration(metric("BDM", 0.8)), metric("Euclidean", 0.6, learner="euclidean", rounds=0))
)
PLOTS = {
    ACCURACY: accuracy_curves(METRICS, "BDM"),
    ROC: roc_curves(METRICS, "BDM", "malignant"),
    TRAINING: training_curves(METRICS, "BDM"),
    CALIBRATION: calibration_curves(METRICS, "BDM"),
}
PAGE = PlotLayout("dark", (300, 150))


class Unwanted(Reporter):
    def check_cancelled(self) -> None:
        raise Cancelled


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_draws_the_same_image(kind):
    with Engine(1) as engine:
        assert engine.submit(draw, kind, PLOTS[kind], PAGE).result() == draw(kind, PLOTS[kind], PAGE)


@pytest.mark.parametrize(
    ("kind", "change", "word"),
    [("sundial", {}, "sundial"), (ROC, {"theme": "sepia"}, "sepia"), (ROC, {"format": "bmp"}, "bmp")],
)
def test_what_cannot_be_drawn_is_reported(kind, change, word):
    with pytest.raises(BadArguments, match=word):
        draw(kind, (), replace(PAGE, **change))


def test_an_outdated_drawing_is_not_started():
    with pytest.raises(Cancelled):
        draw(ROC, PLOTS[ROC], PAGE, reporter=Unwanted())


@pytest.mark.parametrize("kind", KINDS)
def test_one_plot_is_written_under_the_name_given(kind, tmp_path):
    files = [tmp_path / f"plot{suffix}" for suffix in (".png", ".svg", ".PDF", ".csv")]
    for file in files:
        file.write_text("what was there before")
        assert export_plots(file, {kind: PLOTS[kind]}, note="30 held-out patients") == [file]
    with Image.open(files[0]) as image:
        assert image.size == tuple(round(side * SAVED_RATIO) for side in SAVED_SIZE)
    assert files[1].read_text().startswith("<?xml")
    assert "30 held-out patients" in PdfReader(files[2]).pages[0].extract_text()
    rows = list(csv.DictReader(io.StringIO(files[3].read_text("utf-8-sig"))))
    assert {row["measured_on"] for row in rows} == {"30 held-out patients"}
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_several_plots_get_names_of_their_own_and_replace_nothing(tmp_path):
    (tmp_path / "mine-roc.csv").write_text("keep")
    files = export_plots(tmp_path / "mine.csv", PLOTS)
    names = ["mine-accuracy.csv", "mine-roc-2.csv", "mine-training.csv", "mine-calibration.csv"]
    assert [file.name for file in files] == names
    assert (tmp_path / "mine-roc.csv").read_text() == "keep"


def test_titles_of_plots_are_on_paper(tmp_path):
    file = tmp_path / "roc.pdf"
    export_plots(file, {ROC: PLOTS[ROC]}, titles={ROC: "ROC, malignant"})
    assert "ROC, malignant" in PdfReader(file).pages[0].extract_text()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(BadArguments, match=r"plot\.docx"):
        export_plots(tmp_path / "plot.docx", PLOTS)
    with pytest.raises(BadArguments, match="no plot"):
        export_plots(tmp_path / "plot.png", {})
    with pytest.raises(SemblanceError, match="gone"):
        export_plots(tmp_path / "gone" / "plot.png", PLOTS)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(SemblanceError, match=r"folder\.csv"):
        export_scores(tmp_path / "folder.csv", "metric\n")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_saving_ends_when_it_is_cancelled(tmp_path):
    with pytest.raises(Cancelled):
        export_plots(tmp_path / "plot.png", PLOTS, reporter=Unwanted())
    assert list(tmp_path.iterdir()) == []
