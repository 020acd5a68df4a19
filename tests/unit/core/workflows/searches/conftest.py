from __future__ import annotations

import pytest

from core.workflows.metrics.training import TrainRequest, train_metric
from tests.helpers.tables import table_library


@pytest.fixture
def table(tmp_path):
    """60 rows of 30 patients, two metrics."""
    library = table_library(tmp_path)
    train_metric(library, TrainRequest("euclidean", "plain"))
    train_metric(library, TrainRequest("bdm_v", "learnt", settings={"rounds": 20}))
    return library
