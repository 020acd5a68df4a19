from __future__ import annotations

import contextlib
import json
import sqlite3

from semblance.core.library.library import Library
from semblance.core.library.schema import lesion_groups
from tests.helpers.images import texture
from tests.helpers.libraries import make_library


def test_groups_are_joined_split_and_listed(run_command, tmp_path):
    library = make_library(tmp_path / "lib.semblance")
    assert run_command("lesions", library) == (0, f"{library}: no same-lesion groups\n", "")
    status, out, err = run_command("lesions", library, "--join", "s/0.png,s/3.png", "--json")
    assert (status, err) == (0, "")
    cases = [{"case_id": "s/0.png", "finding": "benign"}, {"case_id": "s/3.png", "finding": "malignant"}]
    document = json.loads(out)
    assert document["groups"] == [{"cases": cases, "by_hand": True}]
    assert document["outdated_metrics"] == []
    assert run_command("lesions", library) == (0, "s/0.png (benign), s/3.png (malignant); by hand\n", "")
    assert run_command("lesions", library, "--split", "s/0.png")[1] == f"{library}: no same-lesion groups\n"
    status, out, err = run_command("lesions", library, "--join", "s/0.png")
    assert (status, out) == (2, "")
    assert err == "At least two cases are needed to join. Name several, separated by commas.\n"


def test_groups_of_an_earlier_import_are_detected(run_command, tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    for n in range(3):
        texture(n).save(images / f"{n}.png")
    texture(1).resize((90, 90)).save(images / "again.jpg")
    library = tmp_path / "lib.semblance"
    run_command("import", images, "--library", library)
    with Library.open(library) as opened, opened.catalogue.transaction() as connection:
        connection.execute(lesion_groups.delete())
    with contextlib.closing(sqlite3.connect(library / "thumbnails.sqlite")) as thumbnails, thumbnails:
        thumbnails.execute("DELETE FROM outlines")
    document = json.loads(run_command("check-data", library, "--json")[1])
    assert any("4 images were not compared" in one["reason"] for one in document["not_checked"])
    document = json.loads(run_command("lesions", library, "--detect", "--json")[1])
    assert document["detected"] == {"groups": 1, "cases": 2, "changed": 2, "parts": False}
    assert {case["case_id"] for case in document["groups"][0]["cases"]} == {
        "images/1.png",
        "images/again.jpg",
    }
    text = run_command("lesions", library, "--detect")[1]
    assert text.startswith(
        "0 cases have another group than before the detection\nParts of images were not looked for"
    )
