"""Images in memory as queries: they are written to files, because a query is a file or a case."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from semblance.core.language import tr_lazy

_HINT = "Give the id of a case, the path of an image file, an image as an array or PIL image, or a vector of features."


def image_file(image: Any) -> Path:
    """The PNG file of an image: an array (h, w) grey or (h, w, 3) RGB, uint8, uint16 or from 0 to 1, or a PIL image.

    It is named after its content, so that the same image is one query, and removed when Python ends.

    Raises:
        BadArguments: no image.
        BadInput: it has no pixels, or more than an image may have.
    """
    from semblance.core.workflows.searches.query_features import write_query_image

    return write_query_image(_folder(), _pixels(image))


def query_vector(value: Any, *, required: bool = False) -> Any:
    """``value`` as a vector (d,) of numbers; ``None`` where it is none, unless one is ``required``.

    Raises:
        BadArguments: one is required, and it is none.
    """
    import numpy as np

    from semblance.core.errors import BadArguments

    if not isinstance(value, str | Path):
        with contextlib.suppress(TypeError, ValueError):
            found = np.asarray(value)
            if found.ndim == 2 and len(found) == 1:
                found = found[0]
            if found.ndim == 1 and found.dtype.kind in "uif":
                return found
    if required:
        raise BadArguments("The vector is not a row of numbers.", "Give an array of shape (d,).")
    return None


@lru_cache(maxsize=1)
def _folder() -> Path:
    """A private folder of this process."""
    folder = Path(tempfile.mkdtemp(prefix="semblance-query-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _pixels(image: Any) -> Any:
    import numpy as np

    from semblance.core.errors import BadArguments

    mode = getattr(image, "mode", None)
    if isinstance(mode, str) and mode not in ("L", "RGB") and not mode.startswith("I;16"):
        image = image.convert("L" if mode == "1" else "RGB")
    with contextlib.suppress(TypeError, ValueError):
        pixels = np.asarray(image)
        if pixels.dtype.kind not in "uifb":
            raise TypeError
        if pixels.ndim == 3 and pixels.shape[2] == 1:
            pixels = pixels[..., 0]
        if pixels.dtype == np.bool_:
            pixels = pixels.astype(np.float64)
        if pixels.dtype.kind == "f" and pixels.size and pixels.min() >= 0 and pixels.max() <= 1:
            pixels = np.rint(pixels * 255).astype(np.uint8)
        grey = pixels.ndim == 2 and pixels.dtype in (np.uint8, np.uint16)
        if grey or (pixels.ndim == 3 and pixels.shape[2] == 3 and pixels.dtype == np.uint8):
            return pixels
        raise BadArguments(
            tr_lazy(
                "An array of shape {shape} and type {dtype} is no image.",
                shape=str(pixels.shape),
                dtype=str(pixels.dtype),
            ),
            "Give (h, w) or (h, w, 3) as uint8, or with values from 0 to 1; (h, w) may be uint16.",
        )
    raise BadArguments(tr_lazy("A query cannot be a {type}.", type=type(image).__name__), _HINT)
