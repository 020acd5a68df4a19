from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from semblance.app.theme import set_theme
from tests.helpers.striped import striped_library


@pytest.fixture(autouse=True)
def dark(qapp) -> None:
    """Widgets look as in the program."""
    set_theme(qapp, "dark")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    return striped_library(tmp_path_factory.mktemp("trained"), features="gabor")


@pytest.fixture
def library(trained, tmp_path) -> Path:
    """A copy that the test may do anything with."""
    return Path(shutil.copytree(trained, tmp_path / trained.name))
