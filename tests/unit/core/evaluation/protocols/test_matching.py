"""Polyps from view to view: queries, training cases, and how hits are counted."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.matching import FOLDS, MAX_K, PolypViews, hit_probabilities
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.metrics import registry
from semblance.core.metrics.estimators.fixed_distances import Euclidean
from semblance.core.metrics.steps import parse_steps
from semblance.core.tasks import SILENT, Cancelled, Reporter
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate

FALSE = "false positive"


def candidates(patients=10, polyps=2, wrong=3, noise=0.1, seed=0, nuisance=4):
    """Two columns tell which polyp it is, ``nuisance`` ones vary widely with nothing."""
    rng = np.random.default_rng(seed)
    X, y, groups, views, places = [], [], [], [], []
    for patient in range(patients):
        shapes, lies = rng.normal(size=(polyps, 2)), rng.random(polyps)
        for view in ("prone", "supine"):
            for number in range(polyps + wrong):
                real = number < polyps
                shape = shapes[number] + rng.normal(0, noise, 2) if real else rng.normal(size=2)
                X.append([*shape, *rng.normal(0, 1, nuisance)])
                y.append(f"polyp {number}" if real else FALSE)
                groups.append(f"P{patient}")
                views.append(view)
                place = lies[number] + rng.normal(0, 0.05) if real else rng.random()
                places.append(f"{min(max(place, 0), 1):.3f}")
    return EvaluationData(
        np.array(X),
        np.array(y),
        np.array(groups),
        attributes={"view": np.array(views), "geodesic": np.array(places)},
    )


def run(data, *learners, repeats=1, seed=0, steps="standardise", reporter=SILENT, **settings):
    protocol = get_protocol("matching", **settings)
    specs = [one if isinstance(one, LearnerSpec) else LearnerSpec(one) for one in learners]
    return protocol.run(data, specs, steps=parse_steps(steps), repeats=repeats, seed=seed, reporter=reporter)


def scores(result, learner):
    found = next(one for one in result.results if one.learner == learner)
    return {name: summary.mean for name, summary in found.scores.items()}


def test_hits_by_hand():
    """Two patients' worth of distances known by heart, both ways counted alike."""
    X = [[0.0], [5.0], [0.4], [0.1], [9.0]]
    data = EvaluationData(
        np.array(X),
        np.array(["a", "b", "a", FALSE, FALSE]),
        np.array(["P"] * 5),
        attributes={"view": np.array(["prone", "prone", "supine", "supine", "supine"])},
    )
    views = PolypViews(data, FALSE)
    assert [(q.row, q.candidates.tolist(), q.hits.tolist()) for q in views.queries] == [
        (0, [2, 3, 4], [True, False, False]),
        (2, [0, 1], [True, False]),
    ]


def test_rates_are_the_plain_loops():
    data = candidates(patients=12, noise=0.6)
    result = run(data, "euclidean", steps="none")
    found = next(one for one in result.results if one.learner == "euclidean").scores
    splits = get_protocol("matching").splits(data, 1, 0)[1]
    view = data.attributes["view"]
    for fold, split in enumerate(splits):
        for k in (1, 3, 10):
            ways = []
            for here in ("prone", "supine"):
                ranks = []
                for i in split.test:
                    if view[i] != here or data.y[i] == FALSE:
                        continue
                    there = [j for j in split.test if data.groups[j] == data.groups[i] and view[j] != here]
                    there.sort(key=lambda j: ((data.X[i] - data.X[j]) ** 2).sum())
                    ranks.append(any(data.y[j] == data.y[i] for j in there[:k]))
                ways.append(np.mean(ranks))
            assert found[f"hit_rate@{k}"].values[fold] == pytest.approx(np.mean(ways))


def test_a_polyp_cut_into_several_candidates_is_hit_by_any():
    data = EvaluationData(
        np.array([[0.0], [3.0], [0.1], [1.0]]),
        np.array(["a", "a", FALSE, "a"]),
        np.array(["P"] * 4),
        attributes={"view": np.array(["prone", "supine", "supine", "supine"])},
    )
    (query, *back) = PolypViews(data, FALSE).queries
    assert query.hits.tolist() == [True, False, True]
    assert len(back) == 2


def test_triplets_are_the_papers():
    data = candidates(patients=6, polyps=2, wrong=3)
    views = PolypViews(data, FALSE)
    split = get_protocol("matching").splits(data, 1, 0)[1][0]
    train = split.train
    expected = set()
    view = data.attributes["view"]
    for i, j, k in itertools.product(range(len(train)), repeat=3):
        a, b, c = train[i], train[j], train[k]
        together = data.groups[a] == data.groups[b] == data.groups[c]
        other = view[a] != view[b] and view[a] != view[c]
        polyp = data.y[a] != FALSE and data.y[a] == data.y[b]
        if together and other and polyp and data.y[c] != data.y[a]:
            expected.add((i, j, k))
    found = views.triplets(split)
    assert {tuple(row) for row in found.tolist()} == expected
    assert len(found) == len(expected)


def test_no_patient_is_trained_on_and_tested():
    data = candidates()
    rule, splits = get_protocol("matching").splits(data, 2, 3)
    assert rule == "5 folds of patients"
    assert len(splits) == 2 * FOLDS
    for split in splits:
        assert not set(data.groups[split.train]) & set(data.groups[split.test])


