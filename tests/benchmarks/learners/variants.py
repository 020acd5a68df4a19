"""The variants that are compared: all learners of the registry with several settings, and the peers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from semblance.core.metrics.registry import declared_learner, grouped_learners, learners

#: The peers of the targets: for all learners of the papers, and for some of them at 2,000 rows.
LMNN, NCA = "metric-learn LMNN", "scikit-learn NCA"
TIMES_LMNN, MEAN_TIMES_LMNN, TIMES_NCA = 10.0, 40.0, 20.0


@dataclass(frozen=True)
class Variant:
    """A row of the tables. ``paper``: a learner of the five papers, with targets; ``faster_than_nca``: that too."""

    title: str
    library: str
    learner: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    paper: bool = False
    faster_than_nca: bool = False

    @property
    def has_target(self) -> bool:
        """Whether it has a target or is the peer of one."""
        return self.paper or self.title in (LMNN, NCA)


def _learner_settings() -> dict[str, list[dict[str, Any]]]:
    """Settings to compare by learner. Learners that are not listed are compared with their defaults."""
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


def own_variants() -> list[Variant]:
    """Variants of all learners that learn from a table, those of the papers first."""
    settings_by_learner = _learner_settings()
    papers, others = grouped_learners()
    papers = tuple(learner for learner in learners() if learner in papers)
    variants = []
    for learner, paper in [*((one, True) for one in papers), *((one, False) for one in others)]:
        if learner.name in NOT_ON_TABLES:
            continue
        for settings in settings_by_learner.get(learner.name, [{}]):
            fast = paper and learner.name in _FASTER_THAN_NCA and settings.get("psd") != "always"
            variants.append(
                Variant(_title(learner.name, settings), "semblance", learner.name, settings, paper, fast)
            )
    return variants


#: These learn from images; see `make test-deep`.
NOT_ON_TABLES = frozenset({"conv_ccml", "convnet"})
_FASTER_THAN_NCA = frozenset({"bdm", "boostmetric", "ccml", "passive_aggressive"})


def _title(name: str, settings: Mapping[str, Any]) -> str:
    settings_text = ", ".join(
        value if isinstance(value, str) else f"{key} {value}" for key, value in settings.items()
    )
    title = declared_learner(name).title
    return f"{title}, {settings_text}" if settings_text else title


def peer_variants() -> list[Variant]:
    """Other implementations with their default settings."""
    return [
        Variant(LMNN, "metric-learn", "LMNN"),
        Variant(NCA, "scikit-learn", "NCA"),
        Variant("metric-learn NCA", "metric-learn", "NCA"),
        Variant("metric-learn ITML", "metric-learn", "ITML_Supervised"),
        Variant("metric-learn MMC", "metric-learn", "MMC_Supervised"),
        Variant("metric-learn RCA", "metric-learn", "RCA_Supervised"),
        Variant("metric-learn LFDA", "metric-learn", "LFDA"),
    ]
