"""Pictures for the window: thumbnails in the size of a card, and whole pictures for the viewer."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.errors import BadInput, SemblanceError
from core.imaging import open_picture
from core.imaging.display import DisplayPicture, display_picture
from core.imaging.region import Region
from core.imaging.thumbnail import thumbnail
from core.library import open_library
from core.library.records import CaseDetails
from core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from core.library.library import Library

_open: dict[Path, Library] = {}


@dataclass(frozen=True)
class CardImage:
    """A decoded thumbnail of the case ``row``: (h, w) grey or (h, w, 3) RGB uint8, or why there is none."""

    row: int
    pixels: npt.NDArray[np.uint8] | None
    problem: str = ""


@dataclass(frozen=True, eq=False)
class ViewedPicture:
    """A whole picture for the viewer, with what is known of its case."""

    picture: DisplayPicture
    region: Region | None
    case: CaseDetails | None


def card_images(
    library: Path, rows: Sequence[int], longest: int, *, reporter: Reporter = SILENT
) -> list[CardImage]:
    """Thumbnails of the cases ``rows``, their longest side ``longest`` pixels; one entry for every row."""
    opened = _library(library)
    details = opened.catalogue.details([int(row) for row in rows])
    kept = opened.thumbnails.get([case.content for case in details.values()])
    out: list[CardImage] = []
    made: list[tuple[str, bytes]] = []
    for row in rows:
        reporter.check_cancelled()
        case = details.get(int(row))
        if case is None:
            out.append(CardImage(int(row), None, "not in the library any more"))
            continue
        try:
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


def view_case(library: Path, row: int, *, reporter: Reporter = SILENT) -> ViewedPicture:
    """The picture of a case in full.

    Raises:
        BadInput: the case has no picture, or its file is gone or damaged.
    """
    case = _library(library).catalogue.details([row]).get(row)
    if case is None:
        raise BadInput("This case is not in the library any more.", "Refresh the library.")
    if case.address is None:
        raise BadInput(f"{case.case_id} is a row of a table and has no picture.")
    return ViewedPicture(display_picture(open_picture(case.address)), case.region, case)


def view_file(path: Path, *, reporter: Reporter = SILENT) -> ViewedPicture:
    """A picture from outside the library.

    Raises:
        BadInput: it cannot be read.
    """
    return ViewedPicture(display_picture(open_picture(path)), None, None)


def _library(path: Path) -> Library:
    if path not in _open:
        _open[path] = open_library(path)
    return _open[path]


def _made(case: CaseDetails) -> bytes:
    if case.address is None:
        raise BadInput("a row of a table")
    return thumbnail(open_picture(case.address))


def _decoded(data: bytes, longest: int) -> npt.NDArray[np.uint8]:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        width, height = image.size
        scale = longest / max(width, height)
        mode: Any = "L" if image.mode == "L" else "RGB"
        plain = image if image.mode == mode else image.convert(mode)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        plain = plain if plain.size == size else plain.resize(size, Image.Resampling.BILINEAR)
        return np.asarray(plain, dtype=np.uint8).copy()
