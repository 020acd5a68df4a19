from __future__ import annotations

import pytest

from semblance import resources


def test_a_shipped_folder_is_found():
    assert resources.path("__init__.py").is_file()


def test_what_is_not_shipped_is_named():
    with pytest.raises(FileNotFoundError, match=r"icons/nothing\.svg"):
        resources.path("icons/nothing.svg")
