from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation import choose_learner
from semblance.core.evaluation.choose_learner import SHORT_LIST
from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features import measuring_order
from semblance.core.workflows.features.measuring_order import measure_first
from semblance.core.workflows.library import prepare_library as module
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.prepare_library import Preparation, prepare_library
from semblance.core.workflows.metrics.stored_metric import current_metric, set_current_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports.metric_cards import document_of
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.images import striped_folder
from tests.helpers.recording_reporter import RecordingReporter

PLAIN = "raw + Euclidean"


def write_cases(path, *, n=160, separation=1.0, findings=("benign", "malignant"), seed=0):
    """Two cases a patient; one column separates the findings by ``separation``, nine are noise."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case_id", "patient_id", *(f"f{column}" for column in range(10)), "label"])
        for row in range(n):
            finding = row // 2 % len(findings)
            values = rng.normal(0, 1, 10)
            values[0] += separation * finding
            writer.writerow([f"c{row}", f"P{row // 2}", *values.round(5), findings[finding]])
    return path


@pytest.fixture
def imported(tmp_path):
    def make(**options):
        library = tmp_path / "lib.semblance"
        import_source(write_cases(tmp_path / "t.csv", **options), library)
        return library

    return make


@pytest.fixture(autouse=True)
def two_learners(monkeypatch):
    """Most tests are of what is done with a choice, and need no more to choose among."""
    monkeypatch.setattr(module, "SHORT_LIST", ("euclidean", "lda"))


def names(library):
    with Library.open(library) as opened:
        return [record.name for record in opened.metrics()]


def test_a_better_metric_becomes_current_and_both_scores_are_reported(imported, monkeypatch):
    monkeypatch.setattr(module, "SHORT_LIST", SHORT_LIST)
    library = imported(n=240, separation=4.0)
    reporter = RecordingReporter()
    done = prepare_library(library, reporter=reporter)
    plain, trained = done.metrics
    assert plain.name == PLAIN
    assert (plain.learner, trained.learner) == ("euclidean", done.chosen)
    assert done.current == current_metric(library) == trained.name
    assert done.difference.ci95[0] > 0.0
    assert done.difference.mean == pytest.approx(trained.macro.mean - plain.macro.mean)
    assert {*done.validation, *done.refused} == set(SHORT_LIST)
    assert max(done.validation.values()) == done.validation[done.chosen]
    assert done.by_patient
    assert done.held_out_units == done.held_out_cases / 2
    document = json.loads(json.dumps(done.to_json(), allow_nan=False))
    assert document["current"] == trained.name
    for one in document["metrics"]:
        assert {"name", "learner", "retrieval_accuracy@10", "macro_retrieval_accuracy@10"} <= set(one)
        assert one["worst_finding@10"]["finding"] in ("benign", "malignant")
        assert one["worst_finding@10"]["mean"] <= one["macro_retrieval_accuracy@10"]["mean"]
    assert document["beats_chance"] is True
    with Library.open(library) as opened:
        card = opened.metric(trained.name).card
    assert card["prepared"]["against"] == PLAIN
    assert card["prepared"]["difference"]["ci95"] == list(done.difference.ci95)
    assert any("held-out cases" in note for note in card["notes"])
    # The plain distance was current long before anything was trained.
    growing = [news for news in reporter.partials if isinstance(news, Preparation)]
    first = next(news for news in growing if news.metrics)
    assert (first.current, first.chosen, len(first.metrics)) == (PLAIN, "", 1)
    # Its score is of the same cases.
    facts = (done.held_out_cases, done.held_out_units, done.by_patient)
    assert (first.held_out_cases, first.held_out_units, first.by_patient) == facts


def test_a_metric_that_is_not_better_never_becomes_current(imported, monkeypatch):
    library = imported(separation=0.0)
    # Whatever validation prefers by chance, held-out patients decide.
    monkeypatch.setattr(
        module.LearnerValidation, "best", property(lambda self: choose_learner.Candidate("lda"))
    )
    done = prepare_library(library)
    assert [one.learner for one in done.metrics] == ["euclidean", "lda"]
    assert done.difference.ci95[0] <= 0.0
    assert done.current == current_metric(library) == PLAIN
    assert "may be chance" in done.details


def test_a_metric_that_beats_the_plain_distance_but_not_chance_never_becomes_current(imported, monkeypatch):
    library = imported(separation=0.0)
    monkeypatch.setattr(
        module.LearnerValidation, "best", property(lambda self: choose_learner.Candidate("lda"))
    )
    compared = module.LibraryPreparation._compare

    def lucky(self, *arguments):
        return {**compared(self, *arguments), "difference": {"mean": 0.1, "ci95": [0.02, 0.2]}, "worse": []}

    monkeypatch.setattr(module.LibraryPreparation, "_compare", lucky)
    done = prepare_library(library)
    assert done.difference.ci95[0] > 0.0
    assert done.current == current_metric(library) == PLAIN
    assert "do not tell the findings apart" in done.details


def test_nothing_is_trained_where_validation_prefers_the_plain_distance(imported, monkeypatch):
    library = imported()
    shares = choose_learner._TrainingPart.shares

    def best_if_plain(part, name, seed, reporter):
        found = shares(part, name, seed, reporter)
        own = np.arange(len(found)), part.findings
        found[own] = float(name == "euclidean")
        return found

    monkeypatch.setattr(choose_learner._TrainingPart, "shares", best_if_plain)
    done = prepare_library(library)
    assert done.chosen == "euclidean"
    assert names(library) == [PLAIN]
    assert "no learner" in done.message


def test_too_few_cases_give_the_plain_distance_and_the_reason(imported):
    library = imported(n=38)
    done = prepare_library(library)
    assert names(library) == [PLAIN] == [done.current]
    assert "two findings with at least 20 cases" in done.message
    assert "20 benign, 18 malignant" in done.message
    assert nearest_cases(library, current_metric(library), Query("t/c0"), k=3).ranked


def test_a_library_of_one_finding_gets_the_plain_distance(imported):
    library = imported(n=60, findings=("benign",))
    done = prepare_library(library)
    assert [one.accuracy.mean for one in done.metrics] == [None]
    assert done.current == PLAIN
    assert "only the finding 'benign'" in done.message


def test_held_out_patients_are_neither_chosen_by_nor_trained_on(imported, monkeypatch):
    library = imported(n=240, separation=4.0)
    chosen_by = []
    validate = module.validate_learners

    def spy(train, *arguments, **options):
        chosen_by.append(train)
        return validate(train, *arguments, **options)

    monkeypatch.setattr(module, "validate_learners", spy)
    prepare_library(library)
    with Library.open(library) as opened:
        patient = {r.id: r.patient for r in opened.catalogue.all_cases()}
        training = [record.training.tolist() for record in opened.metrics()]
    assert training[0] == training[1] == chosen_by[0].case_rows.tolist()
    used = {patient[row] for row in training[0]}
    held_out = {patient[row] for row in patient if row not in training[0]}
    assert held_out
    assert not used & held_out
    for split in choose_learner.inner_splits(chosen_by[0], 0):
        inner = [set(chosen_by[0].groups[rows].tolist()) for rows in (split.train, split.test)]
        assert all(inner)
        assert not inner[0] & inner[1]


def test_a_cancelled_preparation_continues_where_it_ended(imported, monkeypatch):
    library = imported(n=240, separation=4.0)
    measured = []
    shares = choose_learner._TrainingPart.shares

    def counted(part, name, seed, reporter):
        if name == "lda" and "lda" not in measured:
            measured.append("cancelled")
            raise Cancelled
        measured.append(name)
        return shares(part, name, seed, reporter)

    trained = []
    fit_and_score = module.fit_and_score

    def fitted(opened, request, *arguments):
        trained.append(request.learner)
        return fit_and_score(opened, request, *arguments)

    monkeypatch.setattr(choose_learner._TrainingPart, "shares", counted)
    monkeypatch.setattr(module, "fit_and_score", fitted)
    with pytest.raises(Cancelled):
        prepare_library(library)
    assert current_metric(library) == PLAIN
    before = list(measured)
    measured[:] = ["lda"]
    whole = prepare_library(library)
    after = measured[1:]
    assert set(before) == {"euclidean", "cancelled"}
    # The plain distance again, because the others are compared with it.
    assert set(after) == {"euclidean", "lda"}
    assert trained == ["euclidean", whole.chosen]
    measured.clear()
    trained.clear()
    assert prepare_library(library) == whole
    assert measured == trained == []


def test_a_learner_that_fails_is_named_and_the_others_are_compared(imported, monkeypatch):
    monkeypatch.setattr(module, "SHORT_LIST", ("euclidean", "lda", "ccml"))
    library = imported(n=240, separation=4.0)
    shares = choose_learner._TrainingPart.shares

    def failing(part, name, seed, reporter):
        if name == "lda":
            raise BadInput("The scatter is singular.")
        return shares(part, name, seed, reporter)

    monkeypatch.setattr(choose_learner._TrainingPart, "shares", failing)
    done = prepare_library(library)
    assert set(done.validation) == {"euclidean", "ccml"}
    assert "The scatter is singular." in done.refused["lda"]
    assert len(done.metrics) == 2


def test_what_a_person_made_current_stays(imported):
    library = imported(n=240, separation=4.0)
    prepare_library(library)
    set_current_metric(library, PLAIN)
    again = prepare_library(library)
    assert again.current == current_metric(library) == PLAIN
    assert "because you chose it" in again.details


def test_a_metric_trained_before_stays_current_and_keeps_its_name(imported):
    library = imported(n=60)
    module.extract_features(library, "raw")
    train_metric(library, TrainRequest("lda", PLAIN))
    done = prepare_library(library)
    assert done.current == PLAIN
    assert f"{PLAIN} 2" in names(library)
    with Library.open(library) as opened:
        assert opened.metric(PLAIN).learner == "lda"


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A prepared library whose metric "mine" stands on two other feature sets, and to which cases were added."""
    folder = tmp_path_factory.mktemp("grown")
    library = folder / "lib"
    import_source(striped_folder(folder / "first", n=12), library)
    assert prepare_library(library).current == "encoder + Euclidean"
    module.extract_features(library, "pixels", settings={"size": 8}, name="small")
    module.extract_features(library, "pixels", settings={"size": 12}, name="large")
    train_metric(library, TrainRequest("euclidean", "mine", "small,large"))
    import_source(striped_folder(folder / "second", n=6, seed=9), library)
    return library


