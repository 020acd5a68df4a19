"""The places that make two images alike: their shares sum to the ranked distance, or the reason says why not."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from PIL import Image

from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import compare_places
from semblance.core.workflows.searches.compare_cases import compare_images
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.images import striped_folder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    images = striped_folder(folder / "images", n=12)
    library = folder / "lib.semblance"
    import_source(images, library)
    extract_features(library, "encoder")
    train_metric(library, TrainRequest("euclidean", "plain"))
    train_metric(library, TrainRequest("bdm", "bits", settings={"rounds": 8}))
    close_loaded_metrics()
    return folder


def searched(made, **options):
    library = made / "lib.semblance"
    case = read_snapshot(library).columns.ids[0]
    region = options.pop("region", None)
    search = Search(options.pop("metric", "plain"), Query(case, region=region), **options)
    return library, search, rank_cases(library, search, k=8).result.ranked


def test_parts_sum_to_the_ranked_distance(made):
    for metric in ("plain", "bits"):
        library, search, ranked = searched(made, metric=metric)
        for line in (ranked[0], ranked[-1]):
            found = compare_images(library, search, line.case_id)
            places = found.places
            assert found.query.pixels is not None
            assert places.total == pytest.approx(line.distance, abs=1e-5)
            assert sum(amount for _, amount in places.parts) == pytest.approx(places.total, abs=1e-9)
            assert places.shares.sum(axis=1) == pytest.approx([places.total] * 2, abs=1e-9)
            assert [name for name, _ in places.parts][:4] == list("abcd")
            assert bool(places.details) == (metric == "bits")
            for pair in places.pairs:
                for frame, box in zip(places.frames, pair.boxes, strict=True):
                    assert frame[0] <= box[0] + 1e-9 and box[2] <= frame[2] + 1e-9
                    assert frame[1] <= box[1] + 1e-9 and box[3] <= frame[3] + 1e-9


def test_each_place_has_a_pair(made):
    library, search, ranked = searched(made)
    places = compare_images(library, search, ranked[0].case_id).places
    assert places.pair_at(0, -1.0, 4.0) is None
    assert places.pair_at(1, 4.0, 999.0) is None
    for image in (0, 1):
        pair = places.pair_at(image, 24.0, 24.0)
        left, top, right, bottom = pair.boxes[image]
        assert left <= 24.0 < right
        assert top <= 24.0 < bottom
    named = places.pairs[1]
    left, top, right, bottom = named.boxes[1]
    found = places.pair_at(1, (left + right) / 2, (top + bottom) / 2)
    assert found.boxes[1] == named.boxes[1]


def test_a_search_by_place_shares_its_similarity_among_the_places_of_the_region(made):
    library, search, ranked = searched(made, region=Region(8, 8, 24, 20))
    line = ranked[0]
    places = compare_images(library, search, line.case_id, place=line.place).places
    assert places.is_similarity
    assert places.total == pytest.approx(line.place.similarity, abs=1e-5)
    assert 2.0 - 2.0 * places.total == pytest.approx(line.distance, abs=1e-5)
    assert sum(amount for _, amount in places.parts) == pytest.approx(places.total, abs=1e-9)
    assert places.frames == ((8, 8, 32, 28), line.place.box)
    assert places.pair_at(0, 1.0, 1.0) is None
    pair = places.pair_at(0, 20.0, 18.0)
    assert pair.share == pytest.approx(pair.similarity / (places.shares[0] != 0.0).sum())


def test_a_whole_image_searched_with_by_place_has_matches_and_no_frame(made):
    library, search, ranked = searched(made)
    places = compare_images(library, search, ranked[0].case_id, by_place=True).places
    assert places.is_similarity and places.frames is None and places.pairs
    assert "places of the image" in str(places.summary)
    assert sum(amount for _, amount in places.parts) == pytest.approx(places.total, abs=1e-9)


def test_features_of_another_image_have_no_shares(made, tmp_path):
    shutil.copytree(made, tmp_path / "own", dirs_exist_ok=True)
    library, search, ranked = searched(tmp_path / "own")
    first = tmp_path / "own" / "images" / "level" / "p000.png"
    inverted = 255 - np.asarray(Image.open(made / "images" / "level" / "p000.png"))
    library_images = sorted((made / "images").rglob("p000.png"))
    assert len(library_images) == 1
    kept = library_images[0].read_bytes()
    try:
        # The library of the copy still reads the images of the original.
        Image.fromarray(inverted).save(library_images[0])
        places = compare_images(library, search, ranked[0].case_id).places
        assert places.parts == ()
        assert "another version" in str(places.note)
        assert places.pairs
        library_images[0].unlink()
        found = compare_images(library, search, ranked[0].case_id)
        assert found.places is None
        assert found.query.problem
        assert found.case.pixels is not None
    finally:
        library_images[0].write_bytes(kept)
    assert first.exists()


def test_a_metric_without_exact_shares_says_so(made, monkeypatch):
    monkeypatch.setattr(compare_places, "shares_by_place", lambda *_: None)
    library, search, ranked = searched(made)
    places = compare_images(library, search, ranked[0].case_id).places
    assert places.parts == ()
    assert "no exact shares" in str(places.note)
    assert places.pairs[0].share is None
