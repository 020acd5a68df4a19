"""An ONNX encoder run by onnxruntime: the shipped one and a user's own."""

from __future__ import annotations

import contextlib
import functools
import math
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.engine.onnxruntime_import import import_onnxruntime
from semblance.core.errors import BadInput
from semblance.core.features.onnx_file import EncoderSettings
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Stack
from semblance.core.language import tr_lazy

Floats = npt.NDArray[np.float32]

#: Maximum number of images measured together, and of bytes of their pixels.
_MOST_IMAGES, _MOST_BATCH_BYTES = 16, 32 << 20
#: Numbers a case, at most: more are no features but an image.
_WIDEST = 65_536
#: Sides of a grid of places, at most: a larger one is averaged. And of the numbers of a place.
_LARGEST_GRID, _MOST_CHANNELS = 16, 2048
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
#: Seconds for one batch of at most 16 images: a network that is too slow by far takes 1 s for each.
TIME_LIMIT_S = 120.0


# The shipped encoder and one of the user's own.
@functools.lru_cache(maxsize=2)
def cached_session(model: Path, settings: EncoderSettings, identity: str) -> Session:  # noqa: ARG001
    """The loaded model, cached for the next image; ``identity`` detects changed files.

    Raises:
        BadInput: onnxruntime is not installed, cannot load the model, or it does not fit its settings.
    """
    return Session(model, settings)


