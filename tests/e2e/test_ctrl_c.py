"""Ctrl-C keeps what was finished, ends every process, and says so without a traceback."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.images import striped_folder
from tests.helpers.program import run_program, start_program
from tests.helpers.wait import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C otherwise")


def count(library: Path, table: str) -> int:
    with (
        suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(f"file:{library / CATALOGUE}?mode=ro", uri=True)) as c,
    ):
        return c.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return 0


def interrupted(program, ready) -> None:
    """Send Ctrl-C, as a terminal does, to the program and all its workers once ``ready`` holds."""
    with program:
        wait_until(lambda: ready() or program.poll() is not None, "the work is under way")
        assert program.poll() is None, "it ended before it was interrupted"
        os.killpg(program.pid, signal.SIGINT)
        out, err = program.communicate()
    assert program.returncode == 130
    assert out == ""
    assert err == "Cancelled; what was finished is kept.\n"
    wait_until(lambda: group_gone(program.pid), "the last of its processes ends")


def group_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return striped_folder(tmp_path_factory.mktemp("many") / "images", n=1000)


def test_features_keep_the_finished_chunks(images, tmp_path):
    library = tmp_path / "lib"
    import_source(images, library)
    interrupted(
        start_program("features", library, "--extractor", "gabor", "--json"),
        lambda: count(library, "feature_chunks") > 0,
    )
    with Library.open(library) as opened:
        n_stored = len(opened.features.cases_of(opened.features.get(None)))
    assert 0 < n_stored < 1000
    status, out, err = run_program("features", library, "--extractor", "gabor", "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert (document["extracted"], document["cases"]) == (1000 - n_stored, 1000)


def test_an_import_keeps_the_finished_batches(images, tmp_path):
    library = tmp_path / "lib"
    interrupted(start_program("import", images, "--library", library), lambda: count(library, "cases") > 0)
    with Library.open(library) as opened:
        n_stored = opened.summary()["cases"]
    assert 0 < n_stored < 1000
    result = import_source(images, library)
    assert (result.added, result.unchanged) == (1000 - n_stored, n_stored)
