from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.registry import make_extractor
from semblance.core.imaging import open_image
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.metrics.metric import load_metric
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.estimate import NO_MATCH
from semblance.core.workflows.searches.rank_cases import nearest_cases
from semblance.core.workflows.searches.search_result import METRIC
from tests.helpers.bad_images import encoded, pattern
from tests.helpers.images import striped_folder
from tests.helpers.ranked_searches import ids
from tests.helpers.tables import PLAIN, table_library, write_table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    images = striped_folder(folder / "images", n=16)
    shutil.copy(images / "level" / "p000.png", images / "level" / "copy of p000.png")
    import_source(images, folder / "lib")
    extract_features(folder / "lib", "colour_edge_texture")
    train_metric(folder / "lib", TrainRequest("euclidean", "plain"))
    return folder


@pytest.fixture
def images(made, tmp_path):
    """16 images and a copy of one, with features and a metric; the test's own."""
    shutil.copytree(made, tmp_path / "own", dirs_exist_ok=True)
    library = tmp_path / "own" / "lib"
    with Library.open(library) as opened:
        (source,) = opened.catalogue.sources()
        opened.catalogue.move_source(source, tmp_path / "own" / "images", [])
    return library


def test_the_nearest_come_first_by_the_metrics_own_distance(table):
    for name in ("plain", "learnt"):
        result = nearest_cases(table, name, Query("t/c0"), k=1000)
        with Library.open(table) as opened:
            rows, values = opened.features.read(opened.features.get(None))
            details = opened.catalogue.details(rows.tolist())
            metric = load_metric(opened.metric(name).file)
        expected = {
            details[row].case_id: distance
            for row, distance in zip(rows.tolist(), metric.distances(values[:1], values)[0], strict=True)
        }
        assert len(result.ranked) == 58
        distances = [case.distance for case in result.ranked]
        assert distances == sorted(distances)
        np.testing.assert_allclose(distances, [expected[case] for case in ids(result)], rtol=1e-9, atol=1e-12)
        assert [case.rank for case in result.ranked] == list(range(1, 59))
        assert result.compared == 59


def test_the_query_and_its_patient_are_never_results(table):
    result = nearest_cases(table, "plain", Query("t/c10"), k=100)
    assert not {"t/c10", "t/c11"} & set(ids(result))
    assert result.same_patient in (0, 1)
    shown = nearest_cases(table, "plain", Query("t/c10"), k=100, hide_same_patient=False)
    assert set(ids(shown)) - set(ids(result)) == {"t/c11"}
    assert shown.same_patient == 0


def test_fewer_than_requested_and_none_at_all(table):
    assert len(nearest_cases(table, "plain", Query("t/c0"), k=3).ranked) == 3
    with pytest.raises(BadArguments, match=r"Give either --case or --image"):
        nearest_cases(table, "plain", Query())
    with pytest.raises(BadArguments, match=r"Give either --case or --image"):
        nearest_cases(table, "plain", Query("t/c0", Path("x.png")))


def test_the_shape_of_the_json(table):
    document = nearest_cases(table, "learnt", Query("t/c0"), k=12).to_json()
    json.dumps(document, allow_nan=False)
    assert {
        "query", "metric", "results", "hidden", "vote", "no_good_match", "seconds",
    } <= set(document)  # fmt: skip
    assert document["query"] == {"case_id": "t/c0", "image": None, "region": None}
    shape = {"rank", "case_id", "distance", "finding", "path", "near_duplicates", "near_duplicate_findings"}
    assert set(document["results"][0]) == shape
    assert set(document["hidden"]) == {"same_patient", "near_duplicates"}
    vote = document["vote"]
    assert {"counts", "calibrated", "measured_on", "finding", "probability", "interval"} < set(vote)
    assert (vote["calibrated"], vote["probability"], vote["interval"]) == (False, None, None)
    assert sum(vote["counts"].values()) == 10
    assert vote["finding"] == "kind 0"
    assert vote["why_not"] == "No estimate: this case trained the ranking."
    assert set(document["seconds"]) == {"features", "search"}


def test_the_ten_nearest_vote_however_many_are_shown(table):
    votes = [nearest_cases(table, "learnt", Query("t/c0"), k=k).counts for k in (1, 10, 30)]
    assert votes[0] == votes[1] == votes[2]
    assert sum(votes[0].values()) == 10


def test_unknown_names_are_reported(table):
    with pytest.raises(BadArguments, match=r"no metric 'magic'.*There are: learnt, plain|plain, learnt"):
        nearest_cases(table, "magic", Query("t/c0"))
    with pytest.raises(BadInput, match=r"no case 't/c77'.*info LIB --json"):
        nearest_cases(table, "plain", Query("t/c77"))
    with pytest.raises(BadInput, match="does not exist"):
        nearest_cases(table.with_name("gone"), "plain", Query("t/c0"))
    # Nothing of the failed queries stays open, and good ones still work.
    assert nearest_cases(table, "plain", Query("t/c0")).ranked


def test_a_table_cannot_be_queried_with_an_image(table, tmp_path):
    (tmp_path / "x.png").write_bytes(encoded(pattern()))
    with pytest.raises(BadInput, match=r"cannot be compared by 'raw'.*Search with --case"):
        nearest_cases(table, "plain", Query(image=tmp_path / "x.png"))
    with pytest.raises(BadInput, match="has no image"):
        nearest_cases(table, "plain", Query("t/c0", region=Region(0, 0, 5, 5)))


