"""A library moves to a server and back, and nothing is lost on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.library import copy_library as copying
from semblance.core.library.copy_library import digests
from semblance.core.library.export_log import log_export, read_exports
from semblance.core.library.location import library_location
from semblance.core.library.open_library import open_library
from semblance.core.tasks import Cancelled
from semblance.core.workflows.library.edit_cases import remove_cases, set_finding
from semblance.core.workflows.library.edit_metrics import delete_metric
from semblance.core.workflows.library.undo_edits import undo
from semblance.core.workflows.maintenance.backup import back_up, restore
from semblance.core.workflows.maintenance.move_library import move_library
from tests.helpers.libraries import fill
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture
def full(tmp_path) -> Path:
    """A library with everything that a library can hold."""
    folder = table_library(tmp_path / "made", metrics=(PLAIN,))
    with open_library(folder, writable=True) as library:
        fill(library, range(5), source="it's; --")
        library.save_search("s", {"x": [1e-300, None, "\u202e"]})
        library.thumbnails.put([("c0", b"image"), ("c1", b"other")])
        library.thumbnails.put_outlines([("c0", b"outline")])
        first = library.catalogue.all_cases()[0].case_id
        whole, rows = library.features.get(None), library.catalogue.case_rows()
        parts = (
            library.features.make_part(whole, "levels", {}, whole.columns, dtype="float32"),
            library.features.make_part(
                whole, "places", {"row_bytes": 7, "coding": {"top": 0.7}}, dtype="int8"
            ),
        )
        for part in parts:
            library.features.write_chunk(part, rows, np.outer(rows, np.ones(part.width)) % 100)
    set_finding(folder, [first], "other")
    remove_cases(folder, [first])
    log_export(folder, "report", "pdf")
    (folder / "pasted").mkdir()
    (folder / "pasted" / "0123.png").write_bytes(b"pasted")
    return folder


def held(path: Path) -> dict[str, str]:
    with open_library(path) as library, library.catalogue.snapshot() as connection:
        return digests(library, connection)


def features(path: Path) -> list[np.ndarray]:
    with open_library(path) as library:
        assert [one.part for one in library.features.every()] == ["", "levels", "places"]
        return [array for one in library.features.every() for array in library.features.read(one)]


def test_a_library_is_moved_to_a_server_and_back_completely(tmp_path, full, database):
    server, back = library_location(database), tmp_path / "back.semblance"
    before, values = held(full), features(full)
    moved = move_library(full, server)
    assert moved.rows > 60 and moved.files >= 4 and moved.thumbnails == 2
    assert held(server) == held(full) == before
    move_library(server, back, remove=True)
    assert held(back) == before
    with open_library(back) as library:
        assert library.thumbnails.get(["c0", "c1"]) == {"c0": b"image", "c1": b"other"}
        assert library.thumbnails.outlines() == {"c0": b"outline"}
        assert (back / "pasted" / "0123.png").read_bytes() == b"pasted"
        (metric,) = library.metrics()
        assert metric.file.is_file()
    assert [line["what"] for line in read_exports(back)] == ["report"]
    for one, other in zip(features(back), values, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    with pytest.raises(BadInput, match="holds no library yet"):
        open_library(server)


def test_edits_and_deleted_files_are_undone_in_the_new_home(full, database):
    server = library_location(database)
    with open_library(full) as library:
        before = [tuple(r) for r in library.catalogue.all_cases()]
        (metric,) = [record.name for record in library.metrics()]
    delete_metric(full, metric)
    move_library(full, server, remove=True)
    assert not full.exists()
    with open_library(server) as library:
        assert library.metrics() == []
    undo(server)
    with open_library(server) as library:
        assert [record.name for record in library.metrics()] == [metric]
        assert library.metrics()[0].file.is_file()
    undo(server)
    with open_library(server) as library:
        assert len(library.catalogue.all_cases()) == len(before) + 1


def test_a_move_that_is_interrupted_leaves_nothing_and_can_be_made_again(tmp_path, full, database):
    server, folder = library_location(database), tmp_path / "new.semblance"

    class Interrupting:
        def __init__(self, after: int) -> None:
            self.left = after

        def progress(self, *_: object) -> None:
            pass

        def check_cancelled(self) -> None:
            self.left -= 1
            if self.left < 0:
                raise Cancelled

    before = held(full)
    for target in (server, folder):
        for after in (0, 2, 4):
            with pytest.raises(Cancelled):
                move_library(full, target, reporter=Interrupting(after))
            assert not folder.exists() and not list(tmp_path.glob("new*"))
        move_library(full, target)
        assert held(target) == before
        with pytest.raises(BadInput, match=r"holds a library already|exists already"):
            move_library(full, target)


def test_what_is_written_while_it_moves_keeps_the_source(tmp_path, full, monkeypatch):
    copy, written = copying.copy_library, []

    def copy_and_write(*arguments):
        copied = copy(*arguments)
        with open_library(full, writable=True) as library:
            library.save_search("late", {})
        written.append(True)
        return copied

    monkeypatch.setattr(copying, "copy_library", copy_and_write)
    with pytest.raises(SemblanceError, match="was changed while it was copied"):
        move_library(full, tmp_path / "new.semblance", remove=True)
    with open_library(full) as library:
        assert written and "late" in library.searches()


def test_both_homes_are_backed_up_into_the_same_file_and_restored_into_either(tmp_path, full, postgres):
    server, other = (library_location(postgres.new_database(name)) for name in ("one", "two"))
    move_library(full, server)
    before = held(server)
    back_up(server, tmp_path / "b.zip")
    restore(tmp_path / "b.zip", other)
    restore(tmp_path / "b.zip", tmp_path / "r.semblance")
    assert not [file.name for file in tmp_path.iterdir() if file.name.startswith(".backup")]
    # A backup has what is in force: no deleted and no pasted files.
    kept = {name: digest for name, digest in before.items() if not name.startswith(("deleted/", "pasted/"))}
    assert held(other) == kept == held(tmp_path / "r.semblance")
