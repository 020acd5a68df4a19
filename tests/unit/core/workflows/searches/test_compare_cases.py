"""Images of a query and a case, with the places where they agree."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
from PIL import Image

from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.compare_cases import SIDE, compare_features, compare_images
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from tests.helpers.images import striped_folder
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agreeing")
    images = striped_folder(folder / "images", n=12)
    library = folder / "lib.semblance"
    import_source(images, library)
    extract_features(library, "gabor")
    train_metric(library, TrainRequest("euclidean", "plain", steps="standardise,pca:5"))
    close_loaded_metrics()
    return folder


def ids(library):
    from semblance.core.workflows.library.library_snapshot import read_snapshot

    return read_snapshot(library).columns.ids


def test_both_images_come_with_as_many_rings_inside_them(made):
    library = made / "lib.semblance"
    cases = ids(library)
    for other in cases[1:5]:
        found = compare_images(library, Search("plain", Query(cases[0])), other)
        assert len(found.query.rings) == len(found.case.rings) <= 3
        for side in (found.query, found.case):
            assert max(side.pixels.shape[:2]) <= SIDE
            assert not side.problem
            for x, y, radius in side.rings:
                assert x - radius >= 0
                assert x + radius <= 1
                assert 0 <= y <= 1
        assert found.note.endswith(".")


def test_of_a_region_some_of_what_surrounds_it_is_shown(made, tmp_path):
    library = made / "lib.semblance"
    wide = np.tile(np.arange(200, dtype=np.uint8), (100, 1))
    Image.fromarray(wide).save(tmp_path / "wide.png")
    query = Query(image=tmp_path / "wide.png", region=Region(80, 20, 40, 40))
    found = compare_images(library, Search("plain", query), ids(library)[0])
    assert found.query.pixels.shape == (68, 68)
    for x, y, _ in found.query.rings:
        assert 14 / 68 <= x <= 54 / 68
        assert 14 / 68 <= y <= 54 / 68


def test_a_missing_image_is_reported_and_the_other_shown(made, tmp_path):
    shutil.copytree(made, tmp_path / "own", dirs_exist_ok=True)
    library = tmp_path / "own" / "lib.semblance"
    query = Query(image=tmp_path / "gone.png")
    found = compare_images(library, Search("plain", query), ids(library)[0])
    assert "gone.png" in found.query.problem
    assert found.query.pixels is None
    assert found.case.pixels is not None
    assert found.case.rings == ()


def test_rows_of_a_table_have_no_images(tmp_path):
    library = table_library(tmp_path, metrics=(PLAIN,))
    found = compare_images(library, Search("plain", Query("t/c0")), "t/c5")
    assert found.query.problem == found.case.problem == ""
    assert found.note == ""


def test_outlines_of_masses_lie_on_their_images(tmp_path):
    y, x = np.mgrid[:96, :96]
    folder = tmp_path / "discs"
    for number in range(10):
        finding = folder / ("small" if number % 2 else "large")
        finding.mkdir(parents=True, exist_ok=True)
        disc = np.hypot(x - 48, y - 48) < 12 + 2 * number
        noise = np.random.default_rng(number).normal(0, 4, disc.shape)
        Image.fromarray(np.clip(np.where(disc, 190, 60) + noise, 0, 255).astype(np.uint8)).save(
            finding / f"{number}.png"
        )
    library = tmp_path / "lib.semblance"
    import_source(folder, library)
    extract_features(library, "mass")
    train_metric(library, TrainRequest("euclidean", "plain"))
    cases = ids(library)
    found = compare_images(library, Search("plain", Query(cases[0])), cases[1])
    for side in (found.query, found.case):
        points = np.array(side.outline)
        assert len(points) > 20
        assert ((points >= -0.05) & (points <= 1.05)).all()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return table_library(tmp_path_factory.mktemp("t"), metrics=[PLAIN], missing=True)


def test_largest_differences_come_first_in_deviations_of_all_cases(library):
    rows = np.genfromtxt(library.parent / "t.csv", delimiter=",", skip_header=1, usecols=range(2, 7))
    found = compare_features(library, Search("plain", Query(case="t/c1")), "t/c30")
    apart = np.abs(rows[30] - rows[1]) / np.nanstd(rows, axis=0)
    assert [one.name for one in found] == [f"f{place}" for place in np.argsort(-apart)]
    assert [one.difference for one in found] == pytest.approx(np.sort(apart)[::-1], rel=1e-4)
    first = int(found[0].name[1:])
    assert (found[0].query, found[0].case) == pytest.approx((rows[1, first], rows[30, first]), rel=1e-5)
    mean, deviation = np.nanmean(rows[:, first]), np.nanstd(rows[:, first])
    assert found[0].case_place == pytest.approx((rows[30, first] - mean) / deviation, rel=1e-4)


def test_a_missing_value_has_no_difference_and_is_last(library):
    found = compare_features(library, Search("plain", Query(case="t/c1")), "t/c35")
    assert [math.isnan(one.difference) for one in found] == [False] * 4 + [True]
    assert math.isnan(found[-1].case)
    assert not math.isnan(found[-1].query)
