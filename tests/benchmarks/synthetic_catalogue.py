"""Cases without images, for what needs numbers alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.library.library import Library
from semblance.core.library.records import CaseRecord, FileRecord


def catalogue(library: Library, n: int) -> npt.NDArray[np.int64]:
    """``n`` cases of two findings, two a patient; their ids in the catalogue."""
    source = library.catalogue.add_source("folder", "s", Path("/images"))
    library.catalogue.put(
        source,
        [FileRecord(f"{i}", 1, 1, f"h{i}", "ok") for i in range(n)],
        [
            CaseRecord(f"s/{i}", f"{i}", finding="ab"[i % 2], patient=f"P{i // 2}", content=f"c{i}")
            for i in range(n)
        ],
    )
    return np.array([case.id for case in library.catalogue.all_cases()], dtype=np.int64)
