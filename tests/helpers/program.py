"""Runs the program in a process: ``python -m semblance.app``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]


def start_program(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start the program in its own session. stdout and stderr are pipes."""
    environment = os.environ | {"PYTHONPATH": str(TOP)} | options.pop("environment", {})
    return subprocess.Popen(
        [sys.executable, "-m", "semblance.app", *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        **options,
    )


def run_program(*arguments: object, **options: Any) -> tuple[int, str, str]:
    """Run a command line and return (exit status, stdout, stderr)."""
    with start_program(*arguments, **options) as program:
        out, err = program.communicate()
    return program.returncode, out, err


def run_at_once(code: str, *arguments: Sequence[object]) -> list[str]:
    """Run ``code`` once with each of ``arguments`` at the same time, and return what each prints.

    Each waits for a line on stdin before it starts. None may write to stderr.
    """
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", code, *map(str, values)],
            cwd=TOP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for values in arguments
    ]
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    outputs = [program.communicate() for program in programs]
    assert [stderr for _, stderr in outputs] == [""] * len(outputs)
    return [out for out, _ in outputs]
