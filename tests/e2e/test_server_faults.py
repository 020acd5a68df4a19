"""Faults of client, server, network and disk while a library on a server is changed.

``python -m tests.attack.server_faults`` tries hundreds.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.server_faults import FAULTS

TOP = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs disks of its own")


@pytest.mark.long
def test_nothing_acknowledged_is_lost_by_a_fault_of_each_kind():
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack.server_faults", "--faults", str(len(FAULTS)), "--longest", "60"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
