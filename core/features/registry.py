"""Every extractor, by name."""

from __future__ import annotations

from semblance.core.features.extractor import Extractor
from semblance.core.features.fusion import Fusion
from semblance.core.features.single_extractors import SINGLE_EXTRACTORS, find_extractor
from semblance.core.parameters import Value

_EXTRACTORS: tuple[type[Extractor], ...] = (*SINGLE_EXTRACTORS, Fusion)


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
    return find_extractor(name, _EXTRACTORS)
