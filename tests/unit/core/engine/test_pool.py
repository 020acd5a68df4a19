from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import CancelledError, wait
from pathlib import Path

import pytest

from semblance.core.engine import SLOTS, Engine, Progress, WorkerEnded
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.tasks import Cancelled
from tests.helpers import engine_work as work
from tests.helpers.wait import has_ended, wait_for_file, wait_until

TOP = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def engine():
    with Engine(2) as made:
        # Both processes start now, or the check for leaks would take the second for one.
        wait([made.submit(work.nap).future for _ in range(2)])
        yield made


@pytest.fixture
def own():
    """An engine whose workers the test may harm."""
    with Engine(2) as made:
        yield made


def test_many_tasks_come_back_each_with_its_own_result(engine):
    tasks = [engine.submit(work.square, number) for number in range(SLOTS - 1)]
    assert [task.result() for task in tasks] == [number * number for number in range(SLOTS - 1)]


def test_what_is_to_be_done_after_each_task_is_done_in_its_process_before_the_next(tmp_path):
    with Engine(1, after=work.forget_noted) as made:
        first = made.submit(work.note, "first").result()
        assert made.submit(work.note, "second").result() == ["second"]
        assert first == ["first"]
    with Engine(1) as made:
        made.submit(work.note, "first").result()
        assert made.submit(work.note, "second").result() == ["first", "second"]


def test_slots_are_given_back(engine):
    for _ in range(3):
        wait([engine.submit(work.square, number).future for number in range(SLOTS - 1)])


def test_too_many_tasks_are_refused_in_words(own, tmp_path):
    running = [own.submit(work.endless, tmp_path / f"{number}") for number in range(SLOTS)]
    with pytest.raises(SemblanceError, match="Too many jobs"):
        own.submit(work.square, 2)
    for task in running:
        task.cancel()
    for task in running:
        with pytest.raises(Cancelled):
            task.result()
    assert own.submit(work.square, 2).result() == 4


def test_all_progress_is_delivered_before_the_task_is_done(engine):
    for _ in range(20):
        emitted: list[object] = []
        task = engine.submit(
            work.counting, 30, listener=lambda kind, news, to=emitted: to.append((kind, news))
        )
        assert task.result() == 30
        assert [news for kind, news in emitted if kind == "partial"] == list(range(30))
        progress = [news for kind, news in emitted if kind == "progress"]
        assert progress[0] == Progress(0, 30, "counting")
        assert progress[-1] == Progress(30, 30, "counting")


def test_a_listener_is_notified_only_of_its_own_task(engine):
    emitted: dict[int, list[object]] = {0: [], 1: [], 2: []}
    tasks = [
        engine.submit(
            work.counting,
            20 + number,
            listener=lambda kind, news, to=emitted[number]: to.append((kind, news)),
        )
        for number in emitted
    ]
    for task in tasks:
        task.result()
    assert [[n for k, n in emitted[i] if k == "partial"] for i in emitted] == [
        list(range(20)),
        list(range(21)),
        list(range(22)),
    ]


def test_a_failing_listener_does_not_stop_the_others(engine, caplog):
    def fail(kind: str, news: object) -> None:
        raise KeyError(kind)

    emitted: list[object] = []
    first = engine.submit(work.counting, 3, listener=fail)
    second = engine.submit(work.counting, 3, listener=lambda kind, news: emitted.append(kind))
    assert (first.result(), second.result()) == (3, 3)
    assert emitted.count("partial") == 3
    assert "a message of a task was lost" in caplog.text


def test_cancelling_ends_a_running_task(engine, tmp_path):
    task = engine.submit(work.endless, tmp_path / "runs")
    wait_for_file(tmp_path / "runs")
    task.cancel()
    with pytest.raises(Cancelled):
        task.result()
    task.cancel()


def test_cancelling_a_task_that_waits_never_starts_it(engine, tmp_path):
    busy = [engine.submit(work.endless, tmp_path / f"busy {number}") for number in range(8)]
    last = engine.submit(work.endless, tmp_path / "never")
    last.cancel()
    with pytest.raises(Cancelled):
        last.result()
    done, waiting = wait([last.future], timeout=0)
    assert (len(done), len(waiting)) == (1, 0)
    for task in busy:
        task.cancel()
    for task in busy:
        with pytest.raises((Cancelled, CancelledError)):
            task.future.result()
    assert not (tmp_path / "never").exists()


def test_stopping_keeps_the_result(engine, tmp_path):
    task = engine.submit(work.endless, tmp_path / "runs")
    wait_for_file(tmp_path / "runs")
    task.stop()
    assert task.result() == "stopped"
    task.stop()


def test_a_late_cancellation_never_reaches_the_next_task(engine):
    for _ in range(50):
        before = engine.submit(work.square, 3)
        before.result()
        after = engine.submit(work.square, 4)
        before.cancel()
        before.stop()
        assert after.result() == 16


def test_errors_cross_over_whole(engine):
    with pytest.raises(BadInput) as refused:
        engine.submit(work.refusing).result()
    assert (refused.value.message, refused.value.hint) == ("The file 'x.png' is empty.", "Copy it again.")
    with pytest.raises(ZeroDivisionError, match="a defect"):
        engine.submit(work.defective).result()


