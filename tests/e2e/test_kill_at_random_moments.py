"""Killed at any moment of its work, a library opens with all that was reported.

``python -m tests.kills`` tries hundreds of moments.
"""

from __future__ import annotations

import itertools
import random
import sys

import pytest

from tests.helpers.long_run import LONG
from tests.kills.child import PHASES
from tests.kills.harness import Child, Harness

#: Of each kind of work.
KILLS = 2 if LONG else 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks a process that has loaded everything")
def test_a_library_survives_kills_at_random_moments(tmp_path):
    rng = random.Random(2010)
    harness = Harness(tmp_path)
    child = Child(tmp_path / "errors")
    try:
        harness.prepare(child)
        for number, phase in enumerate(itertools.cycle(PHASES)):
            if harness.killed[phase] < KILLS:
                # One that ended before is no kill: the computer was busier when the time was taken.
                harness.try_moment(child, number, rng)
            elif min(harness.killed.values()) >= KILLS:
                break
    finally:
        child.close()
    assert "Traceback" not in (tmp_path / "errors").read_text()
