"""What was measured on the query and on the compared cases, for a report: pictures with the figures, and results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging import ImageAddress, open_image
from semblance.core.imaging.drawn_figures import drawn_figures
from semblance.core.imaging.image import Image
from semblance.core.imaging.measurements import Figure, Measured, measure
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import thumbnail
from semblance.core.reports.document import MeasuredImage, MeasurementRow
from semblance.core.reports.measurement_text import KIND_TITLES, results_of, source_text
from semblance.core.workflows.imaging.view_planes import plane_image

#: Images of one case at most, and figures of one image.
MOST_IMAGES, MOST_FIGURES = 8, 40


@dataclass(frozen=True)
class MeasuredCase:
    """The figures of the query (``rank`` ``None``) or of a similar case."""

    address: ImageAddress
    figures: tuple[Figure, ...]
    rank: int | None = None
    case_id: str | None = None


def figures_by_image(figures: Iterable[Figure]) -> dict[Figure, list[Figure]]:
    """The figures of each slice, plane or slab, whose key is an empty figure there."""
    found: dict[Figure, list[Figure]] = {}
    for one in figures:
        found.setdefault(Figure("").placed(one.slice, one.plane, one.slab), []).append(one)
    return found


def image_of(address: ImageAddress, where: Figure) -> Image:
    """The image, the slice, the plane or the slab on which ``where`` is drawn.

    Raises:
        BadInput: it cannot be read.
    """
    if where.plane is not None:
        return plane_image(address, *where.plane, where.slab)
    return open_image(address, None if where.slice is None else Region(0, 0, 1, 1, z=where.slice))


def results_on(image: Image, figures: Sequence[Figure]) -> Iterator[tuple[Figure, Measured]]:
    """The results of the figures that lie inside ``image``."""
    for one in figures[:MOST_FIGURES]:
        with contextlib.suppress(BadInput):
            yield one, measure(image, one)


def measured_images(
    cases: Iterable[MeasuredCase], shown: Callable[[MeasuredCase, Image, Figure], Image | None], longest: int
) -> tuple[MeasuredImage, ...]:
    """The measurements of ``cases``, image by image; none of an image that cannot be read. ``shown``: an image as it
    may be shown, ``None`` where it must not be; its longest side has at most ``longest`` pixels."""
    found = []
    for case in cases:
        for where, figures in list(figures_by_image(case.figures).items())[:MOST_IMAGES]:
            try:
                image = image_of(case.address, where)
                picture = shown(case, image, where)
            except SemblanceError:
                # The list of unreadable files of the library has it.
                continue
            rows = list(results_on(image, figures))
            if not rows:
                continue
            drawn = None
            if picture is not None:
                encoded = thumbnail(picture, longest)
                drawn = drawn_figures(encoded, [one for one, _ in rows], picture.width, picture.height)
            found.append(
                MeasuredImage(
                    case.rank,
                    case.case_id,
                    None if where.slice is None else where.slice + 1,
                    tuple(
                        MeasurementRow(number, KIND_TITLES[one.kind], results_of(result), source_text(result))
                        for number, (one, result) in enumerate(rows, 1)
                    ),
                    drawn,
                )
            )
    return tuple(found)
