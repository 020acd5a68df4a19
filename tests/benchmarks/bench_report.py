"""A report of twenty ranked cases, from the question to the finished file, in every form."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.reports.write_reports import write_search_report
from semblance.core.workflows.searches.batch_queries import all_cases
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from tests.benchmarks.harness import row
from tests.helpers.images import striped_folder

TARGET, TRIALS = 3.0, 5
FORMS = ("pdf", "html", "json", "csv", "dcm")


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; on Corel where the real data is there, else on made images."""
    with TemporaryDirectory() as folder:
        library = Path(folder) / "lib.semblance"
        if data is None:
            import_source(striped_folder(Path(folder) / "images", n=60), library)
        else:
            import_source(data / "images" / "corel1k_a.zip", library)
        extract_features(library, "colour_edge_texture")
        train_metric(library, TrainRequest("bdm_v", "bits", settings={"rounds": 60}))
        search = Search("bits", Query(case=all_cases(library)[0]))
        rows = [_timed(library, search, form, Path(folder)) for form in FORMS]
        close_loaded_metrics()
    return rows


def _timed(library: Path, search: Search, form: str, folder: Path) -> dict[str, Any]:
    times = []
    for trial in range(TRIALS):
        start = time.perf_counter()
        write_search_report(library, search, folder / f"report{trial}.{form}")
        times.append(time.perf_counter() - start)
    worst = max(times)
    return row(
        f"report of 20 cases, {form} (worst of {TRIALS}; median {median(times):.2f} s)",
        worst,
        "s",
        most=TARGET,
    )
