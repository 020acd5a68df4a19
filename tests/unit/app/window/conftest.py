from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.helpers.striped_library import striped_library


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """What :func:`library` is a copy of; a test that takes it itself only reads it."""
    return striped_library(tmp_path_factory.mktemp("trained"), features="gabor")


@pytest.fixture
def library(trained, tmp_path) -> Path:
    """A copy that the test may do anything with."""
    return Path(shutil.copytree(trained, tmp_path / trained.name))
