"""Describe the slices of volumes, so that a slice, a region on it or a volume finds the same level in others.

The features and places of a volume are those of the slice that represents it, and are measured with all images. This
comes after them: it takes a pass of the encoder for every slice. An interrupted run is resumed with the volumes that
are missing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.engine import Engine, Task, WorkerEnded, default_workers
from semblance.core.engine.cluster import Cluster, ClusterTask, open_engine
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.features.extractor import Extractor
from semblance.core.features.places import PLACES, SLICES, Codes, Floats, PlaceCoding
from semblance.core.features.registry import make_extractor, stored_extractor
from semblance.core.features.slice_descriptions import (
    ROW_BYTES,
    SignCodes,
    SliceDescriptions,
    SliceLayout,
    coded_slices,
    described_slices,
)
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.volume import Stack
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library import records
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import FeatureSet
from semblance.core.library.schema import cases
from semblance.core.parameters import Value
from semblance.core.retrieval.place_index import evenly_sampled
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.open_volumes import (
    CaseImage,
    OpenVolumes,
    SliceUnavailable,
    case_images,
)
from semblance.core.workflows.features.stored_places import coding_of

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Volumes that are written together, and the seconds after which fewer are: each write makes a file of its own.
_TOGETHER, _SECONDS = 64, 60.0
_CRASHED = tr_lazy("The worker process ended while it read the slices (a crash, or not enough memory).")

Rows = npt.NDArray[np.int64]


@dataclass
class DescribedVolume:
    """The ``packed`` (b,) slices of a case, and why some of them are left out."""

    row: int
    content: str
    packed: Codes | None
    reason: str = ""


def describe_slices(
    library: LibraryLocation,
    features: str,
    *,
    workers: int | None = None,
    cluster: str = "",
    reporter: Reporter = SILENT,
) -> dict[str, str]:
    """Describe the slices of all volumes of ``library`` that have none yet, by the encoder of the feature set
    ``features``; nothing where it describes no places. Returns case id -> why slices of it are left out.

    Cancelling keeps the volumes that are finished.

    Raises:
        BadArguments: no such feature set.
        SemblanceError: the library cannot be written to.
    """
    with open_library(library, writable=True) as opened:
        whole = opened.features.get(features)
        places = opened.features.part(whole, PLACES)
        if places is None or stored_extractor(whole.extractor).version != whole.version:
            return {}
        settings = {records.ROW_BYTES: ROW_BYTES, records.CODING: coding_of(places).to_settings()}
        known = opened.features.part(whole, SLICES)
        if known is not None and known.settings[records.CODING] != settings[records.CODING]:
            # Slices are compared with images: where the coding of these was fitted anew, they need the same.
            opened.features.recode(known, settings)
        rows = _undescribed(opened, whole)
        if not len(rows):
            return {}
        slices = opened.features.make_part(whole, SLICES, settings, dtype="int8")
        paths = [source.path for source in opened.catalogue.sources()] if cluster else []
        with open_engine(min(workers or default_workers(), len(rows)), cluster, paths) as engine:
            return _Description(opened, slices, engine, reporter).run(rows.tolist())


def _undescribed(library: Library, whole: FeatureSet) -> Rows:
    """(n,) ids of the volumes that have features and no slices yet."""
    query = sa.select(cases.c.id).where(cases.c.depth > 1).order_by(cases.c.id)
    volumes = np.array([row.id for row in library.catalogue.read(query)], dtype=np.int64)
    volumes = np.intersect1d(volumes, library.features.cases_of(whole))
    slices = library.features.part(whole, SLICES)
    if slices is None or not len(volumes):
        return volumes
    return np.intersect1d(volumes, library.features.cases_to_extract(slices, images=True))


class _Description:
    """Distributes volumes to worker processes, one by one, and writes what they give."""

    def __init__(
        self, library: Library, slices: FeatureSet, engine: Engine | Cluster, reporter: Reporter
    ) -> None:
        self._library, self._slices, self._engine, self._reporter = library, slices, engine, reporter
        self._running: dict[Future[Any], tuple[int, Task | ClusterTask]] = {}
        self._finished: list[DescribedVolume] = []
        self._last_write = time.monotonic()
        self._left_out: dict[int, str] = {}

    def run(self, rows: list[int]) -> dict[str, str]:
        """Describe the cases ``rows``; case id -> why slices of it are left out."""
        waiting, total, crashed = rows[::-1], len(rows), set[int]()
        try:
            while waiting or self._running:
                self._reporter.progress(
                    total - len(waiting) - len(self._running),
                    total,
                    tr_lazy("Describing the slices of volumes"),
                )
                self._reporter.check_cancelled()
                self._submit_some(waiting, crashed)
                for future in wait(self._running, timeout=0.2, return_when=FIRST_COMPLETED).done:
                    row, task = self._running.pop(future)
                    try:
                        self._finished.append(task.result())
                    except WorkerEnded:
                        if row in crashed:
                            self._finished.append(
                                DescribedVolume(row, self._content(row), None, str(_CRASHED))
                            )
                        else:
                            crashed.add(row)
                            waiting.append(row)
                if len(self._finished) >= _TOGETHER or time.monotonic() - self._last_write > _SECONDS:
                    self._write()
        except BaseException:
            for _, task in self._running.values():
                task.cancel()
            raise
        finally:
            self._write()
        self._reporter.progress(total, total, tr_lazy("Describing the slices of volumes"))
        details = self._library.catalogue.details(list(self._left_out))
        return {details[row].case_id: why for row, why in self._left_out.items() if row in details}

    def _submit_some(self, waiting: list[int], crashed: set[int]) -> None:
        """Keep the workers busy; a volume during which one of them ended is tried once more, alone."""
        while waiting and len(self._running) < self._engine.workers + 1:
            one_is_alone = any(row in crashed for row, _ in self._running.values())
            if one_is_alone or (self._running and waiting[-1] in crashed):
                return
            self._submit(waiting.pop())

    def _submit(self, row: int) -> None:
        images = case_images(self._library, np.array([row], dtype=np.int64))
        if not images:
            return
        task = self._engine.submit(
            describe_volume,
            self._slices.extractor,
            self._slices.extractor_settings,
            self._slices.settings[records.CODING],
            images[0],
        )
        self._running[task.future] = row, task

    def _content(self, row: int) -> str:
        found = self._library.catalogue.details([row]).get(row)
        return "" if found is None else found.content

    def _write(self) -> None:
        finished, self._finished = self._finished, []
        self._last_write = time.monotonic()
        self._left_out.update((one.row, one.reason) for one in finished if one.reason)
        described = [one for one in finished if one.packed is not None]
        failures = [(one.row, one.content, one.reason) for one in finished if one.packed is None]
        if finished:
            rows = np.array([one.row for one in described], dtype=np.int64)
            packed = [one.packed for one in described if one.packed is not None]
            values = np.stack(packed) if packed else np.empty((0, self._slices.width), dtype=np.int8)
            contents = [one.content for one in described]
            self._library.features.write_chunk(self._slices, rows, values, failures, contents)


def describe_volume(
    name: str,
    settings: Mapping[str, Value],
    coding: Mapping[str, Any],
    image: CaseImage,
    *,
    reporter: Reporter,
) -> DescribedVolume:
    """The slices of the volume of a case, by the extractor ``name``; runs in a worker.

    A damaged slice is left out and named. A volume whose files are missing or have changed is tried again by the next
    call.

    Raises:
        BadArguments: no such extractor or setting.
    """
    extractor = make_extractor(name, **settings)
    with ImageReader() as reader, closing(OpenVolumes(reader)) as volumes:
        content = ""
        try:
            stack, content = volumes.of_case(image, reporter)
            if content != image.content:
                content = ""
                raise BadInput(
                    tr_lazy("'{address}' has changed since it was imported.", address=image.address),
                    "Import it again.",
                )
            described, left_out = slices_of(stack, extractor, PlaceCoding.from_settings(coding), reporter)
        except SemblanceError as error:
            known = "" if isinstance(error, SliceUnavailable) else content
            return DescribedVolume(image.row, known, None, str(error))
    return DescribedVolume(image.row, content, described.packed(), left_out)


def slices_of(
    stack: Stack,
    extractor: Extractor,
    coding: PlaceCoding,
    reporter: Reporter = SILENT,
    *,
    most: int | None = None,
) -> tuple[SliceDescriptions, str]:
    """The descriptions of the slices of ``stack``, each read once, and why some are left out, else ""; of ``most`` at
    most, evenly chosen.

    Raises:
        BadInput: no slice can be read, or one is missing or has changed.
    """
    distance = None if stack.spacing_mm is None else stack.spacing_mm[0]
    places = stack.positions() if distance is not None else None
    numbers = described_slices(len(stack), distance, None if places is None else places[:, 0])
    if most is not None:
        numbers = evenly_sampled(numbers, most)
    kept: list[int] = []
    wholes: list[Codes] = []
    signs: list[SignCodes] = []
    waiting: list[Any] = []
    layout: SliceLayout | None = None
    reasons: list[str] = []
    for at, number in enumerate(numbers.tolist()):
        reporter.check_cancelled()
        try:
            waiting.append(extractor.prepare(stack.image(number)))
            kept.append(number)
        except SliceUnavailable:
            raise
        except BadInput as error:
            reasons.append(str(error))
        if waiting and (len(waiting) == extractor.batch or at == len(numbers) - 1):
            features, maps = _described(extractor, waiting)
            layout = layout or SliceLayout.fitting(len(numbers), *maps.shape[1:3])
            coded = coded_slices(features, maps, coding, layout)
            wholes.append(coded[0])
            signs.append(coded[1])
            waiting = []
    if not kept:
        raise BadInput(reasons[0])
    found = SliceDescriptions(np.array(kept, dtype=np.intp), np.concatenate(wholes), np.concatenate(signs))
    if not reasons:
        return found, ""
    left_out = tr_lazy_n(
        "{n} slice is left out: {reason}",
        "{n} slices are left out: {reason}",
        len(reasons),
        reason=reasons[0],
    )
    return found, left_out


def _described(extractor: Extractor, prepared: list[Any]) -> tuple[Floats, Floats]:
    found = extractor.describe(prepared)
    assert found.maps is not None
    return found.features, found.maps
