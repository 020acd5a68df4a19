"""What changed between two images of a patient, compared with what changed in other patients. An experiment.

A change is the difference of the descriptions of the current image and of the prior one: that of the whole images, and
that of the places that changed most. Changes are alike if these differences point the same way.
"""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.places import PLACES, unit_rows
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import GRID, CaseDetails, FeatureSet
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.stored_places import coding_of

if TYPE_CHECKING:
    from semblance.core.library.library import Library

Floats = npt.NDArray[np.float32]

#: So many places, those that changed most, describe where an image changed.
CHANGED_PLACES = 5
#: A place is compared with the places so many steps around it, because patients lie differently.
_AROUND = 1
#: Images are compared over time only where these attributes are the same.
_SAME = ("modality", "body_part", "view", "laterality")


@dataclass(frozen=True)
class PatientChange:
    """Two images of one patient, one after the other: their case ids and catalogue rows, dates, and the days between
    them (``None`` where these cannot be counted). ``finding``: of the current one."""

    patient: str
    prior: str
    current: str
    prior_row: int
    current_row: int
    dates: tuple[str, str]
    days: int | None
    finding: str | None


@dataclass(frozen=True)
class SimilarChange:
    """A change of another patient. ``whole`` and ``places``: the cosines of both differences, ``places`` ``None`` where
    no places are stored; ``score``: by which changes are ordered."""

    change: PatientChange
    score: float
    whole: float
    places: float | None


def patient_changes(library: LibraryLocation, *, reporter: Reporter = SILENT) -> tuple[PatientChange, ...]:
    """Every two dated images of a patient that follow each other and are of one kind, by patient and date."""
    with open_library(library) as opened:
        return _changes(opened, reporter)


def similar_changes(
    library: LibraryLocation, current: str, features: str | None = None, *, reporter: Reporter = SILENT
) -> tuple[SimilarChange, ...]:
    """The changes of other patients, those most like the change before the case ``current`` first.

    Raises:
        BadArguments: no such feature set, or none named while there are several.
        BadInput: the library has no features, or ``current`` has no earlier image with features.
    """
    with open_library(library) as opened:
        feature_set = opened.features.get(features)
        changes = _changes(opened, reporter)
        rows, values = opened.features.read(feature_set, _rows_of(changes))
        known = {int(row): position for position, row in enumerate(rows)}
        changes = tuple(one for one in changes if one.prior_row in known and one.current_row in known)
        query = next((number for number, one in enumerate(changes) if one.current == current), None)
        if query is None:
            raise BadInput(
                tr_lazy("'{case}' has no earlier image of the same kind with features.", case=current),
                "Choose a case whose patient has an earlier dated image, and measure both.",
            )
        ends = [[known[one.prior_row], known[one.current_row]] for one in changes]
        whole = cosines_of_differences(values[np.array(ends)].astype(np.float32), query)
        places = _place_cosines(opened, feature_set, changes, query)
    others = np.array([one.patient != changes[query].patient for one in changes], dtype=bool)
    scores = combined_scores(whole, places, others)
    found = [
        SimilarChange(
            change,
            float(scores[number]),
            float(whole[number]),
            None if places is None or math.isnan(places[number]) else float(places[number]),
        )
        for number, change in enumerate(changes)
        if others[number]
    ]
    return tuple(sorted(found, key=lambda one: (-one.score, one.change.current)))


def cosines_of_differences(descriptions: Floats, query: int) -> Floats:
    """(n,) cosines of the changes of whole images with that at ``query``; ``descriptions`` (n, 2, d) of the prior and
    the current images, which are brought to length 1."""
    ends = unit_rows(descriptions)
    return _cosines(ends[:, 1] - ends[:, 0], query)