def test_the_error_for_a_case_without_features_has_a_hint(table, tmp_path):
    write_table(tmp_path / "t.csv", n=62)
    import_source(tmp_path / "t.csv", table)
    with pytest.raises(BadInput, match=r"t/c61 has no numbers in the feature set 'raw'.*--extractor raw"):
        nearest_cases(table, "plain", Query("t/c61"))
    assert "t/c60" not in ids(nearest_cases(table, "plain", Query("t/c0"), k=100))
    extract_features(table, "raw")
    assert "t/c60" in ids(nearest_cases(table, "plain", Query("t/c0"), k=100))
    assert nearest_cases(table, "plain", Query("t/c61")).ranked


def test_the_error_for_an_image_and_a_metric_on_a_table_names_the_metrics_for_it(images, tmp_path):
    import_source(write_table(tmp_path / "t.csv"), images)
    extract_features(images, "raw")
    train_metric(images, TrainRequest("euclidean", "numbers", "raw"))
    with pytest.raises(BadInput, match="Choose a metric on features that it has: plain"):
        nearest_cases(images, "numbers", Query("images/level/p000.png"))


# Images


def test_an_image_from_outside_finds_itself_where_own_cases_are_shown(images, tmp_path):
    query_file = tmp_path / "from outside.png"
    shutil.copy(images.parent / "images" / "upright" / "p002.png", query_file)
    result = nearest_cases(images, "plain", Query(image=query_file), k=5, hide_same_patient=False)
    assert ids(result)[0] == "images/upright/p002.png"
    assert result.ranked[0].distance == pytest.approx(0, abs=1e-9)
    assert result.ranked[0].path == str(images.parent / "images" / "upright" / "p002.png")
    assert result.same_patient == 0


def test_copies_are_grouped_into_one(images):
    original, copy = "images/level/p000.png", "images/level/copy of p000.png"
    result = nearest_cases(images, "plain", Query("images/level/p004.png"), k=100)
    (first,) = [case for case in result.ranked if case.case_id in (original, copy)]
    assert first.near_duplicates == 1
    assert result.near_duplicates == 1
    unfolded = nearest_cases(images, "plain", Query("images/level/p004.png"), k=100, group_duplicates=False)
    assert {original, copy} <= set(ids(unfolded))
    own = nearest_cases(images, "plain", Query(original), k=100)
    assert copy not in ids(own)
    assert own.near_duplicates == 1


def test_a_region_queries_with_that_part_only(images, tmp_path):
    path = images.parent / "images" / "level" / "p000.png"
    region = Region(4, 5, 30, 20)
    by_case = nearest_cases(images, "plain", Query("images/level/p000.png", region=region), k=100)
    by_image = nearest_cases(images, "plain", Query(image=path, region=region), k=100)
    assert "images/level/p000.png" not in ids(by_case)
    with Library.open(images) as opened:
        metric = load_metric(opened.metric("plain").file)
        rows, values = opened.features.read(opened.features.get(None))
        details = opened.catalogue.details(rows.tolist())
    own = make_extractor("colour_edge_texture").extract(open_image(path), region)
    expected = {
        details[row].case_id: distance
        for row, distance in zip(rows.tolist(), metric.distances(own[None], values)[0], strict=True)
    }
    for result in (by_case, by_image):
        np.testing.assert_allclose(
            [case.distance for case in result.ranked], [expected[case] for case in ids(result)], rtol=1e-6
        )
    assert by_case.query.to_json()["region"] == {
        "kind": "rectangle",
        "x": 4,
        "y": 5,
        "width": 30,
        "height": 20,
    }
    with pytest.raises(BadInput, match="lies outside the image"):
        nearest_cases(images, "plain", Query(image=path, region=Region(500, 500, 5, 5)))


def test_an_unreadable_image_is_reported(images, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"no image")
    with pytest.raises(BadInput, match=r"bad\.png"):
        nearest_cases(images, "plain", Query(image=tmp_path / "bad.png"))
    with pytest.raises(BadInput, match=r"gone\.png' does not exist"):
        nearest_cases(images, "plain", Query(image=tmp_path / "gone.png"))


def test_cases_whose_image_is_missing_still_answer(images):
    shutil.rmtree(images.parent / "images" / "level")
    import_source(images.parent / "images", images)
    result = nearest_cases(images, "plain", Query("images/level/p000.png"), k=100)
    assert result.ranked
    with pytest.raises(BadInput, match="does not exist"):
        nearest_cases(images, "plain", Query("images/level/p000.png", region=Region(0, 0, 9, 9)))


def test_an_image_unlike_all_others_has_no_close_match(tmp_path):
    library = table_library(tmp_path, n=200, metrics=(PLAIN,))
    assert not nearest_cases(library, "plain", Query("t/c0")).no_close_match
    with (tmp_path / "t.csv").open("a", encoding="utf-8") as file:
        file.write("odd,P999,90,90,90,90,90,kind 0\n")
    import_source(tmp_path / "t.csv", library)
    extract_features(library, "raw")
    result = nearest_cases(library, "plain", Query("t/odd"))
    assert result.no_close_match
    assert (result.match.features, result.match.distance > result.match.limit) == (METRIC, True)
    assert (result.vote.why_not, result.vote.probability) == (NO_MATCH, None)
    assert not result.is_unclear
