from __future__ import annotations

import getpass
import threading

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.library import export_chain, export_log
from semblance.core.library.export_log import FILE, log_export, read_exports
from tests.helpers.libraries import make_library


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "lib")


def test_each_export_is_a_line_without_names(library):
    log_export(library, "report", ".pdf", identified=True)
    log_export(library, "plots", "png", files=3)
    first, second = read_exports(library)
    assert (first["what"], first["kind"], first["identified"], first["files"]) == ("report", "pdf", True, 1)
    assert (second["what"], second["identified"], second["files"]) == ("plots", False, 3)
    assert first["time"].endswith("+00:00")
    assert first["by"] == getpass.getuser()
    assert len((library / FILE).read_text().splitlines()) == 2


def test_without_a_library_nothing_is_noted(tmp_path):
    log_export(None, "report", "pdf")
    log_export(tmp_path, "report", "pdf")
    assert list(tmp_path.iterdir()) == []
    assert read_exports(tmp_path) == []


def test_programs_that_export_at_once_do_not_mix_their_lines(library):
    threads = [
        threading.Thread(target=lambda: [log_export(library, "report", "pdf") for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["what"] for line in read_exports(library)] == ["report"] * 80


@pytest.mark.parametrize("line", ["{", "[]", "7", '{"time": 1}', "\x00\xff", "[" * 100_000])
def test_damaged_lines_are_reported_and_the_rest_is_read(library, line):
    log_export(library, "report", "pdf")
    with (library / FILE).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    log_export(library, "plots", "png")
    assert [entry["what"] for entry in read_exports(library)] == ["report", "damaged line", "plots"]


def test_a_log_that_cannot_be_written_is_reported(library, monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export_chain.os, "fsync", full)
    with pytest.raises(
        SemblanceError,
        match=r"The file was exported, but the export could not be logged in .*exports.log: The disk",
    ):
        log_export(library, "report", "pdf")


def test_a_library_that_only_can_be_read_notes_nothing(library, monkeypatch):
    monkeypatch.setattr(export_log.os, "access", lambda *_args: False)
    log_export(library, "report", "pdf")
    assert not (library / FILE).exists()
