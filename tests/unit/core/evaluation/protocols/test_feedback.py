from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.splits import HoldOut
from semblance.core.retrieval import feedback_scores


def scores(data, learner="euclidean", **settings):
    protocol = get_protocol("feedback", **{"cases": 20, **settings})
    result = protocol.run(data, [LearnerSpec(learner)], repeats=1)
    assert not result.failed
    return {name: summary.mean for name, summary in result.results[0].scores.items()}


def table(n: int = 200, seed: int = 0) -> EvaluationData:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 8))
    X[:, 0] += 2.5 * y
    return EvaluationData(X, y.astype(str))


def test_precision_is_that_of_the_residual_collection(monkeypatch):
    data = table()
    query = 7
    split = HoldOut(np.setdiff1d(np.arange(200), [query]), np.array([query]), False, 3)
    monkeypatch.setattr(type(get_protocol("feedback")), "splits", lambda *_: ("", [split]))
    found = scores(data)
    alike = data.y == data.y[query]
    base = ((data.X - data.X[query]) ** 2).sum(axis=1)
    order = np.argsort(base)[1:]
    assert found["residual_precision@20:0"] == alike[order[:20]].mean()
    for n in (5, 10, 20):
        judged, rest = order[:n], order[n:]
        marks = feedback_scores(data.X, query, judged[alike[judged]], judged[~alike[judged]], base=base)
        after = rest[np.argsort(-marks[rest])][:20]
        assert found[f"residual_precision@20:{n}"] == alike[after].mean()
        assert found[f"residual_precision@20:{n}:no_feedback"] == alike[rest[:20]].mean()
        assert found[f"gain@20:{n}"] == alike[after].mean() - alike[rest[:20]].mean()


@pytest.mark.parametrize("learner", ["euclidean", "l1"])
def test_marks_help_and_wrong_ones_help_less(learner):
    right, wrong = scores(table(), learner), scores(table(), learner, wrong=0.4)
    assert right["gain@20:20"] > 0.05
    assert wrong["gain@20:20"] < right["gain@20:20"]


def test_other_cases_of_the_querys_and_of_judged_patients_are_not_ranked():
    # Twelve images of each patient, almost equal, whose finding nothing else shows.
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 5)), 12, axis=0) + rng.normal(size=(240, 5)) / 100
    y = np.repeat(rng.integers(0, 2, 20), 12).astype(str)
    patients = np.repeat([f"p{k}" for k in range(20)], 12)
    known = scores(EvaluationData(X, y, patients), queries=100)
    unknown = scores(EvaluationData(X, y), queries=100)
    assert known["residual_precision@20:0"] < unknown["residual_precision@20:0"] - 0.08
    assert known["residual_precision@20:5"] < unknown["residual_precision@20:5"] - 0.08


def test_rare_findings_are_not_used_as_queries():
    with pytest.raises(BadInput, match=r"No finding has 150 cases.*protocol.cases"):
        protocol = get_protocol("feedback", cases=150)
        result = protocol.run(table(), [LearnerSpec("euclidean")], repeats=1)
        raise BadInput(result.failed[0].reason)
