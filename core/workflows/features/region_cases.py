"""Read the places of the cases of an evaluation, their regions, and features of their whole images."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.engine import run_parts
from semblance.core.errors import SemblanceError
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.region_queries import CasePlaces
from semblance.core.features.registry import make_extractor
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.open_volumes import CaseImage, case_images
from semblance.core.workflows.features.stored_places import read_places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semblance.core.features.extractor import Extractor
    from semblance.core.library.library import Library
    from semblance.core.library.records import CaseDetails, FeatureSet
    from semblance.core.parameters import Value

#: Images that a process measures at a time.
_PART = 16


def with_places(
    library: LibraryLocation,
    features: str | None,
    data: EvaluationData,
    *,
    whole: bool,
    reporter: Reporter = SILENT,
) -> EvaluationData:
    """``data``, the cases of a feature set of ``library``, with the places of their images; cases without are left out
    and counted in the notes. ``whole``: measure the whole images of the cases that have features of a region.

    Raises:
        BadInput: the feature set has no places.
    """
    with open_library(library) as opened:
        return case_places(opened, opened.features.get(features), data, whole=whole, reporter=reporter)


def case_places(
    library: Library,
    feature_set: FeatureSet,
    data: EvaluationData,
    *,
    whole: bool,
    reporter: Reporter = SILENT,
) -> EvaluationData:
    """As :func:`with_places`, of an open library."""
    assert data.case_rows is not None
    stored = read_places(library, feature_set, np.sort(data.case_rows))
    kept = np.flatnonzero(np.isin(data.case_rows, stored.rows))
    missing = data.n_cases - len(kept)
    data = data.rows(kept)
    assert data.case_rows is not None
    codes = stored.codes[np.searchsorted(stored.rows, data.case_rows)]
    feature_set = stored.feature_set
    extractor = make_extractor(feature_set.extractor, **feature_set.extractor_settings)
    details = library.catalogue.details(data.case_rows.tolist())
    grids = {row: extractor.place_grid(*_size(one)) for row, one in details.items()}
    grid = next(one for one in grids.values() if one is not None)
    own = np.full((len(kept), len(grid)), np.nan, dtype=np.float32)
    images = library.catalogue.shown_images()
    marked: dict[object, npt.NDArray[np.float32]] = {}
    for number, row in enumerate(data.case_rows.tolist()):
        if (region := details[row].region) is None:
            continue
        place = region.middle_slice
        part = region if place is None else region.on_slice(place)
        if part is None or (at := grids[row]) is None:
            continue
        own[number] = at.covered_by(part)
        key = images.get(row, row)
        marked[key] = np.maximum(marked.get(key, 0.0), own[number])
    everywhere = np.stack(
        [marked.get(images.get(row, row), own[number]) for number, row in enumerate(data.case_rows.tolist())]
    )
    everywhere[np.isnan(own).any(axis=1)] = np.nan
    notes = data.notes
    if missing:
        notes = (*notes, tr_lazy("{n} cases without places were left out.", n=missing))
    X, unread = _whole_images(library, extractor, data, details, reporter) if whole else (data.X, 0)
    if unread:
        notes = (
            *notes,
            tr_lazy("{n} whole images could not be read: their regions were compared.", n=unread),
        )
    places = CasePlaces(codes, own, everywhere, X)
    return replace(data, places=places, notes=notes)


def _size(case: CaseDetails) -> tuple[int, int]:
    """Height and width of the image of a case; 1 each where they are unknown, which no region then refers to."""
    return case.height or 1, case.width or 1


def _whole_images(
    library: Library,
    extractor: Extractor,
    data: EvaluationData,
    details: Mapping[int, CaseDetails],
    reporter: Reporter,
) -> tuple[npt.NDArray[Any], int]:
    """(n, d) ``data.X`` with the features of the whole image for each case that has those of a region, and how many of
    these images cannot be read."""
    assert data.case_rows is not None
    parted = {row for row, one in details.items() if one.region is not None}
    cases = case_images(library, np.array(sorted(parted), dtype=np.int64))
    parts = [cases[start : start + _PART] for start in range(0, len(cases), _PART)]
    measure = partial(_measure_whole, extractor.name, dict(extractor.settings))
    X = data.X.copy()
    position = {row: number for number, row in enumerate(data.case_rows.tolist())}
    title = tr_lazy("Measuring whole images")
    for found in run_parts(measure, parts, title=title, reporter=reporter):
        for row, values in found.items():
            X[position[row]] = values
            parted.discard(row)
    return X, len(parted)


def _measure_whole(
    name: str, settings: Mapping[str, Value], images: list[CaseImage], *, reporter: Reporter
) -> dict[int, npt.NDArray[np.float32]]:
    """The features of the whole images of some cases by id; runs in a worker."""
    extractor = make_extractor(name, **settings)
    found: dict[int, npt.NDArray[np.float32]] = {}
    with ImageReader() as reader:
        for image in images:
            reporter.check_cancelled()
            try:
                found[image.row] = extractor.extract(reader.open(image.address, image.region))
            except SemblanceError:
                continue
    return found
