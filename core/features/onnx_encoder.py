"""A user's own encoder: its settings file, the ONNX session that runs it, and the extractor."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.onnx_file import identity
from semblance.core.features.resampling import finite, resampled
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Stack
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value

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

    def _refused(self, name: str, wanted: str) -> BadInput:
        return BadInput(
            tr_lazy("'{name}' in '{path}' must be {wanted}.", name=name, path=self._path, wanted=wanted),
            _HELP,
        )


Floats = npt.NDArray[np.float32]

#: Images looked at together, and bytes of their pixels, at most.
_MOST_IMAGES, _MOST_BATCH_BYTES = 16, 32 << 20
#: Numbers a case, at most: more are no features but an image.
_WIDEST = 65_536
#: The quickest first. Not among them: Azure's, which sends the images away, and those that run libraries or
#: engines found beside the model.
_PROVIDERS = (
    "CUDAExecutionProvider",
    "MIGraphXExecutionProvider",
    "ROCMExecutionProvider",
    "DmlExecutionProvider",
    "CoreMLExecutionProvider",
    "CPUExecutionProvider",
)
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
_FATAL = 4


@functools.lru_cache(maxsize=1)
def cached_session(model: Path, settings: EncoderSettings, identity: str) -> Session:  # noqa: ARG001
    """The loaded model, kept until another is asked for; ``identity`` tells changed files apart.

    Raises:
        BadInput: onnxruntime is not installed, cannot load the model, or it does not fit its settings.
    """
    return Session(model, settings)


class Session:
    """``width`` is how many numbers an image gives, ``batch`` how many images are run together."""

    def __init__(self, model: Path, settings: EncoderSettings) -> None:
        self._model, self._settings = model, settings
        self._session = _load(model)
        self._input, self._type, fixed = self._checked_input()
        self._output = self._checked_output()
        size = 4 * settings.height * settings.width * settings.channels
        self._fixed = fixed
        self.batch = fixed or max(1, min(_MOST_IMAGES, _MOST_BATCH_BYTES // size))
        self.width = 0
        shape = (min(2, self.batch), settings.height, settings.width, settings.channels)
        self.width = self.run(np.zeros(shape, dtype=np.float32)).shape[1]

    def run(self, pixels: Floats) -> Floats:
        """(n, h, w, c) ready pixels -> (n, width).

        Raises:
            BadInput: the model failed, or gave something else than one row of numbers an image.
        """
        rows = [self._run(pixels[start : start + self.batch]) for start in range(0, len(pixels), self.batch)]
        return np.concatenate(rows)

    def _run(self, pixels: Floats) -> Floats:
        n = len(pixels)
        if self._fixed > n:
            pixels = np.concatenate([pixels, np.repeat(pixels[-1:], self._fixed - n, axis=0)])
        if self._settings.layout == "NCHW":
            pixels = pixels.transpose(0, 3, 1, 2)
        given = np.ascontiguousarray(pixels, dtype=self._type)
        try:
            (out,) = self._session.run([self._output], {self._input: given})
        except Exception as error:
            # onnxruntime's errors have no common class but Exception.
            raise BadInput(
                tr_lazy("The encoder '{model}' failed: {error}.", model=self._model, error=_reason(error)),
                "Check its settings, or export it again.",
            ) from error
        if not isinstance(out, np.ndarray) or out.ndim == 0 or len(out) != len(given):
            raise BadInput(
                tr_lazy("The encoder '{model}' does not give one row per image.", model=self._model),
                "Name another of its outputs in the settings ('output').",
            )
        rows = self._reduced(out)[:n]
        if not 1 <= rows.shape[1] <= _WIDEST or self.width not in (0, rows.shape[1]):
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' gives {shape} numbers an image.",
                    model=self._model,
                    shape=rows.shape[1],
                ),
                tr_lazy(
                    "1 to {widest}, always equally many, can be used: name another output or 'reduce' it.",
                    widest=_WIDEST,
                ),
            )
        return rows.astype(np.float32)

    def _reduced(self, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        how = self._settings.reduce
        if how == "first" and out.ndim == 3:
            return out[:, 0]
        if how == "mean" and out.ndim == 3:
            return np.asarray(out.mean(axis=1, dtype=np.float32))
        if how == "mean" and out.ndim == 4:
            sides = (2, 3) if self._settings.layout == "NCHW" else (1, 2)
            return np.asarray(out.mean(axis=sides, dtype=np.float32))
        if sum(side > 1 for side in out.shape[1:]) <= 1:
            return out.reshape(len(out), math.prod(out.shape[1:]))
        shape = " x ".join(map(str, out.shape[1:]))
        raise BadInput(
            tr_lazy(
                "The encoder '{model}' gives {shape} numbers an image, not one row.",
                model=self._model,
                shape=shape,
            ),
            "Set 'reduce' in its settings to 'first' (of a table of tokens) or 'mean', or name an 'output'.",
        )

    def _checked_input(self) -> tuple[str, Any, int]:
        """Its name, its type, and the number of images it insists on (0: any)."""
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise BadInput(
                tr_lazy("The encoder '{model}' takes {n} inputs.", model=self._model, n=len(inputs)),
                "Export one that takes images alone.",
            )
        (one,) = inputs
        if one.type not in _TYPES:
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' takes {type}, not pixels as floating point numbers.",
                    model=self._model,
                    type=one.type,
                ),
                "Export it with an input of type float.",
            )
        told, settings = list(one.shape), self._settings
        sides = (settings.height, settings.width)
        wanted = [settings.channels, *sides] if settings.layout == "NCHW" else [*sides, settings.channels]
        agrees = len(told) == 4 and all(
            not isinstance(side, int) or side in (want, -1)
            for side, want in zip(told[1:], wanted, strict=True)
        )
        if not agrees:
            shape = " x ".join(str(side) if isinstance(side, int) else "any" for side in told)
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' takes {shape}, its settings say {layout} with {str}.",
                    model=self._model,
                    shape=shape,
                    layout=settings.layout,
                    str=" x ".join(map(str, wanted)),
                ),
                "Correct 'input_size', 'channels' or 'layout' in its settings.",
            )
        fixed = told[0] if isinstance(told[0], int) and told[0] > 0 else 0
        if fixed > _MOST_IMAGES:
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' takes {fixed} images at a time.", model=self._model, fixed=fixed
                ),
                tr_lazy(
                    "Export it with any number of them, or at most {most_images}.",
                    most_images=_MOST_IMAGES,
                ),
            )
        return one.name, _TYPES[one.type], fixed

    def _checked_output(self) -> str:
        outputs = {output.name: output.type for output in self._session.get_outputs()}
        name = self._settings.output or (next(iter(outputs)) if len(outputs) == 1 else "")
        if name not in outputs:
            problem = (
                tr_lazy("has no output '{name}'", name=name)
                if name
                else tr_lazy("has {n} outputs", n=len(outputs))
            )
            raise BadInput(
                tr_lazy("The encoder '{model}' {problem}.", model=self._model, problem=problem),
                tr_lazy("Name one in its settings as 'output': {outputs}.", outputs=", ".join(outputs)),
            )
        if outputs[name] not in _TYPES:
            raise BadInput(
                tr_lazy(
                    "The output '{name}' of the encoder '{model}' is {outputs}, not numbers.",
                    name=name,
                    model=self._model,
                    outputs=outputs[name],
                ),
                tr_lazy("Name another in its settings as 'output': {outputs}.", outputs=", ".join(outputs)),
            )
        return str(name)


def _load(model: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise BadInput(
            "An encoder of your own needs onnxruntime, which is not installed.",
            'Install it with: pip install "semblance[deep]".',
        ) from None
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    # Workers are processes; more threads in each would slow all.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _FATAL
    options.add_session_config_entry("session.load_model_format", "ONNX")
    there = onnxruntime.get_available_providers()
    try:
        return onnxruntime.InferenceSession(
            str(model), options, providers=[provider for provider in _PROVIDERS if provider in there]
        )
    except Exception as error:
        # As above.
        raise BadInput(
            tr_lazy("The encoder '{model}' cannot be loaded: {error}.", model=model, error=_reason(error)),
            "Export it again with standard operations; libraries of operations are never loaded.",
        ) from error


def _reason(error: Exception) -> str:
    """The first line of what onnxruntime says, without its code."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return text.rsplit(" : ", 1)[-1].strip().rstrip(".") or type(error).__name__


