"""Marks inside a search: what they gain by the protocol ``feedback``, and how long a mark takes.

The constants of ``core/retrieval/feedback.py`` were chosen on other tables than these.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from semblance.core.retrieval import feedback_scores
from semblance.core.retrieval.feedback import squared_distances
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.benchmarks.harness import require_data, row

SIX = ("ionosphere", "letter", "lidc_nodules", "lung_texture", "satellite", "sonar")
#: With the six, all tables with a finding of 45 cases; those of the same cases with fewer rows are left out.
OTHERS = (
    "wine", "breast_cancer_original", "iris", "balance_scale", "glass", "ecoli", "mammographic_masses", "optdigits",
)  # fmt: skip
MARKS = (5, 10, 20)
#: Cases of a table and of a collection of images at most.
MOST, IMAGES = 2_500, 1_000
#: Mean gain over no feedback after so many marks, of the six and of all tables, and with a fifth of them wrong.
OF_SIX, OF_ALL, WRONG = (0.08, 0.13, 0.20), (0.07, 0.11, 0.16), 0.10
#: Residual precision on the encoder's features.
ENCODER = {"busi_256.zip": (0.74, 0.80, 0.85), "pneumoniamnist.npz": (0.87, 0.90, 0.92)}
#: Milliseconds for so many cases of 64 numbers; half of what a mark may take until it is painted.
COST = {10_000: 20, 100_000: 50, 1_000_000: 125}
D, TRIALS = 64, 9


def scores(most: int, wrong: float = 0.0, **source: Any) -> dict[str, float]:
    settings = (f"protocol.wrong={wrong}",)
    request = EvaluateRequest(("euclidean",), "feedback", max_cases=most, settings=settings, **source)
    (result,) = evaluate(request)["results"]
    return {name: score["mean"] for name, score in result["scores"].items()}


def of_tables(tables: Path) -> list[dict[str, Any]]:
    gains: dict[float, list[list[float]]] = {0.0: [], 0.2: []}
    for name in (*SIX, *OTHERS):
        for wrong, found in gains.items():
            measured = scores(MOST, wrong, table=str(tables / f"{name}.csv"))
            found.append([measured[f"gain@20:{n}"] for n in MARKS])
    right, wrong = (np.array(found) for found in gains.values())
    rows = []
    for words, some, targets in (
        ("six tables", slice(0, len(SIX)), OF_SIX),
        ("all tables", slice(None), OF_ALL),
    ):
        for place, (n, target) in enumerate(zip(MARKS, targets, strict=True)):
            gain = float(right[some, place].mean())
            rows.append(row(f"gain after {n} marks, {words}", gain, "", least=target))
        gain = float(wrong[some, -1].mean())
        rows.append(row(f"gain after 20 marks, 20 % wrong, {words}", gain, "", least=WRONG))
    least = float(right[:, -1].min())
    return [*rows, row("gain after 20 marks, the worst table", least, "", least=0.0)]


def of_images(source: Path, targets: tuple[float, ...], folder: Path) -> list[dict[str, Any]]:
    library = folder / source.stem
    import_source(source, library)
    extract_features(library, "encoder", workers=2)
    measured = scores(IMAGES, library=library)
    rows = []
    for n, target in zip(MARKS, targets, strict=True):
        value = measured[f"residual_precision@20:{n}"]
        before = measured[f"residual_precision@20:{n}:no_feedback"]
        rows.append(row(f"{source.stem}, precision after {n} marks", value, "", least=target))
        rows.append(row("  of the same cases without feedback", before, ""))
    return rows


def costs() -> list[dict[str, Any]]:
    """Processor time of one call with 20 marks, the distances known, as for every mark but the first."""
    rows = []
    for n, target in COST.items():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, D)) * np.linspace(2.0, 0.2, D)
        base = squared_distances(X, X[0])
        near = np.argsort(base)[1:21]
        times = []
        for _ in range(TRIALS):
            start = time.process_time()
            feedback_scores(X, 0, near[::2], near[1::2], base=base)
            times.append(time.process_time() - start)
        value = 1e3 * float(np.median(times))
        rows.append(row(f"scores of {n:,} x {D}, 20 marks", value, "ms", most=target))
    return rows


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    source = require_data(data)
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        rows = [*costs(), *of_tables(source / "tables")]
        for name, targets in ENCODER.items():
            rows += of_images(source / "images" / name, targets, Path(folder))
    return rows
