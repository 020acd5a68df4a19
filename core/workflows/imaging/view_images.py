"""Images for the window: thumbnails in the size of a card, and whole images for the viewer."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging import ImageAddress, ImageReader, open_image
from semblance.core.imaging.display import SMALLEST_OF_SLICES, DisplayImage, display_image
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import thumbnail
from semblance.core.imaging.volume import Spacing, Stack
from semblance.core.language import tr_lazy
from semblance.core.library import open_library
from semblance.core.library.records import CaseDetails
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from PIL import Image

    from semblance.core.library.library import Library

_open: OrderedDict[Path, Library] = OrderedDict()
#: Libraries kept open in one process; a reader of many would else hold all of them.
KEPT = 4


@dataclass(frozen=True)
class CardImage:
    """A decoded thumbnail of the case ``row``: (h, w) grey or (h, w, 3) RGB uint8, or why there is none."""

    row: int
    pixels: npt.NDArray[np.uint8] | None
    problem: str = ""


@dataclass(frozen=True)
class WindowLevel:
    """How a grey image is seen: values up to ``low`` black, from ``high`` on white; ``negative``: the other
    way round than the image is meant.

    ``unit``, ``bits``: of that image; only images with the same have comparable values.
    """

    low: float
    high: float
    unit: str = ""
    bits: int = 8
    negative: bool = False


@dataclass(frozen=True)
class StackFacts:
    """A volume: how many slices, which one is shown first, their distances and the way they run.

    ``spacing_mm`` and ``directions`` as in :class:`semblance.core.imaging.volume.Stack`.
    """

    slices: int
    place: int
    spacing_mm: Spacing | None
    directions: tuple[str, str, str] | None


@dataclass(frozen=True, eq=False)
class ViewedImage:
    """A whole image for the viewer, with what is known of its case; of a volume the slice to show first."""

    image: DisplayImage
    region: Region | None
    case: CaseDetails | None
    stack: StackFacts | None = None


@dataclass(frozen=True, eq=False)
class ViewedSlice:
    """A slice of a volume, or why it cannot be shown."""

    place: int
    image: DisplayImage | None
    problem: str = ""


def card_images(
    library: Path,
    rows: Sequence[int],
    longest: int,
    window_level: WindowLevel | None = None,
    *,
    reporter: Reporter = SILENT,
) -> list[CardImage]:
    """Thumbnails of the cases ``rows``, their longest side ``longest`` pixels; one entry for every row.

    With ``window_level`` they are made anew from the images and not stored; colour images, and images whose
    values do not compare, keep their usual thumbnail.
    """
    opened = _library(library)
    details = opened.catalogue.details([int(row) for row in rows])
    kept = opened.thumbnails.get([case.content for case in details.values()])
    out: list[CardImage] = []
    made: list[tuple[str, bytes]] = []
    for row in rows:
        reporter.check_cancelled()
        case = details.get(int(row))
        if case is None:
            out.append(CardImage(int(row), None, tr_lazy("not in the library any more")))
            continue
        try:
            seen = _seen(case, window_level, longest) if window_level is not None else None
            if seen is not None:
                out.append(CardImage(int(row), seen))
                continue
            data = kept.get(case.content)
            if data is None:
                data = _made(case)
                made.append((case.content, data))
            out.append(CardImage(int(row), _decoded(data, longest)))
        except SemblanceError as error:
            out.append(CardImage(int(row), None, error.message))
    if made:
        opened.thumbnails.put(made)
    return out


def view_case(library: Path, row: int, *, reporter: Reporter = SILENT) -> ViewedImage:
    """The image of a case in full.

    Raises:
        BadInput: the case has no image, or its file is gone or damaged.
    """
    case = _library(library).catalogue.details([row]).get(row)
    if case is None:
        raise BadInput("This case is not in the library any more.", "Refresh the library.")
    if case.address is None:
        raise BadInput(tr_lazy("{case_id} is a row of a table and has no image.", case_id=case.case_id))
    return _viewed(case.address, case.region, case)


def view_file(where: Path | ImageAddress, *, reporter: Reporter = SILENT) -> ViewedImage:
    """An image from outside the library.

    Raises:
        BadInput: it cannot be read.
    """
    return _viewed(where if isinstance(where, ImageAddress) else ImageAddress(where), None, None)


def file_image(where: Path, longest: int, *, reporter: Reporter = SILENT) -> CardImage:
    """A thumbnail of an image from outside the library, its longest side ``longest`` pixels; row -1.

    Raises:
        BadInput: it cannot be read.
    """
    with ImageReader() as reader:
        image = reader.open(ImageAddress(where))
    return CardImage(-1, _decoded(thumbnail(image), longest))


def view_slices(
    library: Path | None,
    what: int | ImageAddress,
    places: Sequence[int],
    like: DisplayImage | None = None,
    *,
    reporter: Reporter = SILENT,
) -> None:
    """Slices ``places`` of the case in row ``what`` of ``library``, or of what lies at ``what``.

    Each is told as a :class:`ViewedSlice` as soon as it is there; ``like`` is a slice already shown.

    Raises:
        BadInput: the volume is gone.
    """
    stack = stacks.get(address_of(library, what))

    def shown(place: int) -> DisplayImage:
        nonlocal like
        image = display_image(stack.image(place), like=like, smallest=SMALLEST_OF_SLICES)
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
    library: Path | None,
    what: int | ImageAddress,
    place: int | None,
    where: tuple[int, int] | Region,
    *,
    reporter: Reporter = SILENT,
) -> Region:
    """The mass at the pixel ``where`` (x, y), or inside the rough region ``where``.

    ``what`` as for :func:`view_slices`; ``place``: of a volume, the slice it is seen on.

    Raises:
        BadInput: the image is gone, or nothing there has an outline.
    """
    from semblance.core.imaging.segmentation import segment_at, segment_in

    address = address_of(library, what)
    image = open_image(address) if place is None else stacks.get(address).image(place)
    found = segment_in(image, where) if isinstance(where, Region) else segment_at(image, *where)
    return found if place is None else replace(found, z=place, depth=1)


def address_of(library: Path | None, what: int | ImageAddress) -> ImageAddress:
    """Where the image of the case in row ``what`` of ``library`` lies, or ``what`` itself.

    Raises:
        BadInput: the case is gone.
    """
    if isinstance(what, ImageAddress):
        return what
    assert library is not None
    case = _library(library).catalogue.details([what]).get(what)
    if case is None or case.address is None:
        raise BadInput("This case is not in the library any more.", "Refresh the library.")
    return case.address


class OpenStack:
    """The volume looked at last, kept open: its files' headers are not read again for every slice."""

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
        if self._stack is not None:
            self._stack.close()
        self._stack = self._address = None
        self._reader.close()

    def is_stack(self, address: ImageAddress) -> bool:
        return address == self._address or self._reader.is_stack(address)