class Session:
    """``width`` is how many numbers an image gives, ``batch`` how many images are run together, ``grid`` the rows and
    columns of places of a model whose settings name a map."""

    def __init__(self, model: Path, settings: EncoderSettings) -> None:
        self._model, self._settings = model, settings
        with _limited_time():
            self._session = _load(model)
        self._input, self._type, fixed = self._checked_input()
        self._output = self._checked_output()
        size = 4 * settings.height * settings.width * settings.channels
        self._fixed = fixed
        self.batch = fixed or max(1, min(_MOST_IMAGES, _MOST_BATCH_BYTES // size))
        self.width = 0
        shape = (min(2, self.batch), settings.height, settings.width, settings.channels)
        blank = np.zeros(shape, dtype=np.float32)
        self.width = self.run(blank).shape[1]
        self.grid: tuple[int, int] | None = None
        if settings.map:
            maps = self.run_with_map(blank)[1]
            self.grid = (maps.shape[1], maps.shape[2])

    def run(self, pixels: Floats) -> Floats:
        """(n, h, w, c) ready pixels -> (n, width).

        Raises:
            BadInput: the model failed, or gave something else than one row of numbers an image.
        """
        rows = [self._run(pixels[start : start + self.batch]) for start in range(0, len(pixels), self.batch)]
        return np.concatenate(rows)

    def run_with_map(self, pixels: Floats) -> tuple[Floats, Floats]:
        """(n, h, w, c) ready pixels -> (n, width), and (n, rows, columns, m), the map of places named in the settings.

        Raises:
            BadInput: as :meth:`run`, or there is no such map.
        """
        rows, maps = [], []
        for start in range(0, len(pixels), self.batch):
            out, map_ = self._outputs(pixels[start : start + self.batch], [self._output, self._settings.map])
            rows.append(self._rows(out))
            maps.append(self._as_map(map_))
        return np.concatenate(rows), np.concatenate(maps)

    def run_outputs(self, pixels: Floats, outputs: Sequence[str]) -> list[Floats]:
        """(n, h, w, c) ready pixels -> each of ``outputs`` by name, (n, ...) as the model gives it.

        Raises:
            BadInput: the model failed, has no such output, or does not give one entry an image.
        """
        starts = range(0, len(pixels), self.batch)
        parts = [self._outputs(pixels[start : start + self.batch], outputs) for start in starts]
        return [np.concatenate(found).astype(np.float32) for found in zip(*parts, strict=True)]

    def _run(self, pixels: Floats) -> Floats:
        return self._rows(self._outputs(pixels, [self._output])[0])

    def _rows(self, out: npt.NDArray[Any]) -> Floats:
        rows = self._reduced(out)
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

    def _outputs(self, pixels: Floats, outputs: Sequence[str]) -> list[npt.NDArray[Any]]:
        n = len(pixels)
        if self._fixed > n:
            pixels = np.concatenate([pixels, np.repeat(pixels[-1:], self._fixed - n, axis=0)])
        if self._settings.layout == "NCHW":
            pixels = pixels.transpose(0, 3, 1, 2)
        given = np.ascontiguousarray(pixels, dtype=self._type)
        options = _run_options()
        try:
            with _limited_time(options) as expired:
                names = list(dict.fromkeys(outputs))
                by_name = dict(
                    zip(names, self._session.run(names, {self._input: given}, options), strict=True)
                )
                found = [by_name[name] for name in outputs]
        except Exception as error:
            # onnxruntime's errors have no common class but Exception.
            if expired.is_set():
                raise BadInput(
                    tr_lazy(
                        "The encoder '{model}' took more than {seconds} s for {n} images.",
                        model=self._model,
                        seconds=TIME_LIMIT_S,
                        n=n,
                    ),
                    "Choose a smaller encoder, or a smaller 'input_size' in its settings.",
                ) from error
            raise BadInput(
                tr_lazy("The encoder '{model}' failed: {error}.", model=self._model, error=_reason(error)),
                "Check its settings, or export it again.",
            ) from error
        if any(not isinstance(out, np.ndarray) or out.ndim == 0 or len(out) != len(given) for out in found):
            raise BadInput(
                tr_lazy("The encoder '{model}' does not give one row per image.", model=self._model),
                "Name another of its outputs in the settings ('output').",
            )
        return [out[:n] for out in found]

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

    def _as_map(self, out: npt.NDArray[Any]) -> Floats:
        """(n, rows, columns, m) of an output that is a map or the tokens of a square grid."""
        found = out
        if out.ndim == 3:
            # A class token comes before the places.
            side = math.isqrt(out.shape[1])
            if side * side == out.shape[1] - 1:
                found = out[:, 1:]
            if side * side == found.shape[1]:
                found = found.reshape(len(out), side, side, out.shape[2])
        elif out.ndim == 4 and self._settings.layout == "NCHW":
            found = out.transpose(0, 2, 3, 1)
        if found.ndim != 4 or min(found.shape[1:]) < 1 or found.shape[3] > _MOST_CHANNELS:
            raise BadInput(
                tr_lazy(
                    "The output '{name}' of the encoder '{model}' gives {shape} numbers an image, which is no map.",
                    name=self._settings.map,
                    model=self._model,
                    shape=" x ".join(map(str, out.shape[1:])),
                ),
                tr_lazy(
                    "Name in its settings as 'map' an output of channels, rows and columns (in the order of 'layout'), "
                    "or the tokens of a square grid, with at most {most} channels. Or leave 'map' out.",
                    most=_MOST_CHANNELS,
                ),
            )
        return _at_most(found.astype(np.float32), _LARGEST_GRID)

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
        declared, settings = list(one.shape), self._settings
        sides = (settings.height, settings.width)
        expected = [settings.channels, *sides] if settings.layout == "NCHW" else [*sides, settings.channels]
        agrees = len(declared) == 4 and all(
            not isinstance(side, int) or side in (expected_side, -1)
            for side, expected_side in zip(declared[1:], expected, strict=True)
        )
        if not agrees:
            shape = " x ".join(str(side) if isinstance(side, int) else "any" for side in declared)
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' takes {shape}, its settings say {layout} with {str}.",
                    model=self._model,
                    shape=shape,
                    layout=settings.layout,
                    str=" x ".join(map(str, expected)),
                ),
                "Correct 'input_size', 'channels' or 'layout' in its settings.",
            )
        fixed = declared[0] if isinstance(declared[0], int) and declared[0] > 0 else 0
        if fixed > _MOST_IMAGES:
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' takes {fixed} images at a time.", model=self._model, fixed=fixed
                ),
                tr_lazy(
                    "Export it with any number of them, or at most {most_images}.", most_images=_MOST_IMAGES
                ),
            )
        return one.name, _TYPES[one.type], fixed

    def _checked_output(self) -> str:
        outputs = {output.name for output in self._session.get_outputs()}
        if self._settings.map and self._settings.map not in outputs:
            raise BadInput(
                tr_lazy(
                    "The encoder '{model}' has no output '{name}' with a map.",
                    model=self._model,
                    name=self._settings.map,
                ),
                tr_lazy(
                    "Name one in its settings as 'map': {outputs}. Or leave 'map' out.",
                    outputs=", ".join(sorted(outputs)),
                ),
            )
        return self._output_of_features()

    def _output_of_features(self) -> str:
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


