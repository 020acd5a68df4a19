"""Check an ONNX file before it is loaded: its content, the other files it reads, and its hash."""

from __future__ import annotations

import functools
import hashlib
import json
import mmap
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

#: A message of protobuf cannot be larger.
_MOST_BYTES = (1 << 31) - 1
_MOST_FIELDS = 20_000_000
#: Fields that lead to tensors, by the kind of message they stand in; see onnx.proto.
_LEADS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
_NODE_OPERATION = 4
#: An operation that has a vendor's library run a file of its own.
_COMPILED = b"EPContext"
#: Operations that run a graph inside the graph, as often as the file says, so their duration is unknown.
_CONTROL_FLOW = frozenset((b"Loop", b"Scan", b"If", b"SequenceMap"))


def identity(model: Path, settings: str) -> str:
    """SHA-256 of all that decides what the encoder gives: the model, the files it reads, and ``settings``.

    Raises:
        BadInput: not an ONNX model, or one that reads what it must not.
    """
    files = [model, *(Path(other) for other in _reads(str(model), _stamp(model)))]
    digests = [file_digest(file) for file in files]
    return hashlib.sha256(json.dumps([digests, settings]).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of the file at ``path``; read again only when it changes.

    Raises:
        BadInput: there is no such file.
    """
    return _digest(str(path), _stamp(path))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        facts = path.stat()
    except OSError as error:
        raise BadInput(
            tr_lazy(
                "There is no encoder at '{path}': {reason}.",
                path=path,
                reason=error.strerror or "it is no file",
            ),
            "Put the file back, or name another with --set model=FILE.",
        ) from None
    return facts.st_size, facts.st_mtime_ns


# Reading weights of many MB again for every query image would take longer than the search.


@functools.lru_cache(maxsize=4)
def _reads(model: str, stamp: tuple[int, int]) -> tuple[str, ...]:  # noqa: ARG001 - asked again when it changes
    return tuple(map(str, external_files(Path(model))))


@functools.lru_cache(maxsize=64)
def _digest(file: str, stamp: tuple[int, int]) -> str:  # noqa: ARG001 - asked again when it changes
    with Path(file).open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def external_files(model: Path) -> list[Path]:
    """The files with weights that ``model`` reads, each once, in the order of their names.

    Raises:
        BadInput: not an ONNX model; a file that is missing or lies outside the model's folder; or a part
            compiled for one machine, or operations that run a part of it again and again.
    """
    names: set[str] = set()
    try:
        with model.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not 0 < size <= _MOST_BYTES:
                raise ValueError
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
                names.update(_Walk(view).locations())
    except OSError as error:
        raise BadInput(
            tr_lazy(
                "The encoder '{model}' cannot be read: {reason}.",
                model=model,
                reason=error.strerror or "it is no file",
            )
        ) from None
    except _Compiled:
        raise BadInput(
            tr_lazy("The encoder '{model}' holds a part compiled for one machine.", model=model),
            "Export it as plain ONNX.",
        ) from None
    except _ControlFlow as error:
        raise BadInput(
            tr_lazy(
                "The encoder '{model}' uses the operation {operation}, which can run without end.",
                model=model,
                operation=str(error),
            ),
            "Export it without control flow: with a fixed image size, and traced instead of scripted.",
        ) from None
    except (ValueError, UnicodeDecodeError):
        raise BadInput(
            tr_lazy("'{model}' is not an ONNX model, or it is damaged.", model=model),
            "Export the encoder again as ONNX.",
        ) from None
    return [_inside(model, name) for name in sorted(names)]


def _inside(model: Path, name: str) -> Path:
    parts = PurePosixPath(name.replace("\\", "/"))
    folder = model.absolute().parent
    outside = parts.is_absolute() or ".." in parts.parts or PureWindowsPath(name).anchor or "\0" in name
    if not outside:
        path = folder / parts
        outside = not path.resolve().is_relative_to(folder.resolve())
    if outside:
        raise BadInput(
            tr_lazy("The encoder '{model}' refers to '{name}' outside its folder.", model=model, name=name),
            "Put its weights beside it and export it again, or use an encoder in one file.",
        )
    if not path.is_file():
        raise BadInput(
            tr_lazy("The weights '{name}' of the encoder '{model}' are missing.", model=model, name=name),
            "Put that file into the model's folder.",
        )
    return path


class _Compiled(Exception):
    pass


class _ControlFlow(Exception):
    pass


class _Walk:
    """Through the messages of protobuf that may name another file; nothing is copied, nothing recursed."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._fields = 0

    def locations(self) -> Iterator[str]:
        """Where external weights lie, as the model writes it.

        Raises:
            ValueError: it is no model.
        """
        waiting = [("model", 0, len(self._view))]
        graphs = 0
        while waiting:
            kind, start, end = waiting.pop()
            graphs += kind == "graph"
            entry: dict[int, bytes] = {}
            for field, first, last in self._parts(start, end):
                if kind == "entry":
                    entry[field] = bytes(self._view[first:last])
                elif kind == "node" and field == _NODE_OPERATION:
                    operation = bytes(self._view[first : min(last, first + 64)])
                    if operation == _COMPILED:
                        raise _Compiled
                    if operation in _CONTROL_FLOW:
                        raise _ControlFlow(operation.decode())
                elif field in _LEADS[kind]:
                    waiting.append((_LEADS[kind][field], first, last))
            if entry.get(1) == b"location":
                yield entry.get(2, b"").decode("utf-8")
        if not graphs:
            raise ValueError

    def _parts(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Number, start and end of each field that has a length, of the message from ``start`` to ``end``."""
        place = start
        while place < end:
            self._fields += 1
            if self._fields > _MOST_FIELDS:
                raise ValueError
            key, place = self._number(place, end)
            form = key & 7
            if form == 0:
                _, place = self._number(place, end)
            elif form == 1:
                place += 8
            elif form == 5:
                place += 4
            elif form == 2:
                length, place = self._number(place, end)
                if place + length > end:
                    raise ValueError
                yield key >> 3, place, place + length
                place += length
            else:
                raise ValueError
        if place != end:
            raise ValueError

    def _number(self, place: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while place < end and shift < 70:
            byte = self._view[place]
            place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, place
            shift += 7
        raise ValueError
