"""The demo library: drawn, imported and prepared once, and opened from then on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semblance.core.demo import generate
from semblance.core.evaluation.search_rankings import VOTERS
from semblance.core.library.open_library import open_library, open_or_create_library
from semblance.core.library.records import CATALOGUE
from semblance.core.searches.query import Query
from semblance.core.tasks import SILENT, PartReporter, Reporter
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


class WholeProgress(PartReporter):
    """One progress of work in several steps, which only grows although each step counts from 0, some more than once."""

    def __init__(self, whole: Reporter) -> None:
        super().__init__(whole)
        self._reached = self._begin = self._end = self._share = 0.0
        self._part = 1.0

    def step(self, end: float, *, counts_once: bool = False) -> Reporter:
        """The reporter of the next step, after which the share ``end`` of the work is done."""
        self._reached, self._begin, self._end, self._share = self._end, self._end, end, 0.0
        # How much of another step follows is not known: each count gets a half of what is left of it.
        self._part = 1.0 if counts_once else 0.5
        return self

    def progress(self, done: int, total: int | None, what: str) -> None:
        """Report it as a share of the whole."""
        share = min(1.0, done / total) if total else self._share
        if share < self._share:
            self._begin = self._reached
        self._share = share
        grown = self._begin + (self._end - self._begin) * share * self._part
        self._reached = max(self._reached, grown)
        self._whole.progress(round(1000 * self._reached), 1000, what)

    def partial(self, result: object) -> None:
        """Pass it on."""
        self._whole.partial(result)


def make_demo(library: Path | None = None, *, one_bar: bool = False, reporter: Reporter = SILENT) -> Path:
    """Make the demo library at ``library``, or continue an interrupted call; returns its path. ``one_bar``: the
    progress is one of all steps in place of one of each.

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
    whole = WholeProgress(reporter)

    def step(end: float, *, counts_once: bool = False) -> Reporter:
        return whole.step(end, counts_once=counts_once) if one_bar else reporter

    drawing = step(0.2, counts_once=True)
    images = generate(path / "images", per_category=PER_CATEGORY, in_processes=True, reporter=drawing)
    for source, end in ((images.masses, 0.22), (images.radiographs, 0.34)):
        import_source(source, path, kind="folder", reporter=step(end))
    prepared = prepare_library(path, reporter=step(0.96))
    if METRIC not in [metric.name for metric in prepared.metrics]:
        train_metric(path, TrainRequest(LEARNER, METRIC, prepared.feature_set), reporter=step(1.0))
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
