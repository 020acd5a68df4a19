from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.library.library import Library
from semblance.core.metrics.metric import load_metric
from semblance.core.searches.query import Query
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics import training_curve
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.metrics.training_curve import CurvePoint
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.libraries import tables_of
from tests.helpers.recording_reporter import RecordingReporter
from tests.helpers.tables import table_library


@pytest.fixture
def library(tmp_path):
    return table_library(tmp_path)


def learners_by_metric(library: Path) -> dict[str, str]:
    with Library.open(library) as opened:
        return {record.name: record.learner for record in opened.metrics()}


def test_a_metric_is_scored_on_patients_it_never_saw(library):
    result = train_metric(library, TrainRequest("bdm_v", "mine", settings={"rounds": 30}))
    with Library.open(library) as opened:
        record = opened.metric("mine")
        patients = {r.id: r.patient for r in opened.catalogue.all_cases()}
        feature_set = opened.features.get(None)
    trained = set(record.training.tolist())
    training_patients = {patients[row] for row in trained}
    assert not training_patients & {patients[row] for row in patients if row not in trained}
    assert 0.6 < len(trained) / 60 < 0.8
    scores = result.scores
    assert scores["measured_on"] == "held-out patients"
    assert scores["n_train"] == len(trained)
    assert scores["n_test"] == 60 - len(trained)
    assert scores["retrieval_accuracy"]["mean"][0] > 0.9
    card = result.card
    assert (card["learner"], card["name"], card["library"], card["feature_set"]) == (
        "bdm_v",
        "mine",
        "lib",
        "raw",
    )
    assert card["split"] == {"seed": 0, "fraction": 0.3, "by_patient": True}
    assert card["steps"]
    assert card["measured_on"] == "held-out patients"
    assert card["scores"]["retrieval_accuracy@10"] == scores["retrieval_accuracy"]["mean"][9]
    assert record.feature_set == feature_set.id
    json.dumps(result.to_json(), allow_nan=False)
    assert load_metric(record.file).card.to_json() == card


def test_few_cases_are_not_reported_as_ten(tmp_path):
    few = table_library(tmp_path, n=8, patients=False)
    result = train_metric(few, TrainRequest("euclidean", "mine"))
    means = result.scores["retrieval_accuracy"]["mean"]
    assert len(means) < 10
    name, accuracy = next(iter(result.card["scores"].items()))
    assert (name, accuracy) == (f"retrieval_accuracy@{len(means)}", means[-1])


def test_the_stored_metric_is_the_one_that_was_scored(library):
    train_metric(library, TrainRequest("bdm", "mine", settings={"rounds": 20}))
    with Library.open(library) as opened:
        before = opened.metric("mine").scores
    after = score_metric(library, "mine")
    assert after["retrieval_accuracy"] == before["retrieval_accuracy"]
    assert after["roc"] == before["roc"]
    with Library.open(library) as opened:
        assert opened.metric("mine").scores["training_curve"] == before["training_curve"]


def test_the_curve_is_emitted_during_training_and_stored(library):
    recorder = RecordingReporter()
    result = train_metric(library, TrainRequest("bdm", "mine", settings={"rounds": 12}), reporter=recorder)
    emitted = [p for p in recorder.partials if isinstance(p, CurvePoint)]
    points = list({point.round: point for point in emitted}.values())
    assert [point.round for point in points] == list(range(1, len(points) + 1))
    objectives = [point.objective for point in points]
    assert objectives == sorted(objectives, reverse=True)
    assert points[0].held_out_accuracy is not None
    with Library.open(library) as opened:
        curve = opened.metric("mine").scores["training_curve"]
    assert curve == [[p.round, p.objective, p.held_out_accuracy] for p in points]
    assert result.card["rounds"] == len(points)


def test_the_last_round_is_scored_whatever_it_takes(monkeypatch, library):
    monkeypatch.setattr(training_curve, "CURVE_SHARE", 1e-9)
    recorder = RecordingReporter()
    train_metric(library, TrainRequest("bdm", "mine", settings={"rounds": 12}), reporter=recorder)
    points = [p for p in recorder.partials if isinstance(p, CurvePoint)]
    assert [p.round for p in points if p.held_out_accuracy is not None] == [1, points[-1].round]
    assert points[-2].round == points[-1].round
    with Library.open(library) as opened:
        curve = opened.metric("mine").scores["training_curve"]
    assert [point[0] for point in curve] == list(range(1, points[-1].round + 1))
    assert curve[-1][2] == points[-1].held_out_accuracy


