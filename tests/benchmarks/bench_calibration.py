"""The calibrated vote: its error on held-out cases of real data, and how often its interval is right.

Each library is trained and scored as the window does it, with 30 % of the cases held out. The error (ten
bins, every case predicted by a curve fitted on others) is compared with the 95 % range of a perfect forecaster:
what 95 of 100 draws of findings from the same estimates stay below. A set counts as within the range if every learner
is. Images and rows that were not in the library are estimated too, as cases of the library and as what they are.
"""

from __future__ import annotations

import csv
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.evaluation.calibration import Calibration
from semblance.core.evaluation.data import parse_findings_map, prepare
from semblance.core.evaluation.data_sources import table_data
from semblance.core.evaluation.search_rankings import Gallery
from semblance.core.library.importers.table import read_table
from semblance.core.library.open_library import open_library
from semblance.core.retrieval.ranking import EmbeddedQuery, rank
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.benchmarks.harness import row
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
#: Tables of which half is the library, and their rows at most.
OUTSIDE_TABLES, MOST_ROWS = {"lidc_nodules": "1,2=low;4,5=high;3=-", "lung_texture": ""}, 800
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
            rows.append(row(what, calibration.ece, "error", most=chance))
    return rows


def from_elsewhere(data: Path) -> list[dict[str, Any]]:
    """Estimates for images of other sizes than the library's, and for the half of tables that was not imported."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "busi"
        import_source(data / "images" / "busi_256.zip", library)
        extract_features(library, "encoder")
        scores = train_metric(library, TrainRequest("bdm_v", "m")).scores or {}
        with zipfile.ZipFile(data / "images" / "busi_masks_a.zip") as archive:
            archive.extractall(folder)
        images = sorted(one for one in Path(folder).rglob("*.png") if "_mask" not in one.name)
        answers = [(nearest_cases(library, "m", Query(image=one)).counts, one.parent.name) for one in images]
        rows += _outside_rows("busi, images of other sizes", scores, answers)
        for name, findings in OUTSIDE_TABLES.items():
            rows += _outside_rows(
                f"{name}, the other half", *_halves(data / "tables" / f"{name}.csv", findings)
            )
    return rows


def _halves(table: Path, findings: str) -> tuple[dict[str, Any], list[tuple[dict[str, int], str]]]:
    """The scores of a metric on one half of ``table``, and (counts of the 10 nearest, finding) of the other half."""
    whole = prepare(
        table_data(read_table(table), table.stem), findings=parse_findings_map(findings) if findings else None
    )
    whole = whole.rows(np.random.default_rng(0).permutation(whole.n_cases)[:MOST_ROWS])
    library, other = (
        whole.rows(np.arange(whole.n_cases // 2)),
        whole.rows(np.arange(whole.n_cases // 2, whole.n_cases)),
    )
    with tempfile.TemporaryDirectory() as folder:
        path, source = Path(folder) / "lib", Path(folder) / "t.csv"
        with source.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([*(f"f{n}" for n in range(library.X.shape[1])), "label"])
            writer.writerows(
                [*row, finding] for row, finding in zip(library.X.tolist(), library.y, strict=True)
            )
        import_source(source, path)
        extract_features(path, "raw")
        scores = train_metric(path, TrainRequest("bdm_v", "m")).scores or {}
        with open_library(path) as opened:
            metric = stored_metric(opened.metric("m"))
    gallery = Gallery.of(metric, library)
    queries, ties = metric.coordinates(other.X), metric.tie_break(other.X)
    answers = []
    for place, finding in enumerate(other.y.tolist()):
        tie = None if ties is None else ties[place]
        found = rank(gallery.index, EmbeddedQuery(queries[place], tie), 10)
        answers.append((dict(Counter(library.y[found.rows].tolist())), finding))
    return scores, answers


def _outside_rows(
    what: str, scores: dict[str, Any], answers: list[tuple[dict[str, int], str]]
) -> list[dict[str, Any]]:
    """Brier score, and of queries grouped by their estimate the share whose mean interval holds what was seen."""
    calibration = Calibration.from_json(scores["calibration"])
    rows = []
    for kind, is_outside in (("as of the library", False), ("as from elsewhere", True)):
        found = [(calibration.estimate(counts, is_outside=is_outside), truth) for counts, truth in answers]
        p, low, high, seen = np.array(
            [
                (one.probability, *one.interval, one.finding == truth)
                for one, truth in found
                if one is not None
            ],
            dtype=np.float64,
        ).T
        groups = np.unique(np.floor(10 * p).astype(int), return_inverse=True)[1]
        held = [
            low[groups == g].mean() - 0.01 <= seen[groups == g].mean() <= high[groups == g].mean() + 0.01
            for g in groups
        ]
        top = p >= 0.9
        rows.append(row(f"{what}, {kind}: Brier score", float(np.square(p - seen).mean()), ""))
        rows.append(row(f"{what}, {kind}: in intervals", float(np.mean(held)), "share"))
        if top.any():
            said, was = float(p[top].mean()), float(seen[top].mean())
            rows.append(row(f"{what}, {kind}: said {said:.2f} (n {int(top.sum())}), seen", was, "share"))
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
        f"sets within the range of a perfect forecaster, of {len(sets)}", within, "sets", least=WITHIN
    )
    return [*rows, *(one for one_set in sets for one in one_set), summary, *from_elsewhere(data)]
