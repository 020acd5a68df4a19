"""Waiting for what another process does; generous, since a busy machine must not fail a test."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 120.0


def until(condition: Callable[[], bool], what: str) -> None:
    """Return once ``condition`` holds; ``what`` names it where it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.005)


def appears(file: Path) -> str:
    """The text of a file that another process writes whole."""
    until(file.exists, f"{file.name} appears")
    return file.read_text()


def gone(pid: int) -> bool:
    """Whether the process has ended (one that waits to be collected counts as ended)."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        return Path("/proc").exists()
