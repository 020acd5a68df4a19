"""A map of a library: its cases on a plane, with cases that are near under the metric near each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.projection import (
    MAX_MOVED,
    MAX_SCANNED,
    Between,
    NeighbourMap,
    euclidean_distances,
    landmark_scaling,
    neighbour_preservation,
    principal_axes,
)
from semblance.core.language import tr, tr_lazy, tr_n
from semblance.core.library.case_columns import NO_FINDING, CaseColumns
from semblance.core.library.location import LibraryLocation
from semblance.core.reports.figures import MapDrawing
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.open_metrics import open_metric

#: The map is reported this often while it grows.
UPDATE_S = 0.3
#: Fewer cases are not mapped.
MIN_CASES = 3
PRINCIPAL, LANDMARK, NEIGHBOURS = "principal axes", "landmarks", "neighbours"


@dataclass(frozen=True, eq=False)
class LibraryMap:
    """``rows`` (n,) of the catalogue at ``places`` (n, 2), float32.

    ``kind``: by principal axes or landmarks (``share`` of the spread they show), or by neighbours, after
    ``done`` of ``total`` rounds; ``moved`` cases had forces of their own, the others lie between the nearest
    of those. ``preserved``: the share of the ten nearest cases that are also the ten nearest on the map; reported when
    it is finished.
    """

    metric: str
    rows: npt.NDArray[np.int64]
    places: npt.NDArray[np.float32]
    kind: str
    share: float | None = None
    moved: int = 0
    done: int = 0
    total: int = 0
    preserved: float | None = None

    @property
    def growing(self) -> bool:
        """Whether more rounds follow."""
        return self.done < self.total


def map_library(library: LibraryLocation, metric: str, *, reporter: Reporter = SILENT) -> LibraryMap:
    """Map the cases of ``library`` under ``metric``, first by principal axes and then by neighbours.

    Intermediate maps are partial results. If the reporter requests a stop, the newest is the result. The same library
    and metric give the same map.

    Raises:
        BadArguments: no such metric.
        BadInput: fewer than three cases have the metric's features.
    """
    loaded = open_metric(library, metric, reporter)
    n = len(loaded.rows)
    if n < MIN_CASES:
        raise BadInput(
            tr_lazy("A map needs at least {fewest} cases; {n} have the features.", fewest=MIN_CASES, n=n),
            "Add cases first.",
        )
    embeds = loaded.metric.distance.embeds
    between = euclidean_distances(loaded.embedding) if embeds else _scanned(loaded)
    if embeds:
        plane, kind = principal_axes(loaded.embedding), PRINCIPAL
    else:
        plane, kind = landmark_scaling(n, between, reporter=reporter), LANDMARK
    first = LibraryMap(metric, loaded.rows, plane.places.astype(np.float32), kind, plane.share)
    reporter.partial(first)
    if reporter.stop_requested or n < 5:
        return _finished(first, between)
    most = MAX_MOVED if embeds else MAX_SCANNED
    growing = NeighbourMap(plane.places, between, maximum=most, reporter=reporter)
    last_update, now = time.monotonic(), first
    for done, whole in enumerate(growing.grow(), start=1):
        reporter.check_cancelled()
        last = done == growing.rounds or reporter.stop_requested
        if last or time.monotonic() - last_update >= UPDATE_S:
            last_update = time.monotonic()
            places = whole().astype(np.float32)
            total = done if last else growing.rounds
            now = LibraryMap(metric, loaded.rows, places, NEIGHBOURS, None, len(growing.moved), done, total)
            reporter.progress(done, growing.rounds, "Keeping neighbours together")
            reporter.partial(now)
        if last:
            break
    return _finished(now, between)


def map_facts(library_map: LibraryMap) -> str:
    """The progress of the map, or the share of neighbours it preserves."""
    if library_map.growing:
        if library_map.kind != NEIGHBOURS:
            return tr("preview")
        return tr("round {done:,} of {total:,}", done=library_map.done, total=library_map.total)
    if library_map.preserved is not None:
        return tr("{share:.0%} of the 10 nearest preserved", share=library_map.preserved)
    return tr_n("{n} case", "{n} cases", len(library_map.rows))


def map_drawing(library_map: LibraryMap, columns: CaseColumns, colours: Sequence[int] = ()) -> MapDrawing:
    """The map to be drawn, its cases coloured by finding; ``colours``: places of the findings of ``columns`` in the
    palette."""
    indices = columns.indices_of_rows(library_map.rows)
    codes = np.where(indices >= 0, columns.finding[indices], NO_FINDING)
    return MapDrawing(
        library_map.places,
        codes.astype(np.int16),
        columns.findings,
        tr("Map of {metric}", metric=library_map.metric),
        map_facts(library_map),
        tuple(colours),
    )


def _finished(found: LibraryMap, between: Between) -> LibraryMap:
    return replace(found, preserved=neighbour_preservation(found.places.astype(np.float64), between))


def _scanned(loaded: LoadedMetric) -> Between:
    distance, rows = loaded.metric.distance, loaded.embedding

    def between(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return distance.between(rows[a], rows[b])

    return between
