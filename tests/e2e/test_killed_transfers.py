"""A retrieval or a watch that is killed loses nothing that was confirmed, and the next ends with one copy of each.

``make attack`` tries hundreds of moments.
"""

from __future__ import annotations

import random
import sys

import pytest

from tests.attack.transfers import prepared


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks a process that has loaded everything")
def test_transfers_survive_kills_at_random_moments(tmp_path):
    rng = random.Random(2010)
    with prepared(tmp_path, with_orthanc=False) as transfers:
        for number in range(len(transfers.ways)):
            killed = transfers.killed
            while transfers.killed == killed:
                # One that ended before is no kill: the computer was busier when the time was taken.
                transfers.try_moment(number, rng)
    assert "Traceback" not in (tmp_path / "errors").read_text()
