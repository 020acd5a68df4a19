"""Libraries of striped images with features and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import striped_folder
from tests.helpers.tables import PLAIN


def striped_library(
    folder: Path,
    n: int = 24,
    features: str = "colour_edge_texture",
    metrics: Sequence[TrainRequest] = (PLAIN,),
    name: str = "Striped.semblance",
) -> Path:
    """The library ``name`` in ``folder``, of ``n`` images in ``folder``/images."""
    library = folder / name
    import_source(striped_folder(folder / "images", n=n), library)
    extract_features(library, features)
    for request in metrics:
        train_metric(library, request)
    return library
