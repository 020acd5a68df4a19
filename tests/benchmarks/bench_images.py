"""How well masses are found and retrieved: drawn masks against segmented ones, and findings by features.

No targets: what two small public sets give. Segmentation is scored on the BUSI images that were not used
to choose its settings (every second one), from a click into the middle of the mass and from the mask's
rectangle; and on MIAS, whose circles are no outlines and whose sizes the radii tried by a click were chosen
for. Retrieval is measured by the protocol of bdm.txt, 4.2: random halves, whole women on one side where they
are known (MIAS, not BUSI), 10 repeats; of the intervals the limits are given as rows of their own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.image import Image
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region
from semblance.core.imaging.segmentation import segment_at, segment_in
from semblance.core.library.importers.importer import FoundCase
from semblance.core.library.importers.registry import recognise
from semblance.core.library.importers.source import Source
from semblance.core.tasks import SILENT
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.benchmarks.harness import require_data, row

EXTRACTORS = ("mass", "gabor")
LEARNERS = ("euclidean", "bdm_v", "metricboost")
SCORES = ("retrieval_accuracy@10", "auc")
SETS = (("MIAS", "mias_a.zip", "normal=-"), ("BUSI", "busi_masks_a.zip", ""))

Mask = npt.NDArray[np.bool_]


def regions_of(path: Path) -> Iterator[tuple[Image, Region]]:
    """The images with a region, in the order of the source."""
    with Source.open(path) as source, ImageReader() as reader:
        for found in recognise(source)[0][0].scan(source, SILENT):
            if isinstance(found, FoundCase) and found.region is not None:
                yield reader.open(source.address(found.path)), found.region


def dice(a: Mask, b: Mask) -> float:
    return float(2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b)))


def largest_part(mask: Mask) -> Mask:
    from scipy import ndimage

    parts, _ = ndimage.label(mask)
    part: Mask = parts == 1 + int(np.argmax(np.bincount(parts.ravel())[1:]))
    return part


def by_click(image: Image, mask: Mask) -> float:
    rows, columns = np.nonzero(mask)
    found = segment_at(image, round(columns.mean()), round(rows.mean()))
    return dice(found.mask(*mask.shape), mask)


def by_rectangle(image: Image, mask: Mask) -> float:
    rows, columns = np.nonzero(mask)
    box = Region(int(columns.min()), int(rows.min()), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1)
    return dice(segment_in(image, box).mask(*mask.shape), mask)


def segmentation(images: Path) -> Iterator[dict[str, Any]]:
    drawn = list(regions_of(images / "busi_masks_a.zip"))[1::2]
    circles = list(regions_of(images / "mias_a.zip"))
    for how, score in (("click", by_click), ("rectangle", by_rectangle)):
        for name, found in (("BUSI, held back", drawn), ("MIAS circles", circles)):
            values = [
                score(image, largest_part(region.mask(image.height, image.width))) for image, region in found
            ]
            yield row(f"{name}, {how} to mass, {len(values)} masses, mean", float(np.mean(values)), "Dice")
            yield row(f"{name}, {how} to mass, median", float(np.median(values)), "Dice")


def retrieval(images: Path, folder: Path) -> Iterator[dict[str, Any]]:
    for name, archive, findings in SETS:
        library = folder / f"{name}.semblance"
        import_source(images / archive, library)
        for extractor in EXTRACTORS:
            extract_features(library, extractor)
            document = evaluate(
                EvaluateRequest(LEARNERS, "bdm", library=library, features=extractor, findings=findings)
            )
            for result in document["results"]:
                for score in SCORES:
                    found = result["scores"][score]
                    what = f"{name}, {extractor}, {result['learner']}, {score}"
                    low, high = found["ci95"]
                    yield row(what, found["mean"])
                    yield row(f"{what}: 95 % from", low)
                    yield row(f"{what}: 95 % to", high)


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    images = require_data(data) / "images"
    with tempfile.TemporaryDirectory() as folder:
        return [*segmentation(images), *retrieval(images, Path(folder))]
