"""The shipped image encoder, the default for images."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.encoder.efficientnet import GRID, LEVEL_CHANNELS, SIDE, WIDTH
from semblance.core.features.encoder.efficientnet import LEVELS as LEVELS_OF_BLOCKS
from semblance.core.features.encoder.model_file import (
    EIGHT_BIT,
    RANDOM,
    TRAINED,
    Bytes,
    Floats,
    all_outputs,
    converted_file,
    encoder_session,
    measured,
    model_file,
)
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.onnx_session import pooled_over_slices
from semblance.core.features.places import LEVELS, PLACES, Descriptions, PlaceGrid, unit_rows
from semblance.core.features.resampling import finite
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.shown_range import as_shown
from semblance.core.imaging.volume import Stack
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value
from semblance.core.tasks import Reporter

#: Which description of an image its numbers are: that of the head, or the levels.
HEAD = "head"

#: Images run together: more are no faster, and their maps fill the memory.
_BATCH = 4


class Encoder(Extractor):
    """1,280 numbers of EfficientNet-Lite0, trained on ImageNet: averages of its last maps over the image.

    The image is shown as the viewer shows it first (:func:`semblance.core.imaging.shown_range.as_shown`), in
    8 bits, and resized to 224 x 224, so that nothing is cut off. Of a region a square is shown, as much larger
    than the region on every side as ``margin`` says; where it leaves the image, the image is mirrored.
    """

    name = "encoder"
    title = "Encoder"
    summary = (
        "1,280 numbers of the network EfficientNet-Lite0 for any image. DICOM is shown through its first window. CT "
        "without a window: lungs for the chest, soft tissue for the abdomen, brain for the head. Other images "
        "of 16 bits without a window: all but the 0.5 % darkest and brightest pixels."
    )
    version = 1
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "margin",
            0.25,
            "How much of its longer side a region is shown larger, on every side.",
            minimum=0.0,
            maximum=4.0,
        ),
        Parameter(
            "slices",
            "middle",
            "Of a volume, the middle slice or the mean over all slices.",
            choices=("middle", "mean"),
        ),
        Parameter(
            "weights",
            TRAINED,
            "Weights trained on ImageNet, or random ones, which show the effect of training. In 8 bits the network is "
            "quicker, and its numbers a little different: they are compared within their own set only.",
            choices=(TRAINED, RANDOM, EIGHT_BIT),
        ),
        Parameter(
            "description",
            HEAD,
            "The averages of the last maps, or levels: the mean and the generalised mean of six depths of the network, "
            "each of length 1. Any set of the encoder has the levels beside it.",
            choices=(HEAD, LEVELS),
            added_later=True,
        ),
    )

    def __init__(self, **settings: Value) -> None:
        super().__init__(**settings)
        self._margin = float(str(self.settings["margin"]))
        self.volumes = self.settings["slices"] == "mean"
        self._gives_levels = self.settings.get("description") == LEVELS

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return _level_names() if self._gives_levels else _names()

    @property
    def level_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the levels, in order."""
        return _level_names()

    @property
    def parts(self) -> tuple[str, ...]:
        """Levels and places; nothing besides the levels, nor of the mean over the slices of a volume."""
        return () if self._gives_levels or self.volumes else (LEVELS, PLACES)

    @property
    def batch(self) -> int:
        """How many images the network is given at a time."""
        return _BATCH

    def extract(self, image: Image, region: Region | None = None) -> Floats:
        """(1280,) float32, at least 0; (3456,) of levels.

        Raises:
            BadInput: the region lies outside, a pixel is no finite number, or the encoder cannot be run.
        """
        row: Floats = self.measure([self.prepare(image, region)])[0]
        return row

    def get_ready(self, reporter: Reporter) -> None:
        """Convert the encoder, once for all processes."""
        weights = str(self.settings["weights"])
        if converted_file(weights) is None:
            reporter.progress(0, None, tr_lazy("Preparing the encoder"))
            # Where that fails, the measurement of each image says why.
            with contextlib.suppress(BadInput):
                model_file(weights)

    def prepare(self, image: Image, region: Region | None = None) -> npt.NDArray[Any]:
        """(224, 224, 3) uint8, what the network is shown.

        Raises:
            BadInput: the region lies outside, or a pixel is no finite number.
        """
        from PIL import Image as PILImage

        pixels = _bytes(_square(as_shown(image), region, self._margin))
        small = PILImage.fromarray(pixels).resize((SIDE, SIDE), PILImage.Resampling.BICUBIC)
        pixels = np.asarray(small)
        return pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, np.newaxis], 3, axis=2)

    def prepare_stack(self, stack: Stack, region: Region | None = None) -> npt.NDArray[Any]:
        """What :meth:`prepare` gives for the middle slice, or (d,) the mean over all slices.

        Raises:
            BadInput: as :meth:`extract`, or a slice cannot be read.
        """
        if not self.volumes:
            return self.prepare(stack.image(stack.middle(region)), region)

        def of_slices(slices: Sequence[Image]) -> Floats:
            return self.measure([self.prepare(one, region) for one in slices])

        return pooled_over_slices(of_slices, stack, region, batch=_BATCH, how="mean")

    def measure(self, prepared: Sequence[npt.NDArray[Any]]) -> Floats:
        """(n, d) of images as :meth:`prepare` gives them; features of whole volumes are returned unchanged.

        Raises:
            BadInput: the encoder cannot be run.
        """
        images = [one for one in prepared if one.ndim == 3]
        rows = iter(self._measured(images) if images else ())
        return np.stack([next(rows) if one.ndim == 3 else one for one in prepared])

    def _measured(self, images: list[Bytes]) -> Floats:
        session = encoder_session(str(self.settings["weights"]))
        if not self._gives_levels:
            return measured(session, images)
        return _of_unit_length(all_outputs(session, images, (LEVELS,))[0])

    def describe(self, prepared: Sequence[npt.NDArray[Any]]) -> Descriptions:
        """The features, levels and places of images as :meth:`prepare` gives them, of one pass of the network.

        Raises:
            BadInput: the encoder cannot be run.
        """
        if not self.parts:
            return Descriptions(self.measure(prepared))
        session = encoder_session(str(self.settings["weights"]))
        features, levels, places = all_outputs(session, list(prepared), ("features", LEVELS, PLACES))
        return Descriptions(features, _of_unit_length(levels), places.transpose(0, 2, 3, 1))

    def maps(self, prepared: Sequence[npt.NDArray[Any]], names: Sequence[str]) -> list[dict[str, Floats]]:
        """Of images as :meth:`prepare` gives them the maps of the network by their ``names``
        (:func:`semblance.core.features.encoder.efficientnet.onnx_model`), each (c, h, w).

        Raises:
            BadInput: the encoder cannot be run.
        """
        found = all_outputs(encoder_session(str(self.settings["weights"])), list(prepared), names)
        return [dict(zip(names, maps, strict=True)) for maps in zip(*found, strict=True)]

    def place_grid(self, height: int, width: int, region: Region | None = None) -> PlaceGrid:
        """14 x 14 places over the whole image, or over the square around ``region`` that is measured."""
        if region is None:
            return PlaceGrid(GRID, GRID, (0.0, 0.0, float(width), float(height)))
        left, top, side = _square_around(region.clipped(height, width), self._margin)
        return PlaceGrid(GRID, GRID, (float(left), float(top), float(left + side), float(top + side)))

    def extract_many(self, images: Sequence[Image]) -> Floats:
        """(n, d), a few of them at a time."""
        return self.measure([self.prepare(image) for image in images])


