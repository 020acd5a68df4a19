from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.library import library as library_module
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE, DERIVED
from tests.helpers.libraries import case_rows, make_library, numbers_set, raw, tables_of
from tests.helpers.program import run_at_once

TOP = Path(__file__).resolve().parents[4]


def test_a_new_library_opens_empty_and_again(tmp_path):
    path = tmp_path / "New ünïcode.semblance"
    with Library.create(path) as made:
        assert made.writable
        assert made.name == "New ünïcode"
    with Library.open(path) as opened:
        assert opened.summary() == {
            "library": str(path),
            "kinds": [],
            "cases": 0,
            "patients": None,
            "findings": {},
            "feature_sets": [],
            "descriptions": {},
            "metrics": [],
            "searches": [],
        }
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_create_takes_an_empty_folder_and_makes_parents(tmp_path):
    (tmp_path / "empty").mkdir()
    Library.create(tmp_path / "empty").close()
    Library.create(tmp_path / "deep" / "er" / "lib").close()
    Library.open(tmp_path / "deep" / "er" / "lib").close()


def test_create_refuses_what_is_there(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("folder", "file"):
        with pytest.raises(BadInput, match=r"exists and is not a library.*another name"):
            Library.create(tmp_path / name)
    with pytest.raises(SemblanceError, match=r"could not be used"):
        Library.create(tmp_path / "file" / "lib")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "folder" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("call", [Library.create, Library.open, Library.open_or_create])
def test_an_address_is_never_the_name_of_a_folder(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r"a folder, not an address \(postgresql://…\)") as refused:
        call(Path("postgresql://reader:secret@host/cases"))
    assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_cannot_be_finished_leaves_nothing(tmp_path, monkeypatch):
    def fail(file: Path) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(library_module, "create_tables", fail)
    with pytest.raises(SemblanceError, match=r"disk holding .*lib is full\. Free some space"):
        Library.create(tmp_path / "lib")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_create_left_is_swept_a_day_later(tmp_path):
    old, young, other = (
        tmp_path / name for name in ("lib.0.making", "lib.1.making", "lib x.semblance.making")
    )
    for folder in (old, young, other):
        folder.mkdir()
        (folder / "half").write_text("x")
    for folder in (old, other):
        os.utime(folder, (0, 0))
    Library.create(tmp_path / "lib").close()
    assert sorted(found.name for found in tmp_path.iterdir()) == [
        "lib",
        "lib x.semblance.making",
        "lib.1.making",
    ]


def test_two_programs_that_make_the_same_library_share_it(tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom semblance.core.library.library import Library\n"
        "sys.stdin.readline()\nLibrary.open_or_create(Path(sys.argv[1])).close()\nprint('fine')"
    )
    for attempt in range(3):
        assert run_at_once(code, *[(tmp_path / f"lib{attempt}",)] * 3) == ["fine\n"] * 3
        Library.open(tmp_path / f"lib{attempt}").close()
    assert not list(tmp_path.glob("*.making"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a complete library.*may be incomplete.*make a new library"),
        (b"SQLite format 3\0" + b"\1" * 500, "catalogue.sqlite is damaged"),
        (
            b"this is a letter to my aunt" * 100,
            "catalogue.sqlite is damaged.*doctor LIB --repair.*restore a backup",
        ),
    ],
)
@pytest.mark.parametrize("writable", [True, False])
def test_a_broken_catalogue_is_named(tmp_path, content, says, writable):
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / CATALOGUE).write_bytes(content)
    with pytest.raises(BadInput, match=says):
        Library.open(folder, writable=writable)


def test_a_folder_that_is_no_library_is_reported(tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "file").write_text("")
    for name in ("plain", "file"):
        with pytest.raises(BadInput, match=r"is not a library.*Choose the folder of a library"):
            Library.open(tmp_path / name)
    with pytest.raises(BadInput, match=r"gone does not exist"):
        Library.open(tmp_path / "gone")


