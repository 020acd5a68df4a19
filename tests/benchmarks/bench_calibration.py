"""The calibrated vote: its error on held-out cases of real data, and how often its interval is right.

Each library is trained and scored as the window does it, with 30 % of the cases held out. The error (ten
bins, every case predicted by a curve fitted on others) is compared with the 95 % range of a perfect forecaster:
what 95 of 100 draws of findings from the same estimates stay below. A set counts as within the range if every learner
is. ``python -m tests.benchmarks.bench_calibration`` prints the table of this alone.
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
from tests.benchmarks.harness import Row, row, table
from tests.helpers import data as real_data
from tests.helpers.known_probabilities import Population, interval_coverage

#: Seeds of the generated libraries, and queries of each.
SEEDS, QUERIES = (1, 2, 3, 4), 2500
#: Tables with the map of their findings, and archives, which the encoder measures.
TABLES = {
    "sonar": "",
    "glass": "",
    "ecoli": "",
    "ionosphere": "",
    "lidc_nodules": "1,2=low;4,5=high;3=-",
    "balance_scale": "",
    "mammographic_masses": "",
}
IMAGES = ("mias_a", "busi_256", "corel1k_a")
LEARNERS = ("euclidean", "bdm_v")
#: Of the ten sets at least so many are within the range: one in ten is outside by chance now and then.
WITHIN = 9


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
        import_source(source, library)
        extract_features(library, extractor)
        for learner in LEARNERS:
            scores = train_metric(library, TrainRequest(learner, "m", findings=findings)).scores or {}
            calibration = Calibration.from_json(scores["calibration"])
            what = f"{name}, {learner}, {calibration.n_cases:,} held out, {calibration.method}"
            chance = round(calibration.perfect, 4)
            rows.append(row(what, calibration.ece, "error", chance, calibration.ece <= chance))
    return rows


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; those of real libraries need the data."""
    rows = coverage()
    if data is None:
        return rows
    sets = [
        errors(name, data / "tables" / f"{name}.csv", "raw", findings) for name, findings in TABLES.items()
    ]
    sets += [errors(name, data / "images" / f"{name}.zip", "encoder", "") for name in IMAGES]
    within = sum(all(one["reached"] for one in one_set) for one_set in sets)
    summary = row(
        f"sets within the range of a perfect forecaster, of {len(sets)}",
        within,
        "sets",
        WITHIN,
        within >= WITHIN,
    )
    return [*rows, *(one for one_set in sets for one in one_set), summary]


if __name__ == "__main__":
    limit_threads()
    print(table([Row("calibration", **measured) for measured in run(real_data.folder())]))
