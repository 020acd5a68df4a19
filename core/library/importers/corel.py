"""The Corel images of Wang, Li and Wiederhold, "SIMPLIcity", IEEE PAMI 23(9), 2001: numbered JPEG files.

Numbers 0 to 999 are Corel-1000, a hundred to a category.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.raster import size_of
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.importer import COMMON_PARAMETERS, FoundCase, Recognition, RejectedFile
from semblance.core.library.importers.labels_csv import LabelTable
from semblance.core.library.importers.source import Source

CATEGORIES = (
    "africa",
    "beach",
    "buildings",
    "buses",
    "dinosaurs",
    "elephants",
    "flowers",
    "horses",
    "mountains",
    "food",
)

_SIZES = {(384, 256), (256, 384)}
_SAMPLED_FILES = 6
_MIN_IMAGES = 4


class CorelImporter(FolderImporter):
    """Files named by number ("123.jpg"), 384 x 256 or 256 x 384 pixels, in one folder or several.

    With numbers up to 999 the hundreds are the category; beyond, the folder holding the image does. A
    ``labels.csv`` goes before both.
    """

    kind = "corel"
    title = "Corel images"
    summary = "Numbered JPEG files of 384 x 256; the hundreds give the category of Corel-1000."
    parameters = COMMON_PARAMETERS

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where all images are numbered JPEG files of Corel's two sizes; looks into a few of them."""
        paths = [e.path for e in source.entries() if has_image_name(source.label(e.path))]
        if len(paths) < _MIN_IMAGES or any(_number(path) is None for path in paths):
            return None
        for path in paths[:: max(1, len(paths) // _SAMPLED_FILES)]:
            try:
                found = size_of(source.read(path), path)
            except BadInput:
                continue
            if found[0] != "JPEG" or found[1:] not in _SIZES:
                return None
        what = tr_lazy_n("{n} numbered JPEG image", "{n} numbered JPEG images", len(paths))
        names_categories = _is_corel_1000(paths)
        description = (
            tr_lazy("the hundreds give the categories of Corel-1000")
            if names_categories
            else tr_lazy("folders name the findings")
        )
        return Recognition(
            0.9, tr_lazy("{what} of 384 x 256 pixels; {description}.", what=what, description=description)
        )

    def cases(
        self, source: Source, images: list[str], listing: LabelTable
    ) -> Iterator[FoundCase | RejectedFile]:
        """One case for each image, in the order of the numbers."""
        self._names_categories = _is_corel_1000(images)
        return super().cases(source, images, listing)

    def finding(self, path: str, top: str) -> str | None:
        """The category: the hundreds of the number in Corel-1000, else the folder."""
        number = _number(path)
        if self._names_categories and number is not None:
            return CATEGORIES[number // 100]
        return super().finding(path, top)


def _number(path: str) -> int | None:
    found = re.fullmatch(r"([0-9]{1,9})\.jpe?g", PurePosixPath(path).name, re.IGNORECASE)
    return int(found[1]) if found else None


def _is_corel_1000(paths: list[str]) -> bool:
    numbers = [_number(path) for path in paths]
    return all(number is not None and number < 1000 for number in numbers)
