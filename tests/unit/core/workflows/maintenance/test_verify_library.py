from __future__ import annotations

import os
import re
import shlex
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.features.encoder import model_file
from semblance.core.library import schema
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE, DERIVED, MetricRecord
from semblance.core.library.thumbnails import ThumbnailStore
from semblance.core.searches.query import Query
from semblance.core.workflows.features.derived_arrays import PLACES_SUFFIX, SLICES_SUFFIX, save_arrays
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.maintenance import repair_library
from semblance.core.workflows.maintenance.backup import back_up
from semblance.core.workflows.maintenance.verification_result import VerificationResult
from semblance.core.workflows.maintenance.verify_library import retraining_advice, verify_library
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.libraries import raw, settled, stored_features, tables_of
from tests.helpers.program import run_program
from tests.unit.core.workflows.maintenance.conftest import CASES


def problem_parts(result: VerificationResult) -> list[str]:
    return [finding.part for finding in result.findings]


def store_of(library: Path) -> Path:
    return library / "features" / "1.zarr"


def flip(file: Path, at: float = 0.5) -> None:
    """One bit somewhere in a file."""
    data = bytearray(file.read_bytes())
    data[int(len(data) * at)] ^= 0x10
    file.write_bytes(data)


def test_a_sound_library_is_reported_sound_and_not_written(library):
    before = tables_of(library)
    result = verify_library(library)
    assert (result.findings, result.unrepaired_problems, result.moved_to) == ([], [], "")
    assert result.checked == {
        "catalogues": 1,
        "images": CASES,
        "feature sets": 1,
        "metrics": 1,
        "prepared metrics": 1,
    }
    assert result.counted.startswith("1 catalogue, 24 images, 1 feature set, 1 metric")
    assert f"{CASES:,} cases with their findings and marks can be used." in result.works
    assert "Metric 'plain'." in result.works
    assert verify_library(library, repair=True).findings == []
    assert tables_of(library) == before
    assert not (library / repair_library.DAMAGED_FOLDER).exists()


def test_what_is_no_library_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"gone does not exist"):
        verify_library(tmp_path / "gone")
    with pytest.raises(BadInput, match=r"is not a library"):
        verify_library(tmp_path)
    (tmp_path / "metrics").mkdir()
    with pytest.raises(BadInput, match=r"The catalogue of .* is missing.*Restore a backup"):
        verify_library(tmp_path)


@pytest.mark.parametrize("damage", ["flipped", "gone", "swapped for nothing"])
def test_a_damaged_block_of_numbers_is_named_and_extracted_again(library, damage):
    chunk = store_of(library) / "c" / "0" / "0"
    ids, before = stored_features(library)
    if damage == "flipped":
        flip(chunk)
    elif damage == "gone":
        chunk.unlink()
    else:
        chunk.write_bytes(b"")
    with pytest.raises(BadInput, match=r"'colour_edge_texture' .*lost or damaged"):
        stored_features(library)
    result = verify_library(library)
    assert problem_parts(result) == ["features"]
    assert result.findings[0].files == ("features/1.zarr/c/0/0",)
    assert f"{CASES} of {CASES} cases have no features" in result.findings[0].says
    assert "Metric 'plain'." in result.works
    repaired = verify_library(library, repair=True)
    assert (repaired.unrepaired_problems, repaired.findings[0].repaired) == (
        [],
        f"{CASES} cases were extracted again.",
    )
    again, values = stored_features(library)
    np.testing.assert_array_equal(again, ids)
    np.testing.assert_array_equal(values, before)
    damaged = list((library / repair_library.DAMAGED_FOLDER).rglob("c/0/0"))
    assert len(damaged) == (0 if damage == "gone" else 1)
    assert verify_library(library).findings == []


