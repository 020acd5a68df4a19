"""What was learnt from is on no other side: copies, regions, cases that changed since, other libraries."""

from __future__ import annotations

import csv
import shutil

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.evaluate_metric import HELD_OUT_CASES, HELD_OUT_PATIENTS
from semblance.core.evaluation.protocols.protocol import random_halves
from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.evaluation.scored_metrics import is_stale
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.leakage import IdentityIndex
from semblance.core.workflows.metrics.metric_exchange import SUFFIX, export_metric, import_metric
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.batch_queries import held_out_cases
from semblance.core.workflows.searches.feedback import concepts, refine_metric
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.images import striped_folder
from tests.helpers.libraries import join
from tests.helpers.tables import PLAIN, table_library, write_table


@pytest.fixture(autouse=True)
def nothing_is_left_open():
    yield
    close_loaded_metrics()


@pytest.fixture
def copies(tmp_path):
    """24 images, each of them there twice, without patients."""
    folder = striped_folder(tmp_path / "images", n=24, patients=False)
    for file in sorted(folder.rglob("*.png")):
        shutil.copy(file, file.with_name(f"copy of {file.name}"))
    library = tmp_path / "images.semblance"
    import_source(folder, library)
    extract_features(library, "colour_edge_texture")
    return library


def contents(library, rows):
    with Library.open(library) as opened:
        ids = set(np.asarray(rows).tolist())
        return {r.content for r in opened.catalogue.all_cases() if r.id in ids}


def training(library, name):
    with Library.open(library) as opened:
        return opened.metric(name).training


def test_copies_of_an_image_stand_on_one_side(copies):
    result = train_metric(copies, TrainRequest("euclidean", "plain"))
    with Library.open(copies) as opened:
        everyone = [r.id for r in opened.catalogue.all_cases()]
        data = library_data(opened, opened.features.get(None))
    trained = training(copies, "plain")
    rest = np.setdiff1d(everyone, trained)
    assert len(rest)
    assert not contents(copies, trained) & contents(copies, rest)
    # They are no patients, and nobody says so.
    assert result.card["split"]["by_patient"] is False
    assert result.card["n_patients"] is None
    assert result.scores["measured_on"] == HELD_OUT_CASES
    for split in random_halves(data, 3, 0)[1]:
        assert not set(data.units[split.train]) & set(data.units[split.test])


def test_a_lesion_is_on_one_side_counts_once_and_is_never_its_own_neighbour(tmp_path):
    library = tmp_path / "images.semblance"
    import_source(striped_folder(tmp_path / "images", n=24, patients=False), library)
    extract_features(library, "colour_edge_texture")
    with Library.open(library) as opened:
        names = {r.id: r.case_id for r in opened.catalogue.all_cases()}
        rows = list(names)
        lesions = [set(rows[start::8]) for start in range(8)]
        for members in lesions:
            join(opened, members)
        data = library_data(opened, opened.features.get(None))
    assert data.lesions is not None
    train_metric(library, TrainRequest("euclidean", "plain", held_out=0.5))
    trained = set(training(library, "plain").tolist())
    assert all(members <= trained or not members & trained for members in lesions)
    accuracy = score_metric(library, "plain")["retrieval_accuracy"]
    held_out = [members for members in lesions if not members & trained]
    # Beyond the other lesions there is nothing more to retrieve.
    tail = accuracy["mean"][len(held_out) - 2 :]
    assert tail == pytest.approx([tail[0]] * len(tail))
    for row in (min(trained), min(set(rows) - trained)):
        result = rank_cases(library, Search("plain", Query(names[row])), k=50).result
        (own,) = [members for members in lesions if row in members]
        groups = [{case.row, *case.near_duplicate_rows} for case in result.ranked]
        assert sorted(groups, key=min) == sorted((one for one in lesions if one != own), key=min)
        assert [case.near_duplicates for case in result.ranked] == [2] * 7
        assert all(case.near_duplicate_distances >= (case.distance,) for case in result.ranked)


def test_a_copy_is_no_result_for_its_original(copies):
    train_metric(copies, TrainRequest("euclidean", "plain", held_out=0.5))
    close = score_metric(copies, "plain")
    with Library.open(copies) as opened:
        data = library_data(opened, opened.features.get(None))
    unseen = ~np.isin(data.case_rows, training(copies, "plain"))
    assert len(set(data.units[unseen])) * 2 == unseen.sum() == close["n_test"]


def test_a_metric_trained_before_copies_were_imported_is_not_measured_on_them(tmp_path):
    folder = striped_folder(tmp_path / "images", n=24, patients=False)
    library = tmp_path / "images.semblance"
    import_source(folder, library)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("euclidean", "plain"))
    before = score_metric(library, "plain")["n_test"]
    shutil.copytree(folder, tmp_path / "again")
    import_source(tmp_path / "again", library)
    extract_features(library, "colour_edge_texture")
    (metric,) = read_snapshot(library).metrics
    assert is_stale(metric, read_snapshot(library))
    after = score_metric(library, "plain")
    assert after["n_test"] == 2 * before
    # What was left out as a copy is nothing that is still to be measured.
    (metric,) = read_snapshot(library).metrics
    assert not is_stale(metric, read_snapshot(library))
    calibrated = after["calibration"]
    if calibrated is not None:
        training_contents = contents(library, training(library, "plain"))
        assert not training_contents & contents(library, [row for row, _, _ in calibrated["cases"]])