def _at_most(maps: Floats, side: int) -> Floats:
    """``maps`` (n, rows, columns, m), averaged to at most ``side`` rows and columns; each place of the result covers as
    much of the image as the others."""
    for axis in (1, 2):
        count = maps.shape[axis]
        if count > side:
            # How much of each of the old rows lies in each of the new ones.
            ends = np.arange(side + 1) * (count / side)
            old = np.arange(count)
            share = np.minimum(ends[1:, np.newaxis], old + 1) - np.maximum(ends[:-1, np.newaxis], old)
            weights = (np.clip(share, 0.0, None) * (side / count)).astype(np.float32)
            maps = np.moveaxis(np.tensordot(weights, maps, axes=(1, axis)), 0, axis)
    return np.ascontiguousarray(maps)


@contextlib.contextmanager
def _limited_time(options: Any = None) -> Iterator[threading.Event]:
    """Stop what runs with ``options`` after :data:`TIME_LIMIT_S`. The event is set when the time is over.

    After twice that time a worker process ends itself: one operation cannot be interrupted, and the pool goes on
    without the worker."""
    expired = threading.Event()

    def stop() -> None:
        expired.set()
        if options is not None:
            options.terminate = True

    def end() -> None:
        os.kill(os.getpid(), signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

    timers = [threading.Timer(TIME_LIMIT_S, stop)]
    if multiprocessing.parent_process() is not None:
        timers.append(threading.Timer(2 * TIME_LIMIT_S, end))
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield expired
    finally:
        for timer in timers:
            timer.cancel()


def _run_options() -> Any:
    import onnxruntime

    return onnxruntime.RunOptions()


def _load(model: Path) -> Any:
    try:
        onnxruntime = import_onnxruntime()
    except ImportError:
        raise BadInput(
            "An encoder needs onnxruntime, which is not installed.",
            'Install it with: pip install "semblance-retrieval[app]".',
        ) from None
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
    """The first line of onnxruntime's message, without its code."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return text.rsplit(" : ", 1)[-1].strip().rstrip(".") or type(error).__name__


def pooled_over_slices(
    measured: Callable[[Sequence[Image]], Floats],
    stack: Stack,
    region: Region | None,
    *,
    batch: int,
    how: str,
) -> Floats:
    """(d,) the "mean" or "max" of what ``measured`` gives for the slices of a volume (those of ``region`` where
    it has any), ``batch`` of them at a time.

    Raises:
        BadInput: the region has no slice of the volume, or a slice cannot be read or measured.
    """
    first, last = 0, len(stack)
    if region is not None and region.z is not None:
        first, last = max(0, region.z), min(len(stack), region.z + region.depth)
    if last <= first:
        raise BadInput(
            tr_lazy("The region lies outside the {n} slices of '{stack}'.", n=len(stack), stack=stack.name),
            "Choose slices within them.",
        )
    total: npt.NDArray[np.float64] | None = None
    for start in range(first, last, batch):
        rows = measured([stack.image(place) for place in range(start, min(last, start + batch))])
        pooled = rows.sum(axis=0, dtype=np.float64) if how == "mean" else rows.max(axis=0)
        if total is None:
            total = pooled.astype(np.float64)
        else:
            total = total + pooled if how == "mean" else np.maximum(total, pooled)
    assert total is not None
    return (total / (last - first) if how == "mean" else total).astype(np.float32)