def test_cases_whose_images_are_gone_too_are_counted(library):
    (store_of(library) / "c" / "0" / "0").unlink()
    images = sorted((library.parent / "images").rglob("*.png"))
    images[0].unlink()
    result = verify_library(library, repair=True)
    assert problem_parts(result) == ["images", "features"]
    assert f"{CASES - 1} cases were extracted again. 1 failed" in result.findings[1].remedy
    assert len(result.unrepaired_problems) == 2
    assert len(stored_features(library)[0]) == CASES - 1


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_store_without_its_description_gets_one(library, damage):
    _, before = stored_features(library)
    store = store_of(library)
    description = store / "zarr.json"
    if damage == "cut":
        description.write_text(description.read_text()[:40])
    else:
        description.unlink()
    result = verify_library(library)
    assert problem_parts(result) == ["features"]
    assert "the description of its features is lost or damaged" in result.findings[0].says
    repaired = verify_library(library, repair=True)
    assert "All its features can be read" in repaired.findings[0].repaired
    np.testing.assert_array_equal(stored_features(library)[1], before)
    assert problem_parts(verify_library(library)) == []


def test_a_damaged_metric_is_named_and_its_card_stays(library):
    with Library.open(library) as opened:
        file = opened.metric("plain").file
    whole = file.read_bytes()
    # Inside the content of the first entry: elsewhere a zip has bytes that mean nothing.
    flip(file, 60 / len(whole))
    result = verify_library(library, repair=True)
    assert problem_parts(result) == ["metric"]
    assert "Metric 'plain' cannot be used" in result.findings[0].says
    assert "semblance train LIB --learner euclidean --name plain)" in result.findings[0].remedy
    assert file.exists()
    assert "Metric 'plain'." not in result.works
    # A whole copy under another name is taken in its place.
    (file.parent / "aaaa.metric").write_bytes(whole)
    os.utime(file.parent / "aaaa.metric", (0, 0))
    repaired = verify_library(library, repair=True)
    assert repaired.findings[0].repaired == "The same metric was found in aaaa.metric."
    assert file.read_bytes() == whole
    assert repaired.unrepaired_problems == []


def test_another_metric_in_its_place_is_noticed(library):
    train_metric(library, TrainRequest("l1", "other"))
    with Library.open(library) as opened:
        plain, other = opened.metric("plain").file, opened.metric("other").file
    shutil.copy(other, plain)
    result = verify_library(library)
    assert [f.says for f in result.findings] == [
        "Metric 'plain' cannot be used: It contains another metric than the catalogue states."
    ]


def test_two_metrics_whose_files_changed_places_are_not_used_and_change_back(library):
    train_metric(library, TrainRequest("lda", "other"))
    with Library.open(library) as opened:
        one, two = (record.file for record in opened.metrics())
        case = opened.catalogue.all_cases()[0].case_id
    whole = one.read_bytes(), two.read_bytes()
    one.write_bytes(whole[1])
    two.write_bytes(whole[0])
    with pytest.raises(BadInput, match=r"The file of the metric 'other' .* holds another metric"):
        nearest_cases(library, "other", Query(case))
    close_loaded_metrics()
    assert [f.part for f in verify_library(library).unrepaired_problems] == ["metric", "metric"]
    assert verify_library(library, repair=True).unrepaired_problems == []
    assert (one.read_bytes(), two.read_bytes()) == whole
    assert verify_library(library).findings == []


def test_thumbnails_and_prepared_metrics_are_made_again(library):
    (prepared,) = (library / DERIVED).glob("*.embedding")
    prepared.write_bytes(prepared.read_bytes()[:100])
    (library / "thumbnails.sqlite").write_bytes(b"this is no database" * 300)
    repaired = verify_library(library, repair=True)
    assert problem_parts(repaired) == ["thumbnails", "derived"]
    assert not any(finding.harm for finding in repaired.findings)
    assert repaired.findings[0].repaired == f"{CASES} of {CASES} thumbnails were made again."
    assert repaired.findings[1].repaired == "Made again."
    assert verify_library(library).findings == []
    with Library.open(library) as opened:
        contents = [r.content for r in opened.catalogue.all_cases()]
    store = ThumbnailStore(library / "thumbnails.sqlite", writable=False)
    assert set(store.get(contents)) == set(contents)
    store.close()


