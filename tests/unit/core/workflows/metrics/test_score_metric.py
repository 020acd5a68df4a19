"""The scores of a metric are those of the searches that people run."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from PIL import Image

from semblance.core.evaluation.calibration import stored_calibration
from semblance.core.evaluation.roc import auc
from semblance.core.evaluation.shortcuts import stored_probes
from semblance.core.evaluation.shuffled_control import stored_control
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.feature_sets import FeatureSets
from semblance.core.library.library import Library
from semblance.core.metrics.metric import load_metric
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation.hardest_queries import hardest_queries
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics import score_metric as module
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports.metric_cards import card_document
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.images import striped_folder
from tests.helpers.libraries import join, raw
from tests.helpers.tables import PLAIN, table_library, write_table

BITS = TrainRequest("bdm", "bits", settings={"rounds": 10})


def test_the_metric_is_probed_for_what_is_known_of_the_cases(tmp_path):
    """The scanner follows the finding, which the metric finds; the station is drawn by patient."""
    library = table_library(tmp_path, n=240, metrics=(PLAIN,))
    with raw(library) as connection:
        for row, patient in connection.execute("SELECT id, patient FROM cases").fetchall():
            number = int(patient[1:])
            attributes = {"manufacturer": f"M{number % 2}", "station": f"S{number * 7919 % 5 % 2}"}
            region = json.dumps({"x": 0, "y": 0, "width": 10 * (number % 3 + 1), "height": 10})
            connection.execute(
                "UPDATE cases SET attributes = ?, region = ?, width = 100, height = 50 WHERE id = ?",
                (json.dumps(attributes), region, row),
            )
    scores = score_metric(library, "plain")
    probes = {one.attribute: one for one in stored_probes(scores)}
    assert set(probes) == {"manufacturer", "station", "crop_scale"}
    assert probes["manufacturer"].is_beyond_chance
    assert probes["manufacturer"].finding_accuracy == 1.0
    assert not probes["station"].is_beyond_chance
    assert probes["crop_scale"].groups == 3
    with Library.open(library) as opened:
        extent = next(iter(opened.catalogue.extents().values()))
    assert (extent.image_size, extent.crop_scale) == (5000.0, 0.02)


def test_cases_removed_meanwhile_are_left_out(tmp_path, monkeypatch):
    library = table_library(tmp_path, n=240, metrics=(PLAIN,))
    expected = score_metric(library, "plain")["n_test"]
    read, extents = FeatureSets.read, Catalogue.extents

    def with_one_more(features, feature_set, case_rows=None):
        rows, numbers = read(features, feature_set, case_rows)
        return np.append(rows, 9999), np.vstack([numbers, numbers[:1]])

    monkeypatch.setattr(FeatureSets, "read", with_one_more)
    monkeypatch.setattr(Catalogue, "extents", lambda catalogue: dict(list(extents(catalogue).items())[1:]))
    assert score_metric(library, "plain")["n_test"] == expected


def test_files_that_state_no_burnt_in_text_are_a_group(tmp_path):
    library = table_library(tmp_path, n=240, metrics=(PLAIN,))
    with raw(library) as connection:
        for row in range(1, 241):
            attributes = {"modality": "US"} | ({"burnt_in_text": "yes"} if row % 4 < 2 else {})
            connection.execute("UPDATE cases SET attributes = ? WHERE id = ?", (json.dumps(attributes), row))
    (probe,) = stored_probes(score_metric(library, "plain"))
    assert (probe.attribute, probe.groups) == ("burnt_in_text", 2)


def test_the_metric_is_probed_for_burnt_in_marks(tmp_path):
    """The marks follow the finding, which the metric finds; their number does not matter."""
    library = table_library(tmp_path, n=240, metrics=(PLAIN,))
    with raw(library) as connection:
        for row, finding in connection.execute("SELECT id, finding FROM cases").fetchall():
            attributes = {"burnt_in_marks": str(1 + row % 9)} if finding == "kind 1" else {}
            connection.execute("UPDATE cases SET attributes = ? WHERE id = ?", (json.dumps(attributes), row))
    (probe,) = stored_probes(score_metric(library, "plain"))
    assert (probe.attribute, probe.groups, probe.is_beyond_chance) == ("burnt_in_marks", 2, True)


def table_with_gaps(folder):
    """240 rows of three findings; some without a finding, a fifth without a patient, two lesions of several cases."""
    file = write_table(folder / "t.csv", n=240, findings=3)
    with file.open(encoding="utf-8") as opened:
        rows = list(csv.reader(opened))
    for number, row in enumerate(rows[1:]):
        # Wrong findings, or no error would be seen.
        row[-1] = "" if number % 17 == 0 else "kind 0" if number % 7 == 0 else row[-1]
        row[1] = "" if number % 5 == 0 else row[1]
    with file.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows(rows)
    import_source(file, folder / "lib")
    extract_features(folder / "lib", "raw")
    with Library.open(folder / "lib", writable=True) as opened:
        ids = sorted(row.id for row in opened.catalogue.all_cases())
        join(opened, ids[10:20])
        join(opened, ids[100:130])
    return folder / "lib"


def images_with_copies(folder):
    """60 images, every fifth also saved in another format."""
    images = striped_folder(folder / "images", n=60)
    lines = (images / "labels.csv").read_text().splitlines()
    # Wrong findings, or no error would be seen.
    lines[3::7] = [line.replace(",level,", ",upright,") for line in lines[3::7]]
    (images / "labels.csv").write_text("\n".join(lines))
    for file in sorted(images.glob("*/*.png"))[::5]:
        with Image.open(file) as image:
            image.convert("RGB").save(file.with_name(f"{file.stem} anew.jpg"), quality=92)
    import_source(images, folder / "lib")
    extract_features(folder / "lib", "colour_edge_texture")
    return folder / "lib"


@pytest.mark.parametrize(
    ("make", "trained"),
    [
        # Distances of few different values, with ties that the steps break.
        (table_with_gaps, TrainRequest("bdm", "metric", settings={"rounds": 3})),
        (images_with_copies, TrainRequest("euclidean", "metric", steps="standardise,pca:2")),
    ],
    ids=["table", "images"],
)
def test_the_scores_on_the_card_are_those_of_searches_with_every_held_out_case(make, trained, tmp_path):
    library = make(tmp_path)
    train_metric(library, trained)
    with Library.open(library) as opened:
        scores = opened.metric("metric").scores
        findings = {row.case_id: row.finding for row in opened.catalogue.all_cases()}
        case_of = {row.id: row.case_id for row in opened.catalogue.all_cases()}
    calibration = stored_calibration(scores)
    queries = [case_of[row] for row, _, _ in calibration.cases]
    accuracies, shares, voted, copies = [], [], [], 0
    names = sorted(set(filter(None, findings.values())))
    for case in queries:
        result = nearest_cases(library, "metric", Query(case), k=50)
        copies += result.near_duplicates
        near = [line.finding for line in result.ranked if line.rank]
        curve = []
        for k in range(1, 51):
            given = [name for name in near[:k] if name is not None]
            curve.append(given.count(findings[case]) / len(given) if given else np.nan)
        accuracies.append(curve)
        counts = result.vote.counts
        shares.append([counts.get(name, 0) / max(1, sum(counts.values())) for name in names])
        voted.append(next(iter(counts)))
        _, _, had_finding = next(one for one in calibration.cases if case_of[one[0]] == case)
        if len(names) > 2:
            assert had_finding == (findings[case] == voted[-1])
    assert copies > 0
    true = np.array([findings[case] for case in queries])
    assert scores["n_queries"] == len(queries)
    assert scores["retrieval_accuracy"]["mean"] == pytest.approx(
        np.nanmean(accuracies, axis=0).tolist(), abs=1e-12
    )
    for number, name in enumerate(names):
        of_finding = np.array(accuracies)[true == name, 9]
        assert scores["by_finding"][name]["mean"] == pytest.approx(np.nanmean(of_finding), abs=1e-12)
        area = auc(np.array(shares)[:, number], true == name)
        assert scores["roc"][name]["auc"] == pytest.approx(area, abs=1e-12)
        row = [sum(one == other for one in np.array(voted)[true == name]) for other in names]
        assert scores["confusion"][number] == row
    assert scores["auc"] == pytest.approx(np.mean([curve["auc"] for curve in scores["roc"].values()]))
    with Library.open(library) as opened:
        record = opened.metric("metric")
    shown = card_document("metric", load_metric(record.file).card, record.scores)
    facts = {fact.label: fact.value for section in shown.sections for fact in section.facts}
    at_10 = np.nanmean(np.array(accuracies)[:, 9])
    assert at_10 < 0.97
    assert str(facts["Search accuracy @10"]).partition(" ")[0] == f"{at_10:.2f}"
    assert facts["Mean AUC over findings"] == f"{scores['auc']:.2f}"
    area = scores["roc"][names[0]]["auc"]
    assert str(facts[f"AUC, {names[0]} against the rest"]).partition(" ")[0] == f"{area:.2f}"
    # Scored again, on the same cases, it has the same scores.
    again = score_metric(library, "metric")
    assert again == {name: value for name, value in scores.items() if name in again}
    worst = hardest_queries(library, "metric", most=5)
    expected = np.sort([one for one in np.array(accuracies)[:, 9] if one < 1.0])[:5]
    assert worst.accuracies == pytest.approx(expected.tolist())


@pytest.fixture
def library(tmp_path):
    return table_library(tmp_path, n=120)


def test_a_metric_trained_on_shuffled_findings_is_at_chance(library):
    scores = train_metric(library, BITS).scores
    control = stored_control(scores)
    assert scores["retrieval_accuracy"]["mean"][9] > 0.9
    assert control.is_near_chance
    assert control.accuracy < 0.7
    assert (control.n_train, control.n_queries) == (scores["n_train"], scores["n_test"])
    assert control.chance == pytest.approx(0.5, abs=0.08)


def test_a_control_whose_findings_reach_the_training_is_above_chance(library, monkeypatch):
    monkeypatch.setattr(module, "shuffled_by_unit", lambda values, _units, _rng: values)
    assert not stored_control(train_metric(library, BITS).scores).is_near_chance


def test_the_control_of_many_cases_is_trained_on_a_sample(library, monkeypatch):
    monkeypatch.setattr(module, "MOST_TRAINING", 30)
    monkeypatch.setattr(module, "MOST_QUERIES", 10)
    control = stored_control(train_metric(library, BITS).scores)
    assert control.n_train <= 30
    assert control.n_queries <= 10


def test_no_control_where_findings_are_not_learnt_or_none_is_wanted(library):
    for request in (TrainRequest("euclidean", "plain"), TrainRequest("bdm", "bits", control=False)):
        assert train_metric(library, request).scores["shuffled_control"] is None


def test_the_control_stays_when_the_metric_is_scored_again(library):
    control = train_metric(library, BITS).scores["shuffled_control"]
    score_metric(library, "bits")
    with Library.open(library) as opened:
        assert opened.metric("bits").scores["shuffled_control"] == control
