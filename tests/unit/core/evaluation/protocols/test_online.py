"""The protocol online against loops over cases."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.evaluation.builtin_tables import builtin_table
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.protocols.runner import repeat_seed
from semblance.core.evaluation.splits import halves
from tests.helpers.blobs import blobs
from tests.helpers.naive_protocols import run_protocol, standardised, vote_credit


def errors(Z, y, queries, galleries, k):
    """Plain and balanced error."""
    right = [vote_credit(Z, y, query, gallery, k) for query, gallery in zip(queries, galleries, strict=True)]
    per_finding = [
        np.mean([r for r, q in zip(right, queries, strict=True) if y[q] == f]) for f in set(y[queries])
    ]
    return 1 - np.mean(right), 1 - np.mean(per_finding)


def test_errors_are_those_of_loops_at_the_k_best_inside_the_training_half():
    data = blobs(n=60)
    result = run_protocol("online", data, "euclidean", seed=9).results[0]
    split = halves(data.y.tolist(), None, repeat_seed(9, 0))
    Z, y = standardised(data, split.train), data.y
    inside = [
        errors(Z, y, split.train, [[r for r in split.train if r != q] for q in split.train], k)
        for k in range(1, 26)
    ]
    outside = [errors(Z, y, split.test, [split.train] * len(split.test), k) for k in range(1, 26)]
    plain_k, balanced_k = (int(np.argmin([round(pair[side], 12) for pair in inside])) for side in (0, 1))
    score = {name: summary.mean for name, summary in result.scores.items()}
    assert score["chosen_k"] == plain_k + 1
    assert score["knn_error"] == pytest.approx(outside[plain_k][0])
    assert score["balanced_error"] == pytest.approx(outside[balanced_k][1])
    assert score["knn_error@5"] == pytest.approx(outside[4][0])
    assert score["balanced_error@10"] == pytest.approx(outside[9][1])
    assert score["knn_error_best_on_test"] == pytest.approx(min(pair[0] for pair in outside))
    assert score["balanced_error_best_on_test"] == pytest.approx(min(pair[1] for pair in outside))
    assert "predictive_loss" not in score
    assert result.curves["knn_error"].mean == pytest.approx([pair[0] for pair in outside])


def test_loss_updates_and_rank_are_recorded_while_learning():
    data = builtin_table("wine")
    result = run_protocol(
        "online", data, LearnerSpec("passive_aggressive", {"passes": 30, "C": 0.1}), repeats=3
    )
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))["results"][0]
    scores, curves = document["scores"], document["curves"]
    loss = curves["predictive_loss"]["mean"]
    assert loss[-1] == pytest.approx(scores["predictive_loss"]["mean"])
    assert loss[0] > loss[-1]
    assert 0 < scores["updates"]["mean"] <= 30 * 240
    low, high = scores["updates"]["ci95"]
    assert low < scores["updates"]["mean"] < high
    assert curves["effective_dimension"]["mean"][-1] == scores["effective_dimension"]["mean"]
    assert 1 <= scores["effective_dimension"]["mean"] <= 13
    assert len(loss) == len(curves["effective_dimension"]["mean"])
