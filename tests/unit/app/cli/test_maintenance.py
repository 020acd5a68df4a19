from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.helpers.images import striped_folder
from tests.helpers.libraries import make_library


@pytest.fixture
def library(tmp_path) -> Path:
    return make_library(tmp_path / "lib.semblance")


def test_doctor_says_what_is_missing_and_ends_with_1(run_command, library):
    status, out, err = run_command("doctor", library)
    assert status == 1
    assert "s: its images are missing (6 files)." in out
    assert "Works: 6 cases with their findings and marks can be used." in out
    assert err == f"{library} has 1 thing damaged or missing. Add --repair to repair what can be repaired.\n"
    status, out, err = run_command("doctor", library, "--json")
    document = json.loads(out)
    assert (status, document["sound"], document["findings"][0]["part"]) == (1, False, "images")


def test_a_backup_is_restored_and_both_are_sound(run_command, tmp_path):
    library = make_library(tmp_path / "lib.semblance", cases=0)
    status, out, err = run_command("backup", library, tmp_path / "b.zip")
    assert (status, err) == (0, "")
    assert "b.zip: 1 files" in out
    status, out, err = run_command("restore", tmp_path / "b.zip", tmp_path / "again", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == {"library": str(tmp_path / "again.semblance"), "cases": 0, "missing": 0}
    status, out, err = run_command("doctor", tmp_path / "again.semblance")
    assert (status, err) == (0, "")
    assert out.endswith("No problems were found.\n")
    status, out, err = run_command("restore", tmp_path / "b.zip", tmp_path / "again")
    assert status == 1
    assert "exists already" in err


def test_missing_images_are_reported_after_restoring(run_command, library, tmp_path):
    run_command("backup", library, tmp_path / "b.zip")
    _, out, _ = run_command("restore", tmp_path / "b.zip", tmp_path / "again")
    assert "6 files of images are not where they were; `semblance relink" in out


def test_the_audit_log_lists_exports(run_command, library, tmp_path):
    assert run_command("audit-log", library) == (0, "Nothing has been exported from this library.\n", "")
    run_command("backup", library, tmp_path / "b.zip")
    status, out, err = run_command("audit-log", library)
    assert (status, err) == (0, "")
    (line,) = json.loads(run_command("audit-log", library, "--json")[1])
    assert out.endswith(f"backup, zip, identified, by {line['by']}\n")
    assert line["by"]
    assert (line["what"], line["identified"]) == ("backup", True)
    status, out, err = run_command("audit-log", tmp_path / "gone")
    assert (status, out) == (1, "")


def test_a_folder_that_is_no_library_is_reported(run_command, tmp_path):
    for arguments in (["doctor", tmp_path], ["backup", tmp_path, tmp_path / "b.zip"]):
        status, out, err = run_command(*arguments)
        assert (status, out) == (1, "")
        assert "is not a library" in err


@pytest.mark.slow
def test_check_data_lists_issues_and_what_was_not_checked(run_command, tmp_path):
    images = striped_folder(tmp_path / "images", n=8)
    Image.new("L", (48, 48), 90).save(images / "level" / "p000.png")
    run_command("import", images, "--library", tmp_path / "lib.semblance")
    status, out, err = run_command("check-data", tmp_path / "lib.semblance")
    assert (status, err) == (0, "")
    assert "high    blank_image: images/level/p000.png\n        The image has one grey all over." in out
    assert "Not checked: outlier. The library has no features yet. Extract some first." in out
    assert out.endswith("issues in 8 cases.\n")
    status, out, err = run_command("check-data", tmp_path / "lib.semblance", "--json")
    blank = next(issue for issue in json.loads(out)["issues"] if issue["check"] == "blank_image")
    assert (blank["severity"], blank["cases"]) == ("high", ["images/level/p000.png"])
