"""MetricBoost refuses what it cannot learn from, keeps its numbers finite, and is stored as it is."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.metrics import load_metric
from semblance.core.metrics.estimators.metricboost import largest_squared_distance
from semblance.core.metrics.storage import MANIFEST
from semblance.core.tasks import SILENT, Cancelled
from tests.helpers.learners import Listener, of_paper
from tests.helpers.naive_bdm import problem

FORMS = (
    {},
    {"threshold": "gaussian", "readout": "votes"},
    {"weak": "normalised"},
    {"weak": "real"},
    {"allow_similarity": True, "readout": "votes"},
    {"weak": "real", "allow_similarity": True},
)
over_forms = pytest.mark.parametrize("settings", FORMS, ids=str)


def overlapping(n=60, d=4):
    """Two findings that no metric separates."""
    rng = np.random.default_rng(11)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 0.5 * y[:, np.newaxis], y


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.eye(4), ["a"] * 4, "All training cases have the finding 'a'"),
        (np.eye(4), [None] * 4, "lack a finding"),
        (np.eye(4), ["a", "b", "c", "d"], "No two training cases have the same finding"),
        (np.eye(4), ["a", "a", "b"], "4 cases but 3 findings"),
        (np.eye(4), None, "learns from findings or triplets"),
        (np.ones((4, 2)), ["a", "a", "b", "b"], "the same features"),
        (np.where(np.eye(4) > 0, np.nan, 1.0), ["a", "a", "b", "b"], "missing values"),
        (np.where(np.eye(4) > 0, np.inf, 1.0), ["a", "a", "b", "b"], "infinite"),
    ],
)
@over_forms
def test_what_it_cannot_learn_from_is_refused(settings, X, y, words):
    learner = of_paper("metricboost", **settings)
    with pytest.raises(BadInput, match=words) as refusal:
        learner.fit(X, y)
    assert refusal.value.hint
    assert not hasattr(learner, "distance_")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[0, 1, 4]], "outside 0 to 3"),
        ([[-1, 1, 2]], "outside 0 to 3"),
        ([[0, 1, 2], [0, 2, 1]], "the opposite"),
        ([[0, 1, 1]], "names a case twice"),
        (np.empty((0, 3), dtype=np.int64), "no triplet"),
        ([[0.0, 1.0, 2.0]], "table of three rows"),
    ],
)
def test_triplets_without_information_are_refused(rows, words):
    with pytest.raises(BadInput, match=words):
        of_paper("metricboost").fit(np.eye(4), triplets=np.array(rows))


def test_a_single_case_of_its_finding_is_never_an_anchor():
    X, y = problem(n=45, d=5)
    lone = np.concatenate([X, X[:1] + 0.3])
    learner = of_paper("metricboost", rounds=3).fit(lone, [*y.tolist(), "alone"])
    sizes = np.bincount(np.unique(y, return_inverse=True)[1])
    assert learner.metric().card.constraints["triplets"] == sum(s * (s - 1) * (46 - s) for s in sizes)


@over_forms
def test_findings_farther_apart_inside_than_between_are_refused(settings):
    X, y = np.array([[0.0], [10.0], [4.0], [6.0]]), ["a", "a", "b", "b"]
    learner = of_paper("metricboost", **settings)
    if settings == {"weak": "real", "allow_similarity": True}:
        # Its first weak model makes all distances 0.
        with pytest.raises(BadInput, match="learnt nothing"):
            learner.fit(X, y)
        return
    if settings.get("allow_similarity"):
        assert not learner.fit(X, y).metric().is_metric
        return
    with pytest.raises(BadInput, match="Along no direction do other findings lie farther"):
        learner.fit(X, y)


def test_only_binary_weak_models_can_be_read_out_as_votes():
    with pytest.raises(BadArguments, match="weak=real"):
        of_paper("metricboost", weak="real", readout="votes").fit(np.eye(4), ["a", "a", "b", "b"])


@over_forms
@pytest.mark.parametrize("apart", [0.0, 60.0])
def test_five_hundred_rounds_stay_finite_and_their_bound_never_rises(settings, apart):
    X, y = overlapping()
    X[:, 0] += apart * y
    learner = of_paper("metricboost", rounds=500, **settings).fit(X, y)
    bounds = np.array(learner.log_bounds_)
    assert np.isfinite(bounds).all()
    assert bounds[0] == 0.0
    assert (np.diff(bounds) <= 1e-9).all()
    d = learner.metric().distances(X, X)
    assert np.isfinite(d).all()
    # Theorem 1: the share of triplets in the wrong order is at most the bound.
    other = y[:, np.newaxis] != y
    wrong = total = 0
    for i in range(len(y)):
        own = d[i, ~other[i] & (np.arange(len(y)) != i)]
        wrong += (own[:, np.newaxis] > d[i, other[i]]).sum()
        total += own.size * other[i].sum()
    if settings.get("readout") == "votes" or settings.get("weak") in ("normalised", "real"):
        assert wrong / total <= np.exp(bounds[-1]) * (1 + 1e-9) + 1e-12


def test_memory_that_would_not_fit_is_refused_beforehand(monkeypatch):
    X, y = problem(n=90)
    monkeypatch.setattr("semblance.core.metrics.estimators.anchored_triplets._MOST_BYTES", 90 * 90 * 8 - 1)
    with pytest.raises(BadInput, match=r"pairs of 90 cases would take 0\.0 GB") as refusal:
        of_paper("metricboost").fit(X, y)
    assert "anchors=1000" in refusal.value.hint
    assert of_paper("metricboost", anchors=20).fit(X, y).metric().card.rounds
    assert of_paper("metricboost", weak="real").fit(X, y).metric().card.rounds


def test_forty_thousand_cases_are_refused_before_memory_is_taken():
    X = np.zeros((40_000, 1))
    X[::2] = 1.0
    with pytest.raises(BadInput, match=r"40000 cases would take 6\.4 GB"):
        of_paper("metricboost", training_cases=0).fit(X, np.arange(40_000) % 2)


@over_forms
@pytest.mark.parametrize("given", [False, True])
def test_cancelled_at_any_report_nothing_is_left(settings, given):
    X, y = problem(n=30, d=3)
    table = np.array([[i, (i + 3) % 30, (i + 1) % 30] for i in range(30)])
    counting = Listener()
    extra = {"triplets": table} if given else {}
    of_paper("metricboost", rounds=4, **settings).fit(X, y, reporter=counting, **extra)
    assert counting.cancel_checks > 4
    for moment in range(1, counting.cancel_checks + 1):
        learner = of_paper("metricboost", rounds=4, **settings)
        before = dict(vars(learner))
        with pytest.raises(Cancelled):
            learner.fit(X, y, reporter=Listener(cancel_at=moment), **extra)
        assert vars(learner) == before


def test_the_largest_distance_is_the_largest():
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(200, 3)), rng.normal(size=(50, 4)) + 1e6, np.ones((5, 2)), np.eye(3)):
        expected = ((X[:, np.newaxis] - X) ** 2).sum(axis=2).max()
        assert largest_squared_distance(X, SILENT) == pytest.approx(expected, rel=1e-9)


def rewritten(path, change):
    """The stored metric with its arrays changed by ``change(arrays)``."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(entries.pop(MANIFEST))
    # Stored as arrays/0_weights.npy and the like.
    full = {name.removesuffix(".npy").split("_", 1)[1]: name for name in entries if name.endswith(".npy")}
    arrays = {short: np.load(io.BytesIO(entries[name])) for short, name in full.items()}
    change(arrays)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, json.dumps(manifest))
        for name, array in arrays.items():
            data = io.BytesIO()
            np.save(data, array)
            archive.writestr(full[name], data.getvalue())