def test_missing_and_changed_images_are_distinguished(library):
    images = sorted((library.parent / "images").rglob("*.png"))
    images[0].rename(images[0].with_suffix(".away"))
    images[1].write_bytes(images[2].read_bytes() + b" ")
    os.utime(images[3])
    result = verify_library(library, repair=True)
    assert problem_parts(result) == ["images", "images"]
    assert [len(finding.files) for finding in result.findings] == [1, 1]
    with Library.open(library) as opened:
        assert sum(r.state == "missing" for r in opened.catalogue.all_cases()) == 1
    images[0].with_suffix(".away").rename(images[0])
    verify_library(library, repair=True)
    with Library.open(library) as opened:
        assert sum(r.state == "missing" for r in opened.catalogue.all_cases()) == 0
    shutil.rmtree(library.parent / "images")
    result = verify_library(library)
    assert f"its images are missing ({CASES} files)" in result.findings[0].says


def test_what_killed_programs_left_is_moved_aside_once_it_is_old(library):
    left = [
        library / "metrics" / ".x.metric.part",
        library / "features" / "7.zarr",
        library / DERIVED / "gone.abc.part",
        store_of(library) / "c" / "0" / "0.partial",
    ]
    for path in left:
        path.mkdir() if path.suffix == ".zarr" else path.write_bytes(b"half")
    result = verify_library(library, repair=True)
    assert [f.part for f in result.findings if f.part == "left over"] == ["left over"] * 4
    assert all(path.exists() for path in left)
    for path in left:
        os.utime(path, (0, 0))
    result = verify_library(library, repair=True)
    assert not any(path.exists() for path in left)
    assert all("Moved to damaged/" in f.repaired for f in result.findings if f.part == "left over")
    assert verify_library(library).findings == []


