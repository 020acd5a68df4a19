"""Faults of client, server, network and disk while a library on a server is changed.

``python -m tests.attack.server_faults`` tries hundreds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.server_faults import FAULTS
from tests.kills.small_disk import NOT_ALLOWED

TOP = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs a disk and a network of its own"
)


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=TOP, capture_output=True, text=True, check=False
    )


def test_nothing_acknowledged_is_lost_by_a_fault_of_each_kind():
    done = run("tests.attack.server_faults", "--faults", str(len(FAULTS)))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_network_that_loses_every_packet_is_noticed_and_blocks_no_other_program():
    done = run("tests.attack.silent_network")
    if done.returncode == NOT_ALLOWED:
        pytest.skip("this user may not make a network of their own")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["judged"] == 2, "before and after"
