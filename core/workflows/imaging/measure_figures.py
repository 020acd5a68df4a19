"""The results of what is measured in an image, from the pixels of its file."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from semblance.core.errors import BadInput
from semblance.core.imaging import ImageAddress, open_image
from semblance.core.imaging.image import Image
from semblance.core.imaging.measurements import Figure, Measured, calibrations_of, outlined, with_values
from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.library_cache import address_of, stack_cache
from semblance.core.workflows.imaging.view_planes import plane_image


class _LastImage:
    """The image, slice or slab measured last, as a figure is measured many times while it is drawn."""

    def __init__(self) -> None:
        self._key: tuple[ImageAddress, Figure] | None = None
        self._image: Image | None = None

    def get(self, address: ImageAddress, figure: Figure, reporter: Reporter) -> Image:
        if figure.plane is not None and figure.slab is None:
            # It is a view of the volume, which it would keep in memory.
            return plane_image(address, *figure.plane, reporter=reporter)
        key = address, Figure("").placed(figure.slice, figure.plane, figure.slab)
        if self._image is None or key != self._key:
            self.forget()
            if figure.plane is not None:
                self._image = plane_image(address, *figure.plane, figure.slab, reporter=reporter)
            elif stack_cache.is_stack(address):
                stack = stack_cache.get(address)
                self._image = stack.image(stack.middle() if figure.slice is None else figure.slice)
            else:
                self._image = open_image(address)
            self._key = key
        return self._image

    def forget(self) -> None:
        self._key = self._image = None


_last_image = _LastImage()


def forget_image(_library: LibraryLocation | None = None) -> None:
    """Free the image that was measured last, of any library."""
    _last_image.forget()


def measure_figures(
    library: LibraryLocation | None,
    what: int | ImageAddress,
    figures: Sequence[Figure],
    *,
    reporter: Reporter = SILENT,
) -> list[Measured]:
    """The results of ``figures`` of the case in row ``what`` of ``library``, or of the file at ``what``; of one that
    lies outside its image without values.

    Raises:
        BadInput: the image is gone or damaged.
    """
    address = address_of(library, what)
    found = []
    for figure in figures:
        reporter.check_cancelled()
        image = _last_image.get(address, figure, reporter)
        measured = outlined(figure, calibrations_of(image))
        # It may have been drawn on another version of the file, and lie outside.
        with contextlib.suppress(BadInput):
            measured = with_values(measured, image, figure)
        found.append(measured)
    return found
