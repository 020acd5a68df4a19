"""Reference values of the learners with their own protocols, and claims against Euclidean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.benchmarks.learners.reasons import SHORTFALL_REASONS


@dataclass(frozen=True)
class ReferenceRange:
    """A score and its range in two independent prototypes: ``low`` to ``high``, in fractions."""

    score: str
    low: float
    high: float

    @property
    def lower_is_better(self) -> bool:
        return "error" in self.score


@dataclass(frozen=True)
class Reference:
    """A learner on a table by a protocol. ``cases``: a stratified draw of so many; ``rounds`` of splits."""

    title: str
    protocol: str
    table: str
    learner: str
    parameters: Mapping[str, Any]
    known: tuple[ReferenceRange, ...]
    cases: int | None = None
    rounds: int = 10
    note: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        return f"{self.protocol}, {self.table}, {self.title}"


#: The method as its paper has it; the defaults put more before and after it.
_EXACT: Mapping[str, Any] = {"whiten": False, "plain": 0.0}


def _metricboost() -> list[Reference]:
    known = {
        "wine": ((0.946, 0.960), (0.961, 0.983)),
        "sonar": ((0.610, 0.639), (0.748, 0.830)),
        "ionosphere": ((0.766, 0.766), (0.86, 0.87)),
        "builtin:breast_cancer": ((0.895, 0.904), (0.953, 0.967)),
    }
    return [
        Reference(
            "MetricBoost, binary, 20 rounds",
            "metricboost",
            table,
            "metricboost",
            {"rounds": 20, **_EXACT},
            (ReferenceRange("triplet_accuracy", *triplets), ReferenceRange("knn_accuracy@1", *nearest)),
        )
        for table, (triplets, nearest) in known.items()
    ]


def _bdm() -> list[Reference]:
    known = (
        ("BDM, 50 rounds", "bdm", "ionosphere", 0.834, 0.841),
        ("BDM, 50 rounds", "bdm", "sonar", 0.712, 0.712),
        ("BDM, 50 rounds", "bdm", "builtin:breast_cancer", 0.96, 0.96),
        ("BDM+V, 50 rounds", "bdm_v", "sonar", 0.733, 0.733),
        ("Kernel BDM, rbf, 50 rounds", "bdm_kernel", "ionosphere", 0.93, 0.93),
        ("Kernel BDM, rbf, 50 rounds", "bdm_kernel", "sonar", 0.77, 0.80),
    )
    return [
        Reference(
            title,
            "bdm",
            table,
            learner,
            {"rounds": 50},
            (ReferenceRange("retrieval_accuracy@10", low, high),),
        )
        for title, learner, table, low, high in known
    ]


def _boostmetric() -> list[Reference]:
    known = {
        "letter": {"E": (0.035, 0.035), "L": (0.028, 0.028), "E3": (0.030, 0.030), "L3": (0.024, 0.027)},
        "balance_scale": {"E": (0.095, 0.105), "L": (0.09, 0.10), "E3": (0.077, 0.077), "L3": (0.075, 0.075)},
        "satellite": {"E": (0.095, 0.095), "L": (0.098, 0.098)},
        "wine": {"E": (0.06, 0.07), "L": (0.06, 0.07)},
        "iris": {"E": (0.03, 0.07), "L": (0.03, 0.07)},
    }
    losses = {"E": "exponential", "L": "logistic"}
    found = []
    for table, forms in known.items():
        for form, (low, high) in forms.items():
            parameters: dict[str, Any] = {"loss": losses[form[0]], **_EXACT}
            title = f"BoostMetric, {losses[form[0]]}"
            if form.endswith("3"):
                parameters["passes"], title = 3, f"{title}, 3 passes"
            known_error = (ReferenceRange("knn_error@3", low, high),)
            found.append(Reference(title, "boostmetric", table, "boostmetric", parameters, known_error))
    return found


def _online() -> list[Reference]:
    known = (
        ("PAII-", "wine", "pa2", "end", 0.026, 0.030),
        ("PAI+", "balance_scale", "pa1", "always", 0.27, 0.29),
        ("PAII-", "breast_cancer_original", "pa2", "end", 0.021, 0.026),
        ("PAII-", "satellite", "pa2", "end", 0.124, 0.128),
    )
    return [
        Reference(
            f"Passive-aggressive, {form}",
            "online",
            table,
            "passive_aggressive",
            {"variant": variant, "psd": psd, **_EXACT},
            (ReferenceRange("balanced_error", low, high),),
        )
        for form, table, variant, psd, low, high in known
    ]


def _ccml() -> list[Reference]:
    rules = ("knn_error", "ccknn_error")
    return [
        Reference(
            "CCML",
            "ccml",
            "wine",
            "ccml",
            {"plain": 0.0},
            (ReferenceRange(rules[0], 0.022, 0.022), ReferenceRange(rules[1], 0.026, 0.026)),
        ),
        # Nine tenths of these are the 1,000 training cases of the reference.
        Reference(
            "CCML",
            "ccml",
            "optdigits",
            "ccml",
            {"plain": 0.0},
            tuple(ReferenceRange(rule, 0.009, 0.016) for rule in rules),
            1111,
        ),
    ]


def references() -> list[Reference]:
    """All reference values by learner."""
    found = [*_metricboost(), *_bdm(), *_boostmetric(), *_online(), *_ccml()]
    return [replace(one, note=_note(one.key)) for one in found]


def _note(key: str) -> str:
    return next((text for start, text in SHORTFALL_REASONS.items() if key.startswith(start)), "")


@dataclass(frozen=True)
class EuclideanClaim:
    """A learner that must not be below Euclidean in ``score`` on any of ``tables``, at its defaults."""

    title: str
    protocol: str
    learner: str
    score: str
    tables: tuple[str, ...]


_SMALL = ("wine", "ionosphere", "sonar", "breast_cancer_original", "builtin:breast_cancer", "iris", "glass")
EUCLIDEAN_CLAIMS = (
    EuclideanClaim("MetricBoost", "metricboost", "metricboost", "triplet_accuracy", _SMALL),
    EuclideanClaim("BDM+V", "bdm", "bdm_v", "retrieval_accuracy@10", _SMALL),
)
