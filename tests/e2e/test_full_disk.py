"""A disk that is full or write-protected at any point is reported, and nothing is lost."""

from __future__ import annotations

import re
import sys

import pytest

from tests.helpers.long_run import LONG
from tests.kills.child import PHASES, READ_ONLY
from tests.kills.harness import Child, Harness

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="makes a file system of its own")

FULL = re.compile(r"The disk .*is full|No space left on device")
PROTECTED = re.compile(r"cannot be written")


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disks")
    made, child = Harness(folder), Child(folder / "errors")
    try:
        made.prepare(child)
        yield made, child
    finally:
        child.close()
    assert "Traceback" not in (folder / "errors").read_text()


@pytest.mark.parametrize("disk", ["0", "60000", READ_ONLY] if LONG else ["60000"])
@pytest.mark.parametrize("phase", PHASES)
def test_it_is_reported_and_nothing_is_lost(harness, phase, disk):
    made, child = harness
    outcome = made.try_disk(child, phase, disk)
    if outcome is None:
        pytest.skip("this user may not mount a file system of their own")
    assert outcome["ended"] == "reported", outcome
    assert (PROTECTED if disk == READ_ONLY else FULL).search(outcome["message"]), outcome
    assert outcome["hint"]
