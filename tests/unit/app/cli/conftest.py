from __future__ import annotations

import pytest

from app.cli.main import run


@pytest.fixture
def told(capsys):
    """Run one command line: (exit status, stdout, stderr)."""

    def run_it(*arguments: object) -> tuple[int, str, str]:
        status = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run_it