class OnnxEncoder(Extractor):
    """The numbers an ONNX model gives, run by onnxruntime (extra ``deep``); nothing is ever downloaded.

    The hash of model and settings is part of the feature set's own settings: numbers of a changed file never
    join those of the old one. Run together or one by one, images give the same numbers but for rounding.
    """

    name = "onnx"
    title = "Own encoder (ONNX)"
    summary = "Any ONNX image encoder file with a small settings file; needs the extra 'deep'."
    version = 1
    volumes: ClassVar[bool] = True
    needs: ClassVar[str] = "deep"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("model", "", "The encoder's file, NAME.onnx.", file="*.onnx"),
        Parameter("settings", "", "The JSON file that says what the encoder takes and gives.", file="*.json"),
    )

    def __init__(self, **settings: Value) -> None:
        # No one types it: it comes with the settings of a feature set.
        known = settings.pop("identity", "")
        super().__init__(**settings)
        model, described = str(self.settings["model"]), str(self.settings["settings"])
        if not model or not described:
            raise BadArguments(
                "The extractor 'onnx' needs an encoder and its settings.",
                "Name both: --set model=FILE.onnx --set settings=FILE.json.",
            )
        # A query may come from another folder.
        self._model = Path(model).expanduser().absolute()
        file = Path(described).expanduser().absolute()
        self._how = read_settings(file)
        self._identity = identity(self._model, json.dumps(dataclasses.asdict(self._how), sort_keys=True))
        if known not in ("", self._identity):
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' or its settings have changed since its features were made.",
                    model=self._model,
                ),
                "Put the old files back, or extract again under another name and train again.",
            )
        self.settings |= {"model": str(self._model), "settings": str(file), "identity": self._identity}

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """As many as the encoder gives; it is loaded for that.

        Raises:
            BadInput: it cannot be.
        """
        width = self._session().width
        return tuple(FeatureName(f"{self._model.stem} {n}", self._model.stem) for n in range(1, width + 1))

    @property
    def batch(self) -> int:
        """How many images the model is given at a time."""
        return self._session().batch

    def extract(self, image: Image, region: Region | None = None) -> Floats:
        """(d,) float32.

        Raises:
            BadInput: the region lies outside, the pixels or what the encoder makes of them are no finite
                numbers, or the encoder fails.
        """
        ready = self.prepare(image, region)
        return self._checked_finite(self._session().run(ready[np.newaxis])[0], image.name)

    def prepare(self, image: Image, region: Region | None = None) -> Floats:
        """(h, w, c) the pixels as the encoder takes them.

        Raises:
            BadInput: the region lies outside, or the pixels are no finite numbers.
        """
        how, part = self._how, image.cropped(region)
        if how.window is not None and part.values.unit and not part.is_colour:
            planes = [_windowed(part, *how.window)]
        elif how.channels == 3 and part.is_colour:
            planes = list(part.rgb().transpose(2, 0, 1))
        else:
            planes = [part.grey()]
        small = [finite(resampled(np.ascontiguousarray(p), how.height, how.width), image) for p in planes]
        pixels = np.stack(small * (how.channels // len(small)), axis=2)
        pixels *= np.float32(how.white)
        pixels -= np.array(how.mean, dtype=np.float32)
        pixels /= np.array(how.deviation, dtype=np.float32)
        return pixels

    def measure(self, prepared: Sequence[Floats]) -> Floats:
        """(n, d) of pixels as :meth:`prepare` gives them; numbers of whole volumes stay what they are.

        Raises:
            BadInput: the encoder fails, or gives what is no finite number.
        """
        pixels = [one for one in prepared if one.ndim == 3]
        measured = iter(self._session().run(np.stack(pixels)) if pixels else ())
        rows = [next(measured) if one.ndim == 3 else one for one in prepared]
        return self._checked_finite(np.stack(rows), "")

    def extract_many(self, images: Sequence[Image]) -> Floats:
        """(n, d), ``batch`` of them at a time."""
        return self.measure([self.prepare(image) for image in images])

    def prepare_stack(self, stack: Stack, region: Region | None = None) -> Floats:
        """(d,) of a volume: the mean, or the largest, over its slices (those of ``region`` where it has any).

        Raises:
            BadInput: as :meth:`extract`, or a slice cannot be read.
        """
        first, last = 0, len(stack)
        if region is not None and region.z is not None:
            first, last = max(0, region.z), min(len(stack), region.z + region.depth)
        if last <= first:
            raise BadInput(
                tr_lazy(
                    "The region lies outside the {n} slices of '{stack}'.", n=len(stack), stack=stack.name
                ),
                "Choose slices within them.",
            )
        total: npt.NDArray[np.float64] | None = None
        for start in range(first, last, self.batch):
            places = range(start, min(last, start + self.batch))
            rows = self.measure([self.prepare(stack.image(place), region) for place in places])
            pooled = rows.sum(axis=0, dtype=np.float64) if self._how.slices == "mean" else rows.max(axis=0)
            if total is None:
                total = pooled.astype(np.float64)
            else:
                total = total + pooled if self._how.slices == "mean" else np.maximum(total, pooled)
        assert total is not None
        return (total / (last - first) if self._how.slices == "mean" else total).astype(np.float32)

    def _session(self) -> Session:
        return cached_session(self._model, self._how, self._identity)

    def _checked_finite(self, numbers: Floats, name: str) -> Floats:
        if not np.isfinite(numbers).all():
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' gives no finite numbers for {name}.",
                    model=self._model,
                    name=name or "the image",
                ),
                "Check 'mean', 'deviation' and 'white' in its settings.",
            )
        return numbers


def _windowed(image: Image, level: float, width: float) -> Floats:
    """(h, w) 0..1: what the window shows of the values; what is no image is 0."""
    shown = (image.measured() - np.float32(level - width / 2.0)) / np.float32(width)
    # NaN stays, to be refused.
    np.clip(shown, 0.0, 1.0, out=shown)
    outside = image.padded()
    if outside is not None:
        shown[outside] = 0.0
    return shown
