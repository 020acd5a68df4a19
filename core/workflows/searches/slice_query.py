"""A slice of a volume as the query."""

from __future__ import annotations

from dataclasses import replace

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query


def query_on_slice(library: LibraryLocation, query: Query, number: int) -> Query:
    """``query`` on the slice ``number`` of its volume, from 1 in the order of space: its region there, or the whole
    slice.

    Raises:
        BadArguments: there is no such slice.
        BadInput: no such case, no volume, or it cannot be read.
    """
    if query.case is not None:
        with open_library(library) as opened:
            row = opened.catalogue.row_of(query.case)
            where = opened.catalogue.details([row])[row].address
        if where is None:
            raise BadInput(tr_lazy("The case {case} has no image.", case=query.case), "Choose another.")
    else:
        assert query.image is not None
        where = ImageAddress(query.image)
    with ImageReader() as reader, reader.stack(where) as stack:
        depth, height, width = stack.shape
    if not 1 <= number <= depth:
        raise BadArguments(
            tr_lazy("There is no slice {number}: '{name}' has {n}.", number=number, name=where, n=depth),
            tr_lazy("Choose one from 1 to {n}.", n=depth),
        )
    region = query.region or Region(0, 0, width, height)
    return replace(query, region=replace(region, z=number - 1, depth=1))
