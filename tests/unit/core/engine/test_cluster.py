from __future__ import annotations

import importlib.util

import pytest

from semblance.core.engine.cluster import Cluster
from semblance.core.errors import SemblanceError


@pytest.mark.skipif(importlib.util.find_spec("distributed") is not None, reason="the extra is installed")
def test_without_the_extra_it_says_how_to_get_it():
    with pytest.raises(SemblanceError, match=r"pip install 'semblance\[dask\]'"):
        Cluster("tcp://127.0.0.1:1")
