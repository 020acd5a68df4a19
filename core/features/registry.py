"""Every extractor, by name."""

from __future__ import annotations

from core.errors import BadArguments
from core.features.colour_edge_texture import ColourEdgeTexture
from core.features.extractor import Extractor
from core.features.gabor import Gabor
from core.features.local.textons import Textons
from core.features.local.visual_words import VisualWords
from core.features.lung_texture.extractor import LungTexture
from core.features.mass.extractor import Mass
from core.features.onnx_encoder import OnnxEncoder
from core.features.pixel_rows import Pixels
from core.features.polyp.extractor import Polyp
from core.features.raw import Raw
from core.language import say
from core.parameters import Value

_EXTRACTORS: tuple[type[Extractor], ...] = (
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
        say("There is no extractor '{name}'.", name=name), say("Known extractors: {known}.", known=known)
    )