@functools.cache
def _names() -> tuple[FeatureName, ...]:
    return tuple(FeatureName(tr_lazy("Encoder {n}", n=n), "Encoder") for n in range(1, WIDTH + 1))


@functools.cache
def _level_names() -> tuple[FeatureName, ...]:
    groups = [
        (tr_lazy("Level {n} mean", n=n), tr_lazy("Level {n} generalised mean", n=n)) for n in LEVELS_OF_BLOCKS
    ]
    groups.append((tr_lazy("Last level mean"), tr_lazy("Last level generalised mean")))
    return tuple(
        FeatureName(tr_lazy("{group} {n}", group=group, n=n), group)
        for both, channels in zip(groups, LEVEL_CHANNELS, strict=True)
        for group in both
        for n in range(1, channels + 1)
    )


def _square(image: Image, region: Region | None, margin: float) -> Image:
    """The square around ``region``; the whole image where there is none."""
    if region is None:
        return image
    part = region.clipped(image.height, image.width)
    left, top, side = _square_around(part, margin)
    right, bottom = left + side, top + side
    inside = image.pixels[max(0, top) : bottom, max(0, left) : right]
    beyond = [(max(0, -top), max(0, bottom - image.height)), (max(0, -left), max(0, right - image.width))]
    if any(map(any, beyond)):
        inside = np.pad(inside, [*beyond, (0, 0)][: inside.ndim], mode="symmetric")
    return replace(image, pixels=inside)


def _square_around(part: Region, margin: float) -> tuple[int, int, int]:
    """Left, top and side of the square that is shown of ``part``."""
    side = max(1, round(max(part.width, part.height) * (1.0 + 2.0 * margin)))
    return part.x + (part.width - side) // 2, part.y + (part.height - side) // 2, side


def _of_unit_length(levels: Floats) -> Floats:
    """(n, LEVEL_WIDTH) with the mean and the generalised mean of each level of length 1."""
    parts = np.split(levels, np.cumsum([one for one in LEVEL_CHANNELS for _ in range(2)])[:-1], axis=1)
    return np.concatenate([unit_rows(one) for one in parts], axis=1)


def _bytes(image: Image) -> Bytes:
    """(h, w) or (h, w, 3) 0 black to 255 white."""
    values = image.values
    plain = image.pixels.dtype == np.uint8 and (image.black, image.white) == (0.0, 255.0)
    if plain and values.padding is None and not values.inverse:
        return np.ascontiguousarray(image.pixels)
    shown = finite(image.rgb() if image.is_colour else image.grey(), image)
    bytes_: Bytes = np.rint(shown * np.float32(255.0)).astype(np.uint8)
    return bytes_