def test_the_same_seed_gives_the_same_metric(library):
    hashes = [
        train_metric(library, TrainRequest("bdm_v", name, seed=seed, settings={"rounds": 10})).card[
            "content_hash"
        ]
        for name, seed in (("a", 3), ("b", 3), ("c", 4))
    ]
    assert hashes[0] == hashes[1] != hashes[2]
    with Library.open(library) as opened:
        training_rows = [opened.metric(name).training.tolist() for name in "abc"]
    assert training_rows[0] == training_rows[1] != training_rows[2]


def test_a_metric_of_the_same_name_is_replaced(library):
    train_metric(library, TrainRequest("bdm", "mine", settings={"rounds": 5}))
    train_metric(library, TrainRequest("euclidean", "mine"))
    assert learners_by_metric(library) == {"mine": "euclidean"}
    assert len(list((library / "metrics").iterdir())) == 1


@pytest.mark.parametrize("after", [0, 1, 4, 12])
def test_cancelling_keeps_nothing_and_harms_nothing(library, after):
    train_metric(library, TrainRequest("euclidean", "mine"))
    before = tables_of(library)
    with pytest.raises(Cancelled):
        train_metric(
            library,
            TrainRequest("bdm", "mine", settings={"rounds": 500}),
            reporter=RecordingReporter(cancel_after=after),
        )
    assert tables_of(library) == before
    assert len(list((library / "metrics").iterdir())) == 1


def test_stopping_keeps_the_best_so_far(library):
    result = train_metric(
        library,
        TrainRequest("bdm", "mine", settings={"rounds": 500}),
        reporter=RecordingReporter(stop_after=12),
    )
    assert learners_by_metric(library) == {"mine": "bdm"}
    assert 1 <= result.card["rounds"] < 12
    assert any("Stopped on request" in note for note in result.card["notes"])


def test_a_disk_that_fills_while_saving_leaves_the_old_metric(library, monkeypatch):
    train_metric(library, TrainRequest("euclidean", "mine"))
    before = tables_of(library)

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(SemblanceError, match=r"could not be written.*No space left.*Free some space"):
        train_metric(library, TrainRequest("bdm", "mine", settings={"rounds": 3}))
    assert tables_of(library) == before
    assert len(list((library / "metrics").iterdir())) == 1


def test_findings_are_merged_and_dropped_and_cases_limited(tmp_path):
    library = table_library(tmp_path, n=120, findings=4)
    request = TrainRequest(
        "euclidean", "mine", findings="kind 0,kind 1=low;kind 2=high;kind 3=-", max_cases=50
    )
    result = train_metric(library, request)
    assert set(result.scores["findings"]) == {"high", "low"}
    assert result.scores["n_train"] == 35
    # All cases of other patients with such a finding are searched with, not those alone that were drawn.
    assert 15 < result.scores["n_test"] <= 90 - 35
    with Library.open(library) as opened:
        assert opened.metric("mine").card["findings_map"] == request.findings
    again = score_metric(library, "mine")
    assert again["n_test"] == result.scores["n_test"]
    assert set(again["findings"]) == {"high", "low"}
    with pytest.raises(BadArguments, match="kind 9"):
        train_metric(library, TrainRequest("euclidean", "x", findings="kind 9=low"))
    with pytest.raises(BadArguments):
        train_metric(library, TrainRequest("euclidean", "x", max_cases=2))


def test_missing_values_are_imputed_inside_the_split_and_counted(tmp_path):
    library = table_library(tmp_path, missing=True)
    result = train_metric(library, TrainRequest("bdm", "mine", settings={"rounds": 5}))
    assert result.card["imputed"] > 0
    with Library.open(library) as opened:
        _, values = opened.features.read(opened.features.get(None))
        metric = load_metric(opened.metric("mine").file)
    assert np.isnan(values).any()
    assert np.isfinite(metric.distances(values, values)).all()


