"""Save an image from the clipboard, so that it can be searched with and found again by a saved search."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.files import make_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation, local_folder
from semblance.core.library.records import PASTED
from semblance.core.limits import MAX_PIXELS
from semblance.core.tasks import SILENT, Reporter


def save_pasted_image(
    library: LibraryLocation, pixels: npt.NDArray[np.uint8], *, reporter: Reporter = SILENT
) -> Path:
    """Write ``pixels``, (h, w) grey or (h, w, 3) RGB, as a PNG into the library's folder; returns its path.

    The name is made of the content: pasting the same image again gives the same file.

    Raises:
        BadInput: no pixels, or more than an image may have.
        SemblanceError: the folder cannot be written to.
    """
    from PIL import Image

    height, width = pixels.shape[:2]
    if not 0 < height * width <= MAX_PIXELS:
        raise BadInput(
            tr_lazy(
                "The image on the clipboard has {width:,} x {height:,} pixels.", width=width, height=height
            ),
            "Copy a smaller part of it.",
        )
    digest = hashlib.sha256(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest()[:16]
    path = local_folder(library) / PASTED / f"pasted-{digest}.png"
    if not path.exists():
        written = io.BytesIO()
        Image.fromarray(pixels).save(written, "PNG", compress_level=1)
        make_folder(path.parent)
        write_file(path, written.getvalue())
    return path