def test_an_error_that_cannot_be_pickled_is_reported_and_ends_nothing(engine, tmp_path):
    other = engine.submit(work.endless, tmp_path / "runs")
    with pytest.raises(RuntimeError, match="Awkward: awkward"):
        engine.submit(work.awkward).result()
    other.stop()
    assert other.result() == "stopped"


def test_workers_are_niced_with_one_blas_thread_and_no_qt(engine):
    facts = engine.submit(work.facts).result()
    assert set(facts["threads"].values()) == {"1"}
    assert facts["nice"] >= 10 or os.name == "nt"
    assert not facts["qt"]


def test_work_of_the_main_module_is_refused(engine, monkeypatch):
    monkeypatch.setattr(work.square, "__module__", "__main__")
    with pytest.raises(ValueError, match="Worker processes do not have"):
        engine.submit(work.square, 3)


def test_an_engine_inside_a_worker(engine):
    assert engine.submit(work.nested, [1, 2, 3]).result() == [1, 4, 9]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_worker_is_reported_and_the_next_task_works(own, tmp_path):
    tasks = [own.submit(work.endless, tmp_path / f"{number}") for number in range(2)]
    os.kill(int(wait_for_file(tmp_path / "0")), signal.SIGKILL)
    for task in tasks:
        with pytest.raises(WorkerEnded, match=r"ended unexpectedly.*Start the job again"):
            task.result()
    assert own.submit(work.square, 5).result() == 25


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_the_engine_survives_a_worker_killed_while_it_sends(own, tmp_path):
    """It dies holding the lock of the news, half a message written."""
    for attempt in range(5):
        marker = tmp_path / f"{attempt}"
        task = own.submit(work.deaf, marker, listener=lambda kind, news: None)
        pid = int(wait_for_file(marker))
        time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(WorkerEnded):
            task.result()
        assert own.submit(work.square, 5).result() == 25


def test_an_engine_shut_down_twice_can_start_again(tmp_path):
    made = Engine(1)
    made.shutdown()
    assert made.submit(work.square, 6).result() == 36
    running = made.submit(work.endless, tmp_path / "runs")
    queued = made.submit(work.square, 7)
    wait_for_file(tmp_path / "runs")
    made.shutdown()
    made.shutdown()
    with pytest.raises(Cancelled):
        running.result()
    with pytest.raises(Cancelled):
        queued.result()
    assert made.submit(work.square, 6).result() == 36
    made.shutdown()


def test_a_worker_that_does_not_listen_is_killed_in_the_end(tmp_path):
    before = set(multiprocessing.active_children())
    engine = Engine(1)
    task = engine.submit(work.thinking, tmp_path / "runs")
    wait_for_file(tmp_path / "runs")
    engine.shutdown(0.2)
    with pytest.raises(WorkerEnded):
        task.result()
    assert set(multiprocessing.active_children()) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_workers_end_with_a_killed_parent(tmp_path):
    """Those of engines within workers too. The script has no guard: workers do not run it again."""
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from pathlib import Path
            from semblance.core.engine import Engine
            from tests.helpers import engine_work as work

            engine = Engine(2)
            engine.submit(work.endless, Path(sys.argv[1]) / "one")
            engine.submit(work.nested_endless, Path(sys.argv[1]) / "two").result()
            """
        )
    )
    environment = os.environ | {"PYTHONPATH": str(TOP)}
    with subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=environment) as parent:
        workers = [int(wait_for_file(tmp_path / name)) for name in ("one", "two", "two.inner")]
        parent.kill()
    for worker in workers:
        wait_until(lambda pid=worker: has_ended(pid), f"worker {worker} ends")


@pytest.mark.skipif(os.name == "nt", reason="Windows sends Ctrl-C otherwise")
def test_ctrl_c_reaches_the_parent_only(tmp_path):
    """A terminal sends it to every process: no worker may answer, not even one that is just starting."""
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal
            import sys
            from pathlib import Path
            from semblance.core.engine import Engine
            from tests.helpers import engine_work as work

            if __name__ == "__main__":
                # A shell starts what runs in the background without this.
                signal.signal(signal.SIGINT, signal.default_int_handler)
                with Engine(2) as engine:
                    task = engine.submit(work.endless, Path(sys.argv[1]) / "one")
                    try:
                        print("submitted", flush=True)
                        task.result()
                    except KeyboardInterrupt:
                        task.stop()
                        print(task.result(), flush=True)
            """
        )
    )
    environment = os.environ | {"PYTHONPATH": str(TOP)}
    for running in (False, True):
        (tmp_path / "one").unlink(missing_ok=True)
        with subprocess.Popen(
            [sys.executable, str(script), str(tmp_path)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as parent:
            assert parent.stdout.readline() == "submitted\n"
            if running:
                wait_for_file(tmp_path / "one")
            os.killpg(parent.pid, signal.SIGINT)
            output, complaints = parent.communicate()
        assert (output, complaints, parent.returncode) == ("stopped\n", "", 0)
