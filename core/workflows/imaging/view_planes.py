"""Three planes of a volume for the viewer, and small images of its slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from semblance.core.errors import BadInput
from semblance.core.imaging import ImageAddress
from semblance.core.imaging.cut_planes import CutPlane, cut_planes
from semblance.core.imaging.display import DisplayImage, display_image
from semblance.core.imaging.image import Image
from semblance.core.imaging.memory import check_fits
from semblance.core.imaging.slab import Slab, slab_image
from semblance.core.imaging.slice_grid import SliceGrid
from semblance.core.imaging.volume import Volume
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.library_cache import address_of, stack_cache
from semblance.core.workflows.imaging.view_images import report_slices


@dataclass(frozen=True, eq=False)
class ViewedPlane:
    """Plane ``place`` across ``axis`` of a volume, on its ``grid`` where it has one; or the ``slab`` around it, which
    is ``thickness`` mm thick, or so many planes where their distance is not known."""

    axis: int
    place: int
    image: DisplayImage
    grid: SliceGrid | None = None
    slab: Slab | None = None
    thickness: float = 0.0


class _CachedVolume:
    """The last volume, whole, in the type it is stored in, and its grid where its slices are not regular."""

    def __init__(self) -> None:
        self._address: ImageAddress | None = None
        self._volume: Volume | None = None
        self._planes: tuple[CutPlane, CutPlane, CutPlane] = cut_planes(None)
        self._grid: SliceGrid | None = None

    def get(
        self, address: ImageAddress, reporter: Reporter
    ) -> tuple[Volume, tuple[CutPlane, CutPlane, CutPlane], SliceGrid | None]:
        if self._volume is None or address != self._address:
            self.forget()
            stack = stack_cache.get(address)
            depth, height, width = stack.shape
            check_fits(depth * height * width * stack.image(0).pixels.dtype.itemsize, stack.name)

            def on_slice_read(done: int) -> None:
                reporter.check_cancelled()
                reporter.progress(done, depth, "Reading the volume")

            volume, positions = stack.volume(on_slice_read=on_slice_read), stack.positions()
            self._grid = None if positions is None else SliceGrid.of(positions)
            self._volume = volume if self._grid is None else self._grid.volume(volume)
            self._address, self._planes = address, cut_planes(stack.directions)
        return self._volume, self._planes, self._grid

    def forget(self) -> None:
        self._address = self._volume = None


_cached_volume = _CachedVolume()


def view_planes(
    library: LibraryLocation | None,
    what: int | ImageAddress,
    places: Sequence[tuple[int, int]],
    like: DisplayImage | None = None,
    slabs: Mapping[int, Slab] | None = None,
    *,
    reporter: Reporter = SILENT,
) -> None:
    """The planes (axis, place) of a volume, each reported as a :class:`ViewedPlane`; across the axes of ``slabs`` they
    are as thick as these.

    ``library``, ``what``, ``like`` as for :func:`semblance.core.workflows.imaging.view_images.view_slices`. The
    volume is read whole at the first call and stays in memory until another one is requested or :func:`forget_volume`
    is called. Slices that lie unevenly or sideways of each other are brought onto a :class:`SliceGrid` first.

    Raises:
        BadInput: the volume is gone, in colour, or does not fit into memory.
    """
    volume, planes, grid = _cached_volume.get(address_of(library, what), reporter)
    for axis, place in places:
        reporter.check_cancelled()
        slab, thickness = None if slabs is None else slabs.get(axis), 0.0
        if slab is None:
            image = planes[axis].image(volume, place)
        else:
            image, thickness = slab_image(volume, planes[axis], place, slab)
        reporter.partial(ViewedPlane(axis, place, display_image(image, like=like), grid, slab, thickness))


def slab_of_slices(address: ImageAddress, place: int, slab: Slab) -> Image:
    """The slab around slice ``place`` of the volume at ``address``, which stays in memory as in :func:`view_planes`.

    Raises:
        BadInput: as :func:`view_planes`, or the volume has no such slice.
    """
    volume, planes, grid = _cached_volume.get(address, SILENT)
    count = len(volume.voxels) if grid is None else len(grid.aside)
    if not 0 <= place < count:
        raise BadInput(
            tr_lazy("'{name}' has no slice {place}.", name=volume.name, place=place), "Choose another."
        )
    at = place if grid is None else min(range(len(grid.slices)), key=lambda n: abs(grid.slices[n] - place))
    return slab_image(volume, planes[0], at, slab)[0]


def plane_image(
    address: ImageAddress, axis: int, place: int, slab: Slab | None = None, *, reporter: Reporter = SILENT
) -> Image:
    """Plane ``place`` across ``axis`` of the volume at ``address``, or the slab around it, as :func:`view_planes` shows
    it.

    Raises:
        BadInput: as :func:`view_planes`.
    """
    volume, planes, _ = _cached_volume.get(address, reporter)
    return (
        planes[axis].image(volume, place)
        if slab is None
        else slab_image(volume, planes[axis], place, slab)[0]
    )


def forget_volume(_library: LibraryLocation | None = None, *, reporter: Reporter = SILENT) -> None:
    """Free the memory of the volume that :func:`view_planes` has read, of any library."""
    _cached_volume.forget()


def slice_thumbnails(
    library: LibraryLocation | None,
    what: int | ImageAddress,
    places: Sequence[int],
    like: DisplayImage | None = None,
    *,
    reporter: Reporter = SILENT,
) -> None:
    """Slices ``places`` of a volume at thumbnail size, each reported as a
    :class:`semblance.core.workflows.imaging.view_images.ViewedSlice` whose image has its coarsest level only.

    Raises:
        BadInput: the volume is gone.
    """
    stack = stack_cache.get(address_of(library, what))

    def shown(place: int) -> DisplayImage:
        image = display_image(stack.image(place), like=like)
        last = len(image.levels) - 1
        return replace(image, levels=image.levels[last:], reduced=image.factor(last))

    report_slices(places, shown, reporter)
