from __future__ import annotations

import pytest

from tests.helpers.images import striped_folder


@pytest.fixture
def images(tmp_path):
    """Twelve images in two folders, with a labels.csv that knows patients."""
    return striped_folder(tmp_path / "images", n=12)


@pytest.fixture
def library(tmp_path):
    return tmp_path / "lib"
