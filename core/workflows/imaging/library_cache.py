"""The libraries and the last volume that this process keeps open between images."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.volume import Stack
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import CaseDetails


_open: OrderedDict[LibraryLocation, Library] = OrderedDict()


#: Libraries that stay open in one process at most.
MAX_OPEN_LIBRARIES = 4


def cached_library(location: LibraryLocation) -> Library:
    """The library at ``location``, which stays open for the next call; at most :data:`MAX_OPEN_LIBRARIES` do."""
    known = _open.get(location)
    if known is not None and not known.is_still_at(location):
        # It was removed, and there may be another library in its place.
        _open.pop(location).close()
        known = None
    if known is None:
        known = _open[location] = open_library(location)
        while len(_open) > MAX_OPEN_LIBRARIES:
            _open.popitem(last=False)[1].close()
    _open.move_to_end(location)
    return known


def close_libraries(library: LibraryLocation | None = None) -> None:
    """Close every library that is open here, or only the one at ``library``, and the last volume."""
    for location in [location for location in _open if library in (None, location)]:
        _open.pop(location).close()
    stack_cache.forget()


class StackCache:
    """The last volume stays open, so that the headers of its files are not read again for every slice."""

    def __init__(self) -> None:
        self._reader = ImageReader()
        self._address: ImageAddress | None = None
        self._stack: Stack | None = None

    def get(self, address: ImageAddress) -> Stack:
        """
        Raises:
            BadInput: it is gone or damaged, or no volume.
        """
        if self._stack is None or address != self._address:
            self.forget()
            self._stack, self._address = self._reader.stack(address), address
        return self._stack

    def forget(self) -> None:
        """Close the volume that is open."""
        if self._stack is not None:
            self._stack.close()
        self._stack = self._address = None
        self._reader.close()

    def is_stack(self, address: ImageAddress) -> bool:
        """Whether the image at ``address`` is a volume."""
        return address == self._address or self._reader.is_stack(address)


#: Of this process.
stack_cache = StackCache()


def address_of(library: LibraryLocation | None, what: int | ImageAddress) -> ImageAddress:
    """The address of the image of the case in row ``what`` of ``library``, or ``what`` itself.

    Raises:
        BadInput: the case is gone.
    """
    if isinstance(what, ImageAddress):
        return what
    assert library is not None
    case = case_at(cached_library(library), what)
    if case.address is None:
        raise _gone()
    return case.address


def case_at(library: Library, row: int) -> CaseDetails:
    """The case in a catalogue row that was read before.

    Raises:
        BadInput: the case is gone.
    """
    case = library.catalogue.details([row]).get(row)
    if case is None:
        raise _gone()
    return case


def _gone() -> BadInput:
    return BadInput("This case is not in the library any more.", "Refresh the library.")
