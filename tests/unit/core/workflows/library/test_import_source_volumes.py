"""Cases made of many files: accounted, unchanged, changed, missing and found again like any other."""

from __future__ import annotations

import shutil
from pathlib import PurePosixPath

import numpy as np
import pytest
from PIL import Image

from semblance.core.imaging import ImageReader, Region
from semblance.core.library.importers import registry
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition
from semblance.core.library.library import Library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.relink_images import relink
from tests.helpers.libraries import tables_of


class SeriesImporter(Importer):
    """Every folder is a volume; its first slice also gives a region of it, made of the file region.png."""

    kind, title, summary = "series", "Series", "Folders of slices."

    def recognise(self, source):
        return Recognition(1.0, "Folders of slices.")

    def scan(self, source, reporter):
        folders: dict[str, list[str]] = {}
        for entry in source.entries():
            folders.setdefault(str(PurePosixPath(entry.path).parent), []).append(entry.path)
        for folder, paths in folders.items():
            regions = [path for path in paths if path.endswith("region.png")]
            parts = tuple((path, None) for path in paths if path not in regions)
            yield FoundCase(folder, parts[0][0], finding="all", patient=folder, slices=parts)
            for path in regions:
                box = Region(1, 1, 4, 4, z=1, depth=2)
                yield FoundCase(path, path, finding="part", patient=folder, region=box, slices=parts)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(registry, "_ALL", (*registry._ALL, SeriesImporter))


@pytest.fixture
def library(tmp_path):
    return tmp_path / "lib"


@pytest.fixture
def series(tmp_path):
    """Two volumes of six slices, one of them with a region."""
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        folder = tmp_path / "disk" / "scans" / name
        folder.mkdir(parents=True)
        for number in range(6):
            Image.fromarray(rng.integers(0, 256, (40, 48)).astype(np.uint8)).save(folder / f"{number}.png")
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(folder / "region.png")
    return tmp_path / "disk" / "scans"


def details(library, case_id):
    with Library.open(library) as opened:
        row = opened.catalogue.row_of(case_id)
        return opened.catalogue.details([row])[row]


def states(library):
    with Library.open(library) as opened:
        return {r.case_id: r.state for r in opened.catalogue.all_cases()}


def test_a_volume_is_one_case_and_its_files_are_known(series, library):
    first = import_source(series, library, kind="series")
    assert (first.added, first.cases, first.patients, first.failed, first.ignored) == (3, 3, 2, [], [])
    volume = details(library, "scans/a")
    assert (volume.depth, volume.width, volume.height) == (6, 48, 40)
    assert [part.container.name for part in volume.address.slices] == [f"{n}.png" for n in range(6)]
    part = details(library, "scans/b/region.png")
    assert (part.depth, part.region.z, part.content != details(library, "scans/b").content) == (6, 1, True)
    with Library.open(library) as opened:
        record = opened.catalogue.sources()[0]
        assert len(opened.catalogue.files(record)) == 13
        assert len(opened.thumbnails.get([volume.content, part.content])) == 2
    with ImageReader() as reader:
        assert reader.stack(volume.address).shape == (6, 40, 48)


def test_importing_again_changes_nothing(series, library):
    import_source(series, library, kind="series")
    before = tables_of(library)
    again = import_source(series, library, kind="series")
    assert (again.added, again.unchanged, again.missing, again.removed) == (0, 3, [], [])
    assert tables_of(library) == before


def test_a_changed_slice_changes_every_case_of_the_volume(series, library):
    import_source(series, library, kind="series")
    Image.fromarray(np.full((40, 48), 9, np.uint8)).save(series / "b" / "5.png")
    again = import_source(series, library, kind="series")
    assert (again.added, again.updated, again.unchanged) == (2, 2, 1)


def test_a_damaged_slice_fails_by_itself(series, library):
    (series / "a" / "2.png").write_bytes(b"")
    first = import_source(series, library, kind="series")
    assert [f["path"] for f in first.failed] == ["a/2.png"]
    assert "empty" in first.failed[0]["reason"]
    assert (first.added, details(library, "scans/a").depth) == (3, 5)
    again = import_source(series, library, kind="series")
    assert (again.added, again.unchanged, len(again.failed)) == (0, 3, 1)


