"""Extract a feature set: numbers of every case of a library, resumable, failures recorded per case."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.engine import Engine, Progress, Task, default_workers
from core.errors import BadInput, SemblanceError
from core.features.extractor import Extractor
from core.features.registry import extractors, make_extractor
from core.imaging.address import PictureAddress
from core.imaging.container import PictureReader
from core.imaging.picture import Picture
from core.imaging.raster import decode
from core.imaging.region import Region
from core.library import open_library
from core.library.content import content_of_file, content_of_pixels
from core.library.records import CHUNK, FeatureSet
from core.parameters import Value
from core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from core.library.library import Library

#: Pictures read together by a worker before it looks whether it should end.
STEP = 16


@dataclass
class ExtractResult:
    """How many cases have numbers now, how many were done in this run, and which could not be."""

    library: str
    features: str
    extractor: str
    n_features: int
    extracted: int = 0
    cases: int = 0
    failed: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def fitting_extractors(library: Path) -> list[str]:
    """Names of the extractors that suit the cases of a library, the default first."""
    with open_library(library) as opened:
        rows = opened.catalogue.all_cases()
    kinds = {bool(r.has_picture) for r in rows}
    return [e.name for e in extractors() if e.needs_picture in kinds]


def extract_features(
    library: Path,
    extractor: str,
    *,
    settings: Mapping[str, Value] | None = None,
    name: str | None = None,
    workers: int | None = None,
    reporter: Reporter = SILENT,
) -> ExtractResult:
    """Give every case of ``library`` its numbers under the feature set ``name`` (default: the extractor's).

    Runs in ``workers`` processes. Cases done before are left as they are; each chunk counts as soon as it is
    written. Cancelling keeps the finished chunks.

    Raises:
        BadArguments: unknown extractor or setting, or ``name`` made otherwise.
        BadInput: no case of the library suits the extractor.
        Cancelled: asked for by the reporter.
    """
    start = time.monotonic()
    made = make_extractor(extractor, **(settings or {}))
    with open_library(library, writable=True) as opened:
        feature_set = _feature_set(opened, made, name or extractor)
        result = ExtractResult(str(opened.path), feature_set.name, made.name, len(feature_set.columns))
        rows = opened.features.waiting(feature_set, pictures=made.needs_picture)
        total = len(rows)
        reporter.progress(0, total, f"Extracting {made.title}")
        if made.needs_picture:
            result.extracted = _extract_pictures(opened, feature_set, made, rows, workers, reporter)
        else:
            result.extracted = _copy_tables(opened, feature_set, rows, reporter)
        reporter.progress(total, total, f"Extracting {made.title}")
        result.cases = len(opened.features.cases_of(feature_set))
        result.failed = [{"case_id": c, "reason": r} for c, r in opened.features.failures(feature_set)]
    result.seconds = time.monotonic() - start
    return result


def _feature_set(library: Library, extractor: Extractor, name: str) -> FeatureSet:
    if extractor.needs_picture:
        columns = [(f.name, f.group) for f in extractor.feature_names]
        if not any(r.has_picture for r in library.catalogue.all_cases()):
            raise BadInput(
                f"{library.path.name} holds no pictures for '{extractor.name}'.",
                "Its cases are rows of a table: use --extractor raw.",
            )
    else:
        found = {source.columns for source in library.catalogue.sources() if source.columns}
        if not found:
            raise BadInput(
                f"{library.path.name} holds no table for '{extractor.name}'.",
                "For pictures use --extractor gabor.",
            )
        if len(found) > 1:
            raise BadInput(
                f"The tables of {library.path.name} have different columns.",
                "Put tables with different columns into libraries of their own.",
            )
        columns = [(column, column) for column in found.pop()]
    dtype = "float32" if extractor.needs_picture else "float64"
    return library.features.make(
        name, extractor.name, extractor.version, extractor.settings, columns, dtype=dtype
    )


def _copy_tables(
    library: Library, feature_set: FeatureSet, rows: npt.NDArray[np.int64], reporter: Reporter
) -> int:
    copied = 0
    for start in range(0, len(rows), CHUNK):
        reporter.check_cancelled()
        part = rows[start : start + CHUNK].tolist()
        # Before the numbers: what changes in between is seen to have changed.
        details = library.catalogue.details(part)
        kept, values = library.catalogue.numbers(part)
        contents = [details[row].content if row in details else "" for row in kept.tolist()]
        copied += library.features.write_chunk(feature_set, kept, values, (), contents)
        reporter.progress(start + len(part), len(rows), f"Copying {feature_set.name}")
    return copied


@dataclass(frozen=True)
class _Picture:
    """A case as a worker needs it."""

    row: int
    content: str
    address: PictureAddress
    region: Region | None


@dataclass
class _Chunk:
    rows: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]
    failures: list[tuple[int, str, str]]
    contents: list[str]


def _extract_pictures(
    library: Library,
    feature_set: FeatureSet,
    extractor: Extractor,
    rows: npt.NDArray[np.int64],
    workers: int | None,
    reporter: Reporter,
) -> int:
    """Hand chunks to worker processes and write what comes back; keeps at most two a worker under way."""
    if not len(rows):
        return 0
    chunks = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)][::-1]
    seen: dict[int, int] = {}
    extracted = 0
    with Engine(min(workers or default_workers(), len(chunks))) as engine:
        running: dict[Future[_Chunk], tuple[int, Task]] = {}
        try:
            while chunks or running:
                while chunks and len(running) < 2 * engine.workers:
                    number = len(chunks)
                    pictures = _pictures(library, chunks.pop())
                    task = engine.submit(
                        _extract_chunk,
                        extractor.name,
                        extractor.settings,
                        pictures,
                        listener=partial(_note, seen, number),
                    )
                    running[task.future] = number, task
                done, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    chunk = future.result()
                    seen[running.pop(future)[0]] = len(chunk.rows) + len(chunk.failures)
                    extracted += library.features.write_chunk(
                        feature_set, chunk.rows, chunk.values, chunk.failures, chunk.contents
                    )
                reporter.progress(sum(seen.values()), len(rows), f"Extracting {extractor.title}")
                reporter.check_cancelled()
        except BaseException:
            for _, task in running.values():
                task.cancel()
            raise
    return extracted


def _note(seen: dict[int, int], number: int, kind: str, news: object) -> None:
    if kind == "progress" and isinstance(news, Progress):
        seen[number] = news.done


def _pictures(library: Library, rows: npt.NDArray[np.int64]) -> list[_Picture]:
    details = library.catalogue.details(rows.tolist())
    return [
        _Picture(row, d.content, d.address, d.region)
        for row, d in sorted(details.items())
        if d.address is not None
    ]


def _extract_chunk(
    name: str, settings: Mapping[str, Value], pictures: list[_Picture], *, reporter: Reporter
) -> _Chunk:
    extractor = make_extractor(name, **settings)
    rows: list[int] = []
    contents: list[str] = []
    values: list[npt.NDArray[np.float32]] = []
    failures: list[tuple[int, str, str]] = []
    with PictureReader() as reader:
        for done, picture in enumerate(pictures):
            if done % STEP == 0:
                reporter.progress(done, len(pictures), name)
                reporter.check_cancelled()
            content = ""
            try:
                opened, content = _open(reader, picture)
                if content != picture.content:
                    content = ""
                    raise BadInput(
                        f"'{picture.address}' has changed since it was imported.", "Import it again."
                    )
                numbers = extractor.extract(opened, picture.region)
            except SemblanceError as error:
                # A picture that is away or not what it was, on a disk unplugged say, is tried again.
                failures.append((picture.row, content, str(error)))
                continue
            rows.append(picture.row)
            contents.append(picture.content)
            values.append(numbers)
    width = len(extractor.feature_names)
    matrix = np.stack(values) if values else np.empty((0, width), dtype=np.float32)
    return _Chunk(np.array(rows, dtype=np.int64), matrix, failures, contents)


def _open(reader: PictureReader, picture: _Picture) -> tuple[Picture, str]:
    """The picture of a case, and what it shows now."""
    if picture.address.frame is not None:
        opened = reader.open(picture.address)
        return opened, content_of_pixels(opened)
    data = reader.read_bytes(picture.address)
    opened = decode(data, str(picture.address), max_pixels=reader.max_pixels)
    return opened, content_of_file(data, picture.region)
