"""The demo library: drawn, imported and prepared once, and opened from then on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semblance.core.demo import generate
from semblance.core.evaluation.search_rankings import VOTERS
from semblance.core.library.open_library import open_library, open_or_create_library
from semblance.core.library.records import CATALOGUE
from semblance.core.searches.query import Query
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.prepare_library import prepare_library
from semblance.core.workflows.metrics.stored_metric import current_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import nearest_cases

#: A metric that every demo library has, chosen or not.
LEARNER, METRIC = "bdm_v", "encoder + BDM+V"
#: Radiographs of each body part: enough that ten of its kind are among the held-out ones.
PER_CATEGORY = 42
#: The finding of the first query shown.
QUERY_FINDING = "malignant"


def usual_folder() -> Path:
    """Where the demo library is stored by default."""
    import platformdirs

    return Path(platformdirs.user_data_dir("semblance", appauthor=False)) / "Demo.semblance"


def make_demo(library: Path | None = None, *, reporter: Reporter = SILENT) -> Path:
    """Make the demo library at ``library``, or continue an interrupted call; returns its path.

    Its images are drawn into the folder ``images`` of the library and plainly marked synthetic.

    Raises:
        SemblanceError: the folder cannot be written to.
        Cancelled: the reporter was cancelled; finished steps stay.
    """
    path = (library or usual_folder()).absolute()
    if not (path / CATALOGUE).exists():
        open_or_create_library(path).close()
    with open_library(path) as opened:
        if METRIC in [record.name for record in opened.metrics()]:
            return path
    images = generate(path / "images", per_category=PER_CATEGORY, in_processes=True, reporter=reporter)
    for source in (images.masses, images.radiographs):
        import_source(source, path, kind="folder", reporter=reporter)
    prepared = prepare_library(path, reporter=reporter)
    if METRIC not in [metric.name for metric in prepared.metrics]:
        train_metric(path, TrainRequest(LEARNER, METRIC, prepared.feature_set), reporter=reporter)
    return path


def demo_query(library: Path) -> str:
    """The id of a typical held-out malignant mass: under the current metric, the number of malignant cases among its
    ten nearest is the median of all such masses. The same at every call."""
    metric = current_metric(library)
    with open_library(library) as opened:
        trained = opened.metric(metric).training
        rows = opened.catalogue.all_cases()
    held_out = sorted(r.case_id for r in rows if r.finding == QUERY_FINDING and not np.isin(r.id, trained))
    if not held_out:
        return str(rows[0].case_id)
    counts = [
        nearest_cases(library, metric, Query(case), k=VOTERS).counts.get(QUERY_FINDING, 0)
        for case in held_out
    ]
    middle = sorted(counts)[len(counts) // 2]
    return str(held_out[counts.index(middle)])