@pytest.mark.parametrize("kind", ["link", "pipe"])
@pytest.mark.parametrize("inside", ["features/1.zarr/c/0/0", "features/1.zarr", "derived"])
def test_what_is_no_file_of_the_library_is_not_read(library, tmp_path, kind, inside):
    place = library / inside if inside != "derived" else next((library / DERIVED).iterdir())
    place.replace(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere") if kind == "link" else os.mkfifo(place)
    found = verify_library(library)
    assert [(f.part, f.path) for f in found.unrepaired_problems] == [
        ("link", place.relative_to(library).as_posix())
    ]
    assert found.works == ["Because of this, nothing else was verified."]
    back_up(library, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert not [name for name in archive.namelist() if name.startswith(inside)]
    repaired = verify_library(library, repair=True)
    assert repaired.unrepaired_problems == []
    assert verify_library(library).findings == []
    assert (tmp_path / "elsewhere").exists()
    assert len(stored_features(library)[0]) == CASES


def test_prepared_places_and_described_slices_belong_to_the_library(library):
    save_arrays(library / DERIVED / f"1{PLACES_SUFFIX}", {"codes": np.zeros((3, 4))})
    save_arrays(library / DERIVED / f"{'5e' * 16}{SLICES_SUFFIX}", {"levels": np.zeros((3, 4))})
    assert verify_library(library).findings == []


@pytest.mark.parametrize("inside", ["features/1.zarr/c/0/0", "metrics", CATALOGUE])
def test_what_may_not_be_read_is_not_taken_for_damaged(library, monkeypatch, inside):
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != library / inside and access(path, mode))
    before = tables_of(library)
    for repair in (False, True):
        (found,) = verify_library(library, repair=repair).unrepaired_problems
        assert (found.part, found.path) == ("permissions", inside)
        assert found.says == f"You may not read {inside}."
    assert tables_of(library) == before
    assert not (library / repair_library.DAMAGED_FOLDER).exists()


def test_folders_in_place_of_derived_files_are_repaired(library):
    for file in (library / "thumbnails.sqlite", next((library / DERIVED).iterdir())):
        file.unlink()
        file.mkdir()
        (file / "x").touch()
    assert verify_library(library, repair=True).unrepaired_problems == []
    assert verify_library(library).findings == []


def test_the_encoder_is_checked_where_features_are_its_own(library, monkeypatch):
    says = "The encoder gives the numbers it must."
    assert says not in verify_library(library).works
    extract_features(library, "encoder", workers=1)
    sound = verify_library(library)
    assert says in sound.works
    assert sound.unrepaired_problems == []
    wrong = replace(model_file.SETTINGS, deviation=(127.0,) * 3)
    monkeypatch.setattr(model_file, "SETTINGS", wrong)
    (problem,) = verify_library(library).unrepaired_problems
    assert problem.part == "encoder"
    assert "wrong numbers" in problem.says
    assert problem.remedy


def save_long_search(library: Path) -> bytearray:
    """The catalogue's bytes with a search that fills pages of its own, at the end."""
    with Library.open(library) as opened:
        opened.save_search("long one", {"much": "x" * 400_000})
    return settled(library)


def test_a_damaged_catalogue_is_recovered_and_the_old_one_stays(library):
    data = save_long_search(library)
    file = library / CATALOGUE
    # In the overflow pages of the long search: everything else can be read.
    start = len(data) - 200_000
    data[start : start + 9000] = b"\xa7" * 9000
    file.write_bytes(data)
    assert problem_parts(verify_library(library)) == ["catalogue"]
    repaired = verify_library(library, repair=True)
    assert f"{CASES} cases" in repaired.findings[0].repaired
    assert (Path(repaired.moved_to) / CATALOGUE).read_bytes() == bytes(data)
    assert verify_library(library).findings == []
    assert len(stored_features(library)[0]) == CASES


def test_an_unreadable_catalogue_is_left_unchanged(library):
    file = library / CATALOGUE
    file.write_bytes(b"not a database at all" * 500)
    for repair in (False, True):
        result = verify_library(library, repair=repair)
        assert problem_parts(result) == ["catalogue"]
        assert result.unrepaired_problems
        assert file.read_bytes() == b"not a database at all" * 500
        assert ("--repair" in result.findings[0].remedy) is not repair
        assert result.works == ["Nothing else can be verified while the catalogue is damaged."]


def test_a_truncated_catalogue_is_recovered_up_to_the_damage(library):
    data = save_long_search(library)
    (library / CATALOGUE).write_bytes(data[:-300_000])
    repaired = verify_library(library, repair=True)
    assert f"{CASES} cases" in repaired.findings[0].repaired
    assert verify_library(library).findings == []


def test_rows_whose_text_is_damaged_are_named_and_saved(library):
    with raw(library) as connection:
        connection.execute("UPDATE feature_sets SET columns = CAST(replace(columns, 'e', x'ff') AS TEXT)")
        connection.execute("UPDATE cases SET attributes = '{\"half' WHERE id = 3")
    with pytest.raises(
        BadInput, match=r"catalogue .* is damaged: a text in it cannot be read\. Recover the readable part"
    ):
        stored_features(library)
    found = verify_library(library)
    assert [f.says for f in found.findings] == [
        "Rows of the catalogue cannot be read: 1 of cases, 1 of feature_sets."
    ]
    assert found.unrepaired_problems
    repaired = verify_library(library, repair=True)
    assert repaired.unrepaired_problems == []
    assert repaired.findings[0].repaired.startswith("1 rows can be read again, 1 were removed")
    assert (Path(repaired.moved_to) / CATALOGUE).is_file()
    assert verify_library(library).findings == []
    assert len(stored_features(library)[0]) == CASES - 1


def test_the_keys_of_codes_are_never_repaired(library):
    with raw(library) as connection:
        connection.execute("INSERT INTO meta (key, value) VALUES ('key', CAST(x'ffff' AS TEXT))")
    result = verify_library(library, repair=True)
    assert [bool(f.repaired) for f in result.findings] == [False]
    assert result.works == ["Nothing else can be verified while the catalogue is damaged."]


def test_rows_that_refer_to_missing_rows_are_removed(library):
    with raw(library) as connection:
        connection.execute("UPDATE cases SET file = 99999 WHERE id = 3")
    result = verify_library(library)
    assert problem_parts(result) == ["catalogue rows"]
    repaired = verify_library(library, repair=True)
    assert problem_parts(repaired) == ["catalogue rows", "catalogue rows"]
    assert repaired.unrepaired_problems == []
    assert verify_library(library).findings == []
    assert len(stored_features(library)[0]) == CASES - 1


def test_a_library_of_a_newer_version_is_refused_and_nothing_in_it_repaired(library):
    with raw(library) as connection:
        connection.execute("ALTER TABLE judgements ADD COLUMN newer TEXT")
        connection.execute(f"UPDATE meta SET value = '{schema.VERSION + 1}' WHERE key = 'schema'")
    before = tables_of(library)
    for repair in (False, True):
        with pytest.raises(BadInput, match=r"made by a newer version of Semblance"):
            verify_library(library, repair=repair)
    assert tables_of(library) == before


def test_a_name_with_letters_that_are_none_is_recovered(library):
    data = settled(library)
    at = data.index(b"patient TEXT")
    data[at] |= 0x80
    (library / CATALOGUE).write_bytes(data)
    before = stored_features(library)[1] if verify_library(library, repair=True) else None
    assert before is not None
    with Library.open(library) as opened:
        assert {row.patient for row in opened.catalogue.all_cases()} != {None}
    assert verify_library(library).findings == []


def test_the_command_of_a_check_makes_the_same_metric(library):
    settings = {"rounds": 3, "step": "exact"}
    request = TrainRequest(
        "bdm_v", "it's mine", steps="standardise,pca:4", settings=settings, seed=5, max_cases=20
    )
    train_metric(library, request)
    with Library.open(library) as opened:
        record = opened.metric("it's mine")
    record.file.write_bytes(b"lost")
    (finding,) = verify_library(library).findings
    command = re.search(r"\((semblance train .*)\), or restore", finding.remedy)
    assert command
    words = shlex.split(command[1].replace("LIB", str(library)))
    status, _, err = run_program(*words[1:])
    assert status == 0, err
    assert verify_library(library).findings == []
    with Library.open(library) as opened:
        assert opened.metric("it's mine").card["content_hash"] == record.card["content_hash"]


def record_of(card: dict, learner: str = "bdm_v") -> MetricRecord:
    return MetricRecord(1, "mine 30 %", learner, 1, Path("a.metric"), card, np.arange(3), None)


def test_a_metric_no_command_can_train_gets_other_advice():
    for card, learner, says in [
        ({}, "clicks", "make it again from its marks"),
        ({}, "from tomorrow", "this version has no learner 'from tomorrow'"),
        ({}, "bdm_v", "If it was imported, import its file again. Otherwise train it again with"),
        ({"asked": {}}, "bdm_v", r"\(semblance train LIB --learner bdm_v --name 'mine 30 %'\)"),
        ({"asked": {}, "slider": {"name": "mine", "place": 30}}, "bdm_v", "--name mine --slider"),
        ({"asked": {}, "parameters": {"training_cases": 4000}}, "bdm_v", r"--name 'mine 30 %'\)"),
        ({"asked": "odd", "parameters": [], "split": 3}, "bdm_v", "with the settings on its card"),
        ({"asked": {"steps": "none", "else": "x"}}, "bdm_v", r"--steps none\)"),
    ]:
        assert re.search(says, retraining_advice(record_of(card, learner))), card


def test_window_only_training_is_not_advised_as_a_command(library):
    train_metric(library, TrainRequest("euclidean", "mine", held_out=0.5))
    with Library.open(library) as opened:
        assert "in the window" in retraining_advice(opened.metric("mine"))