def place_differences(prior: Floats, current: Floats) -> Floats:
    """(m,) the mean difference of the places that changed most; ``prior`` and ``current`` (rows, columns, m).

    A place of the current image is compared with the most similar one around it in the prior image.
    """
    rows, columns, width = current.shape
    least = np.full((rows, columns), np.inf, dtype=np.float32)
    found = np.zeros_like(current)
    padded = np.pad(prior, ((_AROUND, _AROUND), (_AROUND, _AROUND), (0, 0)), constant_values=np.nan)
    for down in range(2 * _AROUND + 1):
        for right in range(2 * _AROUND + 1):
            difference = current - padded[down : down + rows, right : right + columns]
            size = np.linalg.norm(difference, axis=2)
            is_less = size < least
            least[is_less], found[is_less] = size[is_less], difference[is_less]
    most = np.argsort(-least.reshape(-1), kind="stable")[:CHANGED_PLACES]
    return np.asarray(found.reshape(-1, width)[most].mean(axis=0), dtype=np.float32)


def combined_scores(whole: Floats, places: Floats | None, others: npt.NDArray[np.bool_]) -> Floats:
    """(n,) the sum of both cosines in standard deviations over the changes of ``others``; changes without places have
    that of the whole alone."""
    found = _standardised(whole, others)
    if places is not None:
        found = found + np.nan_to_num(_standardised(places, others), nan=0.0)
    return np.asarray(found, dtype=np.float32)


def _standardised(cosines: Floats, others: npt.NDArray[np.bool_]) -> Floats:
    known = cosines[others & ~np.isnan(cosines)]
    spread = float(known.std()) if len(known) else 0.0
    middle = float(known.mean()) if len(known) else 0.0
    return np.asarray((cosines - middle) / (spread if spread > 0 else 1.0), dtype=np.float32)


def _cosines(differences: Floats, query: int) -> Floats:
    unit = unit_rows(differences)
    return np.asarray(unit @ unit[query], dtype=np.float32)


def _place_cosines(
    library: Library, feature_set: FeatureSet, changes: Sequence[PatientChange], query: int
) -> Floats | None:
    """NaN for changes without stored places; ``None`` where the query's has none."""
    stored = library.features.part(library.features.whole(feature_set), PLACES)
    if stored is None:
        return None
    width, grid = coding_of(stored).width, stored.settings[GRID]
    rows, codes = library.features.read(stored, _rows_of(changes))
    known = {int(row): position for position, row in enumerate(rows)}
    differences = np.full((len(changes), width), np.nan, dtype=np.float32)
    for number, change in enumerate(changes):
        if change.prior_row in known and change.current_row in known:
            prior, current = (
                codes[known[row]].reshape(*grid, width).astype(np.float32)
                for row in (change.prior_row, change.current_row)
            )
            differences[number] = place_differences(prior, current)
    return None if np.isnan(differences[query]).any() else _cosines(differences, query)


def _rows_of(changes: Sequence[PatientChange]) -> npt.NDArray[np.int64]:
    return np.array(
        sorted({row for one in changes for row in (one.prior_row, one.current_row)}), dtype=np.int64
    )


def _changes(library: Library, reporter: Reporter) -> tuple[PatientChange, ...]:
    series: dict[tuple[str, ...], list[CaseDetails]] = defaultdict(list)
    rows = library.catalogue.case_rows().tolist()
    for start in range(0, len(rows), 1000):
        reporter.check_cancelled()
        reporter.progress(start, len(rows), tr_lazy("Reading the dates"))
        for case in library.catalogue.details(rows[start : start + 1000]).values():
            if case.patient and case.attributes.get("date") and case.address is not None:
                kind = [case.attributes.get(name, "") for name in _SAME]
                is_volume = "volume" if case.depth else "image"
                series[(case.patient, case.kind, is_volume, *kind)].append(case)
    found = []
    for (patient, *_), cases in sorted(series.items()):
        cases.sort(key=lambda one: (one.attributes["date"], one.case_id))
        for prior, current in pairwise(cases):
            if prior.attributes["date"] == current.attributes["date"]:
                # Two images of one study are no change.
                continue
            dates = prior.date, current.date
            days = _days(prior.attributes["date"], current.attributes["date"])
            found.append(
                PatientChange(
                    patient,
                    prior.case_id,
                    current.case_id,
                    prior.row,
                    current.row,
                    dates,
                    days,
                    current.finding,
                )
            )
    return tuple(found)


def _days(prior: str, current: str) -> int | None:
    try:
        ends = [datetime.date.fromisoformat(one) for one in (prior, current)]
    except ValueError:
        return None
    return (ends[1] - ends[0]).days
