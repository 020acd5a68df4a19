"""The program as a process of its own: ``python -m semblance.app``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]


def started(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """The program under way, in a session of its own; stdout and stderr are pipes."""
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


def semblance(*arguments: object, **options: Any) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of one command line."""
    with started(*arguments, **options) as program:
        out, err = program.communicate()
    return program.returncode, out, err


def at_once(code: str, *arguments: Sequence[object]) -> list[str]:
    """Run ``code`` once with each of ``arguments``, all from the moment it reads a line; what each prints.

    None may complain.
    """
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", code, *map(str, given)],
            cwd=TOP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for given in arguments
    ]
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    told = [program.communicate() for program in programs]
    assert [complaint for _, complaint in told] == [""] * len(told)
    return [out for out, _ in told]
