"""One walk: the window on a copy of a small library, a walker, a watch, and what they saw."""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtWidgets import QApplication

#: Cases whose pixels say which they are: at most 32.
NAMED = 32
#: The window is at rest when it has nothing to do at so many looks, one after another.
IDLE_CHECKS = 4
#: Looks until the user stops the jobs that still run, and until it is a fault that the window is not at rest.
PATIENCE, LONGEST = 300, 10_000


def make_library(folder: Path) -> Path:
    """``folder`` with a trained library, its images and files to drop and choose."""
    from semblance.core.workflows.metrics.train_metric import train_metric
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from tests.helpers.images import striped_folder
    from tests.helpers.named_images import named_library, write_named
    from tests.helpers.tables import write_table

    folder.mkdir(exist_ok=True)
    library = named_library(folder, "ant", NAMED, "Walk.semblance")
    train_metric(library, TrainRequest("bdm_v", "learned", features="gabor", settings={"rounds": 20}))
    files = folder / "files"
    files.mkdir()
    image = write_named(files, "out", 1)
    write_table(files / "table.csv")
    (files / "broken.png").write_bytes(image.read_bytes()[:120])
    (files / "letter.txt").write_text("Dear aunt")
    (files / "empty.dcm").write_bytes(b"")
    striped_folder(folder / "more", n=4, seed=3)
    return folder


def walk(
    made: Path, seed: int, actions: int, stall_ms: float, trace: bool = False, processes: bool = False
) -> dict[str, Any]:
    """Walk once in this process; what was done, shown, stalled and went wrong.

    Jobs run here, late and in an order that ``seed`` chooses; with ``processes`` in processes, as in the program.
    """
    from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QTimer

    from semblance.app.application import make_application
    from semblance.app.library import library_commands
    from semblance.app.open_window import SWITCH_INTERVAL_S, freeze_garbage_collector
    from semblance.app.screenshot import _delayed_work, wait_until_idle
    from semblance.app.shell.theme import is_styled
    from semblance.core.workflows.features import describe_slices, extract_features
    from tests.helpers.engine_here import open_engine_here
    from tests.helpers.named_images import wrong_images
    from tests.helpers.prompt_jobs import LateJobs
    from tests.helpers.screen_of_search import ScreenOfSearch
    from tests.walks.failure_monitor import Watch
    from tests.walks.random_user import LOOK_MS, Walker, stub_dialogs

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    application = make_application()
    application.setQuitOnLastWindowClosed(False)
    from semblance.app.window import main_window

    if not processes:
        main_window.Jobs = partial(LateJobs, seed=seed, turn_ms=LOOK_MS)
        extract_features.open_engine = describe_slices.open_engine = open_engine_here
    with tempfile.TemporaryDirectory() as place, trace_file(Path.home()).open("w", buffering=1) as trace_log:
        folder = Path(place)
        for name in ("Walk.semblance", "files", "more", "ant images"):
            shutil.copytree(made / name, folder / name)
        library, out = folder / "Walk.semblance", folder / "out"
        out.mkdir()
        files = [*sorted((folder / "files").iterdir()), folder / "not there.png"]
        folders = [folder / "more", folder / "files", folder / "ant images", library, folder / "nowhere"]
        stub_dialogs(random.Random(seed), files, folders, out)
        library_commands.open_demo = lambda context: None
        window = main_window.MainWindow()
        messages = window.context.messages
        window.show()
        window.start(library, freeze_garbage_collector)
        wait_until_idle(window)
        # However it is reached: the walk goes on until all its steps are done.
        window.context.actions["quit"].triggered.disconnect()
        over: list[bool] = []
        watch = Watch(stall_ms)
        if isinstance(window.jobs, LateJobs):
            window.jobs.apart = watch.apart

        def say(what: str) -> None:
            # The time of looking is no stall of the window.
            if not watch.problems and (wrong := watch.apart(wrong_images)):
                watch.problems.append(f"{watch.doing}: images of other cases: {'; '.join(wrong)}")
            watch.doing = what
            trace_log.write(f"{what}\n")
            if trace:
                print(what, file=sys.stderr, flush=True)

        screen, rests, looks, looked = ScreenOfSearch(window), 0, 0, 0

        def check() -> None:
            try:
                screen.check()
            except AssertionError as error:
                watch.problems.append(f"at rest after {watch.doing}: {error}")

        def look() -> bool:
            """Whether the window is at rest; if so, all it shows is compared with its search."""
            nonlocal rests, looks, looked
            busy = [job.function for job in window.jobs.active] or [
                *map(_described, _delayed_work(window)),
                *(
                    one
                    for one, is_ready in (("window", window.built), ("theme", is_styled()))
                    if not is_ready
                ),
            ]
            looks, rests = looks + 1, 0 if busy else rests + 1
            if rests < IDLE_CHECKS and looks < LONGEST:
                if looks == PATIENCE:
                    for job in list(window.jobs.listed):
                        job.cancel()
                return False
            if busy:
                watch.problems.append(f"not at rest after {watch.doing}: {', '.join(busy)}")
            elif not watch.problems:
                watch.apart(check)
            looked += not busy
            rests = looks = 0
            # Without a library there is little to do and nothing to compare.
            if window.state.library is None:
                window.open_library(library)
            return True

        walker = Walker(
            window, seed, actions, [*files, folder / "more"], say, lambda: over.append(True), look
        )
        # What the last steps set off may open a dialog when nobody walks any more to close it.
        leftover = QTimer(interval=50)
        leftover.timeout.connect(lambda: over and _close_dialog(application))
        leftover.start()
        with watch:
            window.context.messages.remove_hooks()
            sys.excepthook = watch._raised
            walker.start()
            while not over:
                QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 50)
                # The program's own event loop does this; one that is turned by hand does not.
                QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
            say("closing")
            # Closing waits for what must be saved.
            watch.limit_ms, longest, busy = 0, watch.longest_ms, watch.longest_busy_ms
            began = time.perf_counter()
            for other in application.topLevelWidgets():
                if other is not window and other.isVisible():
                    other.close()
            window.close()
            leftover.stop()
            closing = time.perf_counter() - began
            window.deleteLater()
            QCoreApplication.sendPostedEvents(None, 0)
            application.processEvents()
        history = list(messages.history)
    problems = watch.problems + [
        f"{m.what} {m.hint} {m.details}" for m in history if "defect in Semblance" in m.what
    ]
    errors = Counter(m.what for m in history if m.level == "error")
    return {
        "problems": problems,
        "stalls": [dataclasses.asdict(stall) for stall in watch.stalls],
        "longest_ms": longest,
        "longest_busy_ms": busy,
        "closing_s": closing,
        "processor_s": time.process_time(),
        "done": walker.done,
        "looked": looked,
        "compared": screen.compared,
        "reached": dict(walker.reached),
        "commands": dict(walker.commands),
        "errors": dict(errors),
        "pid": os.getpid(),
    }


def _described(work: QObject) -> str:
    return f"{type(work).__name__} of {type(work.parent()).__name__}"


def trace_file(home: Path) -> Path:
    """The file that keeps what a walk did, for the case that its process crashes."""
    return home / "walk.txt"


def _close_dialog(application: QApplication) -> None:
    if asks := application.activePopupWidget() or application.activeModalWidget():
        asks.close()
