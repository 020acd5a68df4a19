"""Pixels to numbers: one file per extractor, and the registry that knows them."""

from semblance.core.features.registry import extractors, make_extractor

__all__ = ["extractors", "make_extractor"]
