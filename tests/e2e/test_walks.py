"""A user who does anything meets no exception and no warning; and the harness that says so can fail."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEventLoop
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QLineEdit, QMainWindow, QPushButton, QWidget

from semblance.app.shell.jobs import WorkerPool
from semblance.app.widgets.dialog import NameDialog
from semblance.core.tasks import Reporter
from tests.helpers.prompt_jobs import LateJobs
from tests.walks.__main__ import is_stalled_by_host
from tests.walks.failure_monitor import Watch
from tests.walks.random_user import PLACES, REST_AFTER, Walker, stub_dialogs
from tests.walks.run_walk import make_library

TOP = Path(__file__).resolve().parents[2]
# Offscreen there is no window manager; dialogs and menus ask it for what it cannot do.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.mark.long
def test_a_short_walk_through_the_window(tmp_path):
    made = make_library(tmp_path / "made")
    command = [sys.executable, "-m", "tests.walks", "--child", str(made), "--seed", "7", "--actions", "120"]
    ended = subprocess.run(
        [*command, "--stall-ms", "0"],
        cwd=TOP,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    outcome = json.loads(ended.stdout.splitlines()[-1])
    assert outcome["problems"] == []
    assert sum(outcome["done"].values()) == 120
    assert outcome["looked"] >= 120 // REST_AFTER
    # Not each time there is a ranking, and one that the window itself calls outdated is not compared.
    assert outcome["compared"] >= 5


def test_late_jobs_keep_the_order_of_a_pool_and_send_copies(qtbot):
    jobs, found = LateJobs(seed=1, limit_s=0.02), []
    given = [0]
    for number in range(3):
        job = jobs.run("", _appended, given, number, pool=WorkerPool.READ)
        job.done.connect(found.append)
    refused = jobs.run("", _never_ends, pool=WorkerPool.BACKGROUND)
    jobs.run("", _appended, given, 8, pool=WorkerPool.DRAW).cancel()
    refused.cancelled.connect(lambda: found.append([]))
    qtbot.waitUntil(lambda: not jobs.active)
    assert [one for one in found if one] == [[0, 0], [0, 1], [0, 2]]
    assert [] in found, "what takes too long is cancelled"
    assert given == [0]


def _appended(values: list[int], value: int, *, reporter: Reporter) -> list[int]:
    values.append(value)
    return values


def _never_ends(*, reporter: Reporter) -> None:
    while True:
        reporter.check_cancelled()


def walked(window: QMainWindow, steps: int = 60) -> Watch:
    over: list[bool] = []
    watch = Watch(0)

    def say(what: str) -> None:
        watch.doing = what

    walker = Walker(window, 1, steps, [], say, lambda: over.append(True))
    with watch:
        walker.start()
        while not over:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
    assert sum(walker.done.values()) == steps
    return watch


@pytest.fixture
def window(qtbot) -> QMainWindow:
    made = QMainWindow()
    qtbot.addWidget(made)
    made.resize(300, 200)
    made.show()
    return made


def test_a_walk_in_a_harmless_window_finds_nothing(window):
    window.setCentralWidget(QLineEdit())
    assert walked(window).problems == []


def test_panels_that_are_rarely_come_to_by_chance_are_visited(window, monkeypatch):
    monkeypatch.setitem(PLACES, "why", (QLineEdit, ()))
    page = QWidget()
    window.setCentralWidget(page)
    for name in ("why", "next_case"):
        action = QAction(name, window)
        action.setObjectName(name)
    panel = QLineEdit(page)
    panel.setGeometry(250, 180, 20, 10)
    over: list[bool] = []
    walker = Walker(window, 1, 60, [], lambda _what: None, lambda: over.append(True))
    walker.start()
    while not over:
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
    assert walker.commands["why"] > 0
    walker._visiting, walker._stay = "why", 2
    assert [walker._visited() for _ in range(3)] == [panel, panel, None]


def test_questions_are_answered_without_waiting(window, tmp_path, monkeypatch):
    asked = ("getOpenFileName", "getOpenFileNames", "getSaveFileName", "getExistingDirectory")
    for kind, name in (*((QFileDialog, name) for name in asked), (NameDialog, "ask")):
        # What it is now comes back after the test.
        monkeypatch.setattr(kind, name, getattr(kind, name))
    stub_dialogs(random.Random(1), [tmp_path / "a.png"], [tmp_path], tmp_path)
    names = {NameDialog(window, "New", "Name", "Add", names=["known"]).ask() for _ in range(30)}
    assert "known" in names
    assert isinstance(QFileDialog.getOpenFileNames()[0], list)
    assert all(isinstance(getattr(QFileDialog, name)()[0], str) for name in asked[:1] + asked[2:3])
    assert isinstance(QFileDialog.getExistingDirectory(), str)


def test_an_exception_in_a_slot_is_found(window):
    button = QPushButton("do not press")

    def fall() -> None:
        raise ZeroDivisionError("nobody expected that")

    button.clicked.connect(fall)
    window.setCentralWidget(button)
    found = walked(window).problems
    assert found
    assert "nobody expected that" in found[0]
    assert "QPushButton" in found[0]


def test_a_warning_is_found(window):
    button = QPushButton("old")
    button.clicked.connect(lambda: warnings.warn("this is old", DeprecationWarning, stacklevel=1))
    window.setCentralWidget(button)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        found = walked(window).problems
    assert any("DeprecationWarning: this is old" in line for line in found)


def test_a_stall_is_found_by_the_time_that_passed(monkeypatch, qapp):
    from tests.walks import failure_monitor

    watch = Watch(200)
    with watch:
        # Other programs have the processor meanwhile: the system distinguishes these, here not at all.
        monkeypatch.setattr(watch, "_run_delay", lambda: watch._waited)
        monkeypatch.setattr(failure_monitor.time, "perf_counter", lambda: watch._last + 0.35)
        monkeypatch.setattr(failure_monitor.time, "thread_time", lambda: watch._busy + 0.25)
        monkeypatch.setattr(
            failure_monitor, "_times", lambda: watch._calm | {1: failure_monitor._Time(30, 70)}
        )
        monkeypatch.setattr(watch, "_stacks", {1: "in its place"})
        watch.doing = "thinking"
        watch._beat()
        monkeypatch.setattr(watch, "_run_delay", lambda: watch._waited + 300)
        watch._beat()
        monkeypatch.undo()
    (stall,) = watch.stalls
    assert stall.doing == "thinking"
    times = (stall.ms, stall.wall_ms, stall.busy_ms, stall.others_ms)
    assert [round(ms) for ms in times] == [345, 345, 250, 70]
    assert round(watch.longest_busy_ms) == 250
    assert "30 ms computing, waited 70 ms for a processor\nin its place" in stall.threads


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not tell")
def test_a_stall_reports_the_stacks_of_the_other_threads(qtbot):
    done = threading.Event()

    def hold() -> None:
        while not done.is_set():
            sum(range(1000))

    busy = threading.Thread(target=hold, name="holds everything up")
    busy.start()
    watch = Watch(1)
    with watch:
        qtbot.waitUntil(lambda: any("holds everything up" in stall.threads for stall in watch.stalls))
    done.set()
    busy.join()
    threads = next(stall.threads for stall in watch.stalls if "holds everything up" in stall.threads)
    assert "ms computing" in threads


def test_a_walk_is_repeated_only_after_stalls_of_the_host():
    host, own = {"wall_ms": 500.0, "stolen_most_ms": 100.0}, {"wall_ms": 500.0, "stolen_most_ms": 99.0}
    assert is_stalled_by_host({"problems": [], "stalls": [host, host]})
    assert not is_stalled_by_host({"problems": [], "stalls": [host, own]})
    assert not is_stalled_by_host({"problems": ["an exception"], "stalls": [host]})
    assert not is_stalled_by_host({"problems": [], "stalls": []})
