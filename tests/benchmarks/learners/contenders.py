"""Who takes part: every learner of the registry with its forms, and the peers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from semblance.core.metrics.registry import grouped_learners, learner_class, learners

#: Whom every learner of the papers must beat, and whom some must beat at 2,000 rows.
LMNN, NCA = "metric-learn LMNN", "scikit-learn NCA"
TIMES_LMNN, MEAN_TIMES_LMNN, TIMES_NCA = 10.0, 40.0, 20.0


@dataclass(frozen=True)
class Contender:
    """A row of the tables. ``paper``: a learner of the five papers, with targets; ``beats_nca``: that too."""

    title: str
    library: str
    learner: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    paper: bool = False
    beats_nca: bool = False

    @property
    def judged(self) -> bool:
        """It has a target, or is one."""
        return self.paper or self.title in (LMNN, NCA)


def _forms() -> dict[str, list[dict[str, Any]]]:
    """The forms of a learner, its defaults first; one that is not named takes part with its defaults."""
    boost = [{"loss": loss} for loss in ("logistic", "exponential", "hinge")]
    boost += [{"loss": loss, "corrective": "total"} for loss in ("logistic", "exponential")]
    pairs = product(("end", "always"), ("pa2", "pa", "pa1", "pals"))
    return {
        "bdm": [{}, {"step": "exact"}],
        "bdm_kernel": [{"kernel": kernel} for kernel in ("rbf", "laplacian", "polynomial")],
        "metricboost": [
            {},
            {"threshold": "gaussian"},
            {"readout": "votes"},
            {"weak": "normalised"},
            {"weak": "real"},
        ],
        "boostmetric": [*boost, {"loss": "logistic", "passes": 3}],
        "passive_aggressive": [{"variant": variant, "psd": psd} for psd, variant in pairs],
        "ccml": [{"locality": "local"}, {"locality": "classwise"}],
    }


def own() -> list[Contender]:
    """Every learner of the registry that learns from a table, the papers' first."""
    forms = _forms()
    papers, others = grouped_learners()
    papers = tuple(learner for learner in learners() if learner in papers)
    found = []
    for learner, paper in [*((one, True) for one in papers), *((one, False) for one in others)]:
        if learner.name in NOT_ON_TABLES:
            continue
        for form in forms.get(learner.name, [{}]):
            fast = paper and learner.name in _BEAT_NCA and form.get("psd") != "always"
            found.append(Contender(_title(learner.name, form), "semblance", learner.name, form, paper, fast))
    return found


#: These learn from images; see `make test-deep`.
NOT_ON_TABLES = frozenset({"conv_ccml", "convnet"})
_BEAT_NCA = frozenset({"bdm", "boostmetric", "ccml", "passive_aggressive"})


def _title(name: str, form: Mapping[str, Any]) -> str:
    told = ", ".join(value if isinstance(value, str) else f"{key} {value}" for key, value in form.items())
    title = learner_class(name).title
    return f"{title}, {told}" if told else title


def peers() -> list[Contender]:
    """The same methods by others, at their defaults."""
    return [
        Contender(LMNN, "metric-learn", "LMNN"),
        Contender(NCA, "scikit-learn", "NCA"),
        Contender("metric-learn NCA", "metric-learn", "NCA"),
        Contender("metric-learn ITML", "metric-learn", "ITML_Supervised"),
        Contender("metric-learn MMC", "metric-learn", "MMC_Supervised"),
        Contender("metric-learn RCA", "metric-learn", "RCA_Supervised"),
        Contender("metric-learn LFDA", "metric-learn", "LFDA"),
    ]