def test_removed_and_added_slices_are_reported(series, library, tmp_path):
    import_source(series, library, kind="series")
    shutil.move(series / "a" / "0.png", tmp_path / "aside.png")
    again = import_source(series, library, kind="series")
    assert (again.missing, again.updated, again.unchanged) == (["a/0.png"], 1, 2)
    assert details(library, "scans/a").depth == 5
    shutil.move(tmp_path / "aside.png", series / "a" / "0.png")
    assert import_source(series, library, kind="series").updated == 1
    assert details(library, "scans/a").depth == 6


def test_a_volume_that_is_gone_is_missing_until_it_is_back(series, library, tmp_path):
    import_source(series, library, kind="series")
    shutil.move(series / "a", tmp_path / "away")
    again = import_source(series, library, kind="series")
    assert again.missing == [f"a/{n}.png" for n in range(6)]
    assert (again.added, again.unchanged, again.cases) == (0, 2, 3)
    assert states(library) == {"scans/a": "missing", "scans/b": "ok", "scans/b/region.png": "ok"}
    shutil.move(tmp_path / "away", series / "a")
    back = import_source(series, library, kind="series")
    assert (back.unchanged, back.missing) == (3, [])
    assert set(states(library).values()) == {"ok"}


def test_a_case_that_lost_one_slice_says_which(series, library):
    import_source(series, library, kind="series")
    with Library.open(library, writable=True) as opened:
        opened.catalogue.set_state(opened.catalogue.sources()[0], ["a/3.png"], "missing", "gone")
    assert states(library)["scans/a"] == "missing"
    found = details(library, "scans/a")
    assert (found.state, found.reason) == ("missing", "a/3.png: gone")


def test_new_labels_reach_volumes(series, library, monkeypatch):
    import_source(series, library, kind="series")
    original_scan = SeriesImporter.scan

    def other(self, source, reporter):
        for case in original_scan(self, source, reporter):
            yield FoundCase(case.key, case.path, finding="new", region=case.region, slices=case.slices)

    monkeypatch.setattr(SeriesImporter, "scan", other)
    again = import_source(series, library, kind="series")
    assert (again.relabelled, again.unchanged, again.findings) == (3, 3, {"new": 3})


def test_a_region_whose_file_is_gone_goes_missing_and_its_volume_stays(series, library):
    import_source(series, library, kind="series")
    (series / "b" / "region.png").unlink()
    again = import_source(series, library, kind="series")
    assert again.missing == ["b/region.png"]
    assert states(library)["scans/b/region.png"] == "missing"
    assert states(library)["scans/b"] == "ok"


def test_moved_volumes_are_found_again(series, library, tmp_path):
    import_source(series, library, kind="series")
    (tmp_path / "other").mkdir()
    series.rename(tmp_path / "other" / "scans")
    found = relink(library, tmp_path / "other")
    assert (found.found, found.still_missing) == (13, 0)
    with ImageReader() as reader:
        assert reader.stack(details(library, "scans/b/region.png").address).image(5).width == 48


def test_numbers_are_extracted_of_the_slice_that_is_shown(series, library):
    import_source(series, library, kind="series")
    result = extract_features(library, "colour_edge_texture", workers=1)
    assert (result.extracted, result.failed) == (3, [])
    Image.fromarray(np.full((40, 48), 9, np.uint8)).save(series / "a" / "3.png")
    second = extract_features(library, "colour_edge_texture", name="again", workers=1)
    assert second.extracted == 2
    assert [f["case_id"] for f in second.failed] == ["scans/a"]
    assert "has changed since it was imported" in second.failed[0]["reason"]


def test_medmnist_volumes_are_cases_of_many_slices(tmp_path):
    source = tmp_path / "nodules3d.npz"
    voxels = np.random.default_rng(4).integers(0, 256, (5, 12, 16, 20)).astype(np.uint8)
    np.savez(source, train_images=voxels, train_labels=np.arange(5)[:, None] % 2)
    library = tmp_path / "nodules.semblance"
    result = import_source(source, library, kind="medmnist")
    assert (result.added, result.failed) == (5, [])
    with Library.open(library) as opened:
        rows = [row.id for row in opened.catalogue.all_cases()]
        details = opened.catalogue.details(rows)
        assert {case.depth for case in details.values()} == {12}
        with ImageReader() as reader:
            stack = reader.stack(details[rows[3]].address)
            assert np.array_equal(stack.volume().voxels, voxels[3])
    assert import_source(source, library, kind="medmnist").unchanged == 5
