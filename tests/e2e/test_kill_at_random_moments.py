"""Killed at any moment of its work, a library opens with all that was reported."""

from __future__ import annotations

import random
import sys

import pytest

from tests.kills.harness import Child, Harness

MOMENTS = 32


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks a process that has loaded everything")
def test_a_library_survives_kills_at_random_moments(tmp_path):
    rng = random.Random(2010)
    harness = Harness(tmp_path)
    child = Child(tmp_path / "errors")
    try:
        harness.prepare(child)
        for number in range(MOMENTS):
            harness.try_moment(child, number, rng)
    finally:
        child.close()
    assert "Traceback" not in (tmp_path / "errors").read_text()
    assert sum(harness.killed.values()) > MOMENTS // 3
