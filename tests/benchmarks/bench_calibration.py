"""The calibrated vote: its error on held-out cases of real data, and how often its interval is right.

Each library is trained and scored as the window does it, with 30 % of the cases held out. The error (ten
bins, every case predicted by a curve fitted on others) is compared with what 95 of 100 perfect
forecasters stay below with as many cases. ``python -m tests.benchmarks.bench_calibration`` prints the table
of this alone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.engine import limit_threads
from semblance.core.evaluation.calibration import Calibration
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.benchmarks.harness import Row, table
from tests.helpers import data as real_data
from tests.helpers.known_probabilities import Population, interval_coverage

#: Error that 95 of 100 perfect forecasters stay below, by number of cases, ten bins.
PERFECT = ((50, 0.149), (100, 0.101), (200, 0.075), (1000, 0.033))
#: Seeds of the generated libraries, and queries of each.
SEEDS, QUERIES = (1, 2, 3, 4), 2500
#: Tables with the map of their findings, and archives with their extractor and map.
TABLES = {
    "lidc_nodules": "1,2=low;4,5=high;3=-",
    "ionosphere": "",
    "sonar": "",
    "balance_scale": "",
    "mammographic_masses": "",
    "lung_texture": "",
    "satellite": "",
    "optdigits": "",
    "letter": "",
}
IMAGES = {
    "busi_256": ("mass", ""),
    "mias_a": ("mass", ""),
    "corel1k_a": ("colour_edge_texture", ""),
}
LEARNERS = ("euclidean", "bdm_v")
#: BDM+V takes long with more cases. Larger sets use the Euclidean distance.
MOST_TRAINED = 7000


def by_chance(n: int) -> float:
    """What :data:`PERFECT` says of ``n`` cases, straight between its points in log-log."""
    cases, errors = np.array(PERFECT).T
    inside = float(np.exp(np.interp(np.log(n), np.log(cases), np.log(errors))))
    if n > cases[-1]:
        return float(errors[-1] * (cases[-1] / n) ** 0.5)
    return inside if n >= cases[0] else float(errors[0] * (cases[0] / n) ** 0.5)


def row(what: str, value: float, unit: str, target: float | None, reached: bool | None) -> dict[str, Any]:
    return {"what": what, "value": value, "unit": unit, "target": target, "reached": reached}


def coverage() -> list[dict[str, Any]]:
    """Of generated queries whose chance is known: the share whose interval holds it."""
    rows, every = [], []
    for population in Population:
        found = [interval_coverage(population, queries=QUERIES, seed=seed) for seed in SEEDS]
        every += found
        mean = float(np.mean(found))
        what = f"coverage of 95 % intervals, {population.name.lower()}, {len(found)} x {QUERIES:,} queries"
        rows.append(row(what, mean, "share", 0.95, 0.93 <= mean <= 0.97))
    mean = float(np.mean(every))
    what = f"coverage of 95 % intervals, all {len(every) * QUERIES:,} queries"
    return [*rows, row(what, mean, "share", 0.95, 0.93 <= mean <= 0.97)]


def errors(name: str, source: Path, extractor: str, findings: str) -> list[dict[str, Any]]:
    """The error of each learner's calibrated vote on one source."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "lib"
        imported = import_source(source, library)
        extract_features(library, extractor)
        for learner in LEARNERS:
            if learner != "euclidean" and imported.cases > MOST_TRAINED:
                continue
            scores = train_metric(library, TrainRequest(learner, "m", findings=findings)).scores or {}
            if not scores.get("calibration"):
                continue
            calibration = Calibration.from_json(scores["calibration"])
            target = by_chance(calibration.n_cases)
            what = (
                f"{name}, {learner}, {calibration.n_cases:,} held out, {calibration.method}, "
                f"own chance {calibration.perfect:.3f}"
            )
            rows.append(row(what, calibration.ece, "error", round(target, 4), calibration.ece <= target))
    return rows


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; those of real libraries need the data."""
    rows = coverage()
    if data is None:
        return rows
    for name, findings in TABLES.items():
        rows += errors(name, data / "tables" / f"{name}.csv", "raw", findings)
    for name, (extractor, findings) in IMAGES.items():
        rows += errors(name, data / "images" / f"{name}.zip", extractor, findings)
    return rows


if __name__ == "__main__":
    limit_threads()
    print(table([Row("calibration", **measured) for measured in run(real_data.folder())]))
