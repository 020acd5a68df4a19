"""What was worked out to lay a library out for asking, kept in its folder of derived data."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.files import replacing

#: Cases that tell what is usual in each group of features; more numbers than these bytes are read anew.
DRAWN, DRAWN_BYTES = 48, 8 << 20


class CachedEmbedding(NamedTuple):
    """Case rows (n,), their embedding (n, m) and the rows that break its ties (n, d; d = 0: none needed);
    ``drawn`` are the numbers (s, d) as extracted of some of them, none where they are too many to keep."""

    rows: npt.NDArray[np.int64]
    embedding: npt.NDArray[np.float64]
    ties: npt.NDArray[np.float64]
    drawn: npt.NDArray[np.generic]


def sample_places(n: int) -> npt.NDArray[np.int64]:
    """(s,) places among ``n`` cases, drawn once and for all."""
    return np.random.default_rng(0).choice(n, min(DRAWN, n), replace=False).astype(np.int64)


def load_embedding(file: Path) -> CachedEmbedding | None:
    """What :func:`save_embedding` kept; ``None`` where nothing usable is: derived data is made again."""
    try:
        if not file.is_file() or not _plainly_packed(file):
            return None
        # numpy leaves a damaged file open when it opens it itself.
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as kept:
            rows, embedding, ties, drawn = (kept[name] for name in CachedEmbedding._fields)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, MemoryError):
        return None
    fits = (
        rows.dtype == np.int64 and embedding.dtype == ties.dtype == np.float64 and drawn.dtype.kind in "fiub"
    )
    fits = fits and rows.ndim == 1 and embedding.ndim == ties.ndim == drawn.ndim == 2
    fits = fits and len(rows) == len(embedding) == len(ties)
    fits = fits and len(drawn) in (0, min(DRAWN, len(rows)))
    return CachedEmbedding(rows, embedding, ties, drawn) if fits else None


def _plainly_packed(file: Path) -> bool:
    """Whether nothing in it is larger than the file, as :func:`save_embedding` writes it."""
    with zipfile.ZipFile(file) as archive:
        return all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())


def is_readable(file: Path) -> bool:
    """Whether what was kept of a prepared metric can be used."""
    return load_embedding(file) is not None


def save_embedding(file: Path, prepared: CachedEmbedding) -> None:
    """Write ``prepared`` and take away what was kept of the same metric before."""
    older = [found for found in file.parent.glob(f"{file.name.partition('.')[0]}.*") if found != file]
    try:
        file.parent.mkdir(exist_ok=True)
        with replacing(file, durable=False) as temporary, temporary.open("xb") as out:
            np.savez(out, allow_pickle=False, **prepared._asdict())
        for found in older:
            found.unlink(missing_ok=True)
    except OSError:
        # A full disk costs the next start some seconds, never an answer now.
        return
