from __future__ import annotations

import importlib.util

import pytest

from semblance.core.engine.cluster import Cluster
from semblance.core.errors import SemblanceError

HAS_DASK = importlib.util.find_spec("distributed") is not None


@pytest.mark.skipif(HAS_DASK, reason="the extra is installed")
def test_without_the_extra_it_says_how_to_get_it():
    with pytest.raises(SemblanceError, match=r"pip install 'semblance\[dask\]'"):
        Cluster("tcp://127.0.0.1:1")


@pytest.mark.skipif(not HAS_DASK, reason="the extra `dask` is not installed")
@pytest.mark.parametrize("wrong", ["udp//nothing", "tcp://127.0.0.1:1", "tcp://127.0.0.1", "file:///x"])
def test_an_address_without_a_server(wrong):
    with pytest.raises(SemblanceError, match=f"No Dask scheduler answers at '{wrong}'"):
        Cluster(wrong)
