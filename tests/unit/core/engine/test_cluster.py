from __future__ import annotations

import importlib.util

import pytest

from semblance.core.engine.cluster import Cluster, ClusterTask, SharedDataLost
from semblance.core.errors import SemblanceError

HAS_DASK = importlib.util.find_spec("distributed") is not None


@pytest.mark.skipif(HAS_DASK, reason="the extra is installed")
def test_without_the_extra_it_says_how_to_get_it():
    with pytest.raises(SemblanceError, match=r"semblance-retrieval\[dask\]"):
        Cluster("tcp://127.0.0.1:1")


@pytest.mark.skipif(not HAS_DASK, reason="the extra `dask` is not installed")
@pytest.mark.parametrize("wrong", ["udp//nothing", "tcp://127.0.0.1:1", "tcp://127.0.0.1", "file:///x"])
def test_an_address_without_a_server(wrong):
    with pytest.raises(SemblanceError, match=f"No Dask scheduler answers at '{wrong}'"):
        Cluster(wrong)


@pytest.mark.skipif(not HAS_DASK, reason="the extra `dask` is not installed")
@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("lost dependencies", SharedDataLost),
        # The worker was lost while its result was fetched.
        (None, SharedDataLost),
        ("scheduler-connection-lost", SemblanceError),
    ],
)
def test_a_task_that_was_dropped_is_run_again_unless_the_scheduler_is_gone(reason, expected):
    from distributed.client import FutureCancelledError

    class Dropped:
        def add_done_callback(self, done):
            done(self)

        def result(self):
            raise FutureCancelledError("a task", reason)

    with pytest.raises(expected) as caught:
        ClusterTask(Dropped(), "tcp://127.0.0.1:1").result()
    assert caught.type is expected
