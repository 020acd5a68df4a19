"""A slice of a volume, or all of them, as the query."""

from __future__ import annotations

from dataclasses import replace

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.places import SLICES
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import ALL_SLICES, IN_ORDER, Query


def query_by_slices(library: LibraryLocation, query: Query, *, in_order: bool = False) -> Query:
    """``query`` by all slices of its volume, in their order or not; as it is where it is a region or no volume, or
    where no slices are described in the library. The similar cases open on the slice like its middle one.

    Raises:
        BadArguments: there are no slices whose order could be kept.
        BadInput: no such case, or it cannot be read.
    """
    if query.region is None and _has_slices(library):
        where = _address(library, query)
        with ImageReader() as reader:
            depth = len(reader.stack(where)) if where.slices or reader.is_stack(where) else 1
        if depth > 1:
            found = query_on_slice(library, query, depth // 2 + 1)
            return replace(found, slices=IN_ORDER if in_order else ALL_SLICES)
    if in_order:
        raise BadArguments(
            "Only a whole volume has an order of slices, in a library whose slices are described.",
            "Leave --keep-order out.",
        )
    return query


def query_on_slice(library: LibraryLocation, query: Query, number: int) -> Query:
    """``query`` on the slice ``number`` of its volume, from 1 in the order of space: its region there, or the whole
    slice.

    Raises:
        BadArguments: there is no such slice.
        BadInput: no such case, no volume, or it cannot be read.
    """
    where = _address(library, query)
    with ImageReader() as reader, reader.stack(where) as stack:
        depth, height, width = stack.shape
    if not 1 <= number <= depth:
        raise BadArguments(
            tr_lazy("There is no slice {number}: '{name}' has {n}.", number=number, name=where, n=depth),
            tr_lazy("Choose one from 1 to {n}.", n=depth),
        )
    region = query.region or Region(0, 0, width, height)
    return replace(query, region=replace(region, z=number - 1, depth=1))


def _has_slices(library: LibraryLocation) -> bool:
    """Whether slices of volumes are described."""
    with open_library(library) as opened:
        wholes = [one for one in opened.features.all() if not one.part]
        return any(opened.features.part(one, SLICES) is not None for one in wholes)


def _address(library: LibraryLocation, query: Query) -> ImageAddress:
    """Where the image or volume of ``query`` is.

    Raises:
        BadInput: no such case, or one without an image.
    """
    if query.case is None:
        if query.image is None:
            raise BadInput("A vector has no image.", "Search with an image or a case.")
        return ImageAddress(query.image)
    with open_library(library) as opened:
        row = opened.catalogue.row_of(query.case)
        where = opened.catalogue.details([row])[row].address
    if where is None:
        raise BadInput(tr_lazy("The case {case} has no image.", case=query.case), "Choose another.")
    return where