#: Of this process.
stacks = OpenStack()


def _viewed(address: ImageAddress, region: Region | None, case: CaseDetails | None) -> ViewedImage:
    if not stacks.is_stack(address):
        return ViewedImage(display_image(open_image(address)), region, case)
    stack = stacks.get(address)
    place = stack.middle(region)
    facts = StackFacts(len(stack), place, stack.spacing_mm, stack.directions)
    return ViewedImage(display_image(stack.image(place)), region, case, facts)


def close_libraries(library: Path | None = None) -> None:
    """Close every library kept open here, or the one at ``library`` only; and the volume looked at last."""
    for path in [path for path in _open if library in (None, path)]:
        _open.pop(path).close()
    stacks.forget()


def _library(path: Path) -> Library:
    known = _open.get(path)
    if known is not None and not known.in_place:
        # It was removed, and another one may lie there by now.
        _open.pop(path).close()
        known = None
    if known is None:
        known = _open[path] = open_library(path)
        while len(_open) > KEPT:
            _open.popitem(last=False)[1].close()
    _open.move_to_end(path)
    return known


def _made(case: CaseDetails) -> bytes:
    if case.address is None:
        raise BadInput("a row of a table")
    return thumbnail(open_image(case.address, case.region))


def _seen(case: CaseDetails, window_level: WindowLevel, longest: int) -> npt.NDArray[np.uint8] | None:
    """(h, w) the image of ``case`` with ``window_level``; ``None`` where that does not apply to it."""
    from PIL import Image

    if case.address is None:
        return None
    shown = display_image(open_image(case.address, case.region))
    if shown.is_colour or shown.unit != window_level.unit or shown.high <= shown.low:
        return None
    if not shown.unit and 8 * shown.levels[0].dtype.itemsize != window_level.bits:
        return None
    level = next((one for one in reversed(shown.levels) if max(one.shape) >= longest), shown.levels[0])
    values = level.astype(np.float32) * shown.slope + shown.intercept
    ramp = np.clip((values - window_level.low) / max(window_level.high - window_level.low, 1e-6), 0, 1)
    if window_level.negative != shown.inverse:
        ramp = 1 - ramp
    pixels = np.rint(255 * ramp).astype(np.uint8)
    return _scaled(Image.fromarray(pixels), shown.width, shown.height, longest)


def _decoded(data: bytes, longest: int) -> npt.NDArray[np.uint8]:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        mode: Any = "L" if image.mode == "L" else "RGB"
        return _scaled(image if image.mode == mode else image.convert(mode), *image.size, longest)


def _scaled(image: Image.Image, width: int, height: int, longest: int) -> npt.NDArray[np.uint8]:
    """``image`` of an image of ``width`` x ``height`` so that the longest side has ``longest`` pixels."""
    from PIL import Image as Images

    scale = longest / max(width, height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    resized = image if image.size == size else image.resize(size, Images.Resampling.BILINEAR)
    return np.asarray(resized, dtype=np.uint8).copy()
