"""The program as a process of its own: ``python -m app``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]


def started(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """The program under way, in a session of its own; stdout and stderr are pipes."""
    environment = os.environ | {"PYTHONPATH": str(TOP)} | options.pop("environment", {})
    return subprocess.Popen(
        [sys.executable, "-m", "app", *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        **options,
    )


def semblance(*arguments: object, **options: Any) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of one command line."""
    with started(*arguments, **options) as program:
        out, err = program.communicate()
    return program.returncode, out, err
