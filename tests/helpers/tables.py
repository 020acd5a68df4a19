"""Small generated tables, and libraries made of them: everything but images, without any process."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest

#: Plain distances of all features.
PLAIN = TrainRequest("euclidean", "plain")
#: Columns that tell the findings apart, and columns of noise far louder than these.
INFORMATIVE, NOISE = 2, 3


def write_table(
    path: Path, *, n: int = 60, seed: int = 0, findings: int = 2, patients: bool = True, missing: bool = False
) -> Path:
    """``n`` rows c0, c1 ...; two rows a patient, both of one finding."""
    rng = np.random.default_rng(seed)
    columns = [f"f{number}" for number in range(INFORMATIVE + NOISE)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case_id", *(["patient_id"] if patients else []), *columns, "label"])
        for row in range(n):
            finding = row // 2 % findings
            informative = finding + rng.normal(0, 0.15, INFORMATIVE)
            cells = [f"{value:.5f}" for value in (*informative, *rng.normal(0, 1, NOISE))]
            if missing and row % 7 == 0:
                cells[row % len(cells)] = ""
            writer.writerow([f"c{row}", *([f"P{row // 2}"] if patients else []), *cells, f"kind {finding}"])
    return path


def table_library(folder: Path, *, metrics: Sequence[TrainRequest] = (), **options: object) -> Path:
    """A library of one table with features ``raw`` and ``metrics``; cases are ``t/c0``, ``t/c1`` ..."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "lib.semblance"
    import_source(write_table(folder / "t.csv", **options), library)
    extract_features(library, "raw")
    for request in metrics:
        train_metric(library, request)
    return library
