"""Text burnt into the images of an export: found or taken from a file, blacked out, and shown for review."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.files import make_folder, write_file
from semblance.core.imaging.deidentification.clean_pixels import Boxes, clean_pixels, find_text
from semblance.core.imaging.deidentification.deidentify_dataset import DeidentificationChanges
from semblance.core.imaging.deidentification.profile import CODES, Option
from semblance.core.imaging.dicom.dicom_file import DicomFile
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.shown_range import as_shown
from semblance.core.imaging.text_detector import TextBox, text_detector
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from pydicom import Dataset

#: What the boxes of a review are called, and the page that shows them.
BOXES, PAGE = "boxes.json", "review.html"
_COLOUR = (255, 220, 0)
_RULE = CODES[Option.PIXELS][0]


@dataclass(frozen=True)
class ReviewedImage:
    """``image``: a PNG of the frames ``first`` to ``last`` of ``file``, which all have ``boxes``."""

    image: Path
    file: str
    first: int
    last: int
    boxes: tuple[TextBox, ...]


@dataclass(frozen=True)
class TextReview:
    """``images`` to look at, and ``others``: files that were searched and have no text."""

    images: tuple[ReviewedImage, ...]
    others: tuple[str, ...] = ()


class PixelCleaner:
    """Cleans the pixels of one export after the other.

    ``review``: a folder for images with their boxes, written as they come, and ``draw_boxes`` on them or not;
    ``boxes``: the file of an earlier review.
    """

    def __init__(
        self, review: Path | None = None, boxes: Path | None = None, *, draw_boxes: bool = True
    ) -> None:
        """
        Raises:
            BadInput: ``boxes`` is not a file of boxes.
            SemblanceError: what finds text is not installed.
        """
        self._detector = text_detector()
        self._review = None if review is None else _Review(review, draw_boxes=draw_boxes)
        self._given = {} if boxes is None else _read_boxes(boxes)
        self._others: list[str] = []

    @property
    def review(self) -> TextReview:
        """What there is to review so far."""
        return TextReview(() if self._review is None else tuple(self._review.images), tuple(self._others))

    def find(self, opened: DicomFile, name: str, *, suspicious: bool, reporter: Reporter) -> Boxes:
        """The boxes of the file ``opened``, which will be called ``name``. ``suspicious``: shown for review without a
        box too.

        Raises:
            BadInput: the pixels cannot be decoded.
            Cancelled: asked for by the reporter.
        """
        return self._find(DicomImages.of(opened), name, suspicious=suspicious, reporter=reporter)

    def clean(
        self,
        dataset: Dataset,
        opened: DicomFile,
        name: str,
        changes: DeidentificationChanges,
        *,
        suspicious: bool,
        reporter: Reporter,
    ) -> tuple[str, Boxes]:
        """Black out the text in ``dataset``, whose file is ``opened``; its transfer syntax now, and the boxes. The
        rest as :meth:`find`.
        """
        images = DicomImages.of(opened)
        boxes = self._find(images, name, suspicious=suspicious, reporter=reporter)
        syntax = clean_pixels(dataset, images, boxes) or opened.syntax
        if any(boxes):
            changes.counts["(7FE0,0010) PixelData", "blacked out", _RULE] += sum(map(len, boxes))
        return syntax, boxes

    def _find(self, images: DicomImages, name: str, *, suspicious: bool, reporter: Reporter) -> Boxes:
        boxes = self._given_boxes(name, images)
        if boxes is None:
            boxes = find_text(images, self._detector.boxes, reporter=reporter)
        if self._review is not None and (suspicious or any(boxes)):
            self._review.add(name, images, boxes)
        else:
            self._others.append(name)
        return boxes

    def log_review(self, library: LibraryLocation | None) -> None:
        """Note in ``library`` that images with their text were written for review."""
        if images := self.review.images:
            log_export(library, "review of burnt-in text", "png", identified=True, files=len(images))

    def _given_boxes(self, name: str, images: DicomImages) -> Boxes | None:
        given = self._given.get(name)
        if given is None:
            return None
        layout = images.layout
        out: Boxes = [[] for _ in range(len(images))]
        for frame, box in given:
            if frame >= len(images) or box.x + box.width > layout.columns or box.y + box.height > layout.rows:
                raise BadInput("A box of the review lies outside its image.", "Correct the file of boxes.")
            out[frame].append(box)
        return out


class _Review:
    """Images with or without their boxes drawn, and the boxes as a file; both are complete after each image."""

    def __init__(self, folder: Path, *, draw_boxes: bool) -> None:
        self._folder, self._draw_boxes = folder, draw_boxes
        self.images: list[ReviewedImage] = []
        make_folder(folder)

    def add(self, name: str, images: DicomImages, boxes: Boxes) -> None:
        first = 0
        for frame, of_frame in enumerate(boxes):
            # Frames of a sequence mostly show the same text: each change is shown once.
            if frame + 1 < len(boxes) and boxes[frame + 1] == of_frame:
                continue
            image_file = self._folder / f"{len(self.images) + 1:05d}.png"
            write_file(image_file, _with_boxes(images, first, of_frame if self._draw_boxes else []))
            self.images.append(ReviewedImage(image_file, name, first, frame, tuple(of_frame)))
            first = frame + 1
        self._write()

    def _write(self) -> None:
        write_boxes(self._folder / BOXES, TextReview(tuple(self.images)))
        captions = [f"{one.file}, {one.first}: {len(one.boxes)}" for one in self.images]
        figures = "".join(
            f'<figure><img src="{one.image.name}" alt=""><figcaption>{html.escape(caption)}</figcaption></figure>'
            for one, caption in zip(self.images, captions, strict=True)
        )
        page = (
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Burnt-in text</title>'
            "<style>body{font:14px sans-serif}figure{display:inline-block;margin:8px}"
            "img{max-width:600px}</style><h1>Burnt-in text</h1>"
            "<p>These images still show what the export hides. Do not pass them on. "
            "Under each: the file in the export, the frame, and the number of boxes.</p>"
            f"{figures}</html>"
        )
        write_file(self._folder / PAGE, page.encode())


def write_boxes(path: Path, review: TextReview) -> None:
    """Write the boxes of ``review`` as the file ``path`` that :class:`PixelCleaner` reads.

    Raises:
        SemblanceError: it cannot be written.
    """
    boxes: dict[str, list[dict[str, int]]] = {name: [] for name in review.others}
    for one in review.images:
        boxes.setdefault(one.file, []).extend(
            {"frame": frame, "x": box.x, "y": box.y, "width": box.width, "height": box.height}
            for frame in range(one.first, one.last + 1)
            for box in one.boxes
        )
    write_file(path, json.dumps({"boxes": boxes}, indent=1).encode())


def _with_boxes(images: DicomImages, frame: int, boxes: list[TextBox]) -> bytes:
    """A PNG of a frame with the boxes drawn around what they hide."""
    import io

    from PIL import Image as RasterImage
    from PIL import ImageDraw

    shown = np.rint(255 * np.clip(np.nan_to_num(as_shown(images.image(frame)).rgb()), 0, 1)).astype(np.uint8)
    drawn = RasterImage.fromarray(shown)
    draw = ImageDraw.Draw(drawn)
    for box in boxes:
        draw.rectangle((box.x - 1, box.y - 1, box.x + box.width, box.y + box.height), outline=_COLOUR)
    out = io.BytesIO()
    drawn.save(out, "PNG")
    return out.getvalue()


def _read_boxes(path: Path) -> Mapping[str, list[tuple[int, TextBox]]]:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(name): [
                (
                    _number(one["frame"], 0),
                    TextBox(
                        _number(one["x"], 0),
                        _number(one["y"], 0),
                        _number(one["width"], 1),
                        _number(one["height"], 1),
                    ),
                )
                for one in boxes
            ]
            for name, boxes in document["boxes"].items()
        }
    except OSError as error:
        raise BadInput(
            tr_lazy("{path} cannot be read: {reason}.", path=path, reason=error.strerror or error),
            "Name the file boxes.json of a review.",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(
            tr_lazy("{path} is not a file of boxes.", path=path), "Name the file boxes.json of a review."
        ) from error


def _number(value: Any, least: int) -> int:
    if type(value) is not int or value < least:
        raise ValueError
    return int(value)