def test_learners_are_given_triplets_or_identities(monkeypatch):
    given = []

    class Watching(Euclidean):
        name = "watching"
        accepts = frozenset({"triplets"})

        def fit(self, X, y=None, *, pairs=None, triplets=None, groups=None, reporter=None):
            given.append((len(X), y, triplets))
            return super().fit(X, y, groups=groups)

    class Others(Watching):
        name = "others"
        accepts = frozenset({"findings"})

    monkeypatch.setattr(registry, "LEARNERS", (*registry.LEARNERS, Watching, Others))
    result = run(candidates(), "watching", "others")
    assert not result.failed
    (n, y, triplets), (_, _, none) = given[:2]
    assert none is None
    assert triplets.max() < n
    _, counts = np.unique(y, return_counts=True)
    # Each polyp twice, once in each view; each false positive alone.
    assert sorted(set(counts.tolist())) == [1, 2]
    assert (counts == 2).sum() == 8 * 2


def test_learnt_metric_is_better_than_euclidean():
    data = candidates(patients=40, noise=0.15, nuisance=8)
    result = run(data, "metricboost", "euclidean", "geodesic")
    assert not result.failed
    learnt, plain, along = (scores(result, name) for name in ("metricboost", "euclidean", "geodesic"))
    assert learnt["hit_rate@1"] > plain["hit_rate@1"] + 0.1
    assert along["hit_rate@1"] > 0.5
    for found in (learnt, plain, along):
        rates = [found[f"hit_rate@{k}"] for k in range(1, MAX_K + 1)]
        assert rates == sorted(rates)
        # Five candidates are in the other view.
        assert rates[4] == 1.0
    compared = {(one.a, one.b, one.score) for one in result.comparisons}
    assert ("metricboost", "geodesic", "hit_rate@1") in compared


def test_geodesic_ranks_by_position_only():
    data = candidates(patients=10)
    shuffled = EvaluationData(
        np.random.default_rng(1).normal(size=data.X.shape), data.y, data.groups, attributes=data.attributes
    )
    assert scores(run(data, "geodesic"), "geodesic") == scores(run(shuffled, "geodesic"), "geodesic")


def test_mrmr_keeps_the_columns_that_stay_the_same_between_views():
    data = candidates(patients=30, noise=0.1, nuisance=10)
    result = run(data, "euclidean", steps="standardise,mrmr:2")
    assert scores(result, "euclidean")["hit_rate@1"] > 0.8


def test_same_seed_gives_the_same_document():
    data = candidates()
    documents = [run(data, "euclidean", "geodesic", seed=4).to_json() for _ in range(2)]
    for document in documents:
        for result in document["results"]:
            result.pop("fit_seconds")
    assert documents[0] == json.loads(json.dumps(documents[1]))
    assert documents[0]["source"]["findings"][FALSE] == 60
    assert documents[0]["repeats"] == FOLDS
    assert documents[0]["results"][0]["curves"]["hit_rate"]["k"] == list(range(1, 11))


def test_partial_results_and_cancelling():
    class Watch(Reporter):
        results: list = []  # noqa: RUF012

        def partial(self, result):
            self.results.append(result)

        def check_cancelled(self):
            if len(self.results) == 2:
                raise Cancelled

    watch = Watch()
    with pytest.raises(Cancelled):
        run(candidates(), "euclidean", reporter=watch)
    assert [one.repeats for one in watch.results] == [1, 2]
    assert FALSE in watch.results[0].source["findings"]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"attributes": {}}, "does not give the view"), ({"groups": None}, "does not give the patient")],
)
def test_missing_findings_are_reported(change, message):
    data = candidates()
    given = {"attributes": data.attributes, "groups": data.groups} | change
    with pytest.raises(BadInput, match=message):
        run(EvaluationData(data.X, data.y, given["groups"], attributes=given["attributes"]), "euclidean")


def test_missing_matches_or_positions_are_refused():
    data = candidates()
    alone = np.where(data.y == FALSE, FALSE, np.char.add(data.y, data.attributes["view"]))
    with pytest.raises(BadInput, match="no polyp that two views"):
        run(EvaluationData(data.X, alone, data.groups, attributes=data.attributes), "euclidean")
    only_view = {"view": data.attributes["view"]}
    with pytest.raises(BadInput, match="no position along the colon"):
        run(EvaluationData(data.X, data.y, data.groups, attributes=only_view), "geodesic")


def test_ties_count_in_expectation():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(2, 7))
        tie = np.sort(rng.integers(0, 3, n))
        hits = rng.random(n) < 0.4
        hits[rng.integers(n)] = True
        orders = [
            order for order in itertools.permutations(range(n)) if (np.diff(tie[list(order)]) >= 0).all()
        ]
        expected = [np.mean([hits[list(order)[:k]].any() for order in orders]) for k in range(1, 9)]
        np.testing.assert_allclose(hit_probabilities(tie, hits, 8), expected, atol=1e-12)


def test_a_table_with_views(tmp_path):
    data = candidates(patients=10)
    lines = ["patient_id,view,geodesic,f0,f1,label"]
    for row in range(data.n_cases):
        cells = (data.groups[row], data.attributes["view"][row], data.attributes["geodesic"][row])
        lines.append(",".join([*cells, *(f"{one:.6f}" for one in data.X[row, :2]), data.y[row]]))
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    document = evaluate(EvaluateRequest(("euclidean", "geodesic"), "matching", table=str(path)))
    # The place along the colon is no feature.
    assert document["source"]["n_features"] == 2
    assert not document["failed"]
    rates = {one["learner"]: one["scores"]["hit_rate@1"]["mean"] for one in document["results"]}
    assert all(0 < rate <= 1 and math.isfinite(rate) for rate in rates.values())
