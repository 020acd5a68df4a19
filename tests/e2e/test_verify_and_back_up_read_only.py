"""A library on a disk that is full or cannot be written to is checked and backed up like any other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.libraries import make_library
from tests.kills.small_disk import NOT_ALLOWED

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="makes a file system of its own")
TOP = Path(__file__).resolve().parents[2]
CODE = """
import sys
from pathlib import Path
from semblance.core.workflows.maintenance.backup import back_up
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.kills.small_disk import on_small_disk

library, log, backup = map(Path, sys.argv[1:4])

def work(here):
    print([finding.says for finding in verify_library(here).findings if finding.part != "images"])
    back_up(here, backup)

sys.exit(on_small_disk(work, library, log, 0, read_only=sys.argv[4] == "read-only"))
"""


@pytest.mark.parametrize("disk", ["read-only", "full"])
def test_a_full_or_read_only_disk_is_not_reported_as_damage(tmp_path, disk):
    library, log = make_library(tmp_path / "lib.semblance", cases=4), tmp_path / "log"
    ended = subprocess.run(
        [sys.executable, "-c", CODE, library, log, tmp_path / "b.zip", disk],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode == NOT_ALLOWED:
        pytest.skip("this user may not mount a file system of their own")
    assert (ended.returncode, ended.stdout) == (0, "[]\n"), ended.stderr
    # A library that cannot be written to records nothing; a disk without space for the record is reported.
    message = json.loads(log.read_text()).get("message", "")
    assert message.startswith("The file was exported, but" if disk == "full" else "")
    assert bool(message) is (disk == "full")
    assert (tmp_path / "b.zip").is_file()
