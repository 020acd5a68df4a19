"""Features of public images, extracted once into libraries under ``build/``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.data import parse_findings_map, prepare
from semblance.core.evaluation.data_sources import library_data
from semblance.core.library.open_library import open_library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source

LIBRARIES_FOLDER = Path(__file__).resolve().parents[3] / "build" / "bench-clicks-images"


@dataclass(frozen=True)
class ImageTable:
    """An archive of the data folder, its extractor and its findings."""

    archive: str
    extractor: str
    findings: str = ""


IMAGES = {
    "busi": ImageTable("busi_256.zip", "colour_edge_texture"),
    "mias": ImageTable("mias_a.zip", "mass", "normal=-"),
    "corel": ImageTable("corel1k_a.zip", "colour_edge_texture"),
}


def read_images(
    folder: Path, name: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_], npt.NDArray[np.str_] | None]:
    """Features, findings and patients (``None`` if unknown)."""
    image_table = IMAGES[name]
    library = LIBRARIES_FOLDER / f"{name}.semblance"
    import_source(folder / "images" / image_table.archive, library)
    extract_features(library, image_table.extractor)
    with open_library(library) as opened:
        all_data = library_data(opened, opened.features.get(None))
        data = prepare(
            all_data, findings=parse_findings_map(image_table.findings) if image_table.findings else None
        )
    return np.asarray(data.X, dtype=np.float64), data.y, data.groups
