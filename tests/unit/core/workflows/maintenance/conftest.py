"""A library with everything in it that a check looks at."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.images import striped_folder
from tests.helpers.libraries import raw

CASES = 24


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A library with images, numbers, a metric and what was prepared for it."""
    folder = tmp_path_factory.mktemp("made")
    library = folder / "Striped.semblance"
    import_source(striped_folder(folder / "images", n=CASES), library)
    extract_features(library, "colour_edge_texture", workers=1)
    train_metric(library, TrainRequest("euclidean", "plain"))
    with Library.open(library) as opened:
        case = opened.catalogue.all_cases()[0].case_id
    nearest_cases(library, "plain", Query(case))
    close_loaded_metrics()
    return folder


@pytest.fixture
def library(made, tmp_path) -> Path:
    """A copy that the test may damage, with images of its own."""
    shutil.copytree(made, tmp_path / "made")
    path = tmp_path / "made" / "Striped.semblance"
    with raw(path) as connection:
        connection.execute("UPDATE sources SET path = ?", (str(tmp_path / "made" / "images"),))
    return path
