"""Polyps of phantoms matched between views: MetricBoost against geodesic indexing (metricboost.txt 5.3)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.engine import Engine
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols import get_protocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.features.polyp.extractor import Polyp
from semblance.core.imaging.region import Region
from semblance.core.metrics.steps import parse_steps
from tests.benchmarks.harness import row
from tests.helpers.colon_phantoms import study
from tests.helpers.volumes import stack_of

PATIENTS, SEED, REPEATS = 60, 1, 2
LEARNERS = ("metricboost", "euclidean", "geodesic")
STEPS = "standardise,mrmr:20"
SHOWN = (1, 3, 5)


def run(data: Path | None) -> list[dict[str, Any]]:
    """Hit rates with their 95 % intervals; MetricBoost is to be above geodesic indexing beyond chance."""
    with Engine(2) as engine:
        halves = [engine.submit(measured, half, 2) for half in range(2)]
        rows = [row for task in halves for row in task.result()]
    texts = np.array([row[1:] for row in rows], dtype=np.str_).T
    cases = EvaluationData(
        np.array([row[0] for row in rows], dtype=np.float64),
        texts[0],
        texts[1],
        attributes={"view": texts[2], "geodesic": texts[3]},
    )
    specs = [LearnerSpec(name) for name in LEARNERS]
    result = get_protocol("matching").run(cases, specs, steps=parse_steps(STEPS), repeats=REPEATS, seed=0)
    out = []
    for one in result.results:
        for k in SHOWN:
            score = one.scores[f"hit_rate@{k}"]
            low, high = score.ci95 or (math.nan, math.nan)
            what = f"{one.learner}, hit rate @{k} (95 %: {low:.3f} to {high:.3f})"
            out.append(row(what, score.mean))
    for pair in result.comparisons:
        if (pair.a, pair.b, pair.score) == ("metricboost", "geodesic", "hit_rate@1"):
            low, _ = pair.ci95
            out.append(
                row(
                    f"metricboost above geodesic @1: {pair.difference:.3f}, at least", low, "", 0.0, low > 0.0
                )
            )
    return out


def measured(half: int, parts: int, *, reporter: object) -> list[tuple[list[float], str, str, str, str]]:
    """(numbers, finding, patient, view, place) of the candidates of every ``parts``-th patient."""
    extractor, rows = Polyp(), []
    for patient, view, hu, candidates in study(PATIENTS, SEED, range(half, PATIENTS, parts)):
        stack = stack_of(hu)
        for one in candidates:
            z, y, x = one.at
            numbers = extractor.prepare_stack(stack, Region(x, y, 1, 1, None, z, 1))
            finding = f"polyp {one.polyp}" if one.polyp else "false positive"
            rows.append((numbers.tolist(), finding, patient, view, f"{one.geodesic:.4f}"))
    return rows
