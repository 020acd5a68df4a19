from __future__ import annotations

import pytest

from tests.helpers.pictures import striped_folder


@pytest.fixture
def pictures(tmp_path):
    """Twelve pictures in two folders, with a labels.csv that knows patients."""
    return striped_folder(tmp_path / "pictures", n=12)


@pytest.fixture
def library(tmp_path):
    return tmp_path / "lib"
