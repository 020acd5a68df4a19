"""``python -m tests.walks --walks 100 --actions 500 --seed 1``: users who do anything to the real window.

Each walk is a process of its own on a small library. Its jobs run in that process too, late and in another
order for each seed, or with ``--processes`` in processes as in the program. It must end without an exception, a
warning of Qt or Python, a defect reported in the window, an image or, while the window is at rest, a text that is
not of its search, or a stall of the event loop over 200 ms (without the time of jobs, and that in which others had
the processor: other programs or, where it is a virtual machine that tells, its host). Beside a stall stands how
long the window's thread itself computed; in the end, where the walks were, and which commands none of them ran.
Exit status 1 if any failed.

A walk whose only stalls are ones of which the host had a processor for a fifth or more is reported and walked
again, three times at most: what a processor computes that is taken away again and again takes longer as well,
and so does what waits for another thread on it.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import NoReturn

from semblance.core.engine import limit_threads
from tests.walks.run_walk import make_library, trace_file, walk

STALL_MS = 200.0
#: What the work of jobs loads besides.
LIBRARIES = (
    "matplotlib.pyplot",
    "pydicom",
    "scipy.ndimage",
    "scipy.stats",
    "skimage.feature",
    "sklearn.manifold",
    "tests.helpers.screen_of_search",
    "tests.walks.random_user",
)
#: A walk that hangs is ended, and counts as wrong.
PATIENCE_S = 900
#: Of a stall, from where on it says nothing about the program; and how often a walk is then walked again.
HOSTS_SHARE, AGAIN = 0.2, 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.walks", description=__doc__)
    parser.add_argument("--walks", type=int, default=100)
    parser.add_argument("--actions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stall-ms", type=float, default=STALL_MS, help="0: do not look")
    parser.add_argument("--trace", action="store_true", help="tell each action on stderr")
    parser.add_argument("--processes", action="store_true", help="jobs in processes, as in the program")
    parser.add_argument("--child", help="internal: walk once, here, on the library in this folder")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_walk(Path(options.child), options.seed, options)))
        return
    wrong, again, longest, busy = 0, 0, 0.0, 0.0
    reached: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    limit_threads()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MPLCONFIGDIR"] = folder
        made = Path(folder) / "made"
        _make_in_process(made)
        _load_libraries()
        for number in range(options.walks):
            seed = options.seed + number
            outcome = one(made, seed, options)
            for _ in range(AGAIN):
                if not is_stalled_by_host(outcome):
                    break
                _print_walk(seed, "AGAIN, for the host had the processor", outcome)
                again += 1
                outcome = one(made, seed, options)
            longest, busy = max(
                (longest, busy), (outcome.get("longest_ms", 0.0), outcome.get("longest_busy_ms", 0.0))
            )
            reached.update(outcome.get("reached", {}))
            ran.update(outcome.get("commands", {}))
            bad = bool(outcome["problems"] or outcome["stalls"])
            wrong += bad
            _print_walk(seed, "WRONG" if bad else "fine", outcome)
    _print_coverage(reached, ran)
    print(
        f"{options.walks} walks of {options.actions} actions, {wrong} wrong, "
        f"{again} walked again, longest stall {longest:.0f} ms ({busy:.0f} ms computing)"
    )
    sys.exit(1 if wrong else 0)


def is_stalled_by_host(outcome: dict) -> bool:
    """Whether nothing was wrong but stalls that may be those of the machine's host."""
    stalls = outcome["stalls"]
    hosts = all(stall["stolen_most_ms"] >= HOSTS_SHARE * stall["wall_ms"] for stall in stalls)
    return bool(stalls) and hosts and not outcome["problems"]


