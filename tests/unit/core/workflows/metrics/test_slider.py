"""The slider between visual and diagnostic likeness: trained in one job, stored together."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.metrics.metric import load_metric
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.metrics import slider as slider_module
from semblance.core.workflows.metrics.slider import prepare_slider
from semblance.core.workflows.metrics.slider_steps import PLACES, slider_of, sliders_by_name, step_name
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.tables import PLAIN, table_library

REQUEST = TrainRequest("", "between", settings={"rounds": 15})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    library = table_library(tmp_path_factory.mktemp("slider"), n=90, metrics=(PLAIN,))
    return library, prepare_slider(library, REQUEST)


def test_every_step_is_a_metric_scored_on_the_same_held_out_cases(made):
    library, slider = made
    assert [step.place for step in slider.steps] == list(PLACES)
    with Library.open(library, writable=False) as opened:
        records = [opened.metric(step.metric) for step in slider.steps]
    assert len({record.training.tobytes() for record in records}) == 1
    for step, record in zip(slider.steps, records, strict=True):
        assert step.metric == step_name("between", step.place)
        assert slider_of(record.card) == ("between", step.place)
        assert record.card["parameters"]["visual_share"] == pytest.approx(1 - step.place / 100)
        assert step.accuracy == record.scores["retrieval_accuracy"]["mean"][9]
        assert step.measured_on == "held-out patients"
        assert record.card["split"]["by_patient"]
        assert load_metric(record.file).distance.embeds


def test_the_diagnostic_end_follows_findings(made):
    _, slider = made
    assert slider.steps[-1].accuracy > 0.9


def test_the_nearest_step_is_found(made):
    _, slider = made
    assert [slider.nearest(place).place for place in (-5, 14, 16, 60.1, 99)] == [0, 0, 30, 70, 100]


def test_missing_steps_are_skipped(made):
    library, slider = made
    with Library.open(library, writable=False) as opened:
        cards = [(record.name, record.card) for record in opened.metrics()]
    sliders = sliders_by_name(card for card in cards if card[0] != step_name("between", 50))
    assert list(sliders) == ["between"]
    assert [step.place for step in sliders["between"].steps] == [p for p in PLACES if p != 50]
    assert slider.nearest(52).place == 50
    assert sliders["between"].nearest(45).place == 30
    assert sliders_by_name([("odd", {"slider": {"name": 3}}), ("none", {})]) == {}


def test_the_same_name_is_replaced(made, tmp_path):
    library = table_library(tmp_path, n=60)
    for seed in (0, 1):
        prepare_slider(library, TrainRequest("", "between", settings={"rounds": 4}, seed=seed))
    with Library.open(library, writable=False) as opened:
        assert [record.name for record in opened.metrics()] == [step_name("between", p) for p in PLACES]
        assert {record.card["split"]["seed"] for record in opened.metrics()} == {1}


class _Impatient(Reporter):
    """Gives up after some news."""

    def __init__(self, after: int) -> None:
        self.left, self.progress_calls = after, []

    def progress(self, done, total, what):
        self.progress_calls.append((done, total, what))
        self.left -= 1

    def check_cancelled(self):
        if self.left < 0:
            raise Cancelled


def test_every_step_is_trained_on_the_same_sample_of_many_cases(tmp_path, monkeypatch):
    library = table_library(tmp_path, n=60)
    monkeypatch.setattr(slider_module, "MOST_TRAINING", 20)
    prepare_slider(library, TrainRequest("", "between", settings={"rounds": 2}))
    with Library.open(library, writable=False) as opened:
        cards = [record.card for record in opened.metrics()]
        assert len({(card["notes"][0], str(card["findings"])) for card in cards}) == 1
        assert cards[0]["n_cases"] <= 20 < len(opened.metrics()[0].training)
        assert cards[0]["notes"][0].startswith(f"Trained on {cards[0]['n_cases']} of ")


def test_cancelled_it_keeps_nothing(tmp_path):
    library = table_library(tmp_path, n=60)
    with pytest.raises(Cancelled):
        prepare_slider(library, REQUEST, reporter=_Impatient(60))
    with Library.open(library, writable=False) as opened:
        assert opened.metrics() == []


def test_progress_counts_all_steps(tmp_path):
    reporter = _Impatient(10**6)
    prepare_slider(table_library(tmp_path, n=60), REQUEST, reporter=reporter)
    shares = [done / total for done, total, _ in reporter.progress_calls[1:] if total]
    assert np.all(np.diff(shares) >= 0)
    assert shares[-1] > 0.9
    assert any("30 % diagnostic" in what for _, _, what in reporter.progress_calls)


def test_a_library_without_findings_is_refused(tmp_path):
    library = table_library(tmp_path, n=20)
    with Library.open(library) as opened, opened.catalogue.transaction() as connection:
        connection.exec_driver_sql("UPDATE cases SET finding=NULL")
    with pytest.raises(BadInput, match="no findings"):
        prepare_slider(library, REQUEST)
