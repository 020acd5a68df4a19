"""A metric on several feature sets: they are joined unchanged, have equal weight, and are separate in explanations."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments
from semblance.core.features.registry import make_extractor
from semblance.core.imaging import open_image
from semblance.core.library.open_library import open_library
from semblance.core.metrics.metric import load_metric
from semblance.core.metrics.steps.per_set import PerSet
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.fuse_features import fused_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import striped_folder

BOTH = "colour_edge_texture,pixels"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fused")
    import_source(striped_folder(folder / "images", n=40), folder / "lib")
    extract_features(folder / "lib", "colour_edge_texture", workers=1)
    extract_features(folder / "lib", "pixels", settings={"size": 8}, workers=1)
    return folder


def rows_of(library, name):
    with open_library(library) as opened:
        return opened.features.read(opened.features.get(name))


def test_the_columns_stand_side_by_side(made):
    library = made / "lib"
    assert fused_features(library, " colour_edge_texture , pixels ") == BOTH
    ids, values = rows_of(library, BOTH)
    parts = [rows_of(library, name) for name in BOTH.split(",")]
    assert all((own == ids).all() for own, _ in parts)
    np.testing.assert_array_equal(values, np.concatenate([numbers for _, numbers in parts], axis=1))


def test_one_name_or_none_is_left_alone(made):
    assert fused_features(made / "lib", "pixels") == "pixels"
    assert fused_features(made / "lib", None) is None


def test_an_image_from_outside_gets_the_same_numbers(made):
    library = made / "lib"
    fused_features(library, BOTH)
    with open_library(library) as opened:
        feature_set = opened.features.get(BOTH)
        ids, values = opened.features.read(feature_set)
        address = opened.catalogue.details([int(ids[3])])[int(ids[3])].address
    extractor = make_extractor(feature_set.extractor, **feature_set.settings)
    assert extractor.extract(open_image(address.container / address.member)) == pytest.approx(
        values[3], abs=1e-5
    )


def test_cases_that_come_later_are_joined_too(made, tmp_path):
    library = tmp_path / "lib"
    import_source(made / "images", library)
    extract_features(library, "colour_edge_texture", workers=1)
    extract_features(library, "pixels", settings={"size": 8}, workers=1)
    fused_features(library, BOTH)
    import_source(striped_folder(tmp_path / "more", n=6), library)
    extract_features(library, "colour_edge_texture", workers=1)
    fused_features(library, BOTH)
    assert len(rows_of(library, BOTH)[0]) == 40
    extract_features(library, "pixels", settings={"size": 8}, workers=1)
    fused_features(library, BOTH)
    assert len(rows_of(library, BOTH)[0]) == 46


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "says"),
    [
        ("pixels,pixels", "named twice"),
        ("pixels,gone", "no feature set 'gone'"),
        ("pixels,visual_words", "cannot be fused"),
        (f"pixels, {BOTH}", "named twice"),
    ],
)
def test_what_cannot_be_fused_is_refused(made, names, says):
    library = made / "lib"
    extract_features(library, "visual_words", workers=1)
    with pytest.raises(BadArguments, match=says):
        fused_features(library, names)


def test_a_metric_on_both_is_described_per_set(made):
    library = made / "lib"
    train_metric(library, TrainRequest("euclidean", "both", features=BOTH))
    _, values = rows_of(library, BOTH)
    with open_library(library) as opened:
        (record,) = [one for one in opened.metrics() if one.name == "both"]
        metric = load_metric(record.file)
    assert any(isinstance(step, PerSet) for step in metric.steps)
    parts = metric.explain(values[0], values[9])
    assert sum(part.amount for part in parts) == pytest.approx(
        metric.distances(values[:1], values[9:10])[0, 0]
    )
    groups = [{one.group for one in make_extractor(name).feature_names} for name in BOTH.split(",")]
    assert all(own & {part.name for part in parts} for own in groups)


def test_it_is_evaluated(made):
    request = EvaluateRequest(
        library=made / "lib", learners=("euclidean",), protocol="bdm", features=BOTH, repeats=2
    )
    document = evaluate(request)
    assert document["results"][0]["steps"] == "sets"
    assert document["source"]["n_features"] == 36 + 64
