"""Thumbnails of cases for the list of recent libraries."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.library.thumbnails import ThumbnailStore
from semblance.core.tasks import SILENT, Reporter


def preview_images(
    libraries: Sequence[LibraryLocation], count: int, longest: int, *, reporter: Reporter = SILENT
) -> dict[LibraryLocation, list[npt.NDArray[np.uint8]]]:
    """Library -> at most ``count`` stored thumbnails, (h, w, 3) RGB, their longest side ``longest`` pixels.

    A library without thumbnails, such as one of tables, has an empty list. Nothing is written.
    """
    from PIL import Image

    found: dict[LibraryLocation, list[npt.NDArray[np.uint8]]] = {}
    for library in libraries:
        reporter.check_cancelled()
        if isinstance(library, ServerAddress):
            # No connection is made unasked.
            found[library] = []
            continue
        store = ThumbnailStore(library / "thumbnails.sqlite", writable=False)
        images = []
        for encoded in store.spread(count):
            with Image.open(io.BytesIO(encoded)) as image:
                image.thumbnail((longest, longest))
                images.append(np.asarray(image.convert("RGB")))
        store.close()
        found[library] = images
    return found
