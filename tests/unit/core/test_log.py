from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from semblance.core import log
from semblance.core.engine import Engine
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.tasks import Reporter

NAME = "Zebrovich^Quentin"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(log.VARIABLE, raising=False)
    log.start_log(verbose=False, folder=tmp_path / "log")
    yield tmp_path / "log"
    log.stop_log()


def written(folder: Path) -> str:
    log.stop_log()
    return (folder / log.FILE).read_text(encoding="utf-8")


def test_texts_are_hashed_and_numbers_are_not(folder):
    log.logger.info("read %s, %s and %s in %.1f s, %d bytes", NAME, Path(NAME), "other", 1.25, 7)
    log.logger.info("a %s, %s", log.PublicText("job"), ValueError)
    first, second = written(folder).splitlines()
    one, same, other = re.findall(r"#[0-9a-f]{8}", first)
    assert one == same != other
    assert first.endswith("in 1.2 s, 7 bytes")
    assert second.endswith("a job, ValueError")


def test_hashes_stay_the_same_and_the_key_is_not_in_the_log(folder):
    first = log.short_hash(NAME)
    log.logger.info("%s", NAME)
    assert first in written(folder)
    key = next(file for file in folder.iterdir() if file.name != log.FILE).read_text()
    assert key not in (folder / log.FILE).read_text()
    log.start_log(folder=folder)
    assert log.short_hash(NAME) == first


def fail_on(name: str, *, reporter: Reporter) -> None:
    reporter.progress(0, 1, tr_lazy("Reading {name}", name=name))
    log.logger.warning("looked at %s", name)
    raise BadInput(tr_lazy("{name} cannot be read: line {n:,}.", name=name, n=1200), "Choose another file.")


def break_on(name: str, *, reporter: Reporter) -> None:
    raise KeyError({name: name})


def test_errors_keep_what_is_constant(folder):
    try:
        fail_on(NAME, reporter=Reporter())
    except BadInput as error:
        log.logger.exception("it failed")
        described = log.describe_error(error)
    assert re.fullmatch(r"BadInput: #\w{8} cannot be read: line 1,200\. Choose another file\.", described), (
        described
    )
    text = written(folder)
    assert "test_log:" in text
    assert " fail_on" in text
    assert NAME not in text


def test_messages_of_others_are_hashed():
    for error, text in [
        (ValueError(f"could not read {NAME}"), r"ValueError: #\w{8}"),
        (FileNotFoundError(2, "No such file", NAME), "FileNotFoundError: ENOENT"),
        (StopIteration(), "StopIteration"),
    ]:
        assert re.fullmatch(text, log.describe_error(error)), error


def test_a_cause_is_described_too():
    try:
        try:
            raise OSError(28, "full", NAME)
        except OSError as cause:
            raise BadInput("The disk is full.") from cause
    except BadInput as error:
        lines = log.describe_failure(error).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "BadInput: The disk is full.",
        "from",
        "OSError: ENOSPC",
    ]


def test_workers_hand_their_records_to_the_parent(folder):
    with Engine(1) as engine:
        task = engine.submit(fail_on, NAME)
        with pytest.raises(BadInput) as caught:
            task.result()
        broken = engine.submit(break_on, NAME)
        with pytest.raises(KeyError) as defect:
            broken.result()
    assert "fail_on" in log.describe_failure(caught.value)
    assert "break_on" in log.describe_failure(defect.value)
    hashed = log.short_hash(NAME)
    log.logger.error("%s", defect.value)
    text = written(folder)
    assert f"looked at {hashed}" in text
    assert NAME not in text


def test_the_level_is_chosen_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv(log.VARIABLE, "warning")
    log.start_log(verbose=True, folder=tmp_path)
    log.logger.info("not this")
    log.logger.warning("but this")
    assert "not this" not in written(tmp_path)
    monkeypatch.setenv(log.VARIABLE, "off")
    log.start_log(folder=tmp_path / "other")
    log.logger.error("nothing")
    log.stop_log()
    assert not (tmp_path / "other").exists()


def test_old_files_stay_and_older_ones_are_deleted(folder, monkeypatch):
    monkeypatch.setattr(log, "MAX_BYTES", 200)
    for number in range(60):
        log.logger.info("line %d", number)
    last = written(folder)
    assert "line 59" in last
    names = sorted(file.name for file in folder.glob("semblance.log*"))
    assert names == [log.FILE, *(f"{log.FILE}.{n}" for n in range(1, log.OLDER_FILES + 1))]
    assert all(file.stat().st_size < 400 for file in folder.glob("semblance.log*"))


def test_a_folder_that_cannot_be_written_harms_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    log.start_log(folder=tmp_path / "file")
    log.logger.error("%s", NAME)
    log.stop_log()
    assert not logging.getLogger("semblance").handlers[1:]


def test_a_sentence_that_comes_again_and_again_pushes_no_other_out(folder, monkeypatch):
    monkeypatch.setattr(log, "SAME_S", 3600.0)
    for number in range(5000):
        log.logger.warning("a request failed: %d", number)
        log.receive_record(logging.WARNING, f"a worker failed: {number} #{number:08x}")
    log.logger.warning("another one")
    monkeypatch.setattr(log, "SAME_S", 0.0)
    log.logger.warning("a request failed: %d", 5000)
    lines = written(folder).splitlines()
    assert len(lines) == 2 * log.MAX_SAME + 2
    assert sum("more like it are left out for 3600 s" in line for line in lines) == 2
    assert lines[-2].endswith("another one")
    assert lines[-1].endswith(f"failed: 5000 ({5000 - log.MAX_SAME:,} like it were left out before)")


def test_no_text_begins_a_line_or_steers_a_terminal(folder):
    hostile = "\r\n2026-01-01 00:00:00.000 ERROR 1 made up\x1b[2J\x07\x00\x85\u2028\u202e"
    log.logger.warning("%s %s", log.PublicText(hostile), hostile)
    log.logger.warning(hostile)
    text = written(folder)
    assert all(one == "\n" or one.isprintable() for one in text)
    lines = text.split("\n")
    assert len([line for line in lines if line and not line.startswith("    ")]) == 2


def test_a_record_has_an_end(folder):
    log.logger.warning("%s", log.PublicText("x" * 10_000_000))
    assert len(written(folder)) < 30_000


def test_slow_phases_are_noted(folder, monkeypatch):
    monkeypatch.setattr(log, "SLOW_PHASE_S", -1.0)
    phases = log.PhaseLog()
    phases.enter(tr_lazy("Reading {name}", name=NAME))
    phases.end()
    assert re.search(r"phase Reading #\w{8} took 0\.00 s", written(folder))
