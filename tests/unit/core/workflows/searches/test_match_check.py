"""No close match: by the encoder where it measured the cases, else by the metric."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from semblance.core.library.library import Library
from semblance.core.metrics.metric import explained_groups
from semblance.core.searches.feedback.judgements import likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.estimate import NO_MATCH
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements
from semblance.core.workflows.searches.match_check import encoder_reference
from semblance.core.workflows.searches.open_metrics import open_metric
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from semblance.core.workflows.searches.search_result import ENCODER, METRIC, findings_contradict
from tests.helpers.images import striped_folder, stripes


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """48 striped images of 24 patients: a metric on other features than the encoder's, which are there too."""
    folder = tmp_path_factory.mktemp("match")
    import_source(striped_folder(folder / "images", n=48), folder / "lib")
    extract_features(folder / "lib", "colour_edge_texture")
    extract_features(folder / "lib", "encoder")
    train_metric(folder / "lib", TrainRequest("euclidean", "plain", features="colour_edge_texture"))
    train_metric(folder / "lib", TrainRequest("euclidean", "encoded", features="encoder"))
    return folder / "lib"


def image_file(folder, pixels) -> Query:
    Image.fromarray(pixels).save(folder / "query.png")
    return Query(image=folder / "query.png")


def test_an_image_of_another_kind_has_no_close_match_by_the_encoder(library, tmp_path):
    rng = np.random.default_rng(0)
    for metric in ("plain", "encoded"):
        known = nearest_cases(library, metric, image_file(tmp_path, stripes(rng, upright=True)))
        assert (known.match.features, known.no_close_match) == (ENCODER, False)
        disc = (np.hypot(*np.mgrid[-24:24, -24:24]) < 15).astype(np.uint8) * 255
        found = nearest_cases(library, metric, image_file(tmp_path, disc))
        assert (found.match.features, found.no_close_match) == (ENCODER, True)
        assert not found.vote.calibrated
        assert found.vote.why_not == NO_MATCH or known.vote.why_not
        # Whatever metric ranks, the answer is the same.
        assert nearest_cases(library, "plain", found.query).match == found.match
        assert not nearest_cases(library, metric, found.query, no_match_rate=0.0).no_close_match


def test_the_distance_is_to_cases_of_other_patients(library):
    case = "images/level/p000.png"
    with Library.open(library) as opened:
        ids, values = opened.features.read(opened.features.get("encoder"))
        cases = {row.id: row for row in opened.catalogue.all_cases()}
    unit = values.astype(float) / np.linalg.norm(values.astype(float), axis=1, keepdims=True)
    own = next(row.id for row in cases.values() if row.case_id == case)
    query = unit[ids.tolist().index(own)]
    others = [n for n, row in enumerate(ids.tolist()) if cases[row].patient != cases[own].patient]
    expected = np.sort(np.linalg.norm(unit[others] - query, axis=1))[:5].mean()
    assert nearest_cases(library, "plain", Query(case)).match.distance == pytest.approx(expected, abs=1e-4)


def test_marks_shifts_and_left_out_groups_do_not_move_the_encoder(library):
    query = Query("images/level/p000.png")
    plain = nearest_cases(library, "plain", query)
    request = Search("plain", query, "mine")
    marked = add_judgements(
        library, request, [likeness_judgement(request, plain.ranked[5].case_id, True)]
    ).result
    group = explained_groups(open_metric(library, "plain").metric)[0]
    blind = rank_cases(library, Search("plain", query, without=(group,))).result
    shifted = rank_cases(library, Search("plain", query, unlike=("images/upright/p002.png",))).result
    assert plain.match == marked.match == blind.match == shifted.match


def test_the_metric_reports_cases_that_the_encoder_did_not_measure(tmp_path):
    import_source(striped_folder(tmp_path / "images", n=48), tmp_path / "lib")
    extract_features(tmp_path / "lib", "colour_edge_texture")
    train_metric(tmp_path / "lib", TrainRequest("euclidean", "plain"))
    assert nearest_cases(tmp_path / "lib", "plain", Query("images/level/p000.png")).match.features == METRIC
    extract_features(tmp_path / "lib", "encoder")
    assert nearest_cases(tmp_path / "lib", "plain", Query("images/level/p000.png")).match.features == ENCODER


def test_all_metrics_of_a_library_share_the_reference(library):
    assert encoder_reference(open_metric(library, "plain")) is encoder_reference(
        open_metric(library, "encoded")
    )


def test_a_large_library_is_represented_by_some_of_its_cases(library, monkeypatch):
    module = "semblance.core.workflows.searches.match_check"
    monkeypatch.setattr(f"{module}.CASES", 30)
    loaded = open_metric(library, "plain")
    loaded.cache.clear()
    reference = encoder_reference(loaded)
    loaded.cache.clear()
    assert reference.rows.shape == (30, 1280)
    assert len(reference.distances) == 30


@pytest.mark.parametrize(
    ("counts", "contradict"),
    [
        ({"benign": 6, "malignant": 4}, True),
        ({"benign": 7, "malignant": 3}, False),
        ({"benign": 2, "malignant": 1}, False),
        ({"a": 4, "b": 3, "c": 3}, True),
        ({}, False),
    ],
)
def test_findings_contradict_each_other_unless_one_has_two_thirds(counts, contradict):
    assert findings_contradict(counts) == contradict
