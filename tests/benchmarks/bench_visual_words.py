"""Visual words and textons: images a second, seconds a codebook, and retrieval beside other features.

No targets: what three small public sets give, by the protocol of bdm.txt, 4.2 (random halves, whole women on
one side where they are known, 5 repeats), each feature set with its default steps. Nothing was chosen by
these numbers. BUSI is 50 images here, so 25 are tested, and its malignant masses cover four times the area
of the benign ones: what is cut out for them differs in size, and high values may speak of that.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from semblance.core.evaluation.data_sources import library_data
from semblance.core.library.open_library import open_library
from semblance.core.metrics.steps import apply_steps, fit_steps
from semblance.core.metrics.steps.sequence import chosen_steps
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.benchmarks.harness import require_data, row

EXTRACTORS = ("gabor", "colour_edge_texture", "visual_words", "textons")
COUNTED = ("visual_words", "textons")
LEARNERS = ("euclidean", "bdm_v", "metricboost", "boostmetric")
WORKERS = 2
REPEATS = 5
SCORE = "retrieval_accuracy@10"
SETS = (("Corel", "corel1k_a.zip", ""), ("MIAS", "mias_a.zip", "normal=-"), ("BUSI", "busi_masks_a.zip", ""))


def codebooks(library: Path) -> Iterator[dict[str, Any]]:
    """Seconds to find words in every second image, and to count those of the others."""
    for name in COUNTED:
        with open_library(library) as opened:
            data = library_data(opened, opened.features.get(name))
        steps = chosen_steps("", name)
        begin = time.perf_counter()
        fitted, _ = fit_steps(steps, data.X[::2], data.y[::2])
        found = time.perf_counter()
        apply_steps(fitted, data.X[1::2])
        counted = time.perf_counter()
        what = f"{name}, {steps[0].text}, {len(data.X[::2])} images"
        yield row(f"{what}: words found", found - begin, "s")
        yield row(f"{what}: as many others counted", counted - found, "s")


def retrieval(name: str, library: Path, findings: str) -> Iterator[dict[str, Any]]:
    for extractor in EXTRACTORS:
        request = EvaluateRequest(
            LEARNERS, "bdm", library=library, features=extractor, findings=findings, repeats=REPEATS
        )
        for result in evaluate(request)["results"]:
            found = result["scores"][SCORE]
            what = f"{name}, {extractor}, {result['learner']}, {SCORE}"
            low, high = found["ci95"]
            yield row(what, found["mean"])
            yield row(f"{what}: 95 % from", low)
            yield row(f"{what}: 95 % to", high)


def measured(images: Path) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for name, archive, findings in SETS:
            library = Path(folder) / f"{name}.semblance"
            import_source(images / archive, library)
            for extractor in EXTRACTORS:
                extraction = extract_features(library, extractor, workers=WORKERS)
                if extractor in COUNTED:
                    speed = extraction.extracted / extraction.seconds
                    yield row(f"{extractor} of {name}, two processes with their start", speed, "images/s")
            if name == SETS[0][0]:
                yield from codebooks(library)
            yield from retrieval(name, library, findings)


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    return list(measured(require_data(data) / "images"))
