"""Score a metric on the held-out cases of its library, and calibrate its estimate on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.evaluation.chance import K
from semblance.core.evaluation.evaluate_metric import (
    HELD_OUT_CASES,
    MOST_RETRIEVED,
    score_rankings,
)
from semblance.core.evaluation.shortcuts import ProbedSearches, ShortcutProbe, number_groups, probe_shortcuts
from semblance.core.evaluation.splits import patient_codes
from semblance.core.evaluation.subgroups import (
    AGE,
    ATTRIBUTES,
    ScoredQueries,
    SubgroupScore,
    age_bands,
    subgroup_scores,
)
from semblance.core.imaging.burnt_in_marks import MARKS_ATTRIBUTE
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.vault import OPENINGS
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.calibrate_estimate import calibrate_rankings
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases, held_out_cases
from semblance.core.workflows.metrics.held_out_searches import HeldOutSearches, held_out_searches
from semblance.core.workflows.metrics.leakage import COUNTED, counted_by_patient
from semblance.core.workflows.metrics.stored_metric import stored_metric

if TYPE_CHECKING:
    from semblance.core.evaluation.calibration import Calibration
    from semblance.core.library.library import Library
    from semblance.core.metrics.metric import Metric

#: Key of stored scores: the control with shuffled findings, which was trained with the metric.
CONTROL = "shuffled_control"
#: Attributes of cases that should not matter to a metric.
BURNT_IN = "burnt_in_text"
SHORTCUTS = ("manufacturer", "station", "institution", "view", "laterality", BURNT_IN, MARKS_ATTRIBUTE)
_IN_DICOM = "modality"


def score_metric(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Score a stored metric again, on all cases of the library whose patients have no training case.

    Raises:
        BadArguments: no such metric.
        BadInput: no case was held out.
    """
    with open_library(library, writable=True) as opened:
        record = opened.metric(name)
        held_out = held_out_cases(opened, record)
        scores = held_out_scores(opened, stored_metric(record), held_out, reporter=reporter)
        stored = {
            **scores,
            "training_curve": (record.scores or {}).get("training_curve", []),
            CONTROL: (record.scores or {}).get(CONTROL),
            OPENINGS: (record.scores or {}).get(OPENINGS, []),
            COUNTED: counted_by_patient(opened, record.training),
        }
        opened.set_scores(name, stored)
        return scores


def held_out_scores(
    library: Library, metric: Metric, held_out: HeldOutCases, *, seed: int = 0, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """The scores of ``metric`` as JSON; "calibration" is that of its estimate, ``None`` if too few cases were held
    out.

    Raises:
        BadInput: no case was held out.
    """
    searches = held_out_searches(library, metric, held_out, MOST_RETRIEVED, seed=seed, reporter=reporter)
    scores = score_rankings(
        searches.rankings, searches.data, searches.train, searches.test, seed=seed
    ).to_json()
    if held_out.trained_elsewhere:
        # Patients have different codes in every library, so some may have been training cases elsewhere.
        scores["measured_on"] = HELD_OUT_CASES
    calibration = calibrate_rankings(
        searches.rankings, held_out, measured_on=scores["measured_on"], seed=seed
    )
    subgroups = _subgroups(library, searches, calibration, seed)
    return {
        **scores,
        "calibration": None if calibration is None else calibration.to_json(),
        "subgroups": [one.to_json() for one in subgroups],
        "shortcuts": [one.to_json() for one in _shortcuts(library, searches, seed)],
    }


def _subgroups(
    library: Library, searches: HeldOutSearches, calibration: Calibration | None, seed: int
) -> tuple[SubgroupScore, ...]:
    """The scores by finding, and by other attributes of the cases."""
    data, rankings = searches.data, searches.rankings
    assert data.case_rows is not None
    rows = data.case_rows[rankings.queries].tolist()
    estimates = {} if calibration is None else {row: (p, truth) for row, p, truth in calibration.cases}
    found = np.array([estimates.get(row, (np.nan, np.nan)) for row in rows], dtype=np.float64).reshape(-1, 2)
    units = patient_codes(data.units, data.n_cases)
    accuracy = rankings.retrieval_accuracy
    queries = ScoredQueries(
        accuracy[:, min(K, accuracy.shape[1]) - 1],
        found[:, 0],
        found[:, 1],
        data.y[rankings.queries],
        np.arange(len(rows)) if units is None else units[rankings.queries],
    )
    of_cases = library.catalogue.attributes(ATTRIBUTES)
    attributes = {
        name: np.array([of_cases.get(row, {}).get(name, "").strip() for row in rows], dtype=np.str_)
        for name in ATTRIBUTES
    }
    return subgroup_scores(queries, attributes | {AGE: age_bands(attributes[AGE])}, seed=seed)


def _shortcuts(library: Library, searches: HeldOutSearches, seed: int) -> tuple[ShortcutProbe, ...]:
    """The probes of attributes that should not matter, as far as the cases have them."""
    data, rankings = searches.data, searches.rankings
    assert data.case_rows is not None
    rows = data.case_rows.tolist()
    of_cases = library.catalogue.attributes((*SHORTCUTS, _IN_DICOM))
    for values in of_cases.values():
        if _IN_DICOM in values:
            # A DICOM file without a statement on burnt-in text counts as without.
            values.setdefault(BURNT_IN, "no")
    attributes = {
        name: np.array([of_cases.get(row, {}).get(name, "").strip() for row in rows], dtype=np.str_)
        for name in SHORTCUTS
    }
    # Only whether there are marks: the number of dots of a line says nothing.
    marked = attributes[MARKS_ATTRIBUTE] != ""
    attributes[MARKS_ATTRIBUTE] = np.where(marked, "yes", "no" if marked.any() else "")
    # A case that was removed during the scoring has none.
    of_rows = library.catalogue.extents()
    extents = [of_rows.get(row) for row in rows]
    attributes["source"] = np.array([str(one.source) if one else "" for one in extents], dtype=np.str_)
    for name in ("image_size", "crop_scale"):
        attributes[name] = number_groups(
            np.array([getattr(one, name) if one else None for one in extents], dtype=np.float64)
        )
    units = patient_codes(data.units, data.n_cases)
    probed = ProbedSearches(
        rankings.queries,
        rankings.nearest,
        rankings.gallery.findings,
        np.arange(data.n_cases) if units is None else units,
    )
    return probe_shortcuts(probed, attributes, seed=seed)
