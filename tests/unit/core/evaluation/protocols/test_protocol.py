"""What every protocol promises: parts that never share a patient, JSON, seeds, failures and cancelling."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.data_sources import builtin_table
from semblance.core.evaluation.protocols import get_protocol, protocols
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.metrics import registry
from semblance.core.metrics.estimators.fixed_distances import Euclidean
from semblance.core.metrics.steps import parse_steps
from semblance.core.tasks import SILENT, Cancelled, Reporter
from tests.helpers.blobs import blobs

STEPS = parse_steps("standardise")
#: Every protocol with the settings under which it splits differently.
PROTOCOLS = (
    ("bdm", {}),
    ("metricboost", {}),
    ("metricboost", {"train_on": "one"}),
    ("boostmetric", {}),
    ("online", {}),
    ("ccml", {}),
    ("pairs", {}),
    ("feedback", {"cases": 5, "queries": 8}),
    ("feedback", {"cases": 5, "queries": 8, "wrong": 0.2}),
    ("full", {"draws": 20}),
    ("full", {"draws": 20, "split": "folds"}),
    ("full", {"draws": 20, "held_out": 0.3}),
)
each = pytest.mark.parametrize(("name", "settings"), PROTOCOLS)


class Watching(Euclidean):
    """Remembers the patients it was fitted on and those it then ranks."""

    name = "watching"
    fitted: list = []  # noqa: RUF012

    def fit(self, X, y=None, *, pairs=None, triplets=None, groups=None, reporter=None):
        Watching.fitted.append((np.array(X), None if groups is None else set(groups.tolist())))
        return super().fit(X, y, groups=groups)


def run(name, settings, data, *learners, repeats=1, seed=0, reporter=SILENT, steps=STEPS):
    specs = [one if isinstance(one, LearnerSpec) else LearnerSpec(one) for one in learners]
    protocol = get_protocol(name, **settings)
    return protocol.run(data, specs, steps=steps, repeats=repeats, seed=seed, reporter=reporter)


def test_the_list_is_complete():
    # Matching needs cases in two views, medmnist official parts, region places of images: they have tests of their own.
    assert {name for name, _ in PROTOCOLS} | {"matching", "medmnist", "region"} == {
        protocol.name for protocol in protocols()
    }


@each
@pytest.mark.parametrize("patients", [0, 3])
def test_no_patient_is_in_two_parts(name, settings, patients):
    data = blobs(patients=patients)
    protocol = get_protocol(name, **settings)
    _, splits = protocol.splits(data, 2, 7)
    assert splits
    for split in splits:
        parts = [split.train, split.test, split.validation]
        rows = np.concatenate(parts)
        assert len(set(rows.tolist())) == len(rows) == data.n_cases
        assert len(split.train)
        assert len(split.test)
        assert split.by_patient == bool(patients)
        if data.groups is not None:
            sets = [set(data.groups[part].tolist()) for part in parts]
            assert sum(len(one) for one in sets) == len(set(data.groups.tolist()))
            assert not sets[0] & sets[1]


@each
def test_learners_and_steps_get_only_the_training_part(name, settings, monkeypatch):
    monkeypatch.setattr(registry, "LEARNERS", (*registry.learners(), Watching))
    monkeypatch.setattr(Watching, "fitted", [])
    data = blobs(patients=3)
    run(name, settings, data, "watching", seed=7)
    _, splits = get_protocol(name, **settings).splits(data, 1, 7)
    assert len(Watching.fitted) == len(splits)
    for (rows, patients), split in zip(Watching.fitted, splits, strict=True):
        assert patients == set(data.groups[split.train].tolist())
        np.testing.assert_allclose(rows.mean(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(rows.std(axis=0), 1.0)


@pytest.mark.slow
@each
def test_json_is_that_of_the_contract(name, settings):
    result = run(name, settings, blobs(patients=2), "euclidean", "l1", "bdm", repeats=2)
    document = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert document["protocol"] == name
    assert document["failed"] == []
    assert set(document["compared"]) & set(document["results"][0]["scores"])
    assert {pair["score"] for pair in document["comparisons"]} <= set(document["compared"])
    for one in document["results"]:
        for score, summary in one["scores"].items():
            assert set(summary) == {"mean", "std", "ci95", "values"}
            assert len(summary["values"]) == document["repeats"]
            if any(word in score for word in ("accuracy", "error", "auc", "ndcg")):
                assert all(0 <= value <= 1 for value in summary["values"] if value is not None), score
        for curve in set(one["curves"]) - {"roc"}:
            assert one["curves"][curve]["k"][0] == 1


@each
def test_seed_gives_the_same_first_repeats(name, settings):
    data = builtin_table("iris")
    a, more, other = (
        run(name, settings, data, "euclidean", repeats=repeats, seed=seed).results[0].scores
        for repeats, seed in ((1, 1), (2, 1), (1, 2))
    )
    for score, summary in a.items():
        assert more[score].values[: len(summary.values)] == summary.values
    assert any(a[score].values != other[score].values for score in a)


@each
def test_missing_values_and_a_finding_of_one_case(name, settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(61, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    data = EvaluationData(X, np.array([*["a"] * 30, *["b"] * 30, "rare"]))
    result = run(name, settings, data, "euclidean")
    assert not result.failed
    json.dumps(result.to_json(), allow_nan=False)


@each
def test_wrong_requests_and_cancelling(name, settings):
    class Cancelling(Reporter):
        def check_cancelled(self):
            raise Cancelled

    with pytest.raises(BadArguments, match=r"at least one repeat.*--repeats"):
        run(name, settings, blobs(), "euclidean", repeats=0)
    with pytest.raises(BadArguments, match="No learner"):
        run(name, settings, blobs())
    with pytest.raises(BadInput, match="only the finding"):
        run(name, settings, EvaluationData(np.ones((9, 2)), np.array(["a"] * 9)), "euclidean")
    with pytest.raises(Cancelled):
        run(name, settings, blobs(), "euclidean", reporter=Cancelling())
    with pytest.raises(BadArguments, match=f"The protocol {name} has no parameter 'magic'"):
        get_protocol(name, magic=1)


@pytest.mark.parametrize("name", ["online", "pairs"])
@pytest.mark.parametrize("n", [6, 9, 14])
def test_few_cases_and_a_finding_of_one_case(name, n):
    y = np.array([*(["a", "b"] * n)[: n - 1], "rare"])
    data = EvaluationData(np.random.default_rng(n).normal(size=(n, 2)), y)
    result = run(name, {}, data, "euclidean", repeats=2)
    assert result.results or "pairs" in result.failed[0].reason


def test_protocols_describe_themselves():
    assert protocols()[0].name == "bdm"
    for protocol in protocols():
        assert protocol.title
        assert protocol.paper
        assert protocol.summary
        assert protocol.compared
        assert protocol.repeats >= 1
