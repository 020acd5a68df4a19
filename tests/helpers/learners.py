"""The one list behind the contract tests: every learner with its variants, and every problem they meet.

A learner of the registry that is not named in ``VARIANTS`` is tested with its defaults; another way to run
it, or something it says of itself, is one line there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semblance.core.metrics import learners, make_learner
from semblance.core.metrics.registry import declared_learner
from semblance.core.tasks import Cancelled, Reporter

#: What a learner of findings cannot learn anything from.
HOPELESS = frozenset({"one finding", "only one-case findings", "equal rows"})


def of_paper(name: str, **settings: Any) -> Any:
    """The learner without what its default puts before and after the method of the paper."""
    exact = {"whiten": False, "plain": 0.0}
    names = {parameter.name for parameter in declared_learner(name).parameters}
    return make_learner(name, **{key: value for key, value in exact.items() if key in names}, **settings)


@dataclass(frozen=True, eq=False)
class Variant:
    """A learner, the settings it is tested with, and what holds for it.

    ``refuses``: problems it answers with ``BadInput``, and no others.
    """

    learner: str
    settings: dict[str, Any] = field(default_factory=dict)
    refuses: frozenset[str] = HOPELESS

    def make(self):
        return make_learner(self.learner, random_state=7, **self.settings)

    def __str__(self):
        values = ",".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.learner}({values})" if values else self.learner


#: Each way in which the rounds of MetricBoost differ.
METRICBOOST_FORMS = (
    *(
        {"weak": "binary", "threshold": threshold, "readout": readout}
        for threshold in ("scan", "gaussian")
        for readout in ("mahalanobis", "votes")
    ),
    {"weak": "normalised"},
    {"weak": "real"},
)


def _of_similarities(form, anchors):
    """Where votes for similarity alone were found, which are the same for all cases."""
    by_scan = form["weak"] == "binary" and (form["threshold"] == "scan" or not anchors)
    return frozenset() if by_scan else frozenset({"unequal scales"})


_LISTED = (
    Variant("euclidean", refuses=frozenset()),
    Variant("bdm", {"rounds": 12}),
    Variant("bdm", {"rounds": 12, "step": "exact"}),
    Variant("bdm_v", {"rounds": 12, "visual_neighbours": 2}, refuses=HOPELESS - {"only one-case findings"}),
    Variant(
        "bdm_v",
        {"rounds": 8, "visual_neighbours": 1, "step": "exact"},
        refuses=HOPELESS - {"only one-case findings"},
    ),
    Variant("bdm_kernel", {"rounds": 12}),
    Variant("bdm_kernel", {"rounds": 12, "kernel": "laplacian", "width": "median"}),
    Variant("bdm_kernel", {"rounds": 8, "kernel": "polynomial", "landmarks": 10}),
    *(
        Variant("boostmetric", {"rounds": 6, "loss": loss, "corrective": corrective, "passes": passes})
        for loss in ("exponential", "logistic", "hinge")
        for corrective in ("stagewise", "total")
        for passes in (1, 2)
        # The hinge loss always corrects all.
        if (loss, corrective) != ("hinge", "total")
    ),
    *(
        Variant(
            "metricboost",
            {"rounds": 5, **form, "allow_similarity": similarity, "anchors": anchors},
            refuses=HOPELESS | _of_similarities(form, anchors) if similarity else HOPELESS,
        )
        for form in METRICBOOST_FORMS
        for similarity in (False, True)
        for anchors in (0, 5)
    ),
    *(
        Variant("passive_aggressive", {"variant": variant, "psd": psd})
        for variant in ("pa", "pa1", "pa2", "pals")
        for psd in ("end", "always")
    ),
    Variant("mahalanobis", refuses=frozenset({"equal rows"})),
    Variant("pca", refuses=frozenset({"equal rows"})),
    Variant("rca", refuses=HOPELESS - {"one finding"}),
    Variant("pca", {"components": 2}, refuses=frozenset({"equal rows"})),
    Variant("mahalanobis", {"shrinkage": 0.3}, refuses=frozenset({"equal rows"})),
    Variant("nca", {"rounds": 12}),
    Variant("nca", {"rounds": 8, "components": 2}),
    Variant("lmnn", {"rounds": 12}),
    Variant("ncmc", {"rounds": 12}),
    Variant("ncmc", {"rounds": 8, "centres": 2, "components": 2}),
    Variant("itml", {"passes": 5}),
    Variant("mmc"),
    Variant("distboost", {"rounds": 4}),
    Variant("ccml", {"rounds": 12}),
    Variant("ccml", {"locality": "classwise", "k": 2, "components": 2, "rounds": 12}),
)
VARIANTS = (
    *_LISTED,
    *(
        Variant(learner.name, refuses=HOPELESS if learner.accepts else frozenset())
        for learner in learners()
        if learner.name not in {variant.learner for variant in _LISTED} and not learner.needs
    ),
)


#: A variant for each kind of distance that a learner gives.
ONE_OF_EACH_DISTANCE = (
    Variant("euclidean"),
    Variant("lda"),
    Variant("bdm", {"rounds": 12}),
    Variant("bdm_kernel", {"rounds": 12}),
    Variant("metricboost", {"rounds": 5, "readout": "votes"}),
    Variant("metricboost", {"rounds": 5, "allow_similarity": True}),
    Variant("distboost", {"rounds": 4}),
    Variant("l1"),
)


def _blobs(counts, d=4, seed=0, spread=1.2):
    """Rows and findings: ``counts[f]`` overlapping cases of finding f, in random order."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    X = rng.normal(size=(len(codes), d)) + spread * rng.normal(size=(len(counts), d))[codes]
    return X, np.array([f"finding {code}" for code in codes])


