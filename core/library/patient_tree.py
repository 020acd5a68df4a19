"""The cases of a library as patients, their studies in time, and series; cases without a patient by folder."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr, tr_n
from semblance.core.library.case_columns import NO_PATIENT, CaseColumns, Indices
from semblance.core.library.case_names import date_name, modality_name
from semblance.core.library.natural_key import natural_key


class TreeLevel(IntEnum):
    """What a node of the tree is."""

    PATIENT = 0
    STUDY = 1
    SERIES = 2
    CASE = 3


@dataclass(frozen=True, eq=False)
class PatientTree:
    """An immutable tree over n cases; made by :func:`patient_tree`.

    ``order`` (n,): positions in ``columns``, by patient, date, study, series and case. The m nodes stand parents
    first: ``level`` (m,) of :class:`TreeLevel`; ``start``, ``stop`` (m,): the cases of a node in ``order``;
    ``end`` (m,): the node after its last descendant; ``parent`` (m,): the node above, -1 for none;
    ``depth`` (m,): 0 at the top. A study is left out where no header names one, a series where it is one case.
    ``studies`` (m,): the studies of a patient. ``folders``: names of folders, ``folder`` (n,): which one a case is in.
    """

    columns: CaseColumns
    order: Indices
    level: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int32]
    stop: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    depth: npt.NDArray[np.uint8]
    studies: npt.NDArray[np.int32]
    folders: tuple[str, ...]
    folder: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.level)

    def case(self, node: int) -> int:
        """The position in ``columns`` of the node's case: in a series the one in the middle, else the first."""
        start, stop = int(self.start[node]), int(self.stop[node])
        middle = (stop - 1 - start) // 2 if self.level[node] == TreeLevel.SERIES else 0
        return int(self.order[start + middle])

    def has_children(self, node: int) -> bool:
        """Whether a node can be expanded."""
        return bool(self.end[node] > node + 1)

    def node_of(self, index: int) -> int:
        """The node of the case at ``index``, a position in ``columns``."""
        place = int(np.flatnonzero(self.order == index)[0])
        return int(np.flatnonzero((self.level == TreeLevel.CASE) & (self.start == place))[0])

    def nodes_of(self, rows: npt.NDArray[np.int64], levels: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """(m,) whether a node is of one of ``levels`` (k,) and has the case of the row in ``rows`` (k,) beside it.

        So the nodes of an earlier tree are found again.
        """
        place = np.empty(len(self.order), dtype=np.int32)
        place[self.order] = np.arange(len(self.order))
        index = self.columns.indices_of_rows(rows)
        found = np.zeros(len(self), dtype=bool)
        for level in TreeLevel:
            places = place[index[(levels == level) & (index >= 0)]]
            if not places.size:
                continue
            of_level = np.flatnonzero(self.level == level)
            # The last node of the level that begins before the case, if the case is in it.
            before = np.searchsorted(self.start[of_level], places, side="right") - 1
            nodes = of_level[before[before >= 0]]
            found[nodes[places[before >= 0] < self.stop[nodes]]] = True
        return found

    def matches(self, chosen: Indices) -> npt.NDArray[np.int32]:
        """(m,) how many of the cases ``chosen``, positions in ``columns``, each node has."""
        if len(chosen) == len(self.columns):
            return self.stop - self.start
        mask = np.zeros(len(self.columns), dtype=bool)
        mask[chosen] = True
        total = np.zeros(len(self.order) + 1, dtype=np.int32)
        np.cumsum(mask[self.order], out=total[1:])
        return total[self.stop] - total[self.start]

    def visible(self, matches: npt.NDArray[np.int32], expanded: npt.NDArray[np.bool_]) -> Indices:
        """Ascending nodes with matches whose ancestors are all ``expanded`` (m,)."""
        # How far the nodes under what is not expanded reach, up to each node.
        reach = np.maximum.accumulate(np.where(expanded, 0, self.end))
        is_visible = matches > 0
        is_visible[1:] &= reach[:-1] <= np.arange(1, len(self))
        return np.flatnonzero(is_visible)

    def title(self, node: int) -> str:
        """The name of a node: patient or folder, study, series or case."""
        index, level = self.case(node), self.level[node]
        headers = self.columns.headers
        if level == TreeLevel.PATIENT:
            return (
                self.columns.patient_name(index) or self.folders[self.folder[index]] or tr("Patient unknown")
            )
        if level == TreeLevel.STUDY:
            return headers.text("study_description", index) or headers.kind(index) or tr("Study")
        if not headers.is_named(index):
            return self.columns.name(index)
        segment = headers.text("segment", index)
        if level == TreeLevel.CASE and (segment or headers.text("view", index) or self._in_series(node)):
            return segment or headers.kind(index)
        return headers.series(index) or headers.kind(index)

    def detail(self, node: int, matches: int) -> str:
        """The text after the title: number of studies, date, modality, number of images or cases.

        ``matches``: cases of the node that the filter leaves.
        """
        index, level = self.case(node), self.level[node]
        headers = self.columns.headers
        start, stop = int(self.start[node]), int(self.stop[node])
        if level == TreeLevel.PATIENT and self.studies[node]:
            return tr_n("{n} study", "{n} studies", int(self.studies[node]))
        if level == TreeLevel.CASE:
            images = int(headers.images[index])
        else:
            images = int(headers.images[self.order[start:stop]].sum())
        if matches < stop - start:
            count = tr("{k:,} of {n:,} cases", k=matches, n=stop - start)
        else:
            count = tr_n("{n} image", "{n} images", images)
        if level == TreeLevel.STUDY:
            return " · ".join(filter(None, (date_name(headers.text("date", index)), count)))
        if level == TreeLevel.PATIENT:
            return count
        if level == TreeLevel.CASE and self._in_series(node):
            above = self.parent[node]
            return tr(
                "{k:,} of {n:,}",
                k=start - int(self.start[above]) + 1,
                n=int(self.stop[above] - self.start[above]),
            )
        kind = (
            headers.kind(index) if level == TreeLevel.CASE else modality_name(headers.text("modality", index))
        )
        several = count if level == TreeLevel.SERIES or images > 1 else ""
        return " · ".join(filter(None, (kind if kind != self.title(node) else "", several)))

    def _in_series(self, node: int) -> bool:
        return bool(self.parent[node] >= 0 and self.level[self.parent[node]] == TreeLevel.SERIES)


def patient_tree(columns: CaseColumns) -> PatientTree:
    """The tree of all cases.

    Takes about 0.5 s for 100,000 cases: call it in a worker, it can be pickled.
    """
    n, headers = len(columns), columns.headers
    folders, folder = _folders(columns)
    top = np.where(columns.patient == NO_PATIENT, len(columns.patients) + folder, columns.patient)
    dates = _ranks(headers.texts["date"])[headers.codes["date"]]
    series_numbers = _ranks(headers.texts["series_number"])[headers.codes["series_number"]]
    place = np.empty(n, dtype=np.int32)
    place[columns.by_id] = np.arange(n)
    study, series = headers.codes["study"], headers.codes["series"]
    by_header = [key for key in (series, series_numbers, study, dates) if key.any()]
    order = np.lexsort((place, *by_header, top))

    def changes(*keys: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        found = np.zeros(n, dtype=bool)
        found[:1] = True
        for key in keys:
            ordered = key[order]
            found[1:] |= ordered[1:] != ordered[:-1]
        return found

    levels: list[npt.NDArray[np.uint8]] = []
    starts: list[npt.NDArray[np.int32]] = []
    stops: list[npt.NDArray[np.int32]] = []

    def add(
        level: TreeLevel, begins: npt.NDArray[np.bool_], keep: npt.NDArray[np.bool_] | None = None
    ) -> None:
        start = np.flatnonzero(begins).astype(np.int32)
        stop = np.append(start[1:], np.int32(n))[: len(start)]
        if keep is not None:
            kept = keep[order][start] & ((stop - start > 1) | (level != TreeLevel.SERIES))
            start, stop = start[kept], stop[kept]
        levels.append(np.full(len(start), level, dtype=np.uint8))
        starts.append(start)
        stops.append(stop)

    in_study = changes(top, dates, study)
    add(TreeLevel.PATIENT, changes(top))
    add(TreeLevel.STUDY, in_study, study > 0)
    add(TreeLevel.SERIES, in_study | changes(series_numbers, series), series > 0)
    add(TreeLevel.CASE, np.ones(n, dtype=bool))
    level, start, stop = np.concatenate(levels), np.concatenate(starts), np.concatenate(stops)
    parents_first = np.lexsort((level, start))
    level, start, stop = level[parents_first], start[parents_first], stop[parents_first]
    end = np.searchsorted(start, stop).astype(np.int32)
    node = np.arange(len(level), dtype=np.int32)
    parent, depth = np.full(len(level), -1, dtype=np.int32), np.zeros(len(level), dtype=np.uint8)
    for above in (TreeLevel.PATIENT, TreeLevel.STUDY, TreeLevel.SERIES):
        last = np.maximum.accumulate(np.where(level == above, node, np.int32(-1)))
        below = (level > above) & (last >= 0) & (end[last] > node)
        parent[below] = last[below]
        depth += below
    total = np.concatenate(([0], np.cumsum(level == TreeLevel.STUDY)))
    studies = np.where(level == TreeLevel.PATIENT, total[end] - total[node], 0).astype(np.int32)
    return PatientTree(columns, order, level, start, stop, end, parent, depth, studies, folders, folder)


def _folders(columns: CaseColumns) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Names of folders in order, and (n,) the folder of each case; cases with a patient have the first, "".

    Ids of cases of DICOM files do not show their folders: those without a patient are together in "".
    """
    apart = np.flatnonzero((columns.patient == NO_PATIENT) & (columns.headers.codes["modality"] == 0))
    names = [str(PurePosixPath(columns.ids[index]).parent) for index in apart.tolist()]
    ordered = sorted({"", *names}, key=natural_key)
    code = {name: place for place, name in enumerate(ordered)}
    folder = np.zeros(len(columns), dtype=np.int32)
    folder[apart] = [code[name] for name in names]
    return tuple(name if name != "." else "" for name in ordered), folder


def _ranks(texts: tuple[str, ...]) -> npt.NDArray[np.int32]:
    """(m,) the place of each text in their natural order."""
    ordered = sorted(range(len(texts)), key=lambda place: natural_key(texts[place]))
    ranks = np.empty(len(texts), dtype=np.int32)
    ranks[ordered] = np.arange(len(texts))
    return ranks
