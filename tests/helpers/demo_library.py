"""Copies of the demo library, which takes most of a minute to make."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from semblance.core.workflows.demo import make_demo


def copy_demo_library(temporary: pytest.TempPathFactory, folder: Path) -> Path:
    """Copy the demo library into ``folder``. It is made once for all processes of the test run."""
    shared = temporary.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with (shared / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = make_demo(shared / "Demo.semblance")
    return Path(shutil.copytree(made, folder / made.name))