def test_the_card_says_why_search_by_place_is_not_measured(grown):
    with Library.open(grown) as opened:
        record = opened.metric("encoder + Euclidean")
    document = document_of(record.name, record.card, record.scores)
    texts = [line.value for section in document.sections for line in section.facts]
    assert any("has no regions of two patients" in text for text in texts)


def measured(library, name):
    with Library.open(library) as opened:
        return len(opened.features.cases_of(opened.features.get(name)))


def test_why_the_chosen_metric_cannot_rank_new_cases_is_reported(grown, tmp_path, monkeypatch):
    library = tmp_path / "lib"
    shutil.copytree(grown, library)

    def refuse(*_args, **_options):
        raise BadInput("The file of the encoder is gone.")

    monkeypatch.setattr(module, "measure_new_cases", refuse)
    done = prepare_library(library, metric_in_use="mine")
    assert done.current == "mine"
    assert "The file of the encoder is gone." in done.details


def test_new_cases_are_measured_for_the_metric_that_a_person_uses_too(grown):
    done = prepare_library(grown, metric_in_use="mine")
    assert done.current == current_metric(grown) == "mine"
    assert [measured(grown, name) for name in ("encoder", "small", "large", "small,large")] == [18] * 4
    ranked = nearest_cases(grown, "mine", Query(case="first/level/p000.png")).ranked
    assert any(case.case_id.startswith("second/") for case in ranked)
    assert prepare_library(grown).current == "mine", "it was recorded"


