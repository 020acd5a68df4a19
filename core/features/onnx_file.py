"""An ONNX file and its settings, checked before it is loaded: its content, the other files it reads, and its hash."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

_MOST_SETTINGS_BYTES = 1 << 20
_LARGEST = 2048
_HELP = tr_lazy("The help page 'Own encoder' shows such a file.")


@dataclass(frozen=True)
class EncoderSettings:
    """How an image becomes the encoder's input, and its output one row of numbers.

    ``height``, ``width``: pixels of the input. ``channels``: 1 grey or 3 red, green, blue. Pixels are 0 black
    to ``white``, less ``mean``, divided by ``deviation`` (one a channel). ``layout``: "NCHW" or "NHWC".
    ``window``: level and width shown of images whose numbers have a unit (CT), ``None``: as displayed.
    ``output``: its name, "" for the only one. ``reduce``: of an output that is a table an image, its "first"
    row or the "mean". ``slices``: of a volume the "mean" or the "max" over its slices. ``map``: the name of the output
    with a map of places, in ``layout``, or with the tokens (n, t, c) of a square grid, whose first may be a class
    token; "" for none.
    """

    height: int
    width: int
    channels: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    white: float
    layout: str
    window: tuple[float, float] | None
    output: str
    reduce: str
    slices: str
    map: str = ""

    def scaled(self, pixels: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """(..., channels) of 0 black to ``white`` as the encoder takes them; ``pixels`` themselves are changed."""
        pixels -= np.array(self.mean, dtype=np.float32)
        pixels /= np.array(self.deviation, dtype=np.float32)
        return pixels


def read_settings(path: Path) -> EncoderSettings:
    """The settings at ``path``.

    Raises:
        BadInput: no such file, no JSON, an unknown or missing entry, or a value that cannot be.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_SETTINGS_BYTES + 1)
    except OSError as error:
        raise BadInput(
            tr_lazy(
                "The settings '{path}' of the encoder cannot be read: {reason}.",
                path=path,
                reason=error.strerror or "it is no file",
            ),
            "Name the JSON file with --set settings=FILE.",
        ) from None
    try:
        if len(data) > _MOST_SETTINGS_BYTES:
            raise ValueError
        values = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise BadInput(tr_lazy("'{path}' is not a JSON file of settings.", path=path), _HELP) from None
    if not isinstance(values, dict):
        raise BadInput(tr_lazy("'{path}' holds no table of settings.", path=path), _HELP)
    return _Reader(path, values).read()


class _Reader:
    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self._path, self._values = path, dict(values)

    def read(self) -> EncoderSettings:
        height, width = self._size()
        channels = self._choice("channels", 3, (1, 3))
        found = EncoderSettings(
            height,
            width,
            channels,
            self._numbers("mean", 0.0, channels),
            self._numbers("deviation", 1.0, channels),
            self._number("white", self._values.pop("white", 1.0)),
            self._choice("layout", "NCHW", ("NCHW", "NHWC")),
            self._window(),
            self._text("output"),
            self._choice("reduce", "none", ("none", "first", "mean")),
            self._choice("slices", "mean", ("mean", "max")),
            self._text("map"),
        )
        if any(one <= 0.0 for one in (*found.deviation, found.white)):
            raise self._refused(tr_lazy("deviation and white"), tr_lazy("greater than 0"))
        if self._values:
            name = next(iter(self._values))
            known = ", ".join(["input_size", *list(EncoderSettings.__dataclass_fields__)[2:]])
            raise BadInput(
                tr_lazy("'{path}' has an unknown entry '{name}'.", path=self._path, name=name),
                tr_lazy("Known entries: {known}.", known=known),
            )
        return found

    def _size(self) -> tuple[int, int]:
        value = self._values.pop("input_size", None)
        sides = value if isinstance(value, list) else [value, value]
        allowed = len(sides) == 2 and all(type(side) is int and 1 <= side <= _LARGEST for side in sides)
        if not allowed:
            raise self._refused(
                "input_size",
                tr_lazy("a whole number of pixels up to {largest}, or [height, width]", largest=_LARGEST),
            )
        return sides[0], sides[1]

    def _choice(self, name: str, default: Any, choices: tuple[Any, ...]) -> Any:
        value = self._values.pop(name, default)
        if type(value) is not type(default) or value not in choices:
            raise self._refused(name, tr_lazy("one of {choices}", choices=", ".join(map(str, choices))))
        return value

    def _text(self, name: str) -> str:
        value = self._values.pop(name, None)
        if value is not None and not isinstance(value, str):
            raise self._refused(name, tr_lazy("a name"))
        return value or ""

    def _numbers(self, name: str, default: float, channels: int) -> tuple[float, ...]:
        value = self._values.pop(name, default)
        given = value if isinstance(value, list) else [value] * channels
        if len(given) != channels:
            raise self._refused(name, tr_lazy("a number, or a list of {channels}", channels=channels))
        return tuple(self._number(name, one) for one in given)

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._refused(name, tr_lazy("a number"))
        return float(value)

    def _window(self) -> tuple[float, float] | None:
        value = self._values.pop("window", None)
        if value is None:
            return None
        if not isinstance(value, dict) or value.keys() != {"level", "width"}:
            raise self._refused("window", tr_lazy('a table such as {"level": 40, "width": 400}'))
        level, width = (self._number("window", value[name]) for name in ("level", "width"))
        if width <= 0.0:
            raise self._refused("window", tr_lazy("wider than 0"))
        return level, width

    def _refused(self, name: str, expected: str) -> BadInput:
        return BadInput(
            tr_lazy(
                "'{name}' in '{path}' must be {expected}.", name=name, path=self._path, expected=expected
            ),
            _HELP,
        )


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
