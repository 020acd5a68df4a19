"""Wait for other processes. The time limit is long, so that a busy machine does not fail a test."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 300.0


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Return when ``condition`` holds. ``what`` describes it in the error."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"did not happen: {what}"
        time.sleep(0.005)


def wait_for_file(file: Path) -> str:
    """Wait for a file that another process writes atomically, and return its text."""
    wait_until(file.exists, f"{file.name} appears")
    return file.read_text()


def has_ended(pid: int) -> bool:
    """Whether the process has ended. A zombie counts as ended."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        return Path("/proc").exists()