def test_a_training_case_that_lost_its_finding_still_holds_its_patient_back(tmp_path):
    library = table_library(tmp_path, metrics=(PLAIN,))
    before = score_metric(library, "plain")["n_test"]
    with Library.open(library, writable=True) as opened:
        # One of the two cases of a training patient becomes unseen, the other loses its finding.
        trained = {
            r.patient: r for r in opened.catalogue.all_cases() if r.id in set(training(library, "plain"))
        }
        lost = next(iter(trained.values()))
        rows = training(library, "plain")
        record = opened.metric("plain")
        other = next(r for r in opened.catalogue.all_cases() if r.patient == lost.patient and r.id != lost.id)
        file = opened.new_metric_file()
        shutil.copy(record.file, file)
        remaining = rows[rows != other.id]
        opened.add_metric("part", "euclidean", record.feature_set, file, dict(record.card), remaining, None)
        opened.catalogue.relabel([(lost.case_id, None, lost.patient, {})])
    assert score_metric(library, "part")["n_test"] == before
    assert len(held_out_cases(library, "part")) == before


def test_what_a_metric_saw_goes_with_it_through_another_library(tmp_path):
    home = table_library(tmp_path / "home", n=80, metrics=(PLAIN,))
    first = export_metric(home, "plain", tmp_path / f"first{SUFFIX}")
    # A library with other cases, from which it comes back.
    away = table_library(tmp_path / "away", n=40, seed=9)
    import_metric(away, first, "brought")
    with pytest.raises(BadInput, match="none of the cases that 'brought' was trained on"):
        score_metric(away, "brought")
    second = export_metric(away, "brought", tmp_path / f"second{SUFFIX}")
    import_metric(home, second, "back")
    assert np.array_equal(np.sort(training(home, "back")), np.sort(training(home, "plain")))
    assert score_metric(home, "back")["n_test"] == score_metric(home, "plain")["n_test"]


def test_training_cases_of_another_library_are_not_new_when_they_are_imported_later(tmp_path):
    home = table_library(tmp_path / "home", n=80, metrics=(PLAIN,))
    file = export_metric(home, "plain", tmp_path / f"m{SUFFIX}")
    away = table_library(tmp_path / "away", n=40)
    # Of the same seed: half of the cases are those of the first library.
    import_metric(away, file, "brought")
    here = len(training(away, "brought"))
    write_table(tmp_path / "more.csv", n=80)
    import_source(tmp_path / "more.csv", away)
    extract_features(away, "raw")
    scores = score_metric(away, "brought")
    assert scores["n_train"] == here
    assert scores["measured_on"] == HELD_OUT_CASES
    training_contents = contents(home, training(home, "plain"))
    with Library.open(away) as opened:
        record = opened.metric("brought")
        unseen = IdentityIndex(opened).unseen(record.training, record.card["trained_elsewhere"])
    assert not training_contents & contents(away, unseen)
    assert scores["n_test"] == len(unseen)
    search = Search("brought", Query(case="t/c0"), ledger="l")
    score = refine_metric.held_out_score(away, search)
    assert score is None or score.cases <= len(unseen)


def test_the_live_score_mentions_patients_only_if_all_are_known(tmp_path):
    library = table_library(tmp_path / "known", n=80, metrics=(PLAIN,))
    search = Search("plain", Query(case="t/c0"), ledger="l")
    assert refine_metric.held_out_score(library, search).measured_on == HELD_OUT_PATIENTS
    table = write_table(tmp_path / "t.csv", n=80)
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[::5]:
        row["patient_id"] = ""
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    library = tmp_path / "partly.semblance"
    import_source(table, library)
    extract_features(library, "raw")
    made = train_metric(library, TrainRequest("euclidean", "plain"))
    assert made.scores["measured_on"] == HELD_OUT_CASES
    assert refine_metric.held_out_score(library, search).measured_on == HELD_OUT_CASES


def test_the_strength_of_a_concept_leaves_out_copies_of_the_case_it_is_measured_on(copies):
    train_metric(copies, TrainRequest("euclidean", "plain"))
    (concept,) = concepts.add_concept(copies, "plain", "shadow")
    with Library.open(copies) as opened:
        by_content: dict[str, list[str]] = {}
        for row in opened.catalogue.all_cases():
            by_content.setdefault(row.content, []).append(row.case_id)
    pairs = list(by_content.values())
    # Three images twice are three cases on a side, not six; two of them are too few.
    marks = [(case, side < 2) for side, pair in enumerate(pairs[:4]) for case in pair]
    (few,) = concepts.mark_cases(copies, "plain", concept.id, marks)
    assert few.strength is None
    assert "Not enough marks" in few.why
    marks = [(case, side < 3) for side, pair in enumerate(pairs[:6]) for case in pair]
    (enough,) = concepts.mark_cases(copies, "plain", concept.id, marks)
    assert enough.strength is not None
