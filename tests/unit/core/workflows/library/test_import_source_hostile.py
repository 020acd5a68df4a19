"""Folders that mean harm or change under the reader: every file ends up in a list and nothing waits."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from pydicom import Dataset

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.library.importers.source import FolderSource
from semblance.core.library.library import Library
from semblance.core.limits import MAX_OBJECT_BYTES
from semblance.core.tasks import Reporter
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.bad_images import encoded, pattern
from tests.helpers.dicom_files import ct_series, ct_slice, image, save

PNG = encoded(pattern())
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="names, pipes and links of POSIX systems")
not_root = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may open everything")


@pytest.fixture
def folder(tmp_path):
    """One good image; whatever else is in the folder, it is added."""
    made = tmp_path / "source"
    made.mkdir()
    (made / "good.png").write_bytes(PNG)
    return made


def failed(result) -> dict[str, str]:
    return {item["path"]: item["reason"] for item in result.failed}


@posix_only
def test_pipes_sockets_devices_and_loops_of_links(folder, tmp_path, monkeypatch):
    os.mkfifo(folder / "pipe.png")
    os.mkfifo(folder / "pipe.dcm")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.png")
        (folder / "null.png").symlink_to("/dev/zero")
        (folder / "round").symlink_to(folder)
        (folder / "a").mkdir()
        (folder / "a" / "up").symlink_to(folder / "a")
        (folder / "one.png").symlink_to("two.png")
        (folder / "two.png").symlink_to("one.png")
        result = import_source(folder, tmp_path / "lib")
    assert result.added == 1
    reasons = failed(result)
    plain = {"pipe.png", "pipe.dcm", "socket.png"}
    assert set(reasons) == plain | {"null.png", "round", "a/up", "one.png", "two.png"}
    assert all("not a plain file" in reasons[name] for name in plain)
    assert "out of the folder" in reasons["null.png"]


@posix_only
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    plain = Path(__file__).stat()
    os.mkfifo(tmp_path / "was a file.png")
    monkeypatch.setattr("pathlib.Path.stat", lambda *_, **__: plain)
    with pytest.raises(BadInput, match="not a plain file"):
        open_regular_file(tmp_path / "was a file.png", "was a file.png")


@posix_only
@pytest.mark.parametrize("kind", ["folder", "dicom"])
def test_files_with_control_characters_in_their_names_are_imported(folder, tmp_path, kind):
    names = ["line\nbreak", "tab\tand \x1b[31mred", "\u202egnp.exe", " ", "n" * 240, "'; DROP TABLE cases;--"]
    for number, name in enumerate(names):
        if kind == "folder":
            (folder / f"{name}.png").write_bytes(encoded(pattern(seed=number + 1)))
        else:
            save(image(np.full((9, 9), number, np.uint16), Modality="DX"), folder / f"{name}.dcm")
    result = import_source(folder, tmp_path / "lib", kind=kind)
    assert result.failed == []
    assert result.added == len(names) + (kind == "folder")
    assert import_source(folder, tmp_path / "lib", kind=kind).unchanged == result.added


@posix_only
def test_folders_of_names_that_are_no_text(folder, tmp_path):
    closed = folder / os.fsdecode(b"caf\xe9")
    try:
        closed.mkdir()
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    (closed / "1.png").write_bytes(PNG)
    result = import_source(folder, tmp_path / "lib")
    assert result.added == 1
    assert failed(result) == {"caf�": "its name is not valid text; rename it"}


@posix_only
def test_folders_deeper_than_a_path_may_be(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    for _ in range(30):
        Path("d" * 200).mkdir()
        os.chdir("d" * 200)
    Path("deep.png").write_bytes(PNG)
    monkeypatch.chdir(tmp_path)
    result = import_source(folder, tmp_path / "lib")
    assert result.added == 1
    ((path, reason),) = failed(result).items()
    assert path.startswith("d" * 200)
    assert "cannot be opened" in reason


@posix_only
@not_root
def test_closed_files_and_folders(folder, tmp_path):
    (folder / "closed.png").write_bytes(PNG)
    (folder / "shut").mkdir()
    for name in ("closed.png", "shut"):
        (folder / name).chmod(0)
    try:
        result = import_source(folder, tmp_path / "lib")
    finally:
        (folder / "shut").chmod(0o700)
    assert result.added == 1
    assert set(failed(result)) == {"closed.png", "shut/"}


def changing(monkeypatch, change) -> None:
    """``change`` happens once, between the listing of a folder and the reading of its files."""
    listing, waiting = FolderSource._list, [change]

    def listed(self):
        yield from list(listing(self))
        while waiting:
            waiting.pop()()

    monkeypatch.setattr(FolderSource, "_list", listed)


def test_files_that_disappear_grow_or_shrink_while_they_are_read(folder, tmp_path, monkeypatch):
    for name in ("gone.png", "grows.png", "shrinks.png", "becomes.png"):
        (folder / name).write_bytes(encoded(pattern(seed=len(name))))

    def change() -> None:
        (folder / "gone.png").unlink()
        with (folder / "grows.png").open("ab") as file:
            file.write(b"more" * 1000)
        (folder / "shrinks.png").write_bytes(PNG[:40])
        (folder / "becomes.png").unlink()
        (folder / "becomes.png").mkdir()

    changing(monkeypatch, change)
    result = import_source(folder, tmp_path / "lib")
    assert result.added == 2
    reasons = failed(result)
    assert set(reasons) == {"gone.png", "shrinks.png", "becomes.png"}
    assert "does not exist" in reasons["gone.png"]
    again = import_source(folder, tmp_path / "lib")
    assert (again.added, again.unchanged) == (0, 2)


def test_slices_that_disappear_while_they_are_read(tmp_path, monkeypatch):
    paths = ct_series(tmp_path / "ct", 5)
    changing(monkeypatch, paths[2].unlink)
    result = import_source(tmp_path / "ct", tmp_path / "lib")
    assert result.added == 1
    assert set(failed(result)) == {"002.dcm"}
    with Library.open(tmp_path / "lib") as opened:
        assert opened.catalogue.details([1])[1].depth == 4


def test_a_folder_that_disappears_ends_the_import_and_nothing_is_lost(folder, tmp_path, monkeypatch):
    library, elsewhere = tmp_path / "lib", tmp_path / "elsewhere"
    assert import_source(folder, library, kind="folder").added == 1
    (folder / "new.png").write_bytes(encoded(pattern(seed=1)))
    changing(monkeypatch, lambda: folder.rename(elsewhere))
    with pytest.raises(SemblanceError, match="source was removed during the import") as refused:
        import_source(folder, library, kind="folder")
    # Nothing is wrong with what was asked for or with the files.
    assert type(refused.value) is SemblanceError
    with Library.open(library) as opened:
        # The file that could not be read is not listed as unreadable, nor the other as removed.
        (source,) = opened.catalogue.sources()
        files = opened.catalogue.files(source)
        assert {path: file.state for path, file in files.items()} == {"good.png": "ok"}
        assert opened.summary()["cases"] == 1
    elsewhere.rename(folder)
    again = import_source(folder, library, kind="folder")
    assert (again.added, again.unchanged, again.failed) == (1, 1, [])


def test_a_file_with_a_hole_of_terabytes_is_refused_unread(tmp_path):
    root = tmp_path / "t"
    path = save(image(np.zeros((9, 9), np.uint16), Modality="DX"), root / "a.dcm")
    (root / "b.png").write_bytes(PNG)
    for huge in (path, root / "b.png"):
        try:
            os.truncate(huge, MAX_OBJECT_BYTES + (1 << 40))
        except OSError:
            pytest.skip("this file system has no files with holes")
    save(image(np.zeros((9, 9), np.uint16), Modality="DX"), root / "good.dcm")
    result = import_source(root, tmp_path / "lib", kind="dicom")
    assert result.added == 1
    assert "the limit is" in failed(result)["a.dcm"]
    images = import_source(root, tmp_path / "other", kind="folder")
    assert images.added == 0
    assert "limit" in failed(images)["b.png"]


def test_ten_thousand_private_elements_and_sequences_within_sequences(tmp_path):
    private = ct_slice(np.zeros((9, 9), np.int16), 0)
    for number in range(10_000):
        private.add_new(0x00110000 | 0x1000 + number, "LO", "whatever")
    save(private, tmp_path / "t" / "private.dcm")
    deep = image(np.zeros((9, 9), np.uint16), Modality="DX")
    inner = deep
    for _ in range(60):
        item = Dataset()
        inner.ContentSequence = [item]
        inner = item
    save(deep, tmp_path / "t" / "deep.dcm")
    result = import_source(tmp_path / "t", tmp_path / "lib")
    assert (result.added, result.failed) == (2, [])


def test_a_table_is_imported_as_the_settings_say_it_is_written(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("1;2,5;7\n3;4,5;8\n")
    with pytest.raises(BadInput, match="may have no header row"):
        import_source(table, tmp_path / "refused.semblance")
    result = import_source(table, tmp_path / "lib.semblance", settings=["header=no"])
    assert result.added == 2
    assert result.findings == {"7": 1, "8": 1}
    assert any("without a header row" in note for note in result.notes)
    with pytest.raises(BadArguments, match="'delimiter' cannot be 'x'"):
        import_source(table, tmp_path / "lib.semblance", settings=["delimiter=x"])
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(encoded(pattern()))
    with pytest.raises(BadArguments, match="not a setting of the kind folder"):
        import_source(tmp_path / "images", tmp_path / "images.semblance", settings=["header=no"])


class _Removes(Reporter):
    """Removes a folder as soon as some cases are imported, as a person or an unplugged disk would."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def partial(self, result: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.mark.parametrize(
    ("lost", "says"), [("lib.semblance", "The library"), ("source", "cases were imported before")]
)
def test_an_import_whose_library_or_source_is_removed_meanwhile_fails(
    folder, tmp_path, monkeypatch, lost, says
):
    monkeypatch.setattr("semblance.core.workflows.library.import_source.FIRST_BATCH", 2)
    for number in range(12):
        (folder / f"{number}.png").write_bytes(encoded(pattern(seed=number)))
    with pytest.raises(SemblanceError, match=f"{says}.*") as error:
        import_source(folder, tmp_path / "lib.semblance", reporter=_Removes(tmp_path / lost))
    assert str(tmp_path / lost) in error.value.message
    assert "Connect its disk" in error.value.hint
    if lost == "source":
        with Library.open(tmp_path / "lib.semblance") as opened:
            assert len(opened.catalogue.all_cases()) == 2
