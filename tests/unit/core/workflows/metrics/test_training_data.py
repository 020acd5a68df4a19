"""Findings and judgements together: what a learner gets, what the card says, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import comparison_judgement, likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.feedback import refine_metric
from tests.helpers.tables import PLAIN, table_library

SEARCH = Search("plain", Query(case="t/c0"), "mine")


@pytest.fixture
def library(tmp_path):
    return table_library(tmp_path, n=80, metrics=(PLAIN,))


def trained_cases(library) -> list[str]:
    with Library.open(library, writable=False) as opened:
        training = set(opened.metric("plain").training.tolist())
        return [row.case_id for row in opened.catalogue.all_cases() if int(row.id) in training]


def judge(library, *, likes: int = 4, dislikes: int = 4) -> None:
    cases = [case for case in trained_cases(library) if case not in ("t/c0", "t/c1")]
    query = Search("plain", Query(case=cases[0]), "mine")
    made = [likeness_judgement(query, case, True) for case in cases[1 : 1 + likes]]
    made += [likeness_judgement(query, case, False) for case in cases[20 : 20 + dislikes]]
    refine_metric.add_judgements(library, query, made)


@pytest.mark.parametrize(
    ("learner", "count"), [("bdm_v", 8), ("passive_aggressive", 8), ("boostmetric", 16), ("metricboost", 16)]
)
def test_batch_learners_learn_from_findings_and_judgements(library, learner, count):
    judge(library)
    result = train_metric(library, TrainRequest(learner, "both", judgements="mine"))
    plain = train_metric(library, TrainRequest(learner, "findings"))
    assert result.card["constraints"]["judged"] == count
    assert "judged" not in plain.card["constraints"]
    assert result.card["notes"][-1] == "Learnt from findings and 8 marks."
    assert result.scores["measured_on"] == "held-out patients"


def test_judged_pairs_overrule_findings(library):
    judge(library, likes=0, dislikes=8)
    both = train_metric(library, TrainRequest("bdm", "both", judgements="mine"))
    plain = train_metric(library, TrainRequest("bdm", "plain bdm"))
    more = both.card["constraints"]["dissimilar"] - plain.card["constraints"]["dissimilar"]
    assert 0 <= more <= 8


def test_judgements_alone_are_learnt_from(library):
    judge(library)
    request = TrainRequest("bdm", "clicked", judgements="mine", from_findings=False)
    card = train_metric(library, request).card
    assert card["constraints"]["similar"] == card["constraints"]["dissimilar"] == 4
    assert card["notes"][-1] == "Learnt from 8 marks."


def test_judgements_about_held_out_cases_are_left_out_and_reported(library):
    judge(library)
    with Library.open(library, writable=False) as opened:
        everyone = {row.case_id for row in opened.catalogue.all_cases()}
    fresh = sorted(everyone - set(trained_cases(library)) - {"t/c0"})[:2]
    refine_metric.add_judgements(library, SEARCH, [likeness_judgement(SEARCH, case, True) for case in fresh])
    card = train_metric(library, TrainRequest("bdm", "both", judgements="mine")).card
    assert card["constraints"]["judged"] == 8
    assert card["notes"][-1] == (
        "Learnt from findings and 10 marks; 2 of them about other cases were left out."
    )


def test_comparisons_are_triplets(library):
    judge(library, likes=0, dislikes=0)
    query, near, far = trained_cases(library)[:3]
    request = Search("plain", Query(case=query), "mine")
    refine_metric.add_judgements(library, request, [comparison_judgement(request, near, far)])
    card = train_metric(library, TrainRequest("boostmetric", "both", judgements="mine")).card
    assert card["constraints"]["judged"] == 1
    with pytest.raises(BadInput, match="that BDM can use"):
        train_metric(library, TrainRequest("bdm", "pairs", judgements="mine"))


@pytest.mark.parametrize(
    ("request_", "match"),
    [
        (TrainRequest("bdm", "m", judgements="nobody"), "no mark in force"),
        (TrainRequest("bdm", "m", from_findings=False), "Nothing to learn from"),
        (TrainRequest("lda", "m", judgements="mine"), "cannot learn from marks"),
    ],
)
def test_what_cannot_be_learnt_says_so(library, request_, match):
    judge(library)
    with pytest.raises(BadInput, match=match):
        train_metric(library, request_)


def test_a_library_without_findings_is_learnt_from_clicks(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for number in range(32):
        grey = rng.integers(0, 255, (24, 24), dtype=np.uint8)
        Image.fromarray(grey).save(tmp_path / "images" / f"{number:02}.png")
    library = tmp_path / "lib.semblance"
    import_source(tmp_path / "images", library)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("euclidean", "plain"))
    judge(library)
    card = train_metric(library, TrainRequest("bdm", "clicked", judgements="mine")).card
    assert card["constraints"]["judged"] == 8
    assert "Not scored" in " ".join(card["notes"])
    with pytest.raises(BadInput, match="has no findings"):
        train_metric(library, TrainRequest("bdm", "nothing"))
