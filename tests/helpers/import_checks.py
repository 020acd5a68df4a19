"""Facts about imported libraries, and arrays to import."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semblance.core.library.library import Library


def facts(library: Path) -> dict[str, tuple[str | None, str | None, str]]:
    """case_id -> (finding, patient, state of its file)."""
    with Library.open(library) as opened:
        return {r.case_id: (r.finding, r.patient, r.state) for r in opened.catalogue.all_cases()}


def counts(result) -> tuple[int, int, int, int]:
    return result.added, result.unchanged, len(result.failed), len(result.ignored)


def arrays(path: Path, *, n: int = 30, seed: int = 0, **more: np.ndarray) -> Path:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 255, (n, 9, 8), dtype=np.uint8)
    np.savez(path, train_images=images, train_labels=np.arange(n) % 2, **more)
    return path
