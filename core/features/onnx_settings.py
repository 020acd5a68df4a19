"""The settings file beside an ONNX encoder: how an image becomes its input, and its output one row of numbers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
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
    row or the "mean". ``slices``: of a volume the "mean" or the "max" over its slices.
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
