"""Every extractor, by name."""

from __future__ import annotations

from semblance.core.errors import BadArguments
from semblance.core.features.clinical import Clinical
from semblance.core.features.colour_edge_texture import ColourEdgeTexture
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.extractor import Extractor
from semblance.core.features.fusion import Fusion
from semblance.core.features.gabor import Gabor
from semblance.core.features.local.textons import Textons
from semblance.core.features.local.visual_words import VisualWords
from semblance.core.features.lung_texture import LungTexture
from semblance.core.features.mass import Mass
from semblance.core.features.onnx_encoder import OnnxEncoder
from semblance.core.features.pixels import Pixels
from semblance.core.features.polyp.extractor import Polyp
from semblance.core.features.raw import Raw
from semblance.core.language import tr_lazy
from semblance.core.parameters import Value

_EXTRACTORS: tuple[type[Extractor], ...] = (
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
    Fusion,
    Raw,
    Clinical,
)


def extractors() -> tuple[type[Extractor], ...]:
    """All extractors, in the order they are offered."""
    return _EXTRACTORS


def make_extractor(name: str, **settings: Value) -> Extractor:
    """The extractor called ``name`` with ``settings``; defaults fill the rest.

    Raises:
        BadArguments: no such extractor, no such setting, or a refused value.
        BadInput: a file that a setting names cannot be used.
    """
    return extractor_class(name)(**settings)


def extractor_class(name: str) -> type[Extractor]:
    """The extractor called ``name``, not yet made.

    Raises:
        BadArguments: no such extractor.
    """
    for extractor in _EXTRACTORS:
        if extractor.name == name:
            return extractor
    known = ", ".join(extractor.name for extractor in _EXTRACTORS)
    raise BadArguments(
        tr_lazy("There is no extractor '{name}'.", name=name),
        tr_lazy("Known extractors: {known}.", known=known),
    )
