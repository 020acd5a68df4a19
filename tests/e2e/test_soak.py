"""The harness of long use notices what grows, and a few rounds of it end well."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.soak.process_usage import Sample, family, grown, growth

TOP = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def samples(memory, threads=None, handles=None):
    return [
        Sample(float(n), amount, (threads or [9] * len(memory))[n], (handles or [40] * len(memory))[n], 3)
        for n, amount in enumerate(memory)
    ]


def test_growth_is_of_the_last_quarter_over_the_first():
    assert growth([100] * 8) == 0
    assert growth([100, 100, 150, 20, 90, 500, 110, 110]) == pytest.approx(0.1)
    assert growth([100]) == 0


def test_what_grows_too_much_is_named():
    assert grown(samples([100, 104, 102, 103])) == []
    assert grown(samples([100, 110, 120, 130])) == ["memory grew by 30.0%"]
    assert grown(samples([100] * 4, threads=[10, 10, 11, 11])) == ["threads grew by 10.0%"]
    assert grown(samples([100] * 4, handles=[40, 42, 44, 46])) == ["handles grew by 15.0%"]


def test_memory_threads_and_handles_of_all_processes_are_measured(tmp_path):
    before = Sample.take(0.0)
    # Mapped, because an object may take the place of others that were freed and are still resident.
    held = mmap.mmap(-1, 64 << 20)
    held.write(bytes(len(held)))
    opened = [(tmp_path / "file").open("w") for _ in range(7)]
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        after = Sample.take(1.0)
        assert child.pid in family(os.getpid())
        assert after.memory - before.memory > len(held) // 2
        assert after.threads - before.threads >= 2
        assert after.handles - before.handles >= 7
        assert after.processes - before.processes == 1
    finally:
        over.set()
        thread.join()
        child.communicate()
        held.close()
        for file in opened:
            file.close()


@pytest.mark.long
def test_a_round_of_scripted_use_ends_without_an_error(tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.soak.__main__ import soak\n"
        "if __name__ == '__main__':\n    sys.exit(soak(Path(sys.argv[1]), 0.0))\n"
    )
    script = tmp_path / "soak.py"
    script.write_text(code)
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "place")],
        cwd=TOP,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 rounds after warm-up" in ended.stdout
