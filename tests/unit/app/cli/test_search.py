"""What ``semblance search --json`` prints is what its JSON Schema says."""

from __future__ import annotations

import json

import jsonschema_rs
import numpy as np
import pytest
from PIL import Image as PILImage

from semblance import resources
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.dicom_files import ct_slice, save
from tests.helpers.images import striped_folder
from tests.helpers.tables import write_table

SCHEMA = json.loads(resources.path("schemas/search.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A folder of images, and a library of it whose estimate is calibrated."""
    folder = tmp_path_factory.mktemp("searched")
    striped_folder(folder / "images", n=60)
    import_source(folder / "images", folder / "lib")
    extract_features(folder / "lib", "pixels", workers=1)
    train_metric(folder / "lib", TrainRequest("euclidean", "plain"))
    return folder


def test_the_schema_is_printed_without_a_library(run_command):
    status, out, _ = run_command("search", "--json-schema")
    assert (status, json.loads(out)) == (0, SCHEMA)
    jsonschema_rs.meta.validate(SCHEMA)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-k", 3, "--diverse", 0.5, "--unusual", 0),
        ("--like", "images/level/p001.png", "--unlike", "images/upright/p002.png"),
        ("--without-patient",),
    ],
)
def test_the_answer_for_a_case_follows_it(document, images, options):
    found = document("search", images / "lib", "--case", "images/level/p000.png", *options)
    VALIDATOR.validate(found)
    assert found["results"] and found["vote"]["counts"]


def test_the_answer_for_a_region_of_an_image_follows_it(document, images):
    image = images / "images" / "upright" / "p003.png"
    found = document("search", images / "lib", "--image", image, "--region", "4,4,20,16")
    VALIDATOR.validate(found)
    assert found["query"]["region"]["width"] == 20


def test_the_answer_of_a_table_follows_it(document, library):
    for case in ("t/c0", "t/c31"):
        VALIDATOR.validate(document("search", library, "--case", case))


def test_what_the_schema_does_not_name_is_no_answer(document, library):
    found = document("search", library, "--case", "t/c0")
    assert not VALIDATOR.is_valid(found | {"new": 1})
    assert not VALIDATOR.is_valid({key: value for key, value in found.items() if key != "vote"})
    found["results"][0]["distance"] = "near"
    assert not VALIDATOR.is_valid(found)


def test_a_saved_search_is_followed(document, run_command, tmp_path):
    library = tmp_path / "lib"
    document("import", write_table(tmp_path / "t.csv", n=120), "--library", library)
    document("features", library, "--extractor", "raw")
    document("train", library, "--learner", "euclidean", "--name", "plain")
    from semblance.core.workflows.searches.batch_queries import held_out_cases

    case = held_out_cases(library, "plain")[0]
    found = document("search", library, "--case", case, "--save", "first")
    entered = document("outcome", "enter", library, "first", "--finding", "kind 0")
    assert entered["probability"] == found["vote"]["probability"]
    assert entered["outcome"] == "kind 0"
    assert document("outcome", "list", library)["searches"] == [entered]
    code, _, message = run_command("outcome", "enter", library, "first", "--finding", "kind 1")
    assert code != 0
    assert "'kind 0', entered" in message
    assert "--replace 'kind 0'" in message
    assert document("outcome", "list", library)["searches"] == [entered]
    replaced = document("outcome", "enter", library, "first", "--finding", "kind 1", "--replace", "kind 0")
    assert replaced["outcome"] == "kind 1"
    drift = document("outcome", "drift", library)
    assert (drift["outcomes"], drift["scores"][0]["brier"]) == (1, None)
    assert "nothing is claimed" in run_command("outcome", "drift", library)[1]
    assert run_command("search", library, "--case", case, "--save", "first")[0] != 0


@pytest.fixture
def file(tmp_path):
    return save(
        ct_slice(np.arange(64, dtype=np.int16).reshape(8, 8) * 30, WindowCenter=40, WindowWidth=400),
        tmp_path / "a.dcm",
    )


def test_the_document_and_the_lines_say_the_same(document, run_command, file, tmp_path):
    found = document(
        "show", file, "--at", "3,4", "--at", "0,0", "--window", "-24,1000", "--out", tmp_path / "a.png"
    )
    assert list(found) == [
        "path", "rows", "columns", "frames", "slices", "unit", "pixel_spacing_mm", "slice_spacing_mm", "windows",
        "photometric", "values", "notes",
    ]  # fmt: skip
    assert found["values"] == [
        {"x": 3, "y": 4, "value": 26.0, "shown": 140},
        {"x": 0, "y": 0, "value": -1024.0, "shown": 0},
    ]
    assert PILImage.open(tmp_path / "a.png").getpixel((3, 4)) == 140
    status, lines, _ = run_command("show", file, "--at", "3,4")
    assert status == 0
    for part in (
        "8 x 8 pixels, MONOCHROME2",
        "HU",
        "rows 0.5 mm",
        "center 40, width 400",
        "value 26.0, shown 119",
    ):
        assert part in lines


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--frame", "2"), 1, "has no frame 2: it has 1"),
        (("--slice", "2"), 1, "has only 1 slice"),
        (("--at", "8,0"), 2, "8,0 lies outside the 8 x 8"),
        (("--at", "8"), 2, "--at takes two numbers"),
        (("--window", "40,0.5"), 2, "too small"),
        (("--frame", "1", "--slice", "1"), 2, "exclude each other"),
        (("--out", "a.jpg"), 2, "no PNG"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(run_command, file, options, status, said):
    found, _, error = run_command("show", file, *options)
    assert found == status
    assert said in error
    assert error.count("\n") == 1


def test_a_file_that_cannot_be_read_is_named(run_command, tmp_path):
    (tmp_path / "a.dcm").write_bytes(b"no image")
    for name in ("a.dcm", "missing.dcm"):
        status, _, error = run_command("show", tmp_path / name)
        assert status == 1
        assert name in error