def test_new_cases_are_prepared_too_and_the_metric_is_chosen_again(imported, tmp_path):
    library = imported(n=30)
    first = prepare_library(library)
    assert first.chosen == ""
    import_source(write_cases(tmp_path / "t.csv", n=240, separation=4.0), library)
    second = prepare_library(library)
    assert second.extracted == 240
    assert second.current == second.metrics[1].name
    with Library.open(library) as opened:
        assert len(opened.metric(PLAIN).training) > 100


def test_an_empty_library_is_refused(tmp_path):
    Library.create(tmp_path / "empty.semblance").close()
    with pytest.raises(BadInput, match="holds no cases"):
        prepare_library(tmp_path / "empty.semblance")


class _Impatient(RecordingReporter):
    """Asks for a ranking whenever something was measured, and for cases to be measured first."""

    def __init__(self, library, query):
        super().__init__()
        self.library, self.query, self.rankings = library, query, []

    def partial(self, result):
        super().partial(result)
        if result.provisional:
            found = nearest_cases(self.library, result.current, Query(case=self.query), k=5)
            self.rankings.append((found.compared, found.cases, found.ranked[0].case_id))


@pytest.mark.usefixtures("features_in_processes")
def test_cases_are_ranked_while_the_rest_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring_order, "STEP", 4)
    monkeypatch.setattr(module, "suitable_extractors", lambda library: ["pixels"])
    library = tmp_path / "lib.semblance"
    import_source(striped_folder(tmp_path / "images", n=48), library)
    with Library.open(library) as opened:
        # Not one that the first part, spread over the library, would hold anyhow.
        case = opened.catalogue.all_cases()[1]
    measure_first(library, [case.id])
    impatient = _Impatient(library, case.case_id)
    done = prepare_library(library, workers=1, reporter=impatient)
    among = [compared for compared, _, _ in impatient.rankings]
    assert among[0] == 3  # the query was measured with the first four
    assert among == sorted(among)
    assert {cases for _, cases, _ in impatient.rankings} == {48}
    provisional = [news for news in impatient.partials if news.provisional]
    assert {news.current for news in provisional} == {"pixels + Euclidean"} == {done.metrics[0].name}
    assert not done.provisional
    with Library.open(library) as opened:
        assert opened.metric("pixels + Euclidean").scores is not None


def test_a_preparation_cancelled_while_it_measures_leaves_a_ranking(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring_order, "STEP", 4)
    monkeypatch.setattr(module, "suitable_extractors", lambda library: ["pixels"])
    library = tmp_path / "lib.semblance"
    import_source(striped_folder(tmp_path / "images", n=48), library)

    class Ending(RecordingReporter):
        def check_cancelled(self):
            if any(news.extracted for news in self.partials):
                raise Cancelled

    with pytest.raises(Cancelled):
        prepare_library(library, workers=1, reporter=Ending())
    with Library.open(library) as opened:
        measured = opened.features.cases_of(opened.features.get("pixels"))
        case = next(r.case_id for r in opened.catalogue.all_cases() if r.id not in measured)
    # A case whose turn has not come is measured when it is the query.
    ranked = nearest_cases(library, current_metric(library), Query(case=case))
    assert ranked.compared == len(measured) < 48
    done = prepare_library(library)
    assert done.extracted == 48
    assert current_metric(library) in [metric.name for metric in done.metrics]