def test_damage_in_the_middle_is_named_when_it_is_met(tmp_path):
    path = make_library(tmp_path / "lib", cases=400)
    data = bytearray((path / CATALOGUE).read_bytes())
    # Behind what opening reads: the schema, and the first page of every table.
    start = len(data) * 3 // 4 // 4096 * 4096
    data[start:] = os.urandom(len(data) - start)
    (path / CATALOGUE).write_bytes(data)
    with Library.open(path) as opened, pytest.raises(BadInput, match=r"catalogue.sqlite is damaged"):
        opened.catalogue.all_cases()
        opened.catalogue.details(range(1, 401))


def test_a_library_with_deleted_feature_sets_still_works(tmp_path):
    path = make_library(tmp_path / "lib")
    for folder in ("features", "metrics", DERIVED):
        (path / folder).rmdir()
    with Library.open(path) as opened:
        made = numbers_set(opened)
        rows = case_rows(opened)
        opened.features.write_chunk(made, rows, np.zeros((len(rows), 3), np.float32))
        assert opened.features.cases_of(made).tolist() == rows.tolist()


# Read-only


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A library in a place that cannot be written to, as the system says it."""
    path = make_library(tmp_path / "lib")
    with Library.open(path) as opened:
        made = numbers_set(opened)
        rows = case_rows(opened)
        opened.features.write_chunk(made, rows, np.zeros((len(rows), 3), np.float32))
        opened.save_search("mine", {"k": 3})
        opened.thumbnails.put([("c0", b"jpeg")])
    usual = os.access
    monkeypatch.setattr(os, "access", lambda p, mode, **more: usual(p, mode, **more) and not (mode & os.W_OK))
    before = {file: file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
    yield path
    assert {file: file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()} == before


def test_a_library_that_cannot_be_written_opens_for_reading(read_only):
    with Library.open(read_only) as opened:
        assert not opened.writable
        assert opened.summary()["cases"] == 6
        assert opened.load_search("mine") == {"k": 3}
        assert opened.thumbnails.get(["c0", "c1"]) == {"c0": b"jpeg"}
        opened.thumbnails.put([("c1", b"jpeg")])
        made = opened.features.get(None)
        assert len(opened.features.read(made)[0]) == 6
        for write in (
            lambda: opened.save_search("mine", {}),
            lambda: opened.catalogue.add_source("folder", "x", Path("/x")),
            lambda: opened.features.forget([1]),
        ):
            with pytest.raises(SemblanceError, match=r"cannot be written to.*Copy it to a folder"):
                write()


def test_a_write_to_a_read_only_library_gets_a_hint(read_only):
    with pytest.raises(SemblanceError, match=r"lib cannot be written to\. Copy it to a folder you may write"):
        Library.open(read_only, writable=True)
    with pytest.raises(SemblanceError, match=r"cannot be written to"):
        Library.open_or_create(read_only)


def test_a_reader_sees_what_another_program_writes_meanwhile(tmp_path):
    path = make_library(tmp_path / "lib")
    with Library.open(path) as writer, Library.open(path, writable=False) as reader:
        writer.save_search("one", {})
        with Library.open(path, writable=False) as later:
            assert later.searches() == ["one"]
        assert reader.summary()["cases"] == 6


# Metrics and searches


def test_a_metric_is_replaced_by_one_of_its_name(tmp_path):
    path = make_library(tmp_path / "lib")
    with Library.open(path) as opened:
        made = numbers_set(opened)
        files = []
        for learner in ("euclidean", "bdm"):
            files.append(opened.new_metric_file())
            files[-1].write_text(learner)
            (path / DERIVED / f"{files[-1].stem}.abc.npz").write_text("made from it")
            opened.add_metric("mine", learner, made.id, files[-1], {"a": 1}, np.array([1, 2]), None)
        (record,) = opened.metrics()
        assert (record.name, record.learner, record.file.read_text()) == ("mine", "bdm", "bdm")
        assert (record.card["a"], record.training.tolist(), record.scores) == (1, [1, 2], None)
        assert [found.name for found in (path / "metrics").iterdir()] == [files[1].name]
        assert [found.name for found in (path / DERIVED).iterdir()] == [f"{files[1].stem}.abc.npz"]
        opened.set_scores("mine", {"auc": 0.5})
        assert opened.metric("mine").scores == {"auc": 0.5}
        with pytest.raises(BadArguments, match=r"no metric 'other'.*There are: mine"):
            opened.metric("other")


def test_a_metric_the_catalogue_cannot_take_leaves_no_file(tmp_path):
    path = make_library(tmp_path / "lib")
    with Library.open(path) as opened:
        file = opened.new_metric_file()
        file.write_text("x")
        with pytest.raises(SemblanceError):
            opened.add_metric("mine", "bdm", 99, file, {}, np.array([1]), None)
        assert not file.exists()
        assert opened.metrics() == []


def test_metrics_of_killed_trainings_are_swept_a_day_later(tmp_path):
    path = make_library(tmp_path / "lib")
    abandoned, under_way = path / "metrics" / "a.metric", path / "metrics" / ".b.metric.part"
    for file in (abandoned, under_way):
        file.write_text("x")
    os.utime(abandoned, (0, 0))
    with Library.open(path) as opened:
        file = opened.new_metric_file()
        file.write_text("x")
        opened.add_metric("mine", "bdm", numbers_set(opened).id, file, {}, np.array([1]), None)
    assert {found.name for found in (path / "metrics").iterdir()} == {file.name, under_way.name}


def test_a_file_outside_the_library_named_in_the_catalogue_is_not_removed(tmp_path):
    path = make_library(tmp_path / "lib")
    (tmp_path / "mine.txt").write_text("x")
    with Library.open(path) as opened:
        for _ in range(2):
            file = opened.new_metric_file()
            file.write_text("x")
            opened.add_metric("m", "bdm", numbers_set(opened).id, file, {}, np.array([1]), None)
            with raw(path) as connection:
                connection.execute("UPDATE metrics SET file = '../../mine.txt'")
        assert [r.file.parent for r in opened.metrics()] == [path / "metrics"]
    assert (tmp_path / "mine.txt").exists()


@pytest.mark.parametrize("entry", ["metrics", "derived", "features", "thumbnails.sqlite", CATALOGUE])
def test_a_link_in_place_of_an_entry_is_refused(tmp_path, entry):
    path = make_library(tmp_path / "lib")
    (path / entry).rename(tmp_path / "elsewhere") if (path / entry).exists() else None
    (path / entry).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match=rf"contains a link instead of its own '{entry}'\. For safety, links"):
        Library.open(path)


def test_searches_are_saved_over_and_listed(tmp_path):
    path = make_library(tmp_path / "lib")
    with Library.open(path) as opened:
        opened.save_search("one", {"query": "日本"})
        opened.save_search("one", {"query": "Ω"})
        assert opened.searches() == ["one"]
        assert opened.load_search("one") == {"query": "Ω"}
        assert opened.load_search("two") is None


def test_nothing_is_changed_by_opening(tmp_path):
    path = make_library(tmp_path / "lib")
    before = tables_of(path)
    with Library.open(path):
        pass
    assert tables_of(path) == before
    with raw(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_with_a_full_disk_a_library_can_still_be_opened(tmp_path, monkeypatch):
    path = make_library(tmp_path / "lib")
    monkeypatch.setattr(library_module, "disk_is_full", lambda _place: True)
    init = Library.__init__

    def full_disk(self, where: Path, *, writable: bool) -> None:
        if writable:
            raise SemblanceError("The disk is full.")
        init(self, where, writable=writable)

    monkeypatch.setattr(Library, "__init__", full_disk)
    with Library.open(path) as opened:
        assert not opened.writable
        assert opened.summary()["cases"] == 6
    with pytest.raises(SemblanceError, match="full"):
        Library.open(path, writable=True)
    monkeypatch.setattr(library_module, "disk_is_full", lambda _place: False)
    with pytest.raises(SemblanceError, match="full"):
        Library.open(path)