def _duplicates():
    X, y = _blobs([6, 6])
    # Equal rows of one finding, and equal rows of two.
    return np.concatenate([X, X, X[:3]]), np.concatenate([y, y, np.roll(y, 1)[:3]])


def _constant():
    X, y = _blobs([9, 9])
    return np.insert(X, [0, 2], 3.0, axis=1), y


def _scaled(scale):
    X, y = _blobs([10, 8])
    return scale * X, y


def _unequal_scales():
    X, y = _blobs([10, 8])
    return X * np.array([1e-4, 1.0, 1e4, 1.0]), y


def _apart():
    X, y = _blobs([9, 9], spread=0.0)
    return X + 50.0 * (y == "finding 1")[:, None], y


def _sorted():
    X, y = _blobs([9, 9])
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def _some_known():
    X, y = _blobs([10, 8, 6])
    y[::4] = ""
    return X, y


def _single():
    X, y = _blobs([10, 9, 1, 1])
    return X, y


#: Rows and findings by name; small, for every learner meets each of them several times.
PROBLEMS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "two findings": lambda: _blobs([13, 11]),
    "many findings": lambda: _blobs([4, 5, 3, 4, 6, 3, 4]),
    "unbalanced": lambda: _blobs([27, 3]),
    "duplicate rows": _duplicates,
    "constant columns": _constant,
    "d > n": lambda: _blobs([6, 6], d=30),
    "n = 4": lambda: _blobs([2, 2]),
    "one-case findings": _single,
    "cases without a finding": _some_known,
    "huge scale": lambda: _scaled(1e8),
    "tiny scale": lambda: _scaled(1e-8),
    "unequal scales": _unequal_scales,
    "float32 input": lambda: (_blobs([8, 8])[0].astype(np.float32), _blobs([8, 8])[1]),
    "sorted rows": _sorted,
    "far apart": _apart,
    "one finding": lambda: (_blobs([9])[0], np.array(["finding 0"] * 9)),
    "only one-case findings": lambda: _blobs([1] * 6),
    "equal rows": lambda: (np.ones((10, 3)), np.array(["a", "b"] * 5)),
}


@functools.cache
def problem(name):
    """(X, y), read-only."""
    X, y = PROBLEMS[name]()
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y


class Listener(Reporter):
    """Counts and records the calls, and cancels or stops at a given moment."""

    def __init__(self, cancel_at=None, stop_after=None):
        self.cancel_checks, self.partials, self.steps = 0, [], []
        self._cancel_at, self._stop_after = cancel_at, stop_after

    def progress(self, done, total, what):
        self.steps.append((done, total, what))

    def check_cancelled(self):
        self.cancel_checks += 1
        if self._cancel_at is not None and self.cancel_checks >= self._cancel_at:
            raise Cancelled

    def partial(self, result):
        self.partials.append(result)

    @property
    def stop_requested(self):
        return self._stop_after is not None and len(self.partials) >= self._stop_after
