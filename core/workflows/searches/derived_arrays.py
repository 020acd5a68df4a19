"""Arrays in the folder of derived data: made again where they are missing, damaged or out of date."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.files import replacing

#: The file of the columns of all cases, and the ending of those with a metric's neighbourhoods.
CASES_FILE, NEAR_SUFFIX = "cases.columns", ".near"
#: The array that names what the others were made from.
_KEY = "made_from"


def save_arrays(file: Path, arrays: Mapping[str, npt.NDArray[Any]], key: str = "") -> None:
    """Write ``arrays`` that were made from what ``key`` names; nothing where there is no space or no permission."""
    try:
        file.parent.mkdir(exist_ok=True)
        with replacing(file, durable=False) as temporary, temporary.open("xb") as out:
            named: dict[str, Any] = {**arrays, _KEY: np.frombuffer(key.encode(), dtype=np.uint8)}
            np.savez(out, allow_pickle=False, **named)
    except OSError:
        # A full disk costs the next start some seconds, never an answer now.
        return


def load_arrays(file: Path, key: str = "") -> dict[str, npt.NDArray[Any]] | None:
    """The arrays that :func:`save_arrays` wrote; ``None`` if they are not usable, or were made from something else."""
    try:
        if not file.is_file() or not _plainly_packed(file):
            return None
        # numpy leaves a damaged file open when it opens it itself.
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            made_from = arrays[_KEY].tobytes() if _KEY in arrays.files else b""
            if made_from != key.encode():
                return None
            return {name: arrays[name] for name in arrays.files if name != _KEY}
    except (
        OSError,
        ValueError,
        KeyError,
        EOFError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
        MemoryError,
    ):
        return None


def _plainly_packed(file: Path) -> bool:
    """Whether nothing in it is larger than the file, as :func:`save_arrays` writes it."""
    with zipfile.ZipFile(file) as archive:
        return all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