def _print_walk(seed: int, verdict: str, outcome: dict) -> None:
    errors = sum(outcome.get("errors", {}).values())
    print(
        f"walk {seed}: {verdict}, {sum(outcome.get('done', {}).values())} actions, longest stall "
        f"{outcome.get('longest_ms', 0):.0f} ms ({outcome.get('longest_busy_ms', 0):.0f} ms computing), "
        f"{errors} errors shown to the user, at rest {outcome.get('looked', 0)} times, "
        f"{outcome.get('compared', 0)} rankings compared, closed in {outcome.get('closing_s', 0):.1f} s, "
        f"{outcome.get('processor_s', 0):.1f} s of processor",
        flush=True,
    )
    for problem in outcome["problems"]:
        print(f"  {problem.strip()}".replace("\n", "\n    "), flush=True)
    for message, count in sorted(outcome.get("errors", {}).items()):
        print(f"  shown {count} times: {message[:160]}", flush=True)
    for stall in outcome["stalls"]:
        print(
            f"  stall {stall['ms']:.0f} ms ({stall['wall_ms']:.0f} ms by the clock, of which the machine's "
            f"host had this processor {stall['stolen_ms']:.0f} ms and one {stall['stolen_most_ms']:.0f} ms, "
            f"{stall['busy_ms']:.0f} ms computing, {stall['fetched']} pages read from the disk, other "
            f"threads of the program waited {stall['others_ms']:.0f} ms for a processor), {stall['doing']}\n"
            f"    {stall['stack']}\n    Meanwhile:\n{stall['threads']}",
            flush=True,
        )


def _print_coverage(reached: Counter[str], ran: Counter[str]) -> None:
    """In which panels something was done, and what was left out."""
    from semblance.app.shell.actions import COMMANDS
    from tests.walks.random_user import LEFT_OUT

    print("where: " + ", ".join(f"{name} {count}" for name, count in reached.most_common()))
    missed = [one.id for one in COMMANDS if one.id not in ran and one.id not in LEFT_OUT]
    print(
        f"commands run: {len(ran)} of {len(COMMANDS) - len(LEFT_OUT)}; never: {', '.join(missed) or 'none'}"
    )


def one(made: Path, seed: int, options: argparse.Namespace) -> dict:
    """The outcome of a walk in a process of its own, which has the libraries of this one."""
    with tempfile.TemporaryDirectory() as home:
        outcome, errors = Path(home) / "outcome.json", Path(home) / "errors.txt"
        pid = os.fork()
        if pid == 0:
            _walk_and_exit(made, seed, options, outcome, errors)
        ended = _wait_for(pid)
        if outcome.exists():
            return json.loads(outcome.read_text(encoding="utf-8"))
        if ended is None:
            problem = f"it did not end within {PATIENCE_S} s"
        else:
            problem = f"it ended with {ended}: {errors.read_text(errors='replace')[-12000:]}"
        trace = trace_file(Path(home))
        last = "\n".join(trace.read_text(encoding="utf-8").splitlines()[-10:]) if trace.exists() else ""
        return {"problems": [f"{problem}\nAt last it did:\n{last}"], "stalls": []}


def _walk(made: Path, seed: int, options: argparse.Namespace) -> dict:
    return walk(made, seed, options.actions, options.stall_ms, options.trace, options.processes)


def _walk_and_exit(
    made: Path, seed: int, options: argparse.Namespace, outcome: Path, errors: Path
) -> NoReturn:
    home = str(outcome.parent)
    folders = {"HOME": "", "XDG_CONFIG_HOME": "/.config", "XDG_DATA_HOME": "/.local", "XDG_RUNTIME_DIR": ""}
    os.environ.update({name: home + folder for name, folder in folders.items()})
    if not options.trace:
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), sys.stderr.fileno())
    faulthandler.enable()
    try:
        outcome.write_text(json.dumps(_walk(made, seed, options)), encoding="utf-8")
    except BaseException:  # noqa: BLE001 - what the walk calls is told, and this process ends in any case
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _wait_for(pid: int) -> int | None:
    """The exit status; ``None`` if the process had to be ended."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _make_in_process(folder: Path) -> None:
    """Make the library where its threads do not hold locks that a copy of this process would wait for."""
    process = multiprocessing.get_context("spawn").Process(target=make_library, args=(folder,))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit("The library for the walks could not be made.")


def _load_libraries() -> None:
    """Load here, once, what every walk would load for seconds."""
    from semblance.app.window import preload

    modules = (*preload.OPEN_MODULES, *preload.SHOW_MODULES, *preload.LATER_MODULES)
    for name in (*modules, *LIBRARIES):
        importlib.import_module(name)
    for name in ("QtCore", "QtGui", "QtWidgets"):
        preload.make_types(f"PySide6.{name}")
    preload.preload_reading()
    preload.preload_searching()


if __name__ == "__main__":
    main()