VOTES = [
    (lambda a: a.update(weights=a["weights"][:-1]), "do not fit together"),
    (lambda a: a.update(thresholds=-a["thresholds"]), "not all positive"),
    (lambda a: a.update(thresholds=np.full_like(a["thresholds"], np.nan)), "values that are not numbers"),
    (lambda a: a.update(directions=a["directions"].astype(np.float32)), "wrong form"),
    (lambda a: a.update(directions=a["directions"][0]), "wrong form"),
]
SIGNED = [
    (lambda a: a.update(signs=a["signs"][:-1]), "one \\+1 or -1 a row"),
    (lambda a: a.update(signs=0.5 * a["signs"]), "one \\+1 or -1 a row"),
    (lambda a: a.update(L=a["L"].astype(np.float32)), "wrong form"),
]


@pytest.mark.parametrize(
    ("settings", "change", "words"),
    [({"readout": "votes"}, *bad) for bad in VOTES]
    + [({"weak": "real", "allow_similarity": True, "rounds": 8}, *bad) for bad in SIGNED],
)
def test_stored_arrays_that_do_not_fit_are_refused(tmp_path, settings, change, words):
    X, y = overlapping()
    path = tmp_path / "m.metric"
    metric = of_paper("metricboost", **settings).fit(X, y).metric()
    assert metric.distance.kind == ("votes" if "readout" in settings else "signed")
    metric.save(path)
    assert (load_metric(path).distances(X, X) == metric.distances(X, X)).all()
    rewritten(path, change)
    with pytest.raises(BadInput, match=words) as refusal:
        load_metric(path)
    assert str(path) in refusal.value.message
