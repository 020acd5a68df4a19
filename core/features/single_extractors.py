"""The extractors that measure an image by themselves, also those of plug-ins; ``fusion`` puts several side by side."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments
from semblance.core.features.clinical import Clinical
from semblance.core.features.colour_edge_texture import ColourEdgeTexture
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.extractor import Extractor
from semblance.core.features.gabor import Gabor
from semblance.core.features.imported import Imported
from semblance.core.features.local.textons import Textons
from semblance.core.features.local.visual_words import VisualWords
from semblance.core.features.lung_texture import LungTexture
from semblance.core.features.mass import Mass
from semblance.core.features.onnx_encoder import OnnxEncoder
from semblance.core.features.pixels import Pixels, Raw
from semblance.core.features.polyp.extractor import Polyp
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.plugins import (
    Plugin,
    PluginFailed,
    PluginGroup,
    check_class,
    guard_methods,
    guarded,
    missing_hint,
)

SINGLE_EXTRACTORS: tuple[type[Extractor], ...] = (
    Encoder,
    Gabor,
    Mass,
    ColourEdgeTexture,
    Polyp,
    LungTexture,
    VisualWords,
    Textons,
    Pixels,
    OnnxEncoder,
    Raw,
    Clinical,
)


#: The extractor that puts several side by side, which is no single one.
FUSION = "fusion"
#: The methods of an extractor that a plug-in may write.
_METHODS = (
    "__init__",
    "get_ready",
    "prepare",
    "prepare_stack",
    "measure",
    "describe",
    "place_grid",
    "keypoints",
)


def _checked_plugin(plugin: Plugin, found: Any) -> type[Extractor]:
    check_class(plugin, found, Extractor, {"title": str, "summary": str, "version": int, "parameters": tuple})
    extractor: type[Extractor] = found
    guard_methods(plugin, extractor, _METHODS)
    extract = guarded(plugin, extractor.extract)

    @functools.wraps(extract)
    def checked(self: Extractor, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        numbers, width = np.asarray(extract(self, image, region)), len(self.feature_names)
        if numbers.shape != (width,) or numbers.dtype.kind not in "fiub":
            raise PluginFailed(
                tr_lazy(
                    "The extractor '{name}' of the package {package} gives an array of the shape {shape} and the type "
                    "{dtype}, and names {width} numbers.",
                    name=plugin.name,
                    package=plugin.package,
                    shape=numbers.shape,
                    dtype=numbers.dtype.name,
                    width=width,
                ),
                "Tell those who made the package, or update it.",
            )
        if not np.isfinite(numbers).all():
            raise PluginFailed(
                tr_lazy(
                    "The extractor '{name}' of the package {package} gives values that are no numbers.",
                    name=plugin.name,
                    package=plugin.package,
                ),
                "Tell those who made the package, or update it.",
            )
        return numbers.astype(np.float32)

    # mypy takes a method for no variable.
    setattr(extractor, "extract", checked)  # noqa: B010
    return extractor


_PLUGINS: PluginGroup[type[Extractor]] = PluginGroup(
    "extractor",
    lambda: (*(extractor.name for extractor in SINGLE_EXTRACTORS), FUSION, Imported.name),
    _checked_plugin,
)


def single_extractors() -> tuple[type[Extractor], ...]:
    """Those of this program in the order they are offered, and those of plug-ins, which it imports."""
    return *SINGLE_EXTRACTORS, *_PLUGINS.all()


def extractor_names() -> tuple[str, ...]:
    """The names of the single extractors. Imports none of a plug-in."""
    return *(extractor.name for extractor in SINGLE_EXTRACTORS), *_PLUGINS.names()


def known_extractor(name: str) -> type[Extractor] | None:
    """The single extractor called ``name``, or the one of imported features, which is never offered; ``None`` if this
    program has none, as where its plug-in is missing."""
    every: tuple[type[Extractor], ...] = (*SINGLE_EXTRACTORS, Imported)
    for extractor in every:
        if extractor.name == name:
            return extractor
    return _PLUGINS.get(name)


def single_extractor(name: str, package: str = "") -> type[Extractor]:
    """The single extractor called ``name``, which a feature set has from the plug-in of ``package``.

    Raises:
        BadArguments: no such extractor.
    """
    if found := known_extractor(name):
        return found
    raise BadArguments(
        tr_lazy("There is no extractor '{name}'.", name=name),
        missing_hint("extractor", name, package)
        or tr_lazy("Known extractors: {known}.", known=", ".join((*extractor_names(), FUSION))),
    )
