"""The scores of the README: four sets of images in random halves, and the official split of PneumoniaMNIST.

The halves are those of ``evaluate --protocol bdm``: the plain distance, BDM+V and what validation inside the training
half chooses. The official split is measured once by ``evaluate --protocol medmnist``; its targets are the best
published values (Mahbod et al. 2025; Doerrich et al. 2025, linear probe). Import, features and evaluation are those of
the commands.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.benchmarks.harness import require_data, row

SCORES = ("retrieval_accuracy@10", "worst_finding@10")


@dataclass(frozen=True)
class ImageSet:
    """A row of the README: its archive, the extractors whose features are fused, and the most cases."""

    title: str
    archive: str
    extractors: tuple[str, ...] = ("encoder",)
    max_cases: int | None = None


SETS = (
    ImageSet("six body parts", "medical_mnist_a.zip"),
    ImageSet("breast ultrasound", "busi_256.zip"),
    ImageSet("chest radiographs", "pneumoniamnist.npz", max_cases=1000),
    ImageSet("masses in ultrasound", "busi_masks_a.zip", ("encoder", "mass")),
)
OFFICIAL = "pneumoniamnist_official.npz"
#: The best published values: BiomedCLIP, DenseNet121, BiomedCLIP, and the best linear probe.
PUBLISHED = {"acc@1": 0.857, "mmv@5": 0.865, "map@5": 0.883, "knn_accuracy@11": 0.866}


def halves(images: Path, folder: Path, one: ImageSet) -> Iterator[dict[str, Any]]:
    library = folder / f"{one.archive}.semblance"
    import_source(images / one.archive, library)
    for extractor in one.extractors:
        extract_features(library, extractor)
    request = EvaluateRequest(
        ("euclidean", "bdm_v", "auto"),
        "bdm",
        library=library,
        features=",".join(one.extractors),
        max_cases=one.max_cases,
    )
    for result in evaluate(request)["results"]:
        for score in SCORES:
            value = result["scores"][score]["mean"]
            yield row(f"{one.title}, {result['learner']}, {score}", value, "")


def official(images: Path, folder: Path) -> Iterator[dict[str, Any]]:
    library = folder / "official.semblance"
    import_source(images / OFFICIAL, library)
    extract_features(library, "encoder")
    document = evaluate(EvaluateRequest(("euclidean", "auto"), "medmnist", library=library))
    for result in document["results"]:
        chosen = result["params"].get("chosen", [])
        what = f"{chosen[0]['learner']} after {chosen[0]['steps']}" if chosen else result["learner"]
        for score, published in PUBLISHED.items():
            found = result["scores"][score]
            low, high = found["ci95"]
            yield row(
                f"official PneumoniaMNIST, {what}, {score} ({low:.3f} to {high:.3f})",
                found["mean"],
                "",
                published if chosen else None,
                found["mean"] > published if chosen else None,
            )


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    images = require_data(data) / "images"
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for one in SETS for row in halves(images, Path(folder), one)]
        return [*rows, *official(images, Path(folder))]
