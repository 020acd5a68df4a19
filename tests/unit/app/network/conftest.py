from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.helpers.mammogram_library import mammogram_library


@pytest.fixture(scope="package")
def made_mammograms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mammogram_library(tmp_path_factory.mktemp("mammograms"))


@pytest.fixture
def mammograms(made_mammograms: Path, tmp_path: Path) -> Path:
    """A library of mammograms that a test may change. Its images stay where they are."""
    return Path(shutil.copytree(made_mammograms, tmp_path / made_mammograms.name))
