"""What extractors tell of each of their numbers, for help pages and for Why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FeatureDefinition:
    """One number: its ``name``, the ``group`` it is explained with, its ``unit`` ("" for plain numbers) and
    its ``formula`` in words or symbols."""

    name: str
    group: str
    unit: str
    formula: str
