from __future__ import annotations

import json
import shutil

import pytest

from semblance.app.cli.main import run
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture
def run_command(capsys):
    """Run one command line: (exit status, stdout, stderr)."""

    def run_it(*arguments: object) -> tuple[int, str, str]:
        status = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run_it


@pytest.fixture
def document(run_command):
    """The JSON one command line prints, and nothing else anywhere."""

    def run_it(*arguments: object) -> object:
        status, out, err = run_command(*arguments, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    return run_it


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return table_library(tmp_path_factory.mktemp("made"), metrics=(PLAIN,))


@pytest.fixture
def library(made, tmp_path):
    """60 cases of a table with a metric; the test's own."""
    shutil.copy(made.parent / "t.csv", tmp_path)
    return shutil.copytree(made, tmp_path / made.name)
