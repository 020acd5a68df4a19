"""The places that the encoder of a feature set described, of all cases of a library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.onnx_encoder import OnnxEncoder
from semblance.core.features.places import PLACES, Codes, PlaceCoding
from semblance.core.features.registry import stored_extractor
from semblance.core.language import tr_lazy
from semblance.core.library.records import CODING, GRID, FeatureSet

if TYPE_CHECKING:
    from semblance.core.library.library import Library

Rows = npt.NDArray[np.int64]
#: Chunks of the store that are read together, of 3 MB each.
_BLOCK_CHUNKS = 4


@dataclass(frozen=True, eq=False)
class StoredPlaces:
    """The places of the cases ``rows`` (n,), ids ascending: ``codes`` (n, p, m) by ``coding``, of a grid of
    ``grid_rows`` x ``grid_columns`` = p places, counted along its rows.

    They describe whole images, of a volume the slice that represents it: ``place_grid(height, width)`` of the extractor
    says where they lie.
    """

    feature_set: FeatureSet
    rows: Rows
    codes: Codes
    coding: PlaceCoding
    grid_rows: int
    grid_columns: int


def read_places(library: Library, feature_set: FeatureSet, rows: Rows | None = None) -> StoredPlaces:
    """The places described with ``feature_set`` (itself, or another part of the same pass): of all cases, or of
    ``rows``.

    Raises:
        BadInput: no case has places, or they are lost or damaged; the message says what to do.
    """
    whole = library.features.whole(feature_set)
    places = library.features.part(whole, PLACES)
    if places is None:
        raise _no_places(whole)
    coding, (grid_rows, grid_columns) = coding_of(places), places.settings[GRID]
    every = wanted = library.features.cases_of(places)
    if rows is not None:
        wanted = np.intersect1d(wanted, rows)
    if not len(wanted):
        raise _no_places(whole)
    if len(wanted) * 4 < len(every):
        wanted, codes = library.features.read(places, wanted)
    else:
        # One array for all of them is filled block by block.
        codes = np.empty((len(wanted), places.width), dtype=np.int8)
        found = np.zeros(len(wanted), dtype=np.bool_)
        for ids, block in library.features.blocks(places, _BLOCK_CHUNKS):
            at = np.minimum(np.searchsorted(wanted, ids), len(wanted) - 1)
            chosen = wanted[at] == ids
            codes[at[chosen]] = block[chosen]
            found[at[chosen]] = True
        # Others may have changed the library meanwhile.
        wanted, codes = (wanted, codes) if found.all() else (wanted[found], codes[found])
    shape = (len(codes), grid_rows * grid_columns, coding.width)
    return StoredPlaces(whole, wanted, codes.reshape(shape), coding, grid_rows, grid_columns)


def coding_of(places: FeatureSet) -> PlaceCoding:
    """How the packed places of a feature set are coded.

    Raises:
        BadInput: its settings are damaged.
    """
    try:
        coding, grid = PlaceCoding.from_settings(places.settings[CODING]), places.settings[GRID]
        fits = len(grid) == 2 and grid[0] * grid[1] * coding.width == places.width
    except (KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise BadInput(
            tr_lazy("The coding of the feature set '{name}' is damaged.", name=places.name),
            "Research > Metric > Extract features… (`semblance features LIB`) measures its cases again.",
        )
    return coding


def _no_places(whole: FeatureSet) -> BadInput:
    if stored_extractor(whole.extractor).needs_table:
        remedy = tr_lazy("A table has no images to search in.")
    else:
        remedy = tr_lazy(
            "Research > Metric > Measure places (semblance features LIB --extractor {extractor}) measures them.",
            extractor=whole.extractor
            if whole.extractor in (Encoder.name, OnnxEncoder.name)
            else Encoder.name,
        )
    return BadInput(tr_lazy("The library has no places of '{name}'.", name=whole.name), remedy)
