"""The extractors that measure an image by themselves; :class:`Fusion` puts several of them side by side."""

from __future__ import annotations

from collections.abc import Sequence

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
from semblance.core.language import tr_lazy

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
    Imported,
)


def find_extractor(name: str, extractors: Sequence[type[Extractor]]) -> type[Extractor]:
    """The one of ``extractors`` that is called ``name``.

    Raises:
        BadArguments: no such extractor.
    """
    for extractor in extractors:
        if extractor.name == name:
            return extractor
    known = ", ".join(extractor.name for extractor in extractors)
    raise BadArguments(
        tr_lazy("There is no extractor '{name}'.", name=name),
        tr_lazy("Known extractors: {known}.", known=known),
    )
