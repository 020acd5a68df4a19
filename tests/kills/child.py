"""The program that is killed: one phase of a library's life, telling what it has done as it goes.

    python -m tests.kills.child

reads lines ``PHASE LIBRARY SOURCE LOG`` from stdin, followed by the bytes left on the disk or "read-only"
where the work is to be done on such a disk. Each is done in a process forked from this one, where
everything is loaded already, in a session of its own; its pid is printed, then, when it has ended, its
status. What the work reports as done is written to LOG at once, one JSON document a line.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from semblance.core.searches.feedback.judgements import likeness_judgement
from semblance.core.tasks import Reporter
from tests.kills.small_disk import on_small_disk

#: "again" imports a source of which many images have changed since their numbers were worked out.
PHASES = ("import", "features", "train", "click", "save", "backup", "again")
EXTRACTOR = "colour_edge_texture"
METRIC = "mine"
#: Small enough for many transactions in a short life.
BATCH, CHUNK = 9, 8
ROUNDS = 60
#: Judgements made and searches saved in a life.
CLICKS, SEARCHES = 30, 60
LEDGER = "kills"
READ_ONLY = "read-only"


class Logging(Reporter):
    """Writes down what was reported, past every buffer of this process."""

    def __init__(self, log: Path, phase: str) -> None:
        self._file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._phase = phase

    def write(self, **facts: object) -> None:
        os.write(self._file, (json.dumps({"phase": self._phase, **facts}) + "\n").encode())

    def progress(self, done: int, total: int | None, what: str) -> None:
        # The detection of lesions, after the import of all files, counts the pairs it compares.
        if self._phase in ("import", "again") and what == "Importing":
            self.write(done=done)

    def partial(self, result: object) -> None:
        if self._phase == "features":
            self.write(done=result)


def work(phase: str, library: Path, source: Path, log: Path) -> None:
    """One phase, as the command line does it, but in smaller portions."""
    from semblance.core.workflows.features import extract_features, measuring_order
    from semblance.core.workflows.library import import_source
    from semblance.core.workflows.metrics.train_metric import train_metric
    from semblance.core.workflows.metrics.train_request import TrainRequest

    import_source.BATCH, measuring_order.CHUNK, measuring_order.STEP = BATCH, CHUNK, CHUNK
    reporter = Logging(log, phase)
    if phase in ("import", "again"):
        import_source.import_source(source, library, reporter=reporter)
    elif phase == "features":
        extract_features.extract_features(library, EXTRACTOR, workers=2, reporter=reporter)
    elif phase == "train":
        train_metric(library, TrainRequest("bdm_v", METRIC, settings={"rounds": ROUNDS}), reporter=reporter)
    else:
        {"click": click, "save": save, "backup": back_up}[phase](library, reporter)
    reporter.write(finished=True)


def click(library: Path, reporter: Logging) -> None:
    """Judge cases one after the other; goes on where an earlier life was ended."""
    from semblance.core.library.library import Library
    from semblance.core.searches.query import Query
    from semblance.core.searches.search import Search
    from semblance.core.workflows.searches.feedback import refine_metric

    with Library.open(library) as opened:
        names = [r.case_id for r in opened.catalogue.all_cases()]
        made = len(opened.judgements(LEDGER).read())
    search = Search(METRIC, Query(names[0]), LEDGER)
    for number in range(made, CLICKS):
        refine_metric.add_judgements(
            library, search, [likeness_judgement(search, names[1 + number], number % 3 > 0)]
        )
        reporter.write(done=number + 1)


def searched(number: int) -> dict[str, object]:
    """What the search ``number`` is saved as."""
    return {"number": number, "much": "x" * (number * 311)}


def save(library: Path, reporter: Logging) -> None:
    """Save searches, every third again under its name."""
    from semblance.core.library.library import Library

    with Library.open(library, writable=True) as opened:
        for number in range(SEARCHES):
            opened.save_search(f"search {number // 3}", searched(number))
            reporter.write(done=number + 1)


def backup_of(library: Path) -> Path:
    """Where the backup of ``library`` goes."""
    return library.with_name(f"{library.name} backup.zip")


def back_up(library: Path, reporter: Logging) -> None:
    from semblance.core.workflows.maintenance import backup

    backup.back_up(library, backup_of(library))


def on_disk(phase: str, library: Path, source: Path, log: Path, disk: str) -> int:
    """A phase on a full or write-protected disk; the process's status."""
    left = 0 if disk == READ_ONLY else int(disk)
    return on_small_disk(
        lambda here: work(phase, here, source, log), library, log, left, read_only=disk == READ_ONLY
    )


def main() -> None:
    # All that the phases load themselves, so that lives are short and moments fall into the work.
    import PIL.Image
    import sqlalchemy.dialects.sqlite
    import zarr

    PIL.Image.init()
    del sqlalchemy, zarr
    serve(_live)


def _live(phase: str, library: Path, source: Path, log: Path, disk: str = "") -> int:
    if disk:
        return on_disk(phase, library, source, log, disk)
    work(phase, library, source, log)
    return 0


def serve(live: Callable[..., int]) -> None:
    """Do ``live(phase, library, source, log, *more)`` in a forked process for each line of stdin."""
    for line in sys.stdin:
        phase, library, source, log, *more = shlex.split(line)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            status = 1
            try:
                status = live(phase, Path(library), Path(source), Path(log), *more)
            except BaseException:  # noqa: BLE001 - the process ends without the interpreter's own message
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        print(pid, flush=True)
        print(os.waitpid(pid, 0)[1], flush=True)


if __name__ == "__main__":
    main()
