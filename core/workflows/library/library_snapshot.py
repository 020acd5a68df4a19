"""Read a library for the window: one immutable snapshot of everything the window shows."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.places import PLACES, SLICES
from semblance.core.language import tr_lazy
from semblance.core.library.case_columns import CaseColumns, ImageAvailability, case_columns
from semblance.core.library.case_headers import case_headers
from semblance.core.library.catalogue import Catalogue
from semblance.core.library.feature_sets import FeatureSets
from semblance.core.library.findings import all_styles, stored_styles
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.patient_tree import PatientTree, patient_tree
from semblance.core.library.records import ADMINISTRATOR, CURATOR, RIGHTS, Edit, FeatureSet
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.suitable_extractors import (
    OF_IMAGES,
    ExtractorSuitability,
    extractor_suitabilities,
)


@dataclass(frozen=True)
class FeatureSetFacts:
    """A feature set, the number of cases that have it, and the number that its extractor could not read.

    ``part_of``: the name of the set it was described with, "" for a set of its own. ``incomplete``: cases that have it
    and lack what its extractor describes besides: they were measured before there was such a description.
    ``settings``: those of the extractor.
    """

    name: str
    extractor: str
    n_features: int
    cases: int
    failed: int
    part_of: str = ""
    incomplete: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class MetricFacts:
    """A metric: its card, its scores, and the case rows it was trained on."""

    name: str
    learner: str
    features: str
    card: Mapping[str, Any]
    scores: Mapping[str, Any] | None
    training: npt.NDArray[np.int64]


@dataclass(frozen=True)
class LesionFacts:
    """The row ids of the cases of a same-lesion group, and whether a person joined or split it."""

    rows: tuple[int, ...]
    by_hand: bool


@dataclass(frozen=True, eq=False)
class LibrarySnapshot:
    """A library at one moment."""

    location: LibraryLocation
    name: str
    writable: bool
    kinds: tuple[str, ...]
    columns: CaseColumns
    feature_sets: tuple[FeatureSetFacts, ...]
    metrics: tuple[MetricFacts, ...]
    files_without_cases: tuple[tuple[str, str, str, str], ...]
    patients: int
    extractors: tuple[ExtractorSuitability, ...] = ()
    #: The name of the metric that searches use if none is chosen; "" without metrics.
    current_metric: str = ""
    #: The colour of each of ``columns.findings``: its place in the palette of findings.
    finding_colours: tuple[int, ...] = ()
    #: The edits, oldest first.
    edits: tuple[Edit, ...] = ()
    #: Row ids of the cases in the sealed test vault.
    sealed: tuple[int, ...] = ()
    #: Row id -> the same-lesion group of the case, for groups of two cases or more.
    lesions: Mapping[int, LesionFacts] = field(default_factory=dict)
    #: What the user may do; see :mod:`semblance.core.library.records`.
    right: str = ADMINISTRATOR
    #: Number of images that were not compared with the others yet, so that copies of them are not grouped.
    not_compared: int = 0
    #: Metrics whose search index on the server is older than their features.
    outdated_indexes: tuple[str, ...] = ()
    #: Where the server does not answer: when the copy on this computer, which was read, was the library (UTC).
    copied: str = ""
    #: Whether the places of cases are described, so that a region is found inside their images.
    has_places: bool = False

    @property
    def can_have_places(self) -> bool:
        """Whether places of the cases can be described: there are images that the encoder can measure."""
        return any(one.name == OF_IMAGES and one.is_suitable for one in self.extractors)

    @property
    def editable(self) -> bool:
        """Whether the user may change cases, features and metrics, and not only judge."""
        return self.writable and RIGHTS.index(self.right) >= RIGHTS.index(CURATOR)

    @cached_property
    def tree(self) -> PatientTree:
        """The cases by patient, study and series. :func:`read_snapshot` makes it in advance."""
        return patient_tree(self.columns)

    @cached_property
    def held_out(self) -> Mapping[str, int]:
        """Metric -> number of its held-out cases now. :func:`read_snapshot` counts them in advance."""
        return {
            metric.name: self.columns.count_held_out(metric.training, self.sealed) for metric in self.metrics
        }

    @property
    def unusable_files(self) -> list[tuple[str, str, str, str]]:
        """(source, path, state, reason) of files that failed or are missing; ignored ones left out."""
        return [line for line in self.files_without_cases if line[2] != "ignored"]


def _count_incomplete(features: FeatureSets, feature_set: FeatureSet) -> int:
    if feature_set.extractor != Encoder.name or feature_set.part:
        return 0
    known = {one.part: one for one in features.parts(feature_set)}
    measured = complete = features.cases_of(feature_set)
    for part in Encoder(**feature_set.extractor_settings).parts:
        described = features.cases_of(known[part]) if part in known else complete[:0]
        complete = np.intersect1d(complete, described, assume_unique=True)
    return len(measured) - len(complete)


def read_snapshot(library: LibraryLocation, *, reporter: Reporter = SILENT) -> LibrarySnapshot:
    """Read ``library`` whole.

    Raises:
        BadInput: not a library, damaged, half written, or from a newer version.
    """
    from semblance.core.library.edit_log import read_edits

    reporter.progress(0, None, tr_lazy("Opening {library}", library=library.name))
    with open_library(library) as opened:
        catalogue = opened.catalogue
        case_rows, ids, findings, patients = _read_cases(catalogue)
        features = opened.features
        sets = features.all()
        current = opened.current_metric()
        styles = all_styles(stored_styles(catalogue), set(findings) - {None})
        by_id = {feature_set.id: feature_set.name for feature_set in sets}
        with ThreadPoolExecutor(1) as beside:
            # The database reads on meanwhile: of a million cases each takes half a second and more.
            made = beside.submit(
                case_columns,
                case_rows,
                ids,
                findings,
                patients,
                np.zeros(len(case_rows)),
                [style.name for style in styles],
            )
            states, headers = _states(catalogue, case_rows), case_headers(catalogue.headers(), case_rows)
            suitable, without_cases = (
                extractor_suitabilities(opened, case_rows),
                tuple(catalogue.files_without_cases()),
            )
            columns = replace(made.result(), state=states, headers=headers)
        snapshot = LibrarySnapshot(
            opened.location,
            opened.name,
            opened.writable,
            tuple(sorted({source.kind for source in catalogue.sources()})),
            columns,
            tuple(
                FeatureSetFacts(
                    s.name,
                    s.extractor,
                    len(s.columns),
                    len(features.cases_of(s)),
                    len(features.failures(s)),
                    by_id.get(s.part_of, ""),
                    _count_incomplete(features, s),
                    s.settings,
                )
                for s in sets
            ),
            tuple(
                MetricFacts(m.name, m.learner, by_id.get(m.feature_set, ""), m.card, m.scores, m.training)
                for m in opened.metrics()
            ),
            without_cases,
            len(columns.patients),
            suitable,
            "" if current is None else current.name,
            tuple(style.colour for style in styles),
            tuple(read_edits(opened)),
            tuple(sealed_rows(opened).tolist()),
            _lesions(catalogue),
            opened.right,
            opened.thumbnails.count_without_outline(),
            opened.outdated_indexes(),
            opened.copied,
            any(len(features.cases_of(one)) > 0 for one in features.every() if one.part in (PLACES, SLICES)),
        )
    _ = snapshot.tree, snapshot.held_out
    return snapshot


def _read_cases(catalogue: Catalogue) -> tuple[npt.NDArray[np.int64], list[Any], list[Any], list[Any]]:
    """The rows of all cases, ascending, with their ids, findings and patients."""
    import sqlalchemy as sa

    from semblance.core.library.schema import cases

    # Without an order, which would double the time: a folder's catalogue is read by rows anyhow.
    rows, *columns = catalogue.read_columns(
        sa.select(cases.c.id, cases.c.case_id, cases.c.finding, cases.c.patient)
    )
    case_rows = np.array(rows, dtype=np.int64)
    if (case_rows[1:] < case_rows[:-1]).any():
        order = np.argsort(case_rows)
        case_rows = case_rows[order]
        columns = [[column[place] for place in order.tolist()] for column in columns]
    ids, findings, patients = columns
    return case_rows, ids, findings, patients


def _states(catalogue: Catalogue, case_rows: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """(n,) the :class:`ImageAvailability` of each case."""
    import sqlalchemy as sa

    from semblance.core.library.schema import HAS_IMAGE, cases

    states = np.full(len(case_rows), ImageAvailability.OK, dtype=np.uint8)
    found = catalogue.states_of_cases()
    for state in set(found.values()):
        of_state = [row for row, one in found.items() if one == state]
        states[np.isin(case_rows, of_state)] = (
            ImageAvailability.MISSING if state == "missing" else ImageAvailability.UNREADABLE
        )
    (without_image,) = catalogue.read_columns(sa.select(cases.c.id).where(sa.not_(HAS_IMAGE)))
    states[np.isin(case_rows, without_image)] = ImageAvailability.NO_IMAGE
    return states


def _lesions(catalogue: Catalogue) -> dict[int, LesionFacts]:
    from semblance.core.library.lesion_group_rows import BY_HAND
    from semblance.core.library.lesion_groups import groups_of_several, read_groups

    groups = read_groups(catalogue)
    return {
        row: facts
        for rows in groups_of_several(groups)
        for facts in (LesionFacts(tuple(rows), any(groups[one].source == BY_HAND for one in rows)),)
        for row in rows
    }


def save_state(library: LibraryLocation, state: Mapping[str, Any], *, reporter: Reporter = SILENT) -> None:
    """Save what the window shows (query, metric, ranking settings) for the next start."""
    with open_library(library) as opened:
        if opened.writable:
            opened.save_last_search(state)


def load_state(library: LibraryLocation, *, reporter: Reporter = SILENT) -> Mapping[str, Any] | None:
    """The state that :func:`save_state` saved."""
    with open_library(library) as opened:
        return opened.load_last_search()
