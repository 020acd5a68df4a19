"""Numerical libraries use one thread where asked, also those that are loaded later."""

from __future__ import annotations

import subprocess
import sys

_LOADED_LATER = """
from semblance.core.threads import one_thread
import numpy
with one_thread():
    pass
import scipy.linalg
from threadpoolctl import threadpool_info
with one_thread():
    inside = [library["num_threads"] for library in threadpool_info()]
from semblance.core.engine import limit_threads
limit_threads()
after = [library["num_threads"] for library in threadpool_info()]
print(len(inside), max(inside), max(after))
"""


def test_libraries_have_one_thread_where_loaded_after_the_first_use_and_where_loaded_before_all_are_limited():
    environment = {"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, "-c", _LOADED_LATER], env=environment, capture_output=True, text=True, check=True
    )
    libraries, inside, after = map(int, done.stdout.split())
    assert libraries >= 2
    assert inside == after == 1
