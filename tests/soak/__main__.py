"""``python -m tests.soak --hours 2``: open, ask, look, compare, train, import, report, close, over and over.

After a tenth of the time as warm-up, memory, threads and handles of all processes together may not grow by
more than 5 % (mean of the last quarter over that of the first). Exit status 1 if they do or anything fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

WARM_UP = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # Settings of whoever runs this are left alone.
        for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
            os.environ[variable] = str(place / "home")
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        (place / "home").mkdir()
        sys.exit(soak(place, 3600 * options.hours))


def soak(place: Path, seconds: float) -> int:
    """Use the window for ``seconds``; 1 if anything grew or failed."""
    from semblance.app.application import make_application
    from semblance.app.open_window import SWITCH_INTERVAL_S
    from semblance.core.imaging.memory import return_freed_blocks
    from tests.soak.process_usage import Sample, grown, growth
    from tests.soak.scripted_use import cycles
    from tests.walks.run_walk import make_library

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    place.mkdir(exist_ok=True)
    made = make_library(place / "made")
    shutil.copytree(made / "Walk.semblance", made / "Other.semblance")
    make_application()
    from semblance.app.window.main_window import MainWindow

    return_freed_blocks()
    window = MainWindow()
    window.show()
    samples: list[Sample] = []
    start = time.monotonic()
    for number in cycles(window, made, place):
        passed = time.monotonic() - start
        sample = Sample.take(passed)
        if passed > WARM_UP * seconds:
            samples.append(sample)
        if number % 5 == 1 or passed > seconds:
            print(
                f"{passed:6.0f} s, round {number}: {sample.memory >> 20} MB, {sample.threads} threads, "
                f"{sample.handles} handles, {sample.processes} processes of "
                f"{', '.join(str(memory >> 20) for memory in sample.each)} MB",
                flush=True,
            )
        if passed > seconds:
            break
    errors = [m for m in window.context.messages.history if m.level == "error"]
    window.close()
    found = grown(samples)
    shares = ", ".join(
        f"{name} {growth([getattr(sample, name) for sample in samples]):+.1%}"
        for name in ("memory", "threads", "handles", "processes")
    )
    print(f"{len(samples)} rounds after warm-up: {shares}")
    for line in (*found, *(f"error: {error.what} {error.details}" for error in errors[:5])):
        print(line)
    return 1 if found or errors else 0


if __name__ == "__main__":
    main()
