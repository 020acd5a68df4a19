from __future__ import annotations

import threading

from PySide6.QtCore import QThread
from PySide6.QtWidgets import QWidget

from tests.helpers.leaks import Snapshot, find_leaks

IMPATIENT_S = 0.2


def test_a_running_thread_is_found_and_forgotten_once_it_ended():
    before, end = Snapshot.take(), threading.Event()
    thread = threading.Thread(target=end.wait, name="forgotten")
    thread.start()
    try:
        assert find_leaks(before, IMPATIENT_S) == ["thread 'forgotten'"]
    finally:
        end.set()
        thread.join()
    assert find_leaks(before, IMPATIENT_S) == []


def test_known_library_threads_are_not_reported_as_leaks():
    before, end = Snapshot.take(), threading.Event()
    thread = threading.Thread(target=end.wait, name="zarr_io_7")
    thread.start()
    try:
        assert find_leaks(before, IMPATIENT_S) == []
    finally:
        end.set()
        thread.join()


def test_a_foreign_thread_counts_while_it_runs_only():
    before = Snapshot.take()
    entered, end = threading.Event(), threading.Event()

    class Foreign(QThread):
        def run(self) -> None:
            threading.current_thread()
            entered.set()
            end.wait()

    thread = Foreign()
    thread.start()
    assert entered.wait(60)
    try:
        assert len(find_leaks(before, IMPATIENT_S)) == 1
    finally:
        end.set()
        thread.wait()
    assert find_leaks(before, IMPATIENT_S) == []


def test_an_open_window_is_found_and_a_deleted_one_is_not(qapp):
    before = Snapshot.take()
    window = QWidget()
    window.setObjectName("forgotten")
    assert find_leaks(before, IMPATIENT_S) == ["window QWidget 'forgotten'"]
    window.deleteLater()
    assert find_leaks(before, IMPATIENT_S) == []
