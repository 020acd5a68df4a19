"""Thumbnails of cases in the size of a card, also with a given window and level."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging import open_image
from semblance.core.imaging.display import DisplayImage, display_image, grey_table
from semblance.core.imaging.hide_text import TextHider
from semblance.core.imaging.image import Curve
from semblance.core.imaging.image import Image as SourceImage
from semblance.core.imaging.raster import decode
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import LONGEST, thumbnail
from semblance.core.language import tr_lazy
from semblance.core.library.records import CaseDetails
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from PIL import Image

from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging.library_cache import address_of, cached_library, stack_cache


@dataclass(frozen=True)
class CardImage:
    """A decoded thumbnail of the case ``row``: (h, w) grey or (h, w, 3) RGB uint8, or why there is none."""

    row: int
    pixels: npt.NDArray[np.uint8] | None
    problem: str = ""


@dataclass(frozen=True)
class WindowLevel:
    """Display of a grey image: values up to ``low`` are black, from ``high`` on white, and between in a straight line
    or as ``curve`` says; ``negative``: inverted.

    ``unit``, ``bits``: of that image; only images with the same have comparable values.
    """

    low: float
    high: float
    unit: str = ""
    bits: int = 8
    negative: bool = False
    curve: Curve | None = None


def card_images(
    library: LibraryLocation,
    rows: Sequence[int],
    longest: int,
    window_level: WindowLevel | None = None,
    slices: Mapping[int, int] | None = None,
    *,
    reporter: Reporter = SILENT,
) -> list[CardImage]:
    """Thumbnails of the cases ``rows``, their longest side ``longest`` pixels; one entry for every row.

    The stored ones have at most ``LONGEST`` pixels. Larger ones are made from the images and not stored, and so are
    those with ``window_level``, which colour images, and images whose values have another unit or depth, do without,
    and those of the slices (from 0) that ``slices`` has for rows of volumes.
    """
    opened = cached_library(library)
    details = opened.catalogue.details([int(row) for row in rows])
    stored = opened.thumbnails.get([case.content for case in details.values()])
    out: list[CardImage] = []
    made: list[tuple[str, bytes]] = []
    for row in rows:
        reporter.check_cancelled()
        case = details.get(int(row))
        if case is None:
            out.append(CardImage(int(row), None, tr_lazy("no longer in the library")))
            continue
        other_slice = None if slices is None else slices.get(int(row))
        if other_slice is not None:
            # A region says which slice of a volume is shown.
            case = replace(case, region=Region(0, 0, 1, 1, z=other_slice))
        try:
            windowed = None
            if window_level is not None and case.address is not None:
                windowed = windowed_pixels(open_image(case.address, case.region), window_level, longest)
            if windowed is not None:
                out.append(CardImage(int(row), windowed))
                continue
            is_larger = longest > LONGEST < max(case.width or 0, case.height or 0)
            is_own = is_larger or other_slice is not None
            data = None if is_own else stored.get(case.content)
            if data is None:
                data = _new_thumbnail(case, longest if is_own else LONGEST)
                if not is_own:
                    made.append((case.content, data))
            out.append(CardImage(int(row), _decoded(data, longest)))
        except SemblanceError as error:
            out.append(CardImage(int(row), None, error.message))
    if made:
        opened.thumbnails.put(made)
    return out


def whole_image(
    library: LibraryLocation, row: int, longest: int, *, reporter: Reporter = SILENT
) -> CardImage:
    """The image of the case ``row`` as its thumbnail shows it, its longest side at most ``longest`` pixels.

    Raises:
        BadInput: the case has no image, or it cannot be read.
    """
    case = cached_library(library).catalogue.details([row]).get(row)
    if case is None:
        raise BadInput("This case has no image any more.", "Refresh the library.")
    return CardImage(row, decode(_new_thumbnail(case, longest), case.case_id).pixels)


def card_image_without_text(
    library: LibraryLocation, row: int, longest: int, *, reporter: Reporter = SILENT
) -> CardImage:
    """The thumbnail of the case ``row`` with text burnt into it blacked out, its longest side ``longest`` pixels.

    Raises:
        BadInput: the case has no image, or it cannot be read.
        SemblanceError: what finds text is not installed.
    """
    hider, case = TextHider(reporter), cached_library(library).catalogue.details([row]).get(row)
    if case is None or case.address is None:
        raise BadInput("This case has no image any more.", "Refresh the library.")
    return CardImage(row, _decoded(hider.thumbnail(open_image(case.address, case.region)), longest))


def card_slice(
    library: LibraryLocation,
    row: int,
    place: int,
    longest: int,
    window: tuple[float, float] | None = None,
    *,
    reporter: Reporter = SILENT,
) -> CardImage:
    """A thumbnail of slice ``place`` of the volume that the case ``row`` is, its longest side ``longest`` pixels.

    ``window``: its ends in the image's unit; ``None``: the default window. If the slice cannot be read, the result
    says why.
    """
    try:
        shown = display_image(stack_cache.get(address_of(library, row)).image(place))
    except SemblanceError as error:
        return CardImage(row, None, error.message)
    low, high = shown.auto if window is None else ((end - shown.intercept) / shown.slope for end in window)
    return CardImage(row, _pixels(shown, low, high, shown.curve_between(low, high), longest, negative=False))


def _new_thumbnail(case: CaseDetails, longest: int) -> bytes:
    if case.address is None:
        raise BadInput("a row of a table")
    return thumbnail(open_image(case.address, case.region), longest)


def windowed_pixels(
    image: SourceImage, window_level: WindowLevel, longest: int
) -> npt.NDArray[np.uint8] | None:
    """(h, w) ``image`` with ``window_level``, its longest side ``longest`` pixels; ``None`` if that does not apply to
    it."""
    shown = display_image(image)
    if shown.is_colour or shown.unit != window_level.unit or shown.high <= shown.low:
        return None
    if not shown.unit and 8 * shown.levels[0].dtype.itemsize != window_level.bits:
        return None
    low, high = ((end - shown.intercept) / shown.slope for end in (window_level.low, window_level.high))
    return _pixels(shown, low, high, window_level.curve, longest, negative=window_level.negative)


def _pixels(
    shown: DisplayImage, low: float, high: float, curve: Curve | None, longest: int, *, negative: bool
) -> npt.NDArray[np.uint8]:
    """(h, w) ``shown`` with stored numbers up to ``low`` black and from ``high`` on white; ``negative``: inverted."""
    from PIL import Image

    level = next((one for one in reversed(shown.levels) if max(one.shape) >= longest), shown.levels[0])
    size = np.iinfo(level.dtype).max + 1
    pixels = grey_table(size, low, high, curve, inverted=negative != shown.inverse).take(level)
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
