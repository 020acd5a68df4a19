"""What an encoder describes besides its features is stored with them."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from unittest import mock

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.places import LEVELS, PLACES
from semblance.core.features.registry import make_extractor
from semblance.core.imaging import open_image
from semblance.core.imaging.region import Region
from semblance.core.library.edit_log import undo_edit
from semblance.core.library.library import Library
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features import described_sets, measuring_order
from semblance.core.workflows.features import extract_features as module
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.stored_places import read_places
from semblance.core.workflows.library.edit_metrics import delete_features, duplicate_features, rename_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.bad_images import encoded, write_zip
from tests.helpers.encoders import mapped, settings
from tests.helpers.engine_here import EngineHere
from tests.helpers.images import striped_folder
from tests.helpers.recording_reporter import RecordingReporter


class Here(EngineHere):
    """``handed`` are the cases of each part."""

    handed: list[list[int]] = []  # noqa: RUF012 - emptied by the fixture

    def submit(self, function, *args, **options):
        self.handed.append([image.row for image in args[2]])
        return super().submit(function, *args, **options)


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(module, "open_engine", lambda *_: Here(2))
    monkeypatch.setattr(Here, "handed", [])
    return Here


@pytest.fixture
def images(tmp_path):
    return striped_folder(tmp_path / "images", n=12)


@pytest.fixture
def library(tmp_path, images):
    import_source(images, tmp_path / "lib")
    return tmp_path / "lib"


@pytest.fixture
def own(tmp_path):
    """Extract with a small encoder of four times four places, the pixels themselves."""
    given = {"model": str(mapped(tmp_path / "own.onnx"))}
    given["settings"] = str(settings(tmp_path / "own.json", output="features", map="map"))

    def extract(library, **options):
        return extract_features(library, "onnx", settings=given, **options)

    return extract


def places(library, name="onnx"):
    with Library.open(library) as opened:
        return read_places(opened, opened.features.get(name))


def places_set(library):
    with Library.open(library) as opened:
        found = opened.features.part(opened.features.get("onnx"), PLACES)
        assert found is not None
        return found


def test_the_encoder_gives_levels_and_places_of_every_case(library, images):
    result = extract_features(library, "encoder")
    assert (result.extracted, result.failed) == (12, [])
    with Library.open(library) as opened:
        features = opened.features
        made = features.get(None)
        assert [one.name for one in features.all()] == ["encoder", "encoder levels"]
        assert [one.name for one in features.every()] == ["encoder", "encoder levels", "encoder places"]
        assert opened.summary()["feature_sets"] == ["encoder"]
        assert opened.summary()["descriptions"] == {"encoder": [LEVELS, PLACES]}
        levels = features.get("encoder levels")
        assert features.whole(levels) == made
        _, values = features.read(levels)
        stored = read_places(opened, levels)
        cases = opened.catalogue.details(stored.rows.tolist())
    assert (stored.grid_rows, stored.grid_columns, stored.codes.shape) == (14, 14, (12, 196, 64))
    assert stored.codes[0].nbytes <= 15_000
    head, deep = make_extractor("encoder"), make_extractor(levels.extractor, **levels.extractor_settings)
    assert [(one.name, one.group) for one in deep.feature_names] == list(levels.columns)
    for row, numbers, codes in zip(stored.rows.tolist(), values, stored.codes, strict=True):
        image = open_image(images.parent / cases[row].case_id)
        # An image measured alone has the same numbers but for rounding.
        np.testing.assert_allclose(deep.extract(image), numbers, atol=1e-5)
        maps = head.describe([head.prepare(image)]).maps
        other = stored.coding.coded(maps.reshape(196, -1))
        assert np.abs(other.astype(int) - codes).max() <= 1
    assert extract_features(library, "encoder").extracted == 0


def test_a_case_with_a_region_has_the_places_of_its_whole_image(tmp_path, own):
    image, mask = np.zeros((2, 40, 60), dtype=np.uint8)
    image[:, :30], mask[5:15, 40:55] = 200, 255
    files = {"busi/a/1.png": encoded(image), "busi/a/1_mask.png": encoded(mask)}
    import_source(write_zip(tmp_path / "busi.zip", files), tmp_path / "lib")
    assert own(tmp_path / "lib").failed == []
    stored = places(tmp_path / "lib")
    with Library.open(tmp_path / "lib") as opened:
        _, features = opened.features.read(opened.features.get("onnx"))
    # The region is dark throughout; the left half of the image is bright.
    assert features.max() == 0.0
    halves = stored.codes.reshape(4, 4, 3).astype(int)
    assert np.abs(halves[:, 0] - halves[:, 3]).max(axis=1).min() > 100


def test_the_coding_depends_on_the_library_and_not_on_the_order_of_the_workers(
    tmp_path, library, own, monkeypatch
):
    monkeypatch.setattr(described_sets, "SAMPLE", 5)
    copies = [tmp_path / f"copy {n}" for n in range(3)]
    for copy in copies:
        shutil.copytree(library, copy)
    own(copies[0])
    # Cases a person waits for come in between, and one worker gets all.
    own(copies[1], first=lambda: [7, 3, 12])
    monkeypatch.setattr(module, "open_engine", lambda *_: Here(1))
    own(copies[2])
    first, *others = [places(copy) for copy in copies]
    for other in others:
        np.testing.assert_array_equal(first.coding.components, other.coding.components)
        np.testing.assert_array_equal(first.codes, other.codes)
    assert first.rows.tolist() == list(range(1, 13))


def test_an_extraction_that_was_stopped_goes_on_where_it_was(tmp_path, images, own, monkeypatch):
    monkeypatch.setattr(described_sets, "SAMPLE", 5)
    monkeypatch.setattr(measuring_order, "STEP", 2)
    library = tmp_path / "stopped"
    import_source(striped_folder(images, n=60), library)
    shutil.copytree(library, tmp_path / "whole")
    own(tmp_path / "whole")
    for stop in (2, 4):
        with pytest.raises(Cancelled):
            own(library, first=list, reporter=RecordingReporter(cancel_after=stop))
    with Library.open(library) as opened:
        assert 0 < len(opened.features.cases_of(opened.features.get("onnx"))) < 60
    assert own(library).failed == []
    np.testing.assert_array_equal(places(library).codes, places(tmp_path / "whole").codes)


def test_a_library_of_before_gets_its_descriptions_and_keeps_its_features(library, images):
    extract_features(library, "encoder")
    with Library.open(library) as opened:
        before = opened.features.read(opened.features.get(None))
        sums = opened.features.chunk_sums(opened.features.get(None))
    with contextlib.closing(sqlite3.connect(library / "catalogue.sqlite")) as connection, connection:
        connection.execute("DELETE FROM feature_chunks WHERE feature_set > 1")
        connection.execute("DELETE FROM feature_sets WHERE id > 1")
    with Library.open(library) as opened:
        with pytest.raises(BadInput, match="no places of 'encoder'") as caught:
            read_places(opened, opened.features.get(None))
        assert "Metric > Measure places" in caught.value.hint
    assert read_snapshot(library).feature_sets[0].incomplete == 12
    striped_folder(images, n=14)
    import_source(images, library)
    with mock.patch.object(described_sets, "SAMPLE", 2):
        Here.handed.clear()
        assert extract_features(library, "encoder").extracted == 14
    # After the sample come the cases that had no features yet.
    assert {13, 14} <= {row for part in Here.handed[:3] for row in part}
    assert read_snapshot(library).feature_sets[0].incomplete == 0
    with Library.open(library) as opened:
        for one, other in zip(opened.features.read(opened.features.get(None)), before, strict=True):
            np.testing.assert_array_equal(one[:12], other)
        now = opened.features.chunk_sums(opened.features.get(None))
        assert {number: now[number] for number in sums} == sums


def test_a_coding_of_few_images_is_fitted_anew_once_the_library_has_twice_as_many(
    library, images, own, monkeypatch
):
    monkeypatch.setattr(described_sets, "SAMPLE", 40)
    own(library)
    assert places_set(library).settings["fitted_from"] == 12
    for n, fitted_from, measured in ((20, 12, 8), (30, 30, 30), (34, 30, 4), (60, 60, 60), (200, 60, 140)):
        striped_folder(images, n=n)
        import_source(images, library)
        Here.handed.clear()
        own(library)
        assert places_set(library).settings["fitted_from"] == fitted_from, n
        assert len({row for part in Here.handed for row in part}) == sum(map(len, Here.handed)) == measured, n
        stored = places(library)
        assert len(stored.rows) == n, n
    with Library.open(library) as opened:
        few = read_places(opened, opened.features.get("onnx"), stored.rows[7:20])
    np.testing.assert_array_equal(few.codes, stored.codes[7:20])


def test_an_image_of_the_sample_that_cannot_be_read_is_replaced(library, images, own, monkeypatch):
    monkeypatch.setattr(described_sets, "SAMPLE", 11)
    broken = images / "level" / "p000.png"
    broken.write_bytes(b"no image")
    result = own(library)
    assert (result.extracted, len(result.failed)) == (11, 1)
    assert len(places(library).rows) == 11


def test_another_program_with_another_coding_is_noticed(library, own):
    own(library)
    before = places_set(library)
    with Library.open(library, writable=True) as opened:
        changed = opened.features.recode(before, {**before.settings, "fitted_from": 3})
        rows, codes = np.array([1]), np.ones((1, before.width), dtype=np.int8)
        assert opened.features.write_chunk(before, rows, codes) == 0
        assert opened.features.recode(before, {"fitted_from": 4}) == changed
        assert opened.features.write_chunk(changed, rows, codes) == 1
    assert places(library).rows.tolist() == [1]


@pytest.mark.parametrize("damage", ["flipped", "gone", "no description"])
def test_damaged_places_are_described_again(library, own, damage):
    own(library)
    before, store = places(library), library / "features" / f"{places_set(library).id}.zarr"
    chunk = store / "c" / "0" / "0"
    if damage == "flipped":
        content = chunk.read_bytes()
        chunk.write_bytes(content[:40] + bytes([content[40] ^ 255]) + content[41:])
    else:
        (chunk if damage == "gone" else store / "zarr.json").unlink()
    with pytest.raises(BadInput, match=r"'onnx places' .*lost or damaged"):
        places(library)
    result = verify_library(library)
    assert [one.part for one in result.findings] == ["features"]
    assert "'onnx places'" in result.findings[0].says
    assert verify_library(library, repair=True).unrepaired_problems == []
    np.testing.assert_array_equal(places(library).codes, before.codes)
    assert verify_library(library).findings == []


def test_what_belongs_to_a_set_is_renamed_copied_and_deleted_with_it(library, own):
    own(library)
    rename_features(library, "onnx", "mine")
    duplicate_features(library, "mine", "other")
    np.testing.assert_array_equal(places(library, "mine").codes, places(library, "other").codes)
    with Library.open(library) as opened:
        names = [one.name for one in opened.features.every()]
    assert names == ["mine", "mine places", "other", "other places"]
    before = places(library, "mine").codes
    delete_features(library, "mine")
    with Library.open(library, writable=True) as opened:
        assert [one.name for one in opened.features.every()] == ["other", "other places"]
        undo_edit(opened)
    np.testing.assert_array_equal(places(library, "mine").codes, before)


def test_levels_cannot_be_deleted_alone(library):
    extract_features(library, "encoder")
    for change in (delete_features, lambda *names: rename_features(*names, "new")):
        with pytest.raises(BadArguments, match="measured together with 'encoder'"):
            change(library, "encoder levels")


def test_the_tokens_of_a_square_grid_are_a_map(tmp_path):
    model = str(mapped(tmp_path / "own.onnx"))
    rng = np.random.default_rng(0)
    found = []
    for name in ("map", "tokens"):
        file = settings(tmp_path / f"{name}.json", output="features", map=name)
        extractor = make_extractor("onnx", model=model, settings=str(file))
        pixels = rng.random((3, 4, 4, 3), dtype=np.float32)
        found.append((pixels, extractor.describe(list(pixels)).maps))
        grid = extractor.place_grid(80, 40, Region(10, 20, 20, 40))
        assert (grid.rows, grid.columns, grid.box) == (4, 4, (10.0, 20.0, 30.0, 60.0))
    for pixels, maps in found:
        np.testing.assert_array_equal(maps, pixels)
    for name, says in (
        ("none", "has no output 'none' with a map"),
        ("features", "3 numbers an image, which is no map"),
    ):
        with pytest.raises(BadInput, match=says):
            file = settings(tmp_path / "wrong.json", output="features", map=name)
            _ = make_extractor("onnx", model=model, settings=str(file)).feature_names


def test_a_grid_finer_than_16_times_16_is_averaged(tmp_path):
    model = str(mapped(tmp_path / "own.onnx", size=24))
    file = settings(tmp_path / "own.json", input_size=24, output="features", map="map")
    extractor = make_extractor("onnx", model=model, settings=str(file))
    pixels = np.random.default_rng(0).random((1, 24, 24, 3), dtype=np.float32)
    maps = extractor.describe(list(pixels)).maps
    assert maps.shape == (1, 16, 16, 3)
    # The first place is one and a half pixels high and wide.
    weights = np.array([1.0, 0.5]) / 1.5
    expected = np.einsum("i,j,ijc->c", weights, weights, pixels[0, :2, :2])
    np.testing.assert_allclose(maps[0, 0, 0], expected, rtol=1e-5)
    np.testing.assert_allclose(maps.mean(axis=(1, 2)), pixels.mean(axis=(1, 2)), rtol=1e-4)
