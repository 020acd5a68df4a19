"""The local folder of a library on a server, which several programs may begin anew at once."""

from __future__ import annotations

import contextlib
import stat
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from semblance.core.library.server.files import ServerFiles

PROGRAMS, TIMES = 8, 40


@pytest.mark.parametrize("was", ["another", "none", "empty"])
def test_programs_that_find_the_folder_of_a_deleted_library_at_once_all_get_a_new_one(tmp_path, was):
    catalogue = SimpleNamespace(errors=contextlib.nullcontext, library_id="new")
    for number in range(TIMES):
        folder = tmp_path / str(number) / "library folder"
        if was != "none":
            (folder / "features" / "1.zarr").mkdir(parents=True)
            (folder / "features" / "1.zarr" / "zarr.json").write_text("old")
        if was == "another":
            (folder / "library").write_text("old")
        together = threading.Barrier(PROGRAMS)

        def begin(_: int, folder=folder, together=together) -> None:
            together.wait()
            ServerFiles(catalogue, folder)

        with ThreadPoolExecutor(PROGRAMS) as programs:
            list(programs.map(begin, range(PROGRAMS)))
        assert (folder / "library").read_text() == "new"
        assert sorted(path.name for path in folder.iterdir()) == ["derived", "features", "library", "metrics"]
        assert not list((folder / "features").iterdir())
        assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name, f"{folder.name}.lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="a mode says nothing about others there")
def test_the_folder_is_private(tmp_path):
    ServerFiles(SimpleNamespace(errors=contextlib.nullcontext, library_id="new"), tmp_path / "a" / "b")
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (tmp_path / "a").rglob("*")}
    assert modes == {0}
