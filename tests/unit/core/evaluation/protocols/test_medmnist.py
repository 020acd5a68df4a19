from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.medmnist import average_precision
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.metrics.steps import parse_steps

#: Training, validation and tested cases, as MedMNIST orders them.
PARTS = np.array(["train"] * 60 + ["val"] * 20 + ["test"] * 25)


def table(seed: int = 0, parts=PARTS, findings: int = 3) -> EvaluationData:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, findings, len(parts))
    X = rng.normal(size=(len(parts), 4))
    X[:, 0] += 1.2 * y
    return EvaluationData(X, y.astype(str), attributes={"split": parts})


def run(data, learner="euclidean", **options):
    result = get_protocol("medmnist").run(data, [LearnerSpec(learner)], steps=parse_steps("none"), **options)
    assert not result.failed
    return result


def test_scores_are_those_of_the_publications_in_plain_loops():
    data = table()
    train, test = np.flatnonzero(PARTS == "train"), np.flatnonzero(PARTS == "test")

    def majority(findings):
        # The nearest comes first, and of equally frequent ones the first is taken.
        return Counter(findings).most_common(1)[0][0]

    acc, vote, average, eleven = [], [], [], []
    for query in test:
        order = train[np.argsort([((data.X[query] - data.X[row]) ** 2).sum() for row in train])]
        found = [data.y[row] for row in order[:11]]
        acc.append(found[0] == data.y[query])
        vote.append(majority(found[:5]) == data.y[query])
        eleven.append(majority(found) == data.y[query])
        hit_ranks = [rank for rank in range(1, 6) if found[rank - 1] == data.y[query]]
        precisions = [found[:rank].count(data.y[query]) / rank for rank in hit_ranks]
        average.append(sum(precisions) / len(precisions) if precisions else 0.0)
    result = run(data)
    scores = result.results[0].scores
    expected = {"acc@1": acc, "mmv@5": vote, "map@5": average, "knn_accuracy@11": eleven}
    for name, values in expected.items():
        assert scores[name].mean == pytest.approx(np.mean(values), abs=1e-12)
        low, high = scores[name].ci95
        assert low < scores[name].mean < high
    assert (result.split.n_train, result.split.n_test) == (60, 25)
    json.dumps(result.to_json(), allow_nan=False)


def test_a_query_without_a_hit_has_an_average_precision_of_0():
    hits = np.array([[0, 0, 0, 0, 0], [0, 1, 0, 0, 1], [1, 1, 1, 1, 1]], dtype=bool)
    np.testing.assert_allclose(average_precision(hits), [0.0, (1 / 2 + 2 / 5) / 2, 1.0])


@pytest.mark.parametrize("learner", ["euclidean", "lda", "auto"])
def test_what_the_test_part_shows_changes_no_choice_and_no_metric(learner):
    data = table(findings=2)
    tested = data.attributes["split"] == "test"
    other = np.where(tested, np.where(data.y == "0", "1", "0"), data.y)
    before = run(data, learner).results[0]
    planted = run(replace(data, y=other), learner).results[0]
    assert planted.params == before.params
    # With two findings the nearest case is right for one of the two labels.
    assert planted.scores["acc@1"].mean == pytest.approx(1.0 - before.scores["acc@1"].mean)


def test_auto_takes_what_is_best_with_the_validation_part_and_says_what_it_compared():
    data = table(1)
    result = run(data, "auto").results[0]
    (chosen,) = result.params["chosen"]
    assert chosen["learner"] == max(chosen["validation"], key=chosen["validation"].get)
    named = EvaluationData(data.X, data.y, attributes={"part": np.char.replace(PARTS, "test", "Test ")})
    again = get_protocol("medmnist").run(
        named, [LearnerSpec(chosen["learner"])], steps=parse_steps(chosen["steps"])
    )
    assert result.scores["map@5"].mean == again.results[0].scores["map@5"].mean


def test_copies_in_both_parts_are_counted_and_patients_in_both_refused():
    data = table()
    units = np.array([""] * len(PARTS), dtype="<U12")
    units[[3, 90]] = "one image, 3"
    assert "1 of these have a copy" in str(run(replace(data, units=units)).split.rule)
    patients = np.array([f"p{row}" for row in range(len(PARTS))])
    patients[90] = patients[3]
    with pytest.raises(BadInput, match="1 of the patients have cases in the training part and in the tested"):
        run(replace(data, groups=patients, units=patients))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, r"does not say which part .*column 'part'"),
        ({"split": np.array([""] * 105)}, r"does not say which part"),
        ({"split": np.array(["train"] * 105)}, "no case of the part 'test'"),
        ({"split": np.array(["train"] * 100 + ["other"] * 5)}, r"5 cases .*'other'.*train, val and test"),
        ({"split": PARTS, "labels_at_once": np.array(["14"] * 105)}, "several labels at once"),
    ],
)
def test_cases_without_official_parts_and_with_several_labels_are_refused(attributes, message):
    with pytest.raises(BadInput, match=message):
        run(replace(table(), attributes=attributes))


def test_more_repeats_of_given_parts_are_refused():
    with pytest.raises(BadArguments, match="one repeat"):
        run(table(), repeats=2)
