"""Extract a feature set: numbers of every case of a library.

An interrupted extraction is resumed with the cases that are missing. Failures are recorded for each case.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.engine import Engine, Progress, Task, WorkerEnded, default_workers
from semblance.core.engine.cluster import Cluster, ClusterTask, open_engine
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.features.clinical import Clinical
from semblance.core.features.extractor import BURNT_IN_MARKS, HIDE, Extractor
from semblance.core.features.places import PLACES, PlaceCoding
from semblance.core.features.registry import make_extractor
from semblance.core.imaging.burnt_in_marks import MARKS_ATTRIBUTE, hide_marks, mark_boxes, may_have_marks
from semblance.core.imaging.image import Image
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region, shown_slice
from semblance.core.imaging.volume import Stack
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.library.content_hashes import (
    content_hash,
    content_of_file,
    content_of_part,
    content_of_pixels,
)
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CHUNK, PLUGIN, FeatureSet, checked_name
from semblance.core.parameters import Value
from semblance.core.plugins import find_plugin
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.clinical_features import configured_columns, write_clinical
from semblance.core.workflows.features.describe_slices import describe_slices
from semblance.core.workflows.features.described_sets import DescribedSets
from semblance.core.workflows.features.detect_same_lesions import detect_crops
from semblance.core.workflows.features.image_batch import ImageBatch, MeasuredCases
from semblance.core.workflows.features.library_places import code_places
from semblance.core.workflows.features.measuring_order import STEP, MeasuringOrder, useful_workers
from semblance.core.workflows.features.open_volumes import (
    CaseImage,
    OpenVolumes,
    SliceUnavailable,
    case_images,
)
from semblance.core.workflows.features.suitable_extractors import OF_IMAGES

if TYPE_CHECKING:
    from semblance.core.library.library import Library


#: Rows of a table that are copied in one transaction.
_COPIED = 64 * CHUNK
#: If so many images in a row end a worker, the machine is the cause and not the images.
MAX_CRASHES = 4
#: What is recorded of such an image.
CRASHED = tr_lazy(
    "The worker process ended while it read this image (a crash, or not enough memory). Leave it out, or save "
    "it again."
)


@dataclass
class ExtractResult(JsonDocument):
    """How many cases have features now, how many were measured in this run, and which could not be measured.

    ``left_out``: clinical columns that are not used, and why."""

    library: str
    features: str
    extractor: str
    n_features: int
    extracted: int = 0
    cases: int = 0
    failed: list[dict[str, str]] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0


def extract_features(
    library: LibraryLocation,
    extractor: str,
    *,
    settings: Mapping[str, Value] | None = None,
    name: str | None = None,
    workers: int | None = None,
    cluster: str = "",
    first: Callable[[], Sequence[int]] | None = None,
    growing: Callable[[], bool] | None = None,
    slices: bool = True,
    reporter: Reporter = SILENT,
) -> ExtractResult:
    """Measure every case of ``library`` for the feature set ``name`` (default: the extractor's name).

    Runs in ``workers`` processes, or on the workers of the Dask scheduler at the address ``cluster``, which read the
    images from storage they share. Cases that were measured before are skipped. Each chunk is valid as soon as it is
    written, and the reporter's partial results are the numbers of cases in valid chunks. Cancelling keeps the
    finished chunks.

    ``first`` returns the ids of the cases to measure before the others and is called before every part. With it the
    first chunks are small and hold cases from the whole library, so that they can be ranked while the rest is
    measured; see :class:`semblance.core.workflows.features.measuring_order.MeasuringOrder`. While ``growing()`` is
    true, images that another thread or program adds are measured too.

    ``slices``: describe the slices of volumes too, after all cases
    (:func:`semblance.core.workflows.features.describe_slices.describe_slices`), and code the places of many cases.

    Raises:
        BadArguments: unknown extractor or setting, or ``name`` is a feature set made with others.
        BadInput: no case of the library suits the extractor.
    """
    start = time.monotonic()
    configured = make_extractor(extractor, **(settings or {}))
    with open_library(library, writable=True) as opened:
        name = extractor if name is None else checked_name(name, tr_lazy("A feature set"))
        configured = _as_before(opened, configured, name, settings or {})
        left_out: tuple[tuple[str, str], ...] = ()
        if isinstance(configured, Clinical):
            configured, chosen = configured_columns(opened, configured, name)
            left_out = chosen.left_out
        feature_set = _feature_set(opened, configured, name)
        result = ExtractResult(
            str(opened.location), feature_set.name, configured.name, len(feature_set.columns)
        )
        result.left_out = [{"column": column, "reason": reason} for column, reason in left_out]
        before = set(opened.features.cases_of(feature_set).tolist())
        described = DescribedSets(opened, feature_set, configured)
        rows = described.cases_to_extract()
        reporter.progress(0, len(rows), tr_lazy("Extracting {title}", title=configured.title))
        if configured.needs_image:
            if not cluster:
                configured.get_ready(reporter)
            paths = [source.path for source in opened.catalogue.sources()] if cluster else []
            processes = workers or default_workers()
            if growing is None:
                processes = useful_workers(processes, len(rows))
            with open_engine(processes, cluster, paths) as engine:
                # Cases of one volume stay together, or it would be read again and again.
                order = MeasuringOrder(rows, engine.workers, first, spread=not configured.volumes)
                extraction = _Extraction(opened, configured, described, order, engine, growing, reporter)
                result.extracted, total = extraction.run(), len(order)
            if configured.name == OF_IMAGES and "description" not in configured.settings and result.extracted:
                measured = opened.features.cases_of(feature_set)
                detect_crops(opened, feature_set, set(measured.tolist()) - before, reporter)
        elif isinstance(configured, Clinical):
            result.extracted, total = (
                write_clinical(opened, feature_set, configured, rows, reporter),
                len(rows),
            )
        else:
            result.extracted, total = _copy_tables(opened, feature_set, rows, reporter), len(rows)
        reporter.progress(total, total, tr_lazy("Extracting {title}", title=configured.title))
        result.cases = len(opened.features.cases_of(feature_set))
        failures = dict(opened.features.failures(feature_set))
        if configured.needs_image:
            # Cases that had features before, and could not be described now.
            failures = {**extraction.failures, **failures}
    if slices and configured.needs_image:
        described_by = describe_slices(
            library, result.features, workers=workers, cluster=cluster, reporter=reporter
        )
        failures = {**described_by, **failures}
        code_places(library, result.features, reporter=reporter)
    result.failed = [{"case_id": c, "reason": r} for c, r in sorted(failures.items())]
    result.seconds = time.monotonic() - start
    return result


def _as_before(library: Library, extractor: Extractor, name: str, given: Mapping[str, Value]) -> Extractor:
    """``extractor``, with burnt-in marks hidden or kept as in an earlier set ``name`` unless ``given`` says it."""
    for known in library.features.all():
        if known.name == name and known.extractor == extractor.name and BURNT_IN_MARKS not in given:
            same = {key: value for key, value in known.settings.items() if key == BURNT_IN_MARKS}
            return make_extractor(extractor.name, **{**given, **same})
    return extractor


def _feature_set(library: Library, extractor: Extractor, name: str) -> FeatureSet:
    if not extractor.can_measure:
        raise BadInput(
            "Imported features cannot be extracted.",
            "Import the file again with the rows that lack: semblance import-features LIB FILE --name NAME.",
        )
    kinds = library.catalogue.kinds_of_cases()
    if not kinds:
        raise BadInput(
            tr_lazy("{library} holds no cases yet.", library=library.location.name),
            "Import some first: semblance import.",
        )
    if not extractor.needs_table:
        columns = [(f.name, f.group) for f in extractor.feature_names]
        if extractor.needs_image and True not in kinds:
            raise BadInput(
                tr_lazy(
                    "{library} holds no images for '{extractor}'.",
                    library=library.location.name,
                    extractor=extractor.name,
                ),
                "Its cases are rows of a table: use --extractor raw.",
            )
    else:
        found = {source.columns for source in library.catalogue.sources() if source.columns}
        if not found:
            raise BadInput(
                tr_lazy(
                    "{library} holds no table for '{extractor}'.",
                    library=library.location.name,
                    extractor=extractor.name,
                ),
                "For images use --extractor gabor.",
            )
        if len(found) > 1:
            raise BadInput(
                tr_lazy("The tables of {library} have different columns.", library=library.location.name),
                "Put tables with different columns into separate libraries.",
            )
        columns = [(column, column) for column in found.pop()]
    plugin = find_plugin("extractor", extractor.name)
    of_plugin = {} if plugin is None else {PLUGIN: plugin.origin}
    return library.features.make(
        name,
        extractor.name,
        extractor.version,
        {**extractor.settings, **of_plugin},
        columns,
        dtype=extractor.stored_type(),
    )


def _copy_tables(
    library: Library, feature_set: FeatureSet, rows: npt.NDArray[np.int64], reporter: Reporter
) -> int:
    copied = 0
    for start in range(0, len(rows), _COPIED):
        reporter.check_cancelled()
        part = rows[start : start + _COPIED].tolist()
        stored, values, contents = library.catalogue.numbers(part)
        copied += library.features.write_chunk(feature_set, stored, values, (), contents)
        reporter.progress(
            start + len(part), len(rows), tr_lazy("Copying {feature_set}", feature_set=feature_set.name)
        )
    return copied


@dataclass(frozen=True)
class _SubmittedChunk:
    """Cases handed to a worker together."""

    number: int
    rows: npt.NDArray[np.int64]
    task: Task | ClusterTask
    alone: bool


class _Extraction:
    """Distributes parts to worker processes and writes their results.

    If a worker dies, all running parts are lost. They are then measured one at a time and, if it happens again, in
    halves, until the image that crashes its reader is found and recorded.
    """

    def __init__(
        self,
        library: Library,
        extractor: Extractor,
        described: DescribedSets,
        order: MeasuringOrder,
        engine: Engine | Cluster,
        growing: Callable[[], bool] | None,
        reporter: Reporter,
    ) -> None:
        self._library, self._extractor, self._described = library, extractor, described
        self._order, self._engine, self._growing, self._reporter = order, engine, growing, reporter
        self._next_check = 0.0
        self._suspects: list[npt.NDArray[np.int64]] = []
        self._running: dict[Future[Any], _SubmittedChunk] = {}
        self._numbers = itertools.count()
        self._done_counts: dict[int, int] = {}
        self._crashes = self._extracted = 0
        self._failed: dict[int, str] = {}

    def run(self) -> int:
        """Returns how many cases were measured."""
        try:
            while self._growing or self._order or self._suspects or self._running:
                self._add_new_cases()
                self._submit_parts()
                done, _ = wait(self._running, timeout=0.1, return_when=FIRST_COMPLETED)
                if not self._running:
                    time.sleep(0.05)
                # In the order of submission, because what is to be measured first is written first.
                for future in [one for one in self._running if one in done]:
                    self._write_result(self._running.pop(future))
                self._reporter.progress(
                    sum(self._done_counts.values()),
                    len(self._order),
                    tr_lazy("Extracting {title}", title=self._extractor.title),
                )
                self._reporter.check_cancelled()
        except BaseException:
            for part in self._running.values():
                part.task.cancel()
            raise
        self._described.finish()
        return self._extracted

    @property
    def failures(self) -> dict[str, str]:
        """Case id -> why it could not be measured whole."""
        details = self._library.catalogue.details(list(self._failed))
        return {details[row].case_id: reason for row, reason in self._failed.items() if row in details}

    def _add_new_cases(self) -> None:
        """Add the cases that were added to the library meanwhile. This takes at most a tenth of the time."""
        begin = time.monotonic()
        if self._growing is None or begin < self._next_check:
            return
        # Called before reading the cases, so that the last reading finds every case.
        growing = self._growing()
        self._order.add(self._described.cases_to_extract())
        self._next_check = begin + max(0.2, 10 * (time.monotonic() - begin))
        if not growing:
            self._growing = None

    def _submit_parts(self) -> None:
        if self._suspects:
            if not self._running:
                self._submit(self._suspects.pop(), alone=True)
            return
        workers, growing = self._engine.workers, self._growing is not None
        ahead = self._described.rows_ahead(self._order, growing=growing)
        # Half as many parts more than workers: no worker is idle, and cases to measure first do not wait long.
        while self._order and len(self._running) < workers + max(1, workers // 2):
            self._submit(self._order.take(ahead), alone=False)

    def _submit(self, rows: npt.NDArray[np.int64], *, alone: bool) -> None:
        number = next(self._numbers)
        task = self._engine.submit(
            measure_cases,
            self._extractor.name,
            self._extractor.settings,
            case_images(self._library, rows),
            parts=self._described.parts,
            coding=self._described.coding,
            listener=partial(self._record_progress, number),
        )
        self._running[task.future] = _SubmittedChunk(number, rows, task, alone)

    def _record_progress(self, number: int, kind: str, message: object) -> None:
        if kind == "progress" and isinstance(message, Progress):
            self._done_counts[number] = message.done

    def _write_result(self, part: _SubmittedChunk) -> None:
        try:
            chunk: MeasuredCases = part.task.result()
        except WorkerEnded:
            self._done_counts.pop(part.number, None)
            self._isolate_crash(part)
            return
        self._crashes = 0
        self._done_counts[part.number] = len(chunk.rows) + len(chunk.failures)
        self._failed.update((row, reason) for row, _, reason in chunk.failures)
        self._extracted += self._described.write(part.rows, chunk)
        self._library.catalogue.set_attribute(
            MARKS_ATTRIBUTE, {row: str(n) if n else "" for row, n in chunk.marks.items()}
        )
        self._reporter.partial(self._extracted)

    def _isolate_crash(self, part: _SubmittedChunk) -> None:
        """Find the image that ended the worker, and record it.

        Raises:
            WorkerEnded: every image ends the workers, so no image is the cause.
        """
        half = len(part.rows) // 2
        if not part.alone:
            self._suspects.append(part.rows)
        elif half:
            self._suspects += [part.rows[half:], part.rows[:half]]
        else:
            self._crashes += 1
            if self._crashes > MAX_CRASHES:
                raise WorkerEnded
            failures = [(p.row, p.content, CRASHED) for p in case_images(self._library, part.rows)]
            self._described.record(part.rows, failures)
            self._done_counts[part.number] = 1


def measure_cases(
    name: str,
    settings: Mapping[str, Value],
    images: list[CaseImage],
    *,
    parts: Collection[str] = (),
    coding: Mapping[str, Any] | None = None,
    reporter: Reporter,
) -> MeasuredCases:
    """Measure ``images`` with the extractor ``name``, and describe the ``parts``; runs in a worker. Places are coded by
    the settings ``coding``; without them, their maps are returned.

    Raises:
        BadArguments: no such extractor or setting.
    """
    extractor = make_extractor(name, **settings)
    batch = ImageBatch(extractor, parts, None if coding is None else PlaceCoding.from_settings(coding))
    marks: dict[int, int] = {}
    with ImageReader() as reader, closing(OpenVolumes(reader)) as volumes:
        for done, image in enumerate(images):
            if done % STEP == 0:
                reporter.progress(done, len(images), name)
                reporter.check_cancelled()
            content = ""
            try:
                shown: Image | Stack
                if extractor.volumes and reader.is_stack(image.address):
                    shown, content = volumes.of_case(image, reporter)
                else:
                    shown, content = _open(reader, volumes, image)
                if content != image.content:
                    content = ""
                    raise BadInput(
                        tr_lazy("'{address}' has changed since it was imported.", address=image.address),
                        "Import it again.",
                    )
                if isinstance(shown, Stack):
                    prepared = extractor.prepare_stack(shown, image.region)
                else:
                    if may_have_marks(shown):
                        # Counted also where they are kept, so that it can be told whether a metric retrieves them.
                        if extractor.settings.get(BURNT_IN_MARKS) == HIDE:
                            shown = hide_marks(shown)
                            marks[image.row] = shown.hidden_marks or 0
                        else:
                            marks[image.row] = len(mark_boxes(shown))
                    prepared = extractor.prepare(shown, image.region)
                whole = _whole(extractor, shown, image.region, prepared) if PLACES in parts else None
                batch.add(image.row, content, prepared, whole)
            except SemblanceError as error:
                # A missing or changed image, for example on an unplugged disk, is tried again by the next call.
                known = "" if isinstance(error, SliceUnavailable) else content
                batch.failures.append((image.row, known, str(error)))
    measured = batch.measured()
    measured.marks = marks
    return measured


def _whole(extractor: Extractor, shown: Image | Stack, region: Region | None, prepared: Any) -> Any:
    """What the extractor needs of the whole image, or of the slice that represents a volume, to describe its places;
    ``prepared`` with ``region``."""
    if isinstance(shown, Stack):
        return extractor.prepare(shown.image(shown.middle(region)))
    return prepared if region is None else extractor.prepare(shown)


def _open(reader: ImageReader, volumes: OpenVolumes, image: CaseImage) -> tuple[Image, str]:
    """The image of a case, and the hash of its content."""
    address, region = image.address, image.region
    if address.slices:
        # Of a volume only the slice to measure is read again.
        place = shown_slice(len(address.slices), region)
        data = reader.read_bytes(address.slices[place])
        same = content_hash(data) == image.slice_hashes[place]
        return reader.decode(data, address.slices[place]), image.content if same else ""
    if reader.holds_voxels(address):
        if not reader.is_stack(address):
            opened = reader.open(address)
            return opened, content_of_pixels(opened, region)
        stack, digest = volumes.whole(address)
        return stack.image(stack.middle(region)), content_of_part(digest, region)
    data = reader.read_bytes(address)
    return reader.decode(data, address, region), content_of_file(data, region)
