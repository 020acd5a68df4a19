"""What ``import semblance.core.metrics`` loads, and what it costs: plain ``semblance`` installs little else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

#: Libraries that only ``semblance-retrieval[app]`` installs, or that a learner loads when it needs them.
NOT_LOADED = (
    "PIL",
    "PySide6",
    "matplotlib",
    "onnxruntime",
    "pydicom",
    "pyqtgraph",
    "reportlab",
    "scipy",
    "skimage",
    "sklearn",
    "sqlalchemy",
    "torch",
    "zarr",
)
PROGRAM = """
import json, sys, time
begun = time.process_time()
import semblance.core.metrics
print(json.dumps([time.process_time() - begun, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def imports() -> list[tuple[float, list[str]]]:
    """Processor seconds and modules of three imports, each in a process of its own."""
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
        for _ in range(3)
    ]
    return [tuple(json.loads(run.stdout)) for run in runs]


def test_it_loads_no_window_no_images_and_no_database(imports):
    modules = imports[0][1]
    assert not {name.partition(".")[0] for name in modules} & set(NOT_LOADED)
    assert "semblance.core.features" not in modules
    assert "semblance.core.imaging" not in modules


def test_it_costs_less_than_half_a_second(imports):
    assert min(seconds for seconds, _ in imports) < 0.5
