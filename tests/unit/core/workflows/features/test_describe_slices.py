"""The slices of volumes are described with a library's features, and found again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.extractor import Extractor
from semblance.core.features.places import PLACES, SLICES, Descriptions, PlaceCoding
from semblance.core.features.slice_descriptions import FARTHEST_MM, MOST_WITHOUT_DISTANCE, SliceDescriptions
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import ArrayStack, Volume
from semblance.core.library.content_hashes import content_hash
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features import describe_slices as module
from semblance.core.workflows.features.describe_slices import describe_slices, describe_volume, slices_of
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.open_volumes import CaseImage
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.compare_cases import compare_images
from semblance.core.workflows.searches.rank_cases import rank_cases
from semblance.core.workflows.searches.slice_query import query_by_slices, query_on_slice
from tests.helpers.learners import Listener
from tests.helpers.volume_files import meta_image

CODING = PlaceCoding(np.zeros(2, np.float32), np.eye(2, dtype=np.float32), 1.0)


class Greys(Extractor):
    """Places that are the grey of a slice; it counts what it is shown."""

    name, title, summary, version = "greys", "Greys", "", 1
    batch = 3

    def __init__(self):
        super().__init__()
        self.shown = 0

    @property
    def feature_names(self):
        return ()

    def extract(self, image, region=None):
        self.shown += 1
        return np.array([image.grey().mean(), 0.5], np.float32)

    def describe(self, prepared):
        found = np.stack(prepared)
        return Descriptions(found, maps=np.tile(found[:, np.newaxis, np.newaxis], (1, 4, 4, 1)))


def _stack(depth, distance):
    voxels = np.arange(depth * 12, dtype=np.uint16).reshape(depth, 4, 3)
    return ArrayStack(Volume(voxels, spacing_mm=None if distance is None else (distance, 1.0, 1.0)))


@pytest.mark.parametrize(
    ("depth", "distance", "count"), [(1, 2.0, 1), (30, 1.25, 7), (12, 8.0, 12), (200, None, 50)]
)
def test_each_described_slice_is_read_once(depth, distance, count):
    extractor = Greys()
    found, left_out = slices_of(_stack(depth, distance), extractor, CODING)
    assert (len(found.slices), extractor.shown, left_out) == (count, count, "")
    assert len(found.wholes) == len(found.places) == count <= MOST_WITHOUT_DISTANCE
    if distance is not None and distance <= FARTHEST_MM and count > 1:
        assert np.diff(found.slices).max() * distance <= FARTHEST_MM


@pytest.fixture
def series(tmp_path):
    """A case of five slices in files."""
    files = [tmp_path / f"{number}.png" for number in range(5)]
    for number, file in enumerate(files):
        Image.fromarray(np.full((9, 7), 51 * number, np.uint8)).save(file)
    return files


def _case(files):
    slices = tuple(ImageAddress(file) for file in files)
    hashes = tuple(content_hash(file.read_bytes()) for file in files)
    return CaseImage(3, "c3", ImageAddress(files[0], slices=slices), None, hashes)


def _describe(case, monkeypatch, reporter=None):
    monkeypatch.setattr(module, "make_extractor", lambda name, **settings: Greys())
    return describe_volume("greys", {}, CODING.to_settings(), case, reporter=reporter or Listener())


def test_a_damaged_slice_is_named_and_the_others_are_described(series, monkeypatch):
    series[2].write_bytes(series[2].read_bytes()[:30])
    found = _describe(_case(series), monkeypatch)
    assert SliceDescriptions.unpacked(found.packed).slices.tolist() == [0, 1, 3, 4]
    assert "1 slice is left out" in found.reason
    assert "2.png" in found.reason


def test_a_missing_slice_is_named_and_tried_again(series, monkeypatch):
    case = _case(series)
    series[4].unlink()
    found = _describe(case, monkeypatch)
    assert (found.packed, found.content) == (None, "")
    assert "4.png" in found.reason


def test_without_a_slice_that_can_be_read_there_is_nothing(monkeypatch):
    stack = _stack(3, 1.0)
    monkeypatch.setattr(
        stack, "image", lambda index: (_ for _ in ()).throw(BadInput(f"Slice {index} is damaged."))
    )
    with pytest.raises(BadInput, match="damaged"):
        slices_of(stack, Greys(), CODING)


def test_between_slices_it_can_be_cancelled(series, monkeypatch):
    with pytest.raises(Cancelled):
        _describe(_case(series), monkeypatch, Listener(cancel_at=2))


def _volume(place: Path, seed: int, shift: float) -> None:
    """Eight slices 5 mm apart: a bright disc that wanders and grows with the level, on a ground of its own."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:48, :48]
    slices = []
    for level in np.arange(8) + shift:
        away = np.hypot(y - 8 - 4 * level, x - 30 + 2 * level)
        slices.append(800.0 * (away < 3 + level) + 200.0 * np.sin(x * (0.2 + 0.1 * level)))
    voxels = np.rint(np.stack(slices) + rng.normal(0, 20, (8, 48, 48))).astype(np.int16)
    place.write_bytes(meta_image(voxels.transpose(2, 1, 0), np.diag([1.0, 1.0, 5.0, 1.0]))[0])


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library of three volumes of one kind, which begin at levels 0, 1 and 2, and a picture."""
    folder = tmp_path_factory.mktemp("volumes")
    (folder / "in").mkdir()
    for number in range(3):
        _volume(folder / "in" / f"v{number}.mha", number, float(number))
    import_source(folder / "in", folder / "lib", kind="volume")
    result = extract_features(folder / "lib", "encoder", workers=1)
    assert (result.extracted, result.failed) == (3, [])
    train_metric(folder / "lib", TrainRequest("euclidean", "plain"))
    return folder / "lib"


def test_slices_are_described_once(library):
    with open_library(library) as opened:
        whole = opened.features.get("encoder")
        slices = opened.features.part(whole, SLICES)
        places = opened.features.part(whole, PLACES)
        assert slices.settings["coding"] == places.settings["coding"]
        ids, rows = opened.features.read(slices)
    assert len(ids) == 3
    assert all(SliceDescriptions.unpacked(row).slices.tolist() == list(range(8)) for row in rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "open_engine", lambda *_: pytest.fail("Described again."))
        assert describe_slices(library, "encoder") == {}


def _ranked(library, query):
    # The volumes are so alike that they would count as one lesion.
    return rank_cases(library, Search("plain", query, group_duplicates=False)).result.ranked


@pytest.mark.parametrize("slice_", [1, 3, 6])
def test_a_slice_opens_other_volumes_at_the_same_level(library, slice_):
    # The first slice is the uppermost, which has the highest level.
    ranked = _ranked(library, query_on_slice(library, Query(case="in/v0.mha"), slice_))
    found = {case.case_id: case.place.slice for case in ranked}
    assert abs(found["in/v1.mha"] - (slice_ + 1)) <= 1
    assert abs(found["in/v2.mha"] - (slice_ + 2)) <= 1


def test_a_region_on_a_slice_is_found_on_that_slice(library):
    # Around the disc on the fourth slice, whose level is 4.
    query = query_on_slice(library, Query(case="in/v0.mha", region=Region(14, 16, 16, 16)), 4)
    ranked = _ranked(library, query)
    assert len(ranked) == 2
    for case in ranked:
        assert abs(case.place.slice - (4 + int(case.case_id[4]))) <= 1
        middle = case.place.y + case.place.height / 2, case.place.x + case.place.width / 2
        assert np.hypot(middle[0] - 24, middle[1] - 22) < 12


def test_the_reason_shows_the_slice_that_was_found(library):
    query = query_on_slice(library, Query(case="in/v0.mha", region=Region(14, 16, 16, 16)), 2)
    search = Search("plain", query, group_duplicates=False)
    case = rank_cases(library, search).result.ranked[0]
    # The fifth represents a volume of eight.
    assert case.place.slice != 5
    shown, middle = (
        compare_images(library, search, case.case_id, place=place).case.pixels
        for place in (case.place, replace(case.place, slice=5))
    )
    assert (shown != middle).any()


def test_a_slice_that_is_not_there_is_refused(library):
    with pytest.raises(BadArguments, match=r"no slice 9: .* has 8"):
        query_on_slice(library, Query(case="in/v0.mha"), 9)


@pytest.mark.parametrize("in_order", [False, True])
def test_a_volume_finds_volumes_and_opens_them_at_the_level_of_its_middle_slice(library, in_order):
    query = query_by_slices(library, Query(case="in/v0.mha"), in_order=in_order)
    assert query.region.z == 4
    ranked = _ranked(library, query)
    found = {case.case_id: case.place.slice for case in ranked}
    assert list(found) == ["in/v1.mha", "in/v2.mha"]
    assert abs(found["in/v1.mha"] - 6) <= 1
    assert abs(found["in/v2.mha"] - 7) <= 1
    assert ranked[0].distance < ranked[1].distance
    assert Query.from_json(query.to_json()) == query


def test_a_volume_from_outside_is_measured_as_its_own_copy_in_the_library(library):
    outside = library.parent / "in" / "v0.mha"
    near = [
        {case.case_id: case.distance for case in _ranked(library, query_by_slices(library, query))}
        for query in (Query(case="in/v0.mha"), Query(image=outside))
    ]
    near[1].pop("in/v0.mha", None)
    assert near[1] == pytest.approx(near[0], abs=1e-3)


def test_only_whole_volumes_have_an_order_of_slices(library):
    one = query_on_slice(library, Query(case="in/v0.mha"), 2)
    assert query_by_slices(library, one) == one
    with pytest.raises(BadArguments, match="order"):
        query_by_slices(library, one, in_order=True)
