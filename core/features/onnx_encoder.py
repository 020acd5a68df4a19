"""A user's own encoder: any image encoder in an ONNX file with a settings file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.onnx_file import identity, read_settings
from semblance.core.features.onnx_session import Floats, Session, cached_session, pooled_over_slices
from semblance.core.features.places import PLACES, Descriptions, PlaceGrid
from semblance.core.features.resampling import finite, resampled
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Stack
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value


class OnnxEncoder(Extractor):
    """The numbers an ONNX model gives, run by onnxruntime; nothing is ever downloaded.

    The hash of model and settings is part of the feature set's own settings: numbers of a changed file never
    join those of the old one. Run together or one by one, images give the same numbers but for rounding.
    """

    name = "onnx"
    title = "Own encoder (ONNX)"
    summary = "Any ONNX image encoder file with a small settings file."
    version = 1
    volumes = True
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
        how = dataclasses.asdict(self._how)
        if not self._how.map:
            # As before there were maps: the numbers are the same.
            del how["map"]
        self._identity = identity(self._model, json.dumps(how, sort_keys=True))
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

    @property
    def parts(self) -> tuple[str, ...]:
        """Places, where its settings name a map."""
        return (PLACES,) if self._how.map else ()

    def describe(self, prepared: Sequence[Floats]) -> Descriptions:
        """The features and the places of images as :meth:`prepare` gives them, of one pass of the model.

        Raises:
            BadInput: as :meth:`measure`.
        """
        if not self._how.map:
            return Descriptions(self.measure(prepared))
        features, maps = self._session().run_with_map(np.stack(prepared))
        return Descriptions(self._checked_finite(features, ""), maps=self._checked_finite(maps, ""))

    def place_grid(self, height: int, width: int, region: Region | None = None) -> PlaceGrid | None:
        """The places of its map, over the whole image or over ``region``: both are stretched to the input.

        Raises:
            BadInput: the encoder cannot be loaded.
        """
        grid = self._session().grid
        if grid is None:
            return None
        if region is None:
            return PlaceGrid(*grid, (0.0, 0.0, float(width), float(height)))
        return PlaceGrid(*grid, region.clipped(height, width).box)

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
        return how.scaled(pixels)

    def measure(self, prepared: Sequence[Floats]) -> Floats:
        """(n, d) of pixels as :meth:`prepare` gives them; features of whole volumes are returned unchanged.

        Raises:
            BadInput: the encoder fails, or returns a number that is not finite.
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

        def measured(slices: Sequence[Image]) -> Floats:
            return self.measure([self.prepare(one, region) for one in slices])

        return pooled_over_slices(measured, stack, region, batch=self.batch, how=self._how.slices)

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
    """(h, w) 0..1: the values after the window; padding is 0."""
    shown = (image.physical_values() - np.float32(level - width / 2.0)) / np.float32(width)
    # NaN stays, to be refused.
    np.clip(shown, 0.0, 1.0, out=shown)
    outside = image.padding_mask()
    if outside is not None:
        shown[outside] = 0.0
    return shown
