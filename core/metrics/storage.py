"""Metrics as files: a zip of ``metric.json`` and one ``.npy`` an array; nothing in it is ever unpickled."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.files import replacing
from semblance.core.language import tr_lazy
from semblance.core.limits import EXPANSION, allow_memory, max_text_bytes, memory_limit, size_text
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance
from semblance.core.metrics.distances import DISTANCES
from semblance.core.metrics.steps import STEPS, Step

FORMAT = "semblance-metric"
#: Increased by one with every change that older programs cannot read.
VERSION = 1
MANIFEST = "metric.json"

MAX_ENTRIES = 200

_KINDS_OF_NUMBERS = "fiub"
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Errors that the readers of zip, JSON and .npy raise for damaged or forged files.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TokenError,
    TypeError,
    ValueError,
)


class MetricContents(NamedTuple):
    """The content of the file of a metric: the arguments of :class:`semblance.core.metrics.metric.Metric`."""

    steps: tuple[Step, ...]
    distance: Distance
    card: MetricCard
    feature_groups: tuple[str, ...]


class StorableMetric(Protocol):
    """A metric that can be stored."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """Fitted steps in order."""

    @property
    def distance(self) -> Distance:
        """The distance between rows after the steps."""

    @property
    def card(self) -> MetricCard:
        """Its card."""

    @property
    def feature_groups(self) -> tuple[str, ...]:
        """The group of every column it takes."""


def _parts(metric: StorableMetric) -> list[Step | Distance]:
    return [*metric.steps, metric.distance]


def content_hash(metric: StorableMetric) -> str:
    """SHA-256 of everything that determines its distances and explanations: steps, distance and feature groups."""
    digest = hashlib.sha256()

    def add(data: bytes) -> None:
        digest.update(struct.pack("<Q", len(data)))
        digest.update(data)

    add(json.dumps([VERSION, list(metric.feature_groups)]).encode())
    for part in _parts(metric):
        add(json.dumps([part.kind, part.settings()], sort_keys=True).encode())
        for name, array in sorted(part.arrays().items()):
            add(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
            add(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_metric(metric: StorableMetric, path: Path, *, private: bool = True) -> None:
    """Write ``metric`` to ``path`` atomically.

    Raises:
        BadInput: the file cannot be written; an existing file at ``path`` is unchanged.
    """
    entries, arrays = [], {}
    for number, part in enumerate(_parts(metric)):
        names = {name: f"arrays/{number}_{name}.npy" for name in sorted(part.arrays())}
        arrays.update({names[name]: array for name, array in part.arrays().items()})
        entries.append({"kind": part.kind, "settings": part.settings(), "arrays": names})
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "card": metric.card.to_json(),
        "feature_groups": list(metric.feature_groups),
        "steps": entries[:-1],
        "distance": entries[-1],
    }
    path = Path(path)
    try:
        with (
            replacing(path, private=private) as temporary,
            zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        ):
            _put(archive, MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False))
            for name, array in arrays.items():
                data = io.BytesIO()
                np.lib.format.write_array(data, np.ascontiguousarray(array), allow_pickle=False)
                _put(archive, name, data.getvalue())
    except OSError as error:
        reason = error.strerror or tr_lazy("the disk refused it")
        raise BadInput(
            tr_lazy("The metric could not be written to '{path}': {reason}.", path=path, reason=reason),
            "Free some space or choose a folder you may write to.",
        ) from None


def _put(archive: zipfile.ZipFile, name: str, data: str | bytes) -> None:
    """An entry without the time of writing, so that the same metric always gives the same file."""
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED, 1)


@contextlib.contextmanager
def naming_the_file(path: Path) -> Iterator[None]:
    """Turn any error of reading the metric at ``path`` into one that names the file.

    Raises:
        BadInput: no such file, not a metric, damaged, too large, or of a newer program.
    """
    try:
        yield
    except FileNotFoundError:
        raise BadInput(
            tr_lazy("There is no metric at '{path}'.", path=path), "Choose another, or train it again."
        ) from None
    except OSError as error:
        reason = error.strerror or tr_lazy("it cannot be read")
        raise BadInput(
            tr_lazy("The metric '{path}' could not be read: {reason}.", path=path, reason=reason),
            "Check who may read it, restore a copy, or train the metric again.",
        ) from None
    except BadInput as error:
        hint = error.hint or tr_lazy("Train the metric again.")
        raise BadInput(
            tr_lazy("The metric '{path}' cannot be used. {message}", path=path, message=error.message), hint
        ) from None
    except DAMAGED:
        raise BadInput(
            tr_lazy("'{path}' is not a metric, or it is damaged.", path=path),
            "Restore a copy, or train the metric again.",
        ) from None


def read_metric_file(path: Path) -> MetricContents:
    """The content of the file at ``path``, not yet checked against its content hash.

    Raises:
        BadInput: a file that is not a metric's, too large, or of a newer program.
        OSError: it cannot be read. A damaged file raises what its readers raise; see :func:`naming_the_file`.
    """
    with zipfile.ZipFile(path) as archive:
        return _read(archive)


def _read(archive: zipfile.ZipFile) -> MetricContents:
    entries = {info.filename: info for info in archive.infolist()}
    size = sum(info.file_size for info in entries.values())
    # A 2,560 x 2,560 map is 52 MB. Each array is copied while it is read.
    limit = max(memory_limit() // 3, EXPANSION * sum(info.compress_size for info in entries.values()))
    if len(entries) > MAX_ENTRIES or size > limit:
        raise BadInput(
            tr_lazy(
                "It is far larger than any metric: {size} in {n} parts.", size=size_text(size), n=len(entries)
            ),
            tr_lazy("If you know where it comes from, {allow}.", allow=allow_memory(3 * size)),
        )
    if any(info.compress_type not in _COMPRESSIONS for info in entries.values()):
        raise BadInput("It is packed in a way metrics are not.")
    if MANIFEST not in entries or entries[MANIFEST].file_size > max_text_bytes():
        raise BadInput(tr_lazy("It has no usable '{manifest}'.", manifest=MANIFEST))
    manifest = _table(json.loads(_bytes(archive, entries[MANIFEST]).decode("utf-8")))
    if manifest.get("format") != FORMAT or not isinstance(manifest.get("version"), int):
        raise BadInput("It is not a metric of Semblance.")
    if manifest["version"] > VERSION:
        raise BadInput("It was made by a newer version of Semblance.", "Update Semblance to use it.")
    groups, steps = manifest.get("feature_groups"), manifest.get("steps")
    if not isinstance(groups, list) or not isinstance(steps, list):
        raise BadInput("Its list of steps or feature groups is missing.")
    card = MetricCard.from_json(_table(manifest.get("card")))
    step_kinds = {kind.kind: kind for kind in STEPS}
    distance_kinds = {kind.kind: kind for kind in DISTANCES}
    return MetricContents(
        tuple(_restore(archive, entries, step_kinds, entry) for entry in steps),
        _restore(archive, entries, distance_kinds, manifest.get("distance")),
        card,
        tuple(str(group) for group in groups),
    )


def _restore(
    archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], kinds: dict[str, Any], stored: Any
) -> Any:
    stored = _table(stored)
    kind, settings, names = stored.get("kind"), _table(stored.get("settings")), _table(stored.get("arrays"))
    if kind not in kinds:
        raise BadInput(
            tr_lazy("It uses '{kind}', which this version does not know.", kind=kind),
            "Update Semblance to use it.",
        )
    arrays = {name: _array(_bytes(archive, entries[entry])) for name, entry in names.items()}
    return kinds[kind].restore(settings, arrays)


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput("Its description has the wrong form.")
    return value


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as file:
        data = file.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise BadInput("One of its entries has another size than stated.")
    return data


def _array(data: bytes) -> npt.NDArray[Any]:
    """The array of a ``.npy`` file; its header is checked against the size before anything is allocated."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise BadInput("One of its arrays has an unknown form.")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in _KINDS_OF_NUMBERS or dtype.hasobject or fortran:
        raise BadInput("One of its arrays does not hold plain numbers.")
    if math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise BadInput("One of its arrays is incomplete.")
    array = np.frombuffer(data, dtype=dtype, offset=file.tell()).reshape(shape)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise BadInput("One of its arrays holds values that are not numbers.")
    return array.copy()
