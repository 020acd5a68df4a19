from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.libraries import raw
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture
def table(tmp_path):
    """60 rows of 30 patients, two metrics."""
    return table_library(tmp_path, metrics=(PLAIN, TrainRequest("bdm_v", "learnt", settings={"rounds": 20})))


@pytest.fixture(scope="session")
def made_to_refine(tmp_path_factory) -> Path:
    """What :func:`eighty` and :func:`images` are copies of."""
    folder = tmp_path_factory.mktemp("refined")
    table_library(
        folder / "table",
        n=80,
        metrics=(PLAIN, TrainRequest("bdm", "bits", settings={"rounds": 20}), TrainRequest("l1", "city")),
    )
    striped_library(folder, n=12, name="images.semblance")
    return folder


@pytest.fixture
def eighty(made_to_refine, tmp_path) -> Path:
    """80 rows of 40 patients under three metrics, of which ``city`` has no coordinates."""
    return shutil.copytree(made_to_refine / "table", tmp_path / "table") / "lib.semblance"


@pytest.fixture
def images(made_to_refine, tmp_path) -> Path:
    """12 striped images, in ``images`` beside their library."""
    shutil.copytree(made_to_refine / "images", tmp_path / "images")
    library = shutil.copytree(made_to_refine / "images.semblance", tmp_path / "images.semblance")
    with raw(library) as connection:
        connection.execute("UPDATE sources SET path=?", (str(tmp_path / "images"),))
    return library
