"""Whole images and slices for the viewer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging import ImageAddress, open_image
from semblance.core.imaging.burnt_in_marks import mark_boxes
from semblance.core.imaging.display import MIN_SIDE_OF_SLICES, DisplayImage, display_image
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.region import Region
from semblance.core.imaging.segmentation import NoOutline, segment_at, segment_in
from semblance.core.imaging.slice_plane import StackLocation
from semblance.core.imaging.volume import Spacing
from semblance.core.language import tr_lazy
from semblance.core.library.audit import VIEW
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.library.records import CaseDetails
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.case_annotations import figures_of_case
from semblance.core.workflows.imaging.library_cache import address_of, cached_library, case_at, stack_cache

#: An outline with a smaller difference of grey (0 to 1) contains nothing: one step of 8 bits.
LEAST_CONTRAST = 1 / 255


@dataclass(frozen=True)
class StackFacts:
    """A volume: number of slices, the one shown first, their spacing, directions and positions.

    ``spacing_mm``, ``directions`` and ``location`` as in :class:`semblance.core.imaging.volume.Stack`.
    """

    slices: int
    place: int
    spacing_mm: Spacing | None
    directions: tuple[str, str, str] | None
    location: StackLocation | None = None


@dataclass(frozen=True, eq=False)
class ViewedImage:
    """A whole image for the viewer, with the facts of its case; for a volume the slice to show first. ``marks``: boxes
    around the burnt-in marks of an image that is no volume. ``figures``: what is measured in the case."""

    image: DisplayImage
    region: Region | None
    case: CaseDetails | None
    stack: StackFacts | None = None
    marks: tuple[Region, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, eq=False)
class ViewedSlice:
    """A slice of a volume, or why it cannot be shown."""

    place: int
    image: DisplayImage | None
    problem: str = ""


def view_case(library: LibraryLocation, row: int, *, reporter: Reporter = SILENT) -> ViewedImage:
    """The image of a case in full.

    Raises:
        BadInput: the case has no image, or its file is gone or damaged.
    """
    opened = cached_library(library)
    case = case_at(opened, row)
    if case.address is None:
        raise BadInput(tr_lazy("{case_id} is a row of a table and has no image.", case_id=case.case_id))
    opened.log_event(VIEW, {"case": case.case_id})
    viewed = replace(_viewed(case.address, case.region, case), figures=figures_of_case(opened, case.case_id))
    if isinstance(library, ServerAddress):
        from semblance.core.library.server.local_copy import keep_image

        keep_image(opened, case)
    return viewed


def view_file(where: Path | ImageAddress, *, reporter: Reporter = SILENT) -> ViewedImage:
    """An image from outside the library.

    Raises:
        BadInput: it cannot be read.
    """
    return _viewed(where if isinstance(where, ImageAddress) else ImageAddress(where), None, None)


def check_file(where: Path, *, reporter: Reporter = SILENT) -> None:
    """Read an image from outside the library as :func:`view_file` does, only to find out whether it can be read.

    Raises:
        BadInput: it cannot.
    """
    view_file(where)


def view_slices(
    library: LibraryLocation | None,
    what: int | ImageAddress,
    places: Sequence[int],
    like: DisplayImage | None = None,
    *,
    reporter: Reporter = SILENT,
) -> None:
    """Slices ``places`` of the case in row ``what`` of ``library``, or of the file at ``what``.

    Each is reported as a :class:`ViewedSlice` as soon as it is read; ``like`` is a slice already shown.

    Raises:
        BadInput: the volume is gone.
    """
    stack = stack_cache.get(address_of(library, what))

    def shown(place: int) -> DisplayImage:
        nonlocal like
        image = display_image(stack.image(place), like=like, smallest=MIN_SIDE_OF_SLICES)
        like = like or image
        return image

    report_slices(places, shown, reporter)


def report_slices(places: Sequence[int], shown: Callable[[int], DisplayImage], reporter: Reporter) -> None:
    """Each of ``places`` as a :class:`ViewedSlice`, as soon as it is ``shown`` or cannot be."""
    for place in places:
        reporter.check_cancelled()
        try:
            image = shown(place)
        except SemblanceError as error:
            reporter.partial(ViewedSlice(place, None, error.message))
        else:
            reporter.partial(ViewedSlice(place, image))


def outline_mass(
    library: LibraryLocation | None,
    what: int | ImageAddress,
    place: int | None,
    where: tuple[int, int] | Region,
    *,
    reporter: Reporter = SILENT,
) -> Region:
    """The mass at the pixel ``where`` (x, y), or inside the rough region ``where``.

    ``what`` as for :func:`view_slices`; ``place``: the slice of a volume.

    Raises:
        NoOutline: nothing there has an outline.
        BadInput: the image is gone.
    """
    address = address_of(library, what)
    image = open_image(address) if place is None else stack_cache.get(address).image(place)
    found = segment_in(image, where) if isinstance(where, Region) else segment_at(image, *where, clear=True)
    if np.ptp(image.cropped(found).grey()) < LEAST_CONTRAST:
        raise NoOutline(
            tr_lazy("The image has one grey around this place."),
            "Click on the edge or the middle of the mass.",
        )
    return found if place is None else replace(found, z=place, depth=1)


def _viewed(address: ImageAddress, region: Region | None, case: CaseDetails | None) -> ViewedImage:
    if not stack_cache.is_stack(address):
        image = open_image(address)
        return ViewedImage(display_image(image), region, case, marks=mark_boxes(image))
    stack = stack_cache.get(address)
    place = stack.middle(region)
    facts = StackFacts(len(stack), place, stack.spacing_mm, stack.directions, stack.location)
    return ViewedImage(display_image(stack.image(place)), region, case, facts)
