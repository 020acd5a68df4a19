"""Images that say in their pixels which case they are of, and what the window shows of them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget

from semblance.app.viewer.image_view import ImageView
from semblance.app.widgets.cards.card_view import CardView
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import stripes


def visible_widgets(kind: type[QWidget] = QWidget) -> Iterator[QWidget]:
    """Every widget of ``kind`` of which a part can be seen."""
    for window in QApplication.topLevelWidgets():
        if window.isVisible():
            if isinstance(window, kind):
                yield window
            yield from (one for one in window.findChildren(kind) if not one.visibleRegion().isEmpty())


def wrong_images() -> list[str]:
    """Each visible image whose pixels are of another case than the text that names it says."""
    return [
        f"{text!r} shows {name_in(pixels)}: {path_of(widget)}"
        for kind in (ImageView, CardView)
        for widget in visible_widgets(kind)
        for text, pixels in images_of(widget)
        if (named := NAME.search(text)) is not None and named[0] != name_in(pixels)
    ]


def path_of(widget: QWidget) -> str:
    names: list[str] = []
    here: QWidget | None = widget
    while here is not None:
        names.append(type(here).__name__)
        here = here.parentWidget()
    return " < ".join(names[:6])


def images_of(widget: QWidget) -> Iterator[tuple[str, npt.NDArray[np.uint8]]]:
    """The images that ``widget`` shows, each with the text that names it."""
    if isinstance(widget, ImageView) and widget.image is not None and widget.second is None:
        yield widget.accessibleName(), widget.image.levels[0]
    if isinstance(widget, CardView) and widget._source is not None:
        model = widget.model()
        for place in widget.visible_places():
            image = widget._source.get(model.case_row(place))
            if image is not None:
                yield model.describe(place), _grey(image)


def _grey(image: QImage) -> npt.NDArray[np.uint8]:
    plain = image.convertToFormat(QImage.Format.Format_Grayscale8)
    lines = np.frombuffer(plain.constBits(), np.uint8).reshape(plain.height(), plain.bytesPerLine())
    return lines[:, : plain.width()]


#: Kind of image -> its code in the pixels. Two libraries, and images from outside.
KINDS = ("ant", "bee", "out")
#: A name of a case or of an image from outside.
NAME = re.compile(r"\b(ant|bee|out)(\d\d)\b")
_BITS, _SIDE = 7, 6


def named_image(kind: str, number: int, *, size: int = 48) -> npt.NDArray[np.uint8]:
    """Stripes below a row of black and white squares that :func:`name_in` reads."""
    code = KINDS.index(kind) * 32 + number
    pixels = stripes(np.random.default_rng(code), upright=number // 2 % 2 == 1, size=size)
    for bit in range(_BITS):
        pixels[:_SIDE, bit * _SIDE : (bit + 1) * _SIDE] = 255 if code >> bit & 1 else 0
    return pixels


def name_in(pixels: npt.NDArray[np.uint8]) -> str:
    """The name that :func:`named_image` wrote into ``pixels``."""
    scale = pixels.shape[0] / 48
    at = [pixels[round(3 * scale), round((bit * _SIDE + 3) * scale)] for bit in range(_BITS)]
    code = sum(1 << bit for bit, value in enumerate(at) if value > 127)
    return f"{KINDS[code // 32]}{code % 32:02d}"


def write_named(folder: Path, kind: str, number: int) -> Path:
    """The image as a file of ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}{number:02d}.png"
    Image.fromarray(named_image(kind, number)).save(path)
    return path


def named_library(folder: Path, kind: str, n: int, name: str, *, large_patient: int = 0) -> Path:
    """The library ``name`` of ``n`` cases in ``folder``: two a patient, but the last one has ``large_patient`` of them.

    It has two feature sets and a metric of each.
    """
    lines, source = [], folder / f"{kind} images"
    for number in range(n):
        finding = f"{kind}{'upright' if number // 2 % 2 else 'level'}"
        path = write_named(source / finding, kind, number)
        patient = n if number >= n - large_patient else number // 2
        lines.append((f"{finding}/{path.name}", finding, f"{kind}patient{patient:02d}"))
    with (source / "labels.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(("path", "label", "patient_id"))
        writer.writerows(lines)
    library = folder / name
    import_source(source, library)
    for extractor in ("colour_edge_texture", "gabor"):
        extract_features(library, extractor)
    train_metric(library, TrainRequest("euclidean", f"{kind}plain", features="colour_edge_texture"))
    train_metric(library, TrainRequest("lda", f"{kind}learned", features="gabor"))
    return library
