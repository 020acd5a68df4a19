"""Encoders side by side on the same held-out cases, a user's own among them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.open_library import open_library
from semblance.core.workflows.evaluation import compare_encoders as workflow
from semblance.core.workflows.evaluation.compare_encoders import EncoderRequest, compare_encoders
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.encoders import settings, transformer
from tests.helpers.images import striped_folder

pytestmark = pytest.mark.slow

SHIPPED = ["encoder", "encoder, random weights", "gabor", "pixels 28 x 28"]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    images = striped_folder(folder / "images", n=40)
    import_source(images, folder / "lib")
    return folder / "lib"


def own(folder, name="vit"):
    described = settings(folder / f"{name}.json", input_size=16, output="features", reduce="first")
    return transformer(folder / f"{name}.onnx"), described


def request(**values):
    return EncoderRequest(learners=("euclidean",), repeats=3, **values)


def test_each_is_scored_on_the_same_splits_and_compared_with_the_first(library, tmp_path):
    document = compare_encoders(library, request(own=(own(tmp_path),)))
    assert [one["name"] for one in document["encoders"]] == [*SHIPPED, "vit"]
    assert [one["n_features"] for one in document["encoders"]] == [1280, 1280, 2560, 784, 6]
    assert [one["results"][0]["steps"] for one in document["encoders"]][::4] == ["l2,pca:64", "l2,pca:64"]
    scores = {
        one["name"]: one["results"][0]["scores"]["retrieval_accuracy@10"] for one in document["encoders"]
    }
    assert all(len(score["values"]) == 3 for score in scores.values())
    assert [one["b"] for one in document["comparisons"]] == [*SHIPPED[1:], "vit"]
    for one in document["comparisons"]:
        assert one["difference"] == pytest.approx(scores["encoder"]["mean"] - scores[one["b"]]["mean"])
    assert (document["measured_on"], document["source"]["n_cases"]) == ("held-out", 40)
    assert (document["failed"], document["left_out"]) == ([], [])
    json.dumps(document, allow_nan=False)


def test_the_library_stays_as_it_is(library):
    compare_encoders(library, request(max_cases=20))
    with open_library(library) as opened:
        assert opened.features.all() == []


def test_unreadable_settings_are_refused_before_an_encoder_runs(library, tmp_path, monkeypatch):
    model, described = own(tmp_path)
    described.write_text("{")
    monkeypatch.setattr(workflow, "_measure", lambda *_: pytest.fail("an encoder was run"))
    with pytest.raises(BadInput, match=described.name):
        compare_encoders(library, request(own=((model, described),)))


def test_an_encoder_that_cannot_be_run_is_reported_and_the_others_continue(library, tmp_path):
    model, described = own(tmp_path)
    settings(described, input_size=32, output="features", reduce="first")
    document = compare_encoders(library, request(own=((model, described),), max_cases=20))
    assert [one["name"] for one in document["encoders"]] == SHIPPED
    (failure,) = document["failed"]
    assert failure["name"] == "vit"
    assert "settings say" in failure["reason"]
    assert document["source"]["n_cases"] == 20


def test_a_case_that_is_damaged_is_left_out_for_all(tmp_path):
    images = striped_folder(tmp_path / "images", n=30)
    import_source(images, tmp_path / "lib")
    damaged = next(images.rglob("*.png"))
    damaged.write_bytes(damaged.read_bytes()[:40])
    document = compare_encoders(tmp_path / "lib", request())
    (left_out,) = document["left_out"]
    assert left_out["case_id"].endswith(damaged.name)
    assert "damaged" in left_out["reason"]
    assert document["source"]["n_cases"] == 29


def test_two_encoders_of_one_name_are_refused(library, tmp_path):
    (tmp_path / "b").mkdir()
    with pytest.raises(BadArguments, match="same name"):
        compare_encoders(library, request(own=(own(tmp_path), own(tmp_path / "b"))))


def test_a_library_without_findings_is_refused(tmp_path):
    (tmp_path / "plain").mkdir()
    for image in list(striped_folder(tmp_path / "images", n=4).rglob("*.png")):
        image.rename(tmp_path / "plain" / image.name)
    import_source(tmp_path / "plain", tmp_path / "lib")
    with pytest.raises(BadInput, match="no images with findings"):
        compare_encoders(tmp_path / "lib", request())


def test_too_few_cases_to_score_are_refused_with_the_reason(tmp_path):
    import_source(striped_folder(tmp_path / "images", n=3), tmp_path / "lib")
    with pytest.raises(BadInput, match="No learner could be scored") as refused:
        compare_encoders(tmp_path / "lib", request())
    assert "Euclidean: " in refused.value.hint


def test_random_weights_are_always_the_same():
    from semblance.core.features.encoder.efficientnet import random_weights

    like = {"a.weight": np.zeros((8, 4, 3, 3)), "n.weight": np.zeros(8), "n.running_mean": np.ones(8)}
    first, again = random_weights(like), random_weights(like)
    assert all((first[name] == again[name]).all() for name in like)
    assert first["a.weight"].std() == pytest.approx((2 / 36) ** 0.5, rel=0.1)
    assert (first["n.weight"] == 1).all()
    assert (first["n.running_mean"] == 0).all()
