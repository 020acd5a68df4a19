import io
import signal

import pytest

from semblance import progress
from semblance.core.tasks import Cancelled
from semblance.progress import ProgressBar, run


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_progress_is_one_line_that_goes_away(monkeypatch, clock):
    monkeypatch.setattr("sys.stderr", stderr := Terminal())
    with ProgressBar() as reporter:
        reporter.progress(1, 10, "Extracting")
        assert stderr.getvalue() == ""
        clock[0] = 2.0
        reporter.progress(5, 10, "Extracting")
        clock[0] = 2.05
        reporter.progress(6, 10, "Extracting")
    lines = stderr.getvalue().split("\r")
    assert lines[1].startswith("Extracting:  50% ████████████░░░░░░░░░░░░ 5/10 [0:02, 0:02 left]")
    assert [line.strip() for line in lines[2:]] == ["", ""]


def test_short_work_and_files_show_nothing(monkeypatch, clock):
    monkeypatch.setattr("sys.stderr", stderr := Terminal())
    run(lambda reporter: reporter.progress(1, None, "Reading"))
    clock[0] = 9.0
    run(lambda reporter: reporter.progress(1, None, "Reading"), shown=False)
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    with ProgressBar() as reporter:
        clock[0] = 20.0
        reporter.progress(1, None, "Reading")
    assert stderr.getvalue() == plain.getvalue() == ""


def test_ctrl_c_cancels_the_work_and_interrupts_the_program():
    before = signal.getsignal(signal.SIGINT)

    def work(reporter):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Cancelled):
            reporter.check_cancelled()
        reporter.check_cancelled()

    with pytest.raises(KeyboardInterrupt):
        run(work)
    assert signal.getsignal(signal.SIGINT) is before
