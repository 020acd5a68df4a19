"""What ``semblance search --json`` prints is what its JSON Schema says."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from semblance import resources
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import striped_folder

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
