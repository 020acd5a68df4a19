"""Train a metric on a library: split by patient, fit, score on the held-out part, keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.evaluation.data import EvaluationData
from core.library.feature_sets import FeatureSet
from core.library.library import Library
from core.parameters import Value

#: Share of the cases held out from training when nothing else is said.
HELD_OUT = 0.3
#: The live curve may cost this share of the time; it scores at most so many held-out cases.
CURVE_SHARE, CURVE_CASES = 0.25, 400


@dataclass(frozen=True)
class TrainRequest:
    """What to train. ``steps`` as on the command line, "" for the extractor's default."""

    learner: str
    name: str
    features: str | None = None
    steps: str = ""
    findings: str = ""
    max_cases: int | None = None
    settings: Mapping[str, Value] | None = None
    seed: int = 0
    held_out: float = HELD_OUT


@dataclass(frozen=True)
class CurvePoint:
    """One point of a training curve: the objective, and accuracy @10 on held-out cases."""

    round: int
    objective: float
    held_out_accuracy: float | None


@dataclass(frozen=True)
class TrainResult:
    """A kept metric: its card and its held-out scores as JSON."""

    library: str
    metric: str
    card: dict[str, Any]
    scores: dict[str, Any] | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def library_data(library: Library, feature_set: FeatureSet) -> tuple[Any, EvaluationData]:
    """(n,) case rows that have features, and their numbers, findings and patients."""
    rows, numbers = library.features.read(feature_set)
    facts = {int(r.id): (r.finding or "", r.patient or "") for r in library.catalogue.all_cases()}
    patients = [facts[int(row)][1] for row in rows]
    kinds = {source.kind for source in library.catalogue.sources()}
    data = EvaluationData(
        numbers.astype(np.float64),
        np.array([facts[int(row)][0] for row in rows], dtype=np.str_),
        np.array(patients, dtype=np.str_) if any(patients) else None,
        tuple(name for name, _ in feature_set.columns),
        feature_set.groups,
        str(library.path),
        masses=bool(kinds & {"mammograms", "ultrasound"}),
    )
    return rows, data
