"""What places are worth: lesions as queries of whole images, and places beside the plain distance."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from semblance.core.library.location import library_location
from semblance.core.library.open_library import open_library
from semblance.core.metrics.registry import make_learner
from semblance.core.tasks import SILENT
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.measure_places import WEIGHT_CHOICE, weight_entries
from semblance.core.workflows.metrics.train_metric import fit_training_part
from semblance.core.workflows.metrics.train_request import PLACE_WEIGHT, TrainRequest
from semblance.core.workflows.metrics.training_data import read_training_data
from tests.benchmarks.harness import require_data, row

#: Images with regions: same finding among the 10 nearest, and the place inside the region, at least; ``None``: no goal.
REGIONS = {"busi_masks_a.zip": (0.80, 0.55), "mias_a.zip": (None, None)}
#: Whole images, and whether places have to stay out of the distance.
WHOLE = {
    "busi_256.zip": False,
    "pneumoniamnist.npz": False,
    "medical_mnist_a.zip": False,
    "corel1k_a.zip": True,
}


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of both, on all collections."""
    images = require_data(data) / "images"
    rows: list[dict[str, Any]] = []
    for name, goals in REGIONS.items():
        with TemporaryDirectory() as folder:
            rows += _regions(_library(images / name, Path(folder) / "lib"), name, *goals)
    for name, stays_out in WHOLE.items():
        with TemporaryDirectory() as folder:
            rows += _whole(_library(images / name, Path(folder) / "lib"), name, stays_out)
    return rows


def _library(source: Path, path: Path) -> Any:
    library = library_location(str(path))
    import_source(source, library)
    extract_features(library, "encoder")
    return library


def _regions(library: Any, name: str, finding: float | None, inside: float | None) -> list[dict[str, Any]]:
    found = evaluate(EvaluateRequest((), "region", library))
    scores = {one["learner"]: one["scores"] for one in found["results"]}
    place = scores["place"]
    accuracy, share = place["retrieval_accuracy@10"]["mean"], place["place_in_region"]["mean"]
    low, high = place["retrieval_accuracy@10"]["ci95"]
    return [
        row(
            f"{name}: same finding among 10, {found['source']['queries']} regions as queries",
            accuracy,
            "share",
            least=finding,
        ),
        row("  95 % interval, lower end", low, "share"),
        row("  95 % interval, upper end", high, "share"),
        row("  chance", place["chance@10"]["mean"], "share"),
        row("  whole images, plain distance", scores["euclidean"]["retrieval_accuracy@10"]["mean"], "share"),
        row("  place inside the region", share, "share", least=inside),
        row("  place inside the region, of the 10 nearest", place["place_in_region@10"]["mean"], "share"),
        row("  chance", place["place_in_region_chance"]["mean"], "share"),
    ]


def _whole(library: Any, name: str, stays_out: bool) -> list[dict[str, Any]]:
    request = TrainRequest("euclidean", "plain", max_cases=1000)
    learner = make_learner("euclidean")
    with open_library(library) as opened:
        training = read_training_data(opened, request, learner)
        metric = fit_training_part(opened, request, learner, training, SILENT)[0]
        entries = weight_entries(opened, request, metric, training)
    choice = entries[WEIGHT_CHOICE]
    weight = entries.get(PLACE_WEIGHT, 0.0)
    return [
        row(f"{name}: same finding among 10, plain distance, validation", choice["accuracy"][0], "share"),
        row(f"  with places, {choice['weight']:.2f} of the distance", choice["accuracy"][1], "share"),
        row("  difference, lower end of its interval", choice["ci95"][0], "share"),
        row("  difference on held-out patients", choice["held_out"] or 0.0, "share"),
        row(
            "  weight that is used",
            weight,
            "",
            0.0 if stays_out else None,
            weight == 0.0 if stays_out else None,
        ),
    ]
