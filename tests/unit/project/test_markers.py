"""Tests are marked by what they use, themselves or through a helper."""

from __future__ import annotations

import subprocess

from tests.helpers.markers import markers_of
from tests.helpers.program import run_program
from tests.helpers.tables import write_table
from tests.helpers.windows import open_window


def through_another_function() -> None:
    run_program("--version")


def test_processes_windows_and_what_is_imported_within_are_found(request):
    def imports_within() -> None:
        import pynetdicom  # noqa: F401

    assert markers_of(lambda: subprocess.run("true", check=False)) == {"process"}
    assert markers_of(through_another_function) == {"process"}
    assert markers_of(lambda: [open_window() for _ in range(2)]) == {"window"}
    assert markers_of(imports_within) == {"pacs"}
    assert markers_of(write_table) == set()
    assert {mark.name for mark in request.node.iter_markers()} >= {"process", "window"}
