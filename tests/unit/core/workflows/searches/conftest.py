from __future__ import annotations

import pytest

from core.workflows.metrics.training import TrainRequest
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture
def table(tmp_path):
    """60 rows of 30 patients, two metrics."""
    return table_library(tmp_path, metrics=(PLAIN, TrainRequest("bdm_v", "learnt", settings={"rounds": 20})))
