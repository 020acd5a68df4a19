from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.metrics.metric_exchange import export_metric, import_metric
from semblance.core.workflows.metrics.refit_metric import refit_metric
from semblance.core.workflows.metrics.slider import prepare_slider
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements, save_refined
from tests.helpers.tables import PLAIN, table_library

NOTHING = np.empty(0, dtype=np.int64)


@pytest.mark.parametrize(
    "request_",
    [
        TrainRequest("lda", "metric", steps="standardise,pca:3", seed=3),
        TrainRequest("bdm_v", "metric", settings={"rounds": 12, "training_cases": 50}, max_cases=90, seed=2),
        TrainRequest("nca", "metric", findings="kind 0,kind 1=low;kind 2=high"),
        TrainRequest("itml", "metric", judgements="mine", from_findings=False, held_out=0.5, seed=1),
    ],
    ids=["steps and seed", "samples", "merged findings", "judgements alone"],
)
def test_a_metric_trained_again_on_the_same_cases_is_the_same(tmp_path, request_):
    library = table_library(tmp_path, n=120, findings=3, metrics=(PLAIN,))
    search = Search("plain", Query("t/c4"), "mine")
    add_judgements(
        library, search, [likeness_judgement(search, f"t/c{n}", n % 3 == 0) for n in range(20, 60)]
    )
    train_metric(library, request_)
    with Library.open(library, writable=True) as opened:
        record = opened.metric("metric")
        again = refit_metric(opened, record, NOTHING)
        assert again.metric.card.content_hash == record.card["content_hash"]
        assert again.training.tolist() == sorted(record.training.tolist())
        assert again.calibration.to_json() == record.scores["calibration"]


def test_a_step_of_a_slider_is_trained_again_at_its_place(tmp_path):
    library = table_library(tmp_path, n=80)
    slider = prepare_slider(library, TrainRequest("", "slider", settings={"rounds": 5}))
    with Library.open(library) as opened:
        for step in slider.steps[::2]:
            record = opened.metric(step.metric)
            assert (
                refit_metric(opened, record, NOTHING).metric.card.content_hash == record.card["content_hash"]
            )


def test_cases_left_out_have_no_part_in_it(tmp_path):
    library = table_library(tmp_path, n=80, metrics=(TrainRequest("lda", "metric"),))
    with Library.open(library) as opened:
        record = opened.metric("metric")
        without = refit_metric(opened, record, record.training[:2])
    assert without.training.tolist() == sorted(record.training[2:].tolist())
    assert without.metric.card.n_cases == len(record.training) - 2
    assert without.metric.card.content_hash != record.card["content_hash"]


def test_a_metric_of_another_library_cannot_be_trained_again(tmp_path):
    library = table_library(tmp_path, n=80, metrics=(TrainRequest("lda", "metric"),))
    export_metric(library, "metric", tmp_path / "file.semblance-metric")
    import_metric(library, tmp_path / "file.semblance-metric", name="copy")
    with Library.open(library) as opened, pytest.raises(BadInput, match="was not trained in this library"):
        refit_metric(opened, opened.metric("copy"), NOTHING)


def test_a_metric_refined_by_judgements_cannot_be_trained_again(tmp_path):
    library = table_library(tmp_path, n=80, metrics=(PLAIN,))
    search = Search("plain", Query("t/c4"), "mine")
    add_judgements(
        library, search, [likeness_judgement(search, f"t/c{n}", n % 3 == 0) for n in range(20, 30)]
    )
    save_refined(library, Search("plain", Query("t/c0"), "mine"), "refined")
    with Library.open(library) as opened, pytest.raises(BadInput, match="refined by marks"):
        refit_metric(opened, opened.metric("refined"), NOTHING)
