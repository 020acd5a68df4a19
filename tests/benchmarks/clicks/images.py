"""Features of public images, extracted once into libraries under ``build/``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.data import prepare
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.findings_map import parse_findings_map
from semblance.core.library.open_library import open_library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source

KEPT = Path(__file__).resolve().parents[3] / "build" / "bench-clicks-images"


@dataclass(frozen=True)
class Images:
    """An archive of the data folder and what is asked of it."""

    archive: str
    extractor: str
    findings: str = ""


IMAGES = {
    "busi": Images("busi_256.zip", "colour_edge_texture"),
    "mias": Images("mias_a.zip", "mass", "normal=-"),
    "corel": Images("corel1k_a.zip", "colour_edge_texture"),
}


def read_images(
    folder: Path, name: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_], npt.NDArray[np.str_] | None]:
    """Features, findings and patients (``None`` where they are not marked)."""
    chosen = IMAGES[name]
    library = KEPT / f"{name}.semblance"
    import_source(folder / "images" / chosen.archive, library)
    extract_features(library, chosen.extractor)
    with open_library(library) as opened:
        everything = library_data(opened, opened.features.get(None))
        data = prepare(everything, findings=parse_findings_map(chosen.findings) if chosen.findings else None)
    return np.asarray(data.X, dtype=np.float64), data.y, data.groups
