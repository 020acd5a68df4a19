"""The demo library: drawn, imported, extracted and trained once; opened ever after."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semblance.core.demo import generate
from semblance.core.engine import Engine
from semblance.core.evaluation.neighbour_votes import VOTERS
from semblance.core.library.open_library import open_library, open_or_create_library
from semblance.core.library.records import CATALOGUE
from semblance.core.searches.query import Query
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import nearest_cases

EXTRACTOR = "gabor"
METRIC = "BDM+V"
#: Learner and name of the demo's metrics; the last one is what is looked into.
METRICS = (("euclidean", "Euclidean"), ("bdm_v", METRIC))
#: Radiographs of each body part: enough that ten of its kind are among the held-out ones.
PER_CATEGORY = 42
#: The finding of the first query shown.
ASKED = "malignant"


def usual_folder() -> Path:
    """Where the demo library is kept when nothing else is said."""
    import platformdirs

    return Path(platformdirs.user_data_dir("semblance", appauthor=False)) / "Demo.semblance"


def make_demo(library: Path | None = None, *, reporter: Reporter = SILENT) -> Path:
    """Make the demo library at ``library``, or go on where an earlier call was ended; returns its path.

    Its images are drawn into the folder ``pictures`` of the library and plainly marked synthetic.

    Raises:
        SemblanceError: the folder cannot be written to.
        Cancelled: asked for by the reporter; what was finished is kept.
    """
    path = (library or usual_folder()).absolute()
    if not (path / CATALOGUE).exists():
        open_or_create_library(path).close()
    with open_library(path) as opened:
        if METRIC in [record.name for record in opened.metrics()]:
            return path
    with Engine() as engine:
        images = generate(path / "pictures", per_category=PER_CATEGORY, executor=engine, reporter=reporter)
    for source in (images.masses, images.radiographs):
        import_source(source, path, kind="folder", reporter=reporter)
    extract_features(path, EXTRACTOR, reporter=reporter)
    with open_library(path) as opened:
        done = {record.name for record in opened.metrics()}
    for learner, name in METRICS:
        if name not in done:
            train_metric(path, TrainRequest(learner, name, EXTRACTOR), reporter=reporter)
    return path


def demo_query(library: Path) -> str:
    """The id of a typical held-out malignant mass: as many of its ten nearest are malignant as for the
    median of them. The same at every call."""
    with open_library(library) as opened:
        trained = opened.metric(METRIC).training
        rows = opened.catalogue.all_cases()
    held_out = sorted(r.case_id for r in rows if r.finding == ASKED and not np.isin(r.id, trained))
    if not held_out:
        return str(rows[0].case_id)
    alike = [nearest_cases(library, METRIC, Query(case), k=VOTERS).counts.get(ASKED, 0) for case in held_out]
    middle = sorted(alike)[len(alike) // 2]
    return str(held_out[alike.index(middle)])
