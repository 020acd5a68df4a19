from __future__ import annotations

import os
import signal
import threading

import pytest

from semblance.app.cli.reporter import ConsoleReporter
from semblance.core.tasks import Cancelled


def test_the_first_ctrl_c_cancels_and_the_second_ends():
    before = signal.getsignal(signal.SIGINT)
    with ConsoleReporter() as reporter:
        reporter.progress(1, 10, "Extracting")
        reporter.progress(2, None, "Extracting")
        reporter.check_cancelled()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(Cancelled):
            reporter.check_cancelled()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_off_the_main_thread_takes_no_signals():
    before = signal.getsignal(signal.SIGINT)
    during = []

    def work():
        with ConsoleReporter() as reporter:
            reporter.progress(1, 1, "Training")
            during.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert during == [before]


def test_progress_is_shown_only_in_a_terminal(capfd):
    with ConsoleReporter() as reporter:
        for done in range(3):
            reporter.progress(done, None, "reading")
            reporter.progress(done, 2, "work")
    assert capfd.readouterr() == ("", "")
