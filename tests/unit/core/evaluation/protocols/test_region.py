"""Regions as queries: what is found, where, and beside which chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.protocols.region import RegionSearchScore
from semblance.core.evaluation.region_queries import CasePlaces

CASES, SIDE, WIDTH = 40, 6, 16


def planted(strength: float, *, with_regions: int = CASES) -> EvaluationData:
    """Images of noise with a patch of the finding's own look on 2 x 2 of 6 x 6 places, which is the region."""
    rng = np.random.default_rng(0)
    y = np.array(["benign", "malignant"] * (CASES // 2))
    looks = {"benign": 0, "malignant": 1}
    codes = rng.normal(0.0, 15.0, (CASES, SIDE, SIDE, WIDTH))
    own = np.full((CASES, SIDE, SIDE), np.nan, dtype=np.float32)
    for case, finding in enumerate(y.tolist()):
        row, column = rng.integers(0, SIDE - 1, 2)
        patch = np.s_[case, row : row + 2, column : column + 2]
        codes[patch][..., looks[finding]] += strength
        if case < with_regions:
            own[case] = 0.0
            own[patch] = 1.0
    flat = own.reshape(CASES, -1)
    coded = np.clip(np.rint(codes), -127, 127).astype(np.int8).reshape(CASES, -1, WIDTH)
    X = rng.normal(size=(CASES, 5))
    patients = np.array([f"p{case // 2}" for case in range(CASES)])
    return EvaluationData(X, y, groups=patients, places=CasePlaces(coded, flat, flat, X.astype(np.float32)))


def scores(data: EvaluationData, *learners: str) -> dict:
    found = get_protocol("region").run(data, [LearnerSpec(name) for name in learners])
    return {one.learner: one.scores for one in found.results}


def test_a_planted_lesion_is_found_where_it_lies():
    found = scores(planted(97.0), "euclidean", "region_features")
    place = found["place"]
    assert place["retrieval_accuracy@10"].mean > 0.95
    # The nearest show the query's lesion; in half of all cases there is none that looks like it.
    assert place["place_in_region@10"].mean > 0.95 and 0.45 < place["place_in_region"].mean < 0.6
    assert place["place_in_region_chance"].mean == pytest.approx(4 / SIDE**2)
    # Of 38 cases of other patients 19 have the query's finding.
    assert place["chance@10"].mean == pytest.approx(0.5)
    assert place["retrieval_accuracy@10"].ci95[0] > found["euclidean"]["retrieval_accuracy@10"].ci95[1]
    assert "place_in_region" not in found["region_features"]


def test_without_a_lesion_it_says_that_it_is_no_better_than_chance():
    result = get_protocol("region").run(planted(0.0), [])
    (place,) = result.to_json()["results"]
    assert place["learner"] == "place" and "do not tell the findings apart" in place["chance_note"]
    said = RegionSearchScore.of(result)
    assert said is not None and "no better than by chance" in said.summary
    assert "no better" not in RegionSearchScore.of(get_protocol("region").run(planted(97.0), [])).summary


def test_cases_without_a_region_are_found_and_are_no_queries():
    result = get_protocol("region").run(planted(97.0, with_regions=10), [])
    assert (result.source["queries"], result.source["n_cases"]) == (10, CASES)
    assert result.results[0].scores["retrieval_accuracy@10"].mean > 0.95


def test_cases_of_one_patient_never_find_each_other():
    data = planted(0.0)
    # The two cases of a patient are one image: it would be the first of its own list.
    codes = np.repeat(data.places.codes[::2], 2, axis=0)
    y = np.repeat(data.y[:20], 2)
    copied = replace(data, y=y, places=replace(data.places, codes=codes))
    assert scores(copied)["place"]["retrieval_accuracy@1"].mean < 0.9


def test_a_library_without_places_or_regions_says_what_to_do():
    data = planted(97.0)
    with pytest.raises(BadInput, match="has no places to search by"):
        get_protocol("region").run(replace(data, places=None), [])
    nowhere = replace(data.places, own=np.full_like(data.places.own, np.nan))
    with pytest.raises(BadInput, match="has no regions"):
        get_protocol("region").run(replace(data, places=nowhere), [])


def test_scores_follow_from_what_each_region_found():
    protocol = get_protocol("region")
    protocol.keeps_queries = True
    result = protocol.run(planted(97.0), [LearnerSpec("euclidean")], repeats=2)
    assert len(result.splits) == 10, "the folds of the learner"
    by_repeat: dict[tuple[str, str], list] = {}
    for one in result.queries:
        by_repeat.setdefault((one.learner, one.repeat), []).append(one.records)
    assert sorted(by_repeat) == [("euclidean", "1"), ("euclidean", "2"), ("place", "")]
    printed = {one.learner: one.scores for one in result.results}
    for (learner, repeat), records in by_repeat.items():
        hits, answers = (
            np.concatenate([getattr(one, name) for one in records]) for name in ("hits", "answers")
        )
        assert len(hits) == CASES
        value = printed[learner]["retrieval_accuracy@10"].values[int(repeat or 1) - 1]
        assert (hits / answers)[:, -1].mean() == pytest.approx(value, abs=1e-12)
    ((place,),) = (by_repeat["place", ""],)
    for name in ("place_in_region", "place_in_region@10", "place_in_region_chance"):
        assert place.columns[name].mean() == pytest.approx(printed["place"][name].mean, abs=1e-12)
    same_patient = place.nearest // 2 == place.rows[:, None] // 2
    assert not same_patient.any()
