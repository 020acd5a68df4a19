from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.tasks import Cancelled
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.relink_images import relink
from tests.helpers.bad_images import write_zip
from tests.helpers.images import striped_folder
from tests.helpers.recording_reporter import RecordingReporter


@pytest.fixture
def library(tmp_path):
    return tmp_path / "lib"


@pytest.fixture
def images(tmp_path, library):
    folder = striped_folder(tmp_path / "disk" / "study [1]", n=12)
    import_source(folder, library)
    return folder


def source_paths(library: Path) -> list[Path]:
    with Library.open(library) as opened:
        return [source.path for source in opened.catalogue.sources()]


def readable(library: Path) -> int:
    """Cases whose image can be opened where the catalogue says it lies."""
    from semblance.core.imaging import open_image

    count = 0
    with Library.open(library) as opened:
        rows = [r.id for r in opened.catalogue.all_cases()]
        for details in opened.catalogue.details(rows).values():
            if details.address is None:
                continue
            try:
                open_image(details.address)
            except BadInput:
                continue
            count += 1
    return count


def moved(images: Path, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    images.rename(to)
    return to


def test_nothing_is_touched_where_nothing_is_missing(images, library, tmp_path):
    result = relink(library, tmp_path)
    assert result.to_json() == {"moved": {}, "found": 0, "still_missing": 0}
    assert source_paths(library) == [images]


@pytest.mark.parametrize("named", ["itself", "parent", "grandparent", "a part of it"])
def test_a_moved_folder_is_found(images, library, tmp_path, named):
    place = moved(images, tmp_path / "new" / "place" / "study [1]")
    found = {
        "itself": place,
        "parent": place.parent,
        "grandparent": place.parent.parent,
        "a part of it": place / "level",
    }[named]
    result = relink(library, found)
    assert result.to_json() == {"moved": {"study [1]": str(place)}, "found": 12, "still_missing": 0}
    assert source_paths(library) == [place]
    assert readable(library) == 12
    assert import_source(place, library).unchanged == 12


def test_a_renamed_folder_is_found_by_its_content(images, library, tmp_path):
    striped_folder(tmp_path / "new" / "decoy", n=12, seed=5)
    place = moved(images, tmp_path / "new" / "renamed *")
    assert relink(library, tmp_path / "new").moved == {"study [1]": str(place)}
    assert readable(library) == 12


def test_a_renamed_parent(images, library, tmp_path):
    (tmp_path / "disk").rename(tmp_path / "drive")
    assert relink(library, tmp_path / "drive").found == 12
    assert source_paths(library) == [tmp_path / "drive" / "study [1]"]


def test_a_wrong_folder_is_not_taken(images, library, tmp_path):
    """Same names, same sizes of folders, other images."""
    moved(images, tmp_path / "hidden")
    wrong = striped_folder(tmp_path / "wrong" / "study [1]", n=12, seed=7)
    for folder in (wrong, wrong.parent):
        assert relink(library, folder).to_json() == {"moved": {}, "found": 0, "still_missing": 12}
    assert source_paths(library) == [images]
    with pytest.raises(BadInput, match=r"gone does not exist\. Choose the folder or zip"):
        relink(library, tmp_path / "gone")


def test_missing_cases_come_back_and_those_still_lost_are_reported(images, library, tmp_path):
    place = moved(images, tmp_path / "new" / "study [1]")
    images.mkdir()
    shutil.copy(place / "labels.csv", images)
    shutil.copytree(place / "upright", images / "upright")
    import_source(images, library)
    shutil.rmtree(images)
    (place / "level" / "p000.png").unlink()
    result = relink(library, place)
    assert (result.found, result.still_missing) == (11, 1)
    with Library.open(library) as opened:
        states = {r.case_id.rpartition("/")[2]: r.state for r in opened.catalogue.all_cases()}
    assert [name for name, state in states.items() if state != "ok"] == ["p000.png"]


def test_a_folder_with_some_images_changed_is_still_the_same(images, library, tmp_path):
    place = moved(images, tmp_path / "new" / "study [1]")
    for name in ("p000.png", "p001.png"):
        (place / "level" / name).write_bytes((place / "upright" / "p002.png").read_bytes())
    assert relink(library, place).found == 12
    assert import_source(place, library).updated == 2


def test_files_missing_from_a_source_that_is_there_are_counted(images, library, tmp_path):
    (images / "level" / "p000.png").unlink()
    import_source(images, library)
    (tmp_path / "elsewhere").mkdir()
    assert relink(library, tmp_path / "elsewhere").to_json() == {"moved": {}, "found": 0, "still_missing": 1}


@pytest.mark.parametrize("renamed", [False, True])
def test_a_moved_zip_array_file_and_table(tmp_path, library, renamed):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    folder = striped_folder(tmp_path / "study", n=6)
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.png")}
    write_zip(old / "a.zip", files)
    rng = np.random.default_rng(0)
    for seed, path in enumerate((old / "b.npz", new / "decoy.npz")):
        images = np.random.default_rng(seed).integers(0, 255, (4, 9, 8), dtype=np.uint8)
        np.savez(path, train_images=images)
    (old / "c.csv").write_text("a,label\n1,x\n2,y\n")
    (new / "decoy.csv").write_text("a,label\n1,x\n3,y\n")
    write_zip(new / "decoy.zip", dict.fromkeys(files, rng.bytes(1000)))
    for name in ("a.zip", "b.npz", "c.csv"):
        import_source(old / name, library)
    for path in old.iterdir():
        path.rename(new / (f"new {path.name}" if renamed else path.name))
    result = relink(library, new)
    assert (result.found, result.still_missing) == (6 + 1 + 1, 0)
    assert {path.name.removeprefix("new ") for path in source_paths(library)} == {"a.zip", "b.npz", "c.csv"}
    assert all(path.exists() for path in source_paths(library))
    assert readable(library) == 6 + 4


def test_relinking_can_be_cancelled(images, library, tmp_path):
    moved(images, tmp_path / "new" / "study [1]")
    with pytest.raises(Cancelled):
        relink(library, tmp_path / "new", reporter=RecordingReporter(cancel_after=0))
    assert source_paths(library) == [images]
