"""Jobs: results, errors, cancelling, partial results, and results that come too late."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from pytestqt.qtbot import QtBot

from semblance.app.shell.jobs import Job, Jobs, JobState, WorkerPool
from semblance.core.errors import SemblanceError
from semblance.core.tasks import SILENT, Reporter


def double(number: int, *, reporter: Reporter = SILENT) -> int:
    return 2 * number


def refuse(*, reporter: Reporter = SILENT) -> None:
    raise SemblanceError("It cannot be.", "Do something else.")


def break_down(*, reporter: Reporter = SILENT) -> None:
    raise ZeroDivisionError("a defect")


def count(to: int, *, reporter: Reporter = SILENT) -> int:
    for number in range(to):
        reporter.check_cancelled()
        if reporter.stop_requested:
            return number
        reporter.progress(number, to, "Counting")
        reporter.partial(number)
        time.sleep(0.01)
    return to


@pytest.fixture
def jobs(qtbot: QtBot) -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.shutdown()
    made.deleteLater()


def test_the_result_arrives(jobs: Jobs, qtbot: QtBot) -> None:
    job = jobs.run("Doubling", double, 21)
    with qtbot.waitSignal(job.done) as arrived:
        pass
    assert arrived.args == [42]
    assert job.state is JobState.DONE
    assert jobs.active == []


def test_an_error_keeps_its_text(jobs: Jobs, qtbot: QtBot) -> None:
    job = jobs.run("Refusing", refuse)
    with qtbot.waitSignal(job.failed) as failed:
        pass
    assert failed.args is not None
    error = failed.args[0]
    assert (error.message, error.hint) == ("It cannot be.", "Do something else.")


def test_a_defect_is_reported_with_its_details(jobs: Jobs, qtbot: QtBot) -> None:
    job = jobs.run("Breaking", break_down)
    with qtbot.waitSignal(job.failed) as failed:
        pass
    assert failed.args is not None
    error = failed.args[0]
    assert "Breaking failed because of a defect" in error.message
    assert "ZeroDivisionError" in error.safe_traceback


def test_cancelling_is_silent_and_at_once(jobs: Jobs, qtbot: QtBot) -> None:
    job = jobs.run("Counting", count, 100_000)
    emitted: list[object] = []
    job.done.connect(emitted.append)
    job.failed.connect(emitted.append)
    with qtbot.waitSignal(job.partial):
        pass
    with qtbot.waitSignal(job.cancelled):
        job.cancel()
    assert job.state is JobState.CANCELLED
    assert jobs.active == []
    after = jobs.run("Doubling", double, 1)
    with qtbot.waitSignal(after.done):
        pass
    assert emitted == []


def test_stopping_keeps_what_there_is(jobs: Jobs, qtbot: QtBot) -> None:
    job = jobs.run("Counting", count, 100_000, can_stop=True)
    with qtbot.waitSignal(job.partial):
        pass
    with qtbot.waitSignal(job.done) as arrived:
        job.stop()
    assert arrived.args is not None
    assert 0 < arrived.args[0] < 100_000


def test_progress_shows_the_fraction_and_the_time_left(jobs: Jobs, qtbot: QtBot) -> None:
    job = jobs.run("Counting", count, 150)
    emitted: list[tuple[float | None, float | None]] = []
    job.changed.connect(lambda: emitted.append((job.fraction, job.seconds_left)))
    with qtbot.waitSignal(job.done):
        pass
    fractions = [fraction for fraction, _ in emitted if fraction is not None]
    assert fractions == sorted(fractions)
    assert any(left is not None and left >= 0 for _, left in emitted)


def test_a_newer_job_on_the_channel_drops_the_older_result(jobs: Jobs, qtbot: QtBot) -> None:
    results: list[int] = []
    older = jobs.run("Counting", count, 30, pool=WorkerPool.SEARCH, channel="ask", quiet=True)
    older.done.connect(results.append)
    newer = jobs.run("Doubling", double, 4, pool=WorkerPool.SEARCH, channel="ask", quiet=True)
    newer.done.connect(results.append)
    with qtbot.waitSignal(newer.done):
        pass
    # Its process has answered, and what it sent has been delivered.
    qtbot.waitUntil(lambda: older._task is not None and older._task.future.done())
    QCoreApplication.processEvents()
    assert older.state is JobState.CANCELLED
    assert results == [8]


def test_quiet_jobs_are_not_listed(jobs: Jobs, qtbot: QtBot) -> None:
    listed: list[Job] = []
    jobs.added.connect(listed.append)
    quiet = jobs.run("Doubling", double, 1, quiet=True)
    loud = jobs.run("Doubling", double, 2)
    assert listed == [loud] == jobs.listed
    qtbot.waitUntil(lambda: not quiet.running and not loud.running)
    assert jobs.listed == []


#: Threads tell news of the newest job without a pause while the window's thread makes jobs and ends them.
NEWS_WITHOUT_END = """
import sys
import threading
import time

from PySide6.QtCore import QCoreApplication, QEvent

from semblance.app.shell.jobs import Job, MainThreadBridge
from semblance.core.engine import Progress

sys.setswitchinterval(1e-5)
app = QCoreApplication([])
post, over = MainThreadBridge(), threading.Event()
newest = Job("Counting", post)


def tell():
    while not over.is_set():
        newest.receive("progress", Progress(1, 2, "Counting"))


tellers = [threading.Thread(target=tell) for _ in range(3)]
for teller in tellers:
    teller.start()
until = time.monotonic() + 2
while time.monotonic() < until:
    newest = Job("Counting", post)
    app.processEvents()
    app.processEvents()
    newest.cancel()
    newest.deleteLater()
    app.sendPostedEvents(None, QEvent.Type.DeferredDelete)
over.set()
for teller in tellers:
    teller.join()
print("alive")
"""


def test_a_job_may_be_removed_while_its_signals_are_delivered() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", NEWS_WITHOUT_END], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "alive\n"), ended.stderr[-2000:]


def think(marker: Path, *, reporter: Reporter = SILENT) -> None:
    """Never checks for cancelling."""
    marker.touch()
    time.sleep(600)


def test_the_end_of_the_program_waits_for_no_job_and_reports_no_failure(
    jobs: Jobs, qtbot: QtBot, tmp_path: Path
) -> None:
    thinking = [
        jobs.run("Thinking", think, tmp_path / str(n), pool=pool) for n, pool in enumerate(WorkerPool)
    ]
    failures: list[object] = []
    for job in thinking:
        job.failed.connect(failures.append)
    qtbot.waitUntil(lambda: all((tmp_path / str(n)).exists() for n in range(len(WorkerPool))))
    before = set(multiprocessing.active_children())
    jobs.shutdown()
    qtbot.waitUntil(lambda: not jobs.active)
    assert before
    assert not multiprocessing.active_children()
    assert not failures


def test_listeners_of_jobs_get_no_signal_at_shutdown(qtbot: QtBot) -> None:
    jobs, told = Jobs(), []
    job = jobs.run("Counting", count, 100_000)
    with qtbot.waitSignal(job.partial):
        pass
    # As after a cancelled extraction, whose library is read again: that process would outlive the window.
    job.cancelled.connect(lambda: told.append(jobs.run("Doubling", double, 1)))
    jobs.shutdown()
    assert not job.running
    assert told == []
    assert multiprocessing.active_children() == []
    jobs.deleteLater()
