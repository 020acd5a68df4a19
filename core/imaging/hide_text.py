"""Black out text burnt into images that are shown to others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image import Image
from semblance.core.imaging.raster import decode
from semblance.core.imaging.text_detector import TextBox, text_detector
from semblance.core.imaging.thumbnail import LONGEST, thumbnail
from semblance.core.tasks import SILENT, Reporter

#: A thumbnail is searched at this multiple of its size. What cannot be read there cannot be read in the thumbnail.
SEARCHED_SCALE = 4


class TextHider:
    """Blacks out text. What was found in an image is remembered while the object lives."""

    def __init__(self, reporter: Reporter = SILENT) -> None:
        """
        Raises:
            SemblanceError: what finds text is not installed.
        """
        self._detector, self._reporter = text_detector(), reporter
        self._found: dict[Hashable, Sequence[TextBox]] = {}

    def hide(self, image: Image, key: Hashable) -> tuple[Image, int]:
        """A copy of ``image`` without the text, and the number of areas blacked out; ``key`` stands for the image."""
        if key not in self._found:
            self._reporter.check_cancelled()
            self._found[key] = self._detector.boxes(image)
        return blacked_out(image, self._found[key]), len(self._found[key])

    def thumbnail(self, image: Image, longest: int = LONGEST) -> bytes:
        """:func:`semblance.core.imaging.thumbnail.thumbnail` of ``image`` without the text."""
        self._reporter.check_cancelled()
        shown = decode(thumbnail(image, SEARCHED_SCALE * longest), image.name)
        return thumbnail(blacked_out(shown, self._detector.boxes(shown)), longest)


def find_displayed_text(
    images: Sequence[npt.NDArray[np.uint8]], *, reporter: Reporter = SILENT
) -> list[list[TextBox]]:
    """The boxes with text in each of ``images``, (h, w) grey or (h, w, 3) RGB as they are displayed.

    Raises:
        SemblanceError: what finds text is not installed.
    """
    detector, found = text_detector(), []
    for pixels in images:
        reporter.check_cancelled()
        found.append(detector.boxes(Image(pixels, 255.0)))
    return found


def blacked_out(image: Image, boxes: Sequence[TextBox]) -> Image:
    """``image`` with the darkest of its numbers in ``boxes``."""
    if not boxes:
        return image
    pixels = image.pixels.copy()
    black = 0 if image.is_colour else np.nanmax(pixels) if image.values.inverse else np.nanmin(pixels)
    for box in boxes:
        pixels[box.part] = black
    return replace(image, pixels=pixels)
