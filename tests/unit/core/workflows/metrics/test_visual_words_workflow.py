"""Local descriptors from images to a search: extracted, counted in training, queried."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.library import Library
from semblance.core.metrics.metric import load_metric
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.images import striped_folder

FORMS = {"visual_words": ("codebook:200", "codebook:20"), "textons": ("codebook:2000:300", "codebook:40:8")}


@pytest.fixture(scope="module", params=FORMS)
def counted(request, tmp_path_factory):
    """A library with local descriptors, the folder of its images, and the name of the extractor."""
    folder = tmp_path_factory.mktemp(request.param)
    striped_folder(folder / "in", n=24)
    import_source(folder / "in", folder / "lib")
    extract_features(folder / "lib", request.param, settings={"points": 48}, workers=1)
    return folder / "lib", folder / "in", request.param


def test_a_metric_counts_words_of_its_training_part_and_answers_an_image(counted):
    library, images, extractor = counted
    steps = FORMS[extractor][1]
    result = train_metric(library, TrainRequest("euclidean", "words", steps=steps))
    assert result.card["steps"][0].startswith("codebook: ")
    assert result.scores["retrieval_accuracy"]["mean"][0] > 0.6
    with Library.open(library) as opened:
        metric = load_metric(opened.metric("words").file)
    assert [step.kind for step in metric.steps] == ["codebook", "impute"]
    image = images / "upright" / "p002.png"
    found = nearest_cases(library, "words", Query(image=image), k=3, hide_same_patient=False)
    assert found.ranked[0].case_id.endswith("p002.png")
    assert found.ranked[0].distance == pytest.approx(0, abs=1e-12)
    assert found.ranked[1].distance > 0


def test_default_steps_are_the_papers(counted):
    library, _, extractor = counted
    evaluated = evaluate(EvaluateRequest(("euclidean",), "bdm", library=library, repeats=1))
    assert not evaluated["failed"]
    assert evaluated["results"][0]["steps"] == FORMS[extractor][0]
    assert np.isfinite(evaluated["results"][0]["scores"]["retrieval_accuracy@1"]["mean"])


def test_other_steps_may_follow_but_the_codebook_may_not_be_left_out(counted):
    library, _, extractor = counted
    steps = FORMS[extractor][1] + ",standardise"
    evaluated = evaluate(EvaluateRequest(("euclidean",), "bdm", library=library, steps=steps, repeats=1))
    assert evaluated["results"][0]["steps"] == steps
    with pytest.raises(BadArguments, match="counted first"):
        evaluate(EvaluateRequest(("euclidean",), "bdm", library=library, steps="standardise", repeats=1))


def test_without_findings_the_default_steps_still_count(counted, tmp_path):
    _, images, extractor = counted
    (tmp_path / "in").mkdir()
    for number, path in enumerate(sorted(images.rglob("*.png"))[:6]):
        (tmp_path / "in" / f"{number}.png").write_bytes(path.read_bytes())
    import_source(tmp_path / "in", tmp_path / "lib")
    extract_features(tmp_path / "lib", extractor, settings={"points": 48}, workers=1)
    result = train_metric(tmp_path / "lib", TrainRequest("euclidean", "plain"))
    assert result.card["steps"][0].startswith("codebook: ")
    assert result.scores is None