def test_steps_are_those_requested(library):
    result = train_metric(library, TrainRequest("euclidean", "mine", steps="standardise,pca:3"))
    assert any("3" in step for step in result.card["steps"])
    with pytest.raises(BadArguments, match="magic"):
        train_metric(library, TrainRequest("euclidean", "x", steps="magic"))


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (TrainRequest("magic", "x"), r"no learner 'magic'.*Learners: euclidean"),
        (TrainRequest("bdm", "x", settings={"speed": 3}), r"bdm has no parameter 'speed'.*rounds"),
        (TrainRequest("bdm", "x", settings={"rounds": 0}), "'rounds' cannot be 0.*at least 1"),
        (TrainRequest("bdm", "x", features="magic"), r"no feature set 'magic'.*raw"),
    ],
)
def test_unknown_names_list_the_known_ones(library, request_, says):
    with pytest.raises(BadArguments, match=says):
        train_metric(library, request_)
    assert learners_by_metric(library) == {}


def test_too_little_to_learn_from_is_reported(tmp_path):
    one = table_library(tmp_path / "one", findings=1)
    with pytest.raises(BadInput, match="only the finding 'kind 0'"):
        train_metric(one, TrainRequest("bdm", "x"))
    few = table_library(tmp_path / "few", n=4)
    with pytest.raises(SemblanceError):
        train_metric(few, TrainRequest("bdm", "x"))
    assert learners_by_metric(few) == {}


def test_a_library_with_several_feature_sets_asks_which(library):
    extract_features(library, "raw", name="second")
    with pytest.raises(BadArguments, match=r"--features: raw, second"):
        train_metric(library, TrainRequest("euclidean", "x"))
    assert train_metric(library, TrainRequest("euclidean", "x", "second")).card["feature_set"] == "second"


def test_a_metric_that_was_trained_on_everything_cannot_be_scored(library):
    train_metric(library, TrainRequest("euclidean", "mine"))
    with Library.open(library) as opened:
        record = opened.metric("mine")
        rows = np.array([r.id for r in opened.catalogue.all_cases()])
        file = opened.new_metric_file()
        file.write_bytes(record.file.read_bytes())
        opened.add_metric("all", "euclidean", record.feature_set, file, dict(record.card), rows, None)
    with pytest.raises(BadInput):
        score_metric(library, "all")


@pytest.fixture
def without_findings(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(6):
        pixels = np.random.default_rng(number).integers(0, 256, (48, 48)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"p{number}.png")
    library = tmp_path / "plain.semblance"
    import_source(folder, library)
    extract_features(library, "gabor")
    return library


def test_a_library_without_findings_is_searched_by_similarity_without_an_estimate(without_findings):
    result = train_metric(without_findings, TrainRequest("euclidean", "alike"))
    assert result.scores is None
    assert result.card["n_cases"] == 6
    assert result.card["measured_on"] == ""
    assert any("Not scored" in note for note in result.card["notes"])
    with Library.open(without_findings) as opened:
        assert opened.metric("alike").scores is None
        first = opened.catalogue.all_cases()[0].case_id
    found = nearest_cases(without_findings, "alike", Query(case=first))
    assert len(found.ranked) == 5


def test_a_learner_of_findings_says_that_there_are_none_and_which_need_none(without_findings):
    with pytest.raises(BadInput, match=r"no findings, and BDM learns from them.*Euclidean, L1"):
        train_metric(without_findings, TrainRequest("bdm", "b"))


def test_a_learner_without_findings_trains_where_too_few_could_be_held_out(without_findings):
    with Library.open(without_findings, writable=True) as opened:
        first = opened.catalogue.all_cases()[0]
        opened.catalogue.relabel([(first.case_id, "polyp", None, {})])
    result = train_metric(without_findings, TrainRequest("euclidean", "alike"))
    assert result.scores is None
    assert result.card["n_cases"] == 6
    assert any("Not scored" in note and "only the finding 'polyp'" in note for note in result.card["notes"])
    with pytest.raises(BadInput, match=r"only the finding 'polyp'.*need no findings: Euclidean"):
        train_metric(without_findings, TrainRequest("bdm", "b"))
