"""Dialogs to choose files begin where the user was last."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QWidget

from semblance.app.shell import file_dialogs
from semblance.app.shell.file_dialogs import choose_file, choose_folder, choose_target
from semblance.app.shell.settings import Settings


@pytest.fixture
def begun(monkeypatch, tmp_path):
    """What the dialogs began with. The one for reading gives a file in ``in``, the one for writing in ``out``."""
    found: list[str] = []

    def answer(name):
        (tmp_path / name).mkdir()

        def choose(_parent, _title, begin, *_kinds):
            found.append(begin)
            return str(tmp_path / name / "file.csv"), ""

        return choose

    monkeypatch.setattr(QFileDialog, "getOpenFileName", answer("in"))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer("out"))
    monkeypatch.setattr(
        QFileDialog, "getExistingDirectory", lambda _parent, _title, begin: found.append(begin)
    )
    return found


def test_each_begins_in_the_folder_last_read_from_or_written_to(qtbot, begun, tmp_path):
    parent = QWidget()
    qtbot.addWidget(parent)
    assert choose_file(parent, "Open") == tmp_path / "in" / "file.csv"
    assert choose_target(parent, "Save", "scores.csv", "")[0] == tmp_path / "out" / "file.csv"
    assert choose_folder(parent, "Folder") is None
    choose_target(parent, "Save", "plot.png", "")
    choose_target(parent, "Save", str(tmp_path / "new.semblance"), "")
    choose_file(parent, "Open", begin="/elsewhere")
    home, read, written = Path.home(), str(tmp_path / "in"), str(tmp_path / "out" / "plot.png")
    first = [str(home), str(home / "scores.csv")]
    assert begun == [*first, read, written, str(tmp_path / "new.semblance"), "/elsewhere"]


def test_a_folder_that_is_gone_or_not_to_be_remembered_is_not_begun_with(qtbot, begun, tmp_path):
    parent = QWidget()
    qtbot.addWidget(parent)
    choose_file(parent, "Open")
    (tmp_path / "in").rmdir()
    choose_file(parent, "Open")
    (tmp_path / "in").mkdir()
    settings = Settings()
    settings.forget_libraries()
    settings.remembers_libraries = False
    choose_file(parent, "Open")
    choose_file(parent, "Open")
    assert begun == [str(Path.home())] * 4


@pytest.mark.parametrize(
    ("others", "said"),
    [((), "Saved {}."), (("b.dcm", "c.dcm"), "Saved {} and 2 more files beside it.")],
)
def test_further_files_of_a_report_are_counted_in_the_message(context, jobs, tmp_path, others, said):
    out = tmp_path / "a.dcm"
    files = [out, *(tmp_path / name for name in others)]
    file_dialogs.report_saved_file(context, jobs.run("Writing", lambda **_: files), out)
    jobs.run_pending()
    assert context.messages.history[-1].what == said.format(out)
