"""Kills the program at random moments and looks at what it left."""

from __future__ import annotations

import glob
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.features.registry import make_extractor
from semblance.core.imaging import open_image
from semblance.core.library.content_hashes import content_of_file
from semblance.core.library.lesion_groups import read_groups
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE
from semblance.core.metrics.metric import load_metric
from semblance.core.workflows.maintenance.backup import restore
from tests.helpers.images import striped_folder
from tests.helpers.libraries import raw
from tests.kills.child import EXTRACTOR, LEDGER, METRIC, PHASES, backup_of, searched
from tests.kills.small_disk import NOT_ALLOWED

TOP = Path(__file__).resolve().parents[2]
IMAGES = 160


class Child:
    """Lives of :mod:`tests.kills.child` or another ``module`` that serves them, one after the other."""

    def __init__(self, errors: Path, module: str = "tests.kills.child") -> None:
        path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(TOP))))
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
        with errors.open("w") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module],
                cwd=TOP,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def live(
        self,
        phase: str,
        library: Path,
        source: Path,
        log: Path,
        *,
        moment: float | None = None,
        group: bool = True,
        disk: str = "",
    ) -> int | None:
        """Do a phase and return its status; ``None`` where it was killed, ``moment`` seconds after its start.

        ``group``: its workers are killed with it, else they are left to notice. ``disk``: the bytes left on
        the disk it works on, or "read-only".
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(
            shlex.join([phase, str(library), str(source), str(log), *([disk] if disk else [])]) + "\n"
        )
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        timer = threading.Timer(moment or 0, _kill, [pid, group])
        if moment is not None:
            timer.start()
        status = int(self._process.stdout.readline())
        timer.cancel()
        if moment is not None:
            timer.join()
        return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _kill(pid: int, group: bool) -> None:
    try:
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@dataclass
class End:
    """What a finished library holds, but for what differs from run to run."""

    cases: dict[str, tuple[Any, ...]]
    files: dict[str, tuple[Any, ...]]
    numbers: dict[str, bytes]
    metric: str | None
    scores: Any
    judgements: list[tuple[str, str, str]]
    searches: dict[str, Any]
    lesions: set[frozenset[str]]


@dataclass
class Harness:
    """Makes the images, the libraries before each phase, and the ends an unkilled run reaches."""

    folder: Path
    before: dict[str, Path | None] = field(init=False, default_factory=dict)
    after: dict[str, End] = field(init=False, default_factory=dict)
    seconds: dict[str, float] = field(init=False, default_factory=dict)
    killed: dict[str, int] = field(init=False, default_factory=lambda: dict.fromkeys(PHASES, 0))
    #: What an image shows -> its numbers, worked out here.
    expected: dict[str, np.ndarray] = field(init=False, default_factory=dict)

    def prepare(self, child: Child) -> None:
        self.sources = dict.fromkeys(PHASES, self.folder / "images")
        self.sources["again"] = self.folder / "changing"
        images = striped_folder(self.sources["import"], n=IMAGES)
        cut = images / "level" / "cut.png"
        cut.write_bytes((images / "level" / "p000.png").read_bytes()[:300])
        self._expect(images)
        log, whole, changed = self.folder / "whole.log", self.folder / "whole", self.folder / "changed"
        for phase in ("import", "features", "train"):
            self._do(child, phase, whole, log)
        for phase in ("click", "save", "backup"):
            copy = Path(shutil.copytree(whole, self.folder / f"whole {phase}"))
            self._do(child, phase, copy, log)
        for phase in ("import", "features"):
            shutil.copytree(images, self.sources["again"], dirs_exist_ok=True)
            assert child.live(phase, changed, self.sources["again"], log) == 0
        striped_folder(self.sources["again"], n=IMAGES // 2, seed=1)
        for number in (IMAGES - 1, IMAGES - 5):
            (self.sources["again"] / "upright" / f"p{number:03d}.png").unlink()
        self._expect(self.sources["again"])
        self._do(child, "again", changed, log)

    def _expect(self, images: Path) -> None:
        extractor = make_extractor(EXTRACTOR)
        for path in sorted(images.rglob("p*.png")):
            self.expected[content_of_file(path.read_bytes(), None)] = extractor.extract(open_image(path))

    def _do(self, child: Child, phase: str, library: Path, log: Path) -> None:
        self.before[phase] = None
        if library.exists():
            self.before[phase] = Path(shutil.copytree(library, self.folder / f"before {phase}"))
        start = time.monotonic()
        assert child.live(phase, library, self.sources[phase], log) == 0, phase
        self.seconds[phase] = time.monotonic() - start
        self.after[phase] = end_of(library)

    def _begin(self, phase: str, name: str) -> tuple[Path, Path]:
        """A library as it is before ``phase``, where there is one then, and an empty log."""
        library, log = self.folder / f"lib {name}", self.folder / f"{name}.log"
        log.touch()
        before = self.before[phase]
        if before is not None:
            shutil.copytree(before, library)
        return library, log

    def try_moment(self, child: Child, number: int, rng: random.Random) -> str:
        """Kill one life, check what it left, and let another finish; returns what happened."""
        phase = PHASES[number % len(PHASES)]
        library, log = self._begin(phase, f"{number}")
        group = rng.random() < 0.7
        moment = rng.uniform(0, 1) * self.seconds[phase]
        status = child.live(phase, library, self.sources[phase], log, moment=moment, group=group)
        moment_text = (
            f"{phase} at {moment:.3f} s of {self.seconds[phase]:.3f}, {'group' if group else 'parent'}"
        )
        assert status in (None, 0), f"{moment_text}: ended with {status}"
        self.killed[phase] += status is None
        if status == 0:
            # The first life took longer than those after it.
            self.seconds[phase] *= 0.9
        self._check(library, phase, log, moment_text)
        assert child.live(phase, library, self.sources[phase], log) == 0, (
            f"{moment_text}: the next did not finish"
        )
        assert end_of(library) == self.after[phase], f"{moment_text}: the next run ended otherwise"
        if phase == "backup":
            self._check_backup(library, True, moment_text)
        left = sorted(path.name for path in self.folder.glob(f"{library.name}.*.making"))
        assert not left, moment_text
        shutil.rmtree(library)
        for part in (backup_of(library), *self.folder.glob(f".{glob.escape(library.name)}*.part")):
            part.unlink(missing_ok=True)
        return f"{moment_text}: {'killed' if status is None else 'finished before'}"

    def try_disk(self, child: Child, phase: str, disk: str) -> dict[str, Any] | None:
        """Do a phase on a full or write-protected disk, check what it left, and let it finish on a good one.

        Returns how it ended there; ``None`` where no such disk can be made.
        """
        library, log = self._begin(phase, f"{phase} {disk}")
        status = child.live(phase, library, self.sources[phase], log, disk=disk)
        if status == NOT_ALLOWED:
            return None
        moment_text = f"{phase} on a disk {disk}"
        assert status == 0, f"{moment_text}: ended with {status}"
        *lines, outcome = log.read_text().splitlines()
        log.write_text("".join(f"{line}\n" for line in lines))
        self._check(library, phase, log, moment_text)
        assert child.live(phase, library, self.sources[phase], log) == 0, (
            f"{moment_text}: the next did not finish"
        )
        assert end_of(library) == self.after[phase], f"{moment_text}: the next run ended otherwise"
        return dict(json.loads(outcome))

    def _check(self, library: Path, phase: str, log: Path, moment_text: str) -> None:
        """Everything reported as done is there, and nothing is damaged or wrong."""
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        done = max((line["done"] for line in lines if "done" in line), default=0)
        finished = any("finished" in line for line in lines)
        if not (library / CATALOGUE).exists():
            assert done == 0, moment_text
            assert not library.exists(), moment_text
            return
        with raw(library) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], moment_text
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == [], moment_text
        with Library.open(library) as opened:
            known = len(opened.catalogue.all_cases()) + len(opened.catalogue.files_without_cases())
            assert known >= (done if phase == "import" else IMAGES + 2), moment_text
            counted = self._check_numbers(opened, moment_text)
            assert counted >= {"import": 0, "features": done, "again": 0}.get(phase, IMAGES), moment_text
            if phase == "click":
                assert done <= len(opened.judgements(LEDGER).read()) <= done + 1, moment_text
            if phase == "save":
                self._check_searches(opened, done, moment_text)
            for record in opened.metrics():
                load_metric(record.file)
            assert phase != "train" or not finished or opened.metric(METRIC), moment_text
        if phase == "backup":
            self._check_backup(library, finished, moment_text)

    def _check_searches(self, library: Library, done: int, moment_text: str) -> None:
        """Each saved search is there as it was saved last; the one under way as before or after."""
        for number in range(done):
            later = [n for n in range(number, done + 1) if n // 3 == number // 3]
            found = library.load_search(f"search {number // 3}")
            assert found in [searched(n) for n in later if n >= done - 1 or n % 3 == 2], moment_text

    def _check_backup(self, library: Path, finished: bool, moment_text: str) -> None:
        """A backup is there whole, or not at all."""
        backup = backup_of(library)
        assert not finished or backup.exists(), moment_text
        if backup.exists():
            restored = library.with_name(f"{library.name} restored.semblance")
            restore(backup, restored)
            assert end_of(restored) == end_of(library), moment_text
            shutil.rmtree(restored)

    def _check_numbers(self, library: Library, moment_text: str) -> int:
        """Every case has the numbers of what the catalogue says it shows, once; returns how many have any."""
        for feature_set in library.features.all():
            ids, values = library.features.read(feature_set)
            assert len(set(ids.tolist())) == len(ids), moment_text
            details = library.catalogue.details(ids.tolist())
            for row, value in zip(ids.tolist(), values, strict=True):
                np.testing.assert_array_equal(value, self.expected[details[row].content], moment_text)
            return len(ids)
        return 0


def end_of(library: Path) -> End:
    with Library.open(library) as opened:
        rows = opened.catalogue.all_cases()
        (source,) = opened.catalogue.sources()
        files = {name: (f.size, f.hash, f.state) for name, f in opened.catalogue.files(source).items()}
        cases = {r.case_id: (r.finding, r.patient, r.content, r.state) for r in rows}
        names = {r.id: r.case_id for r in rows}
        numbers = {}
        for feature_set in opened.features.all():
            ids, values = opened.features.read(feature_set)
            numbers = {names[row]: value.tobytes() for row, value in zip(ids.tolist(), values, strict=True)}
        metrics = opened.metrics()
        metric = metrics[0].card["content_hash"] if metrics else None
        scores = dict(metrics[0].scores or {}) if metrics else {}
        # How often the curve is scored depends on the clock.
        scores.pop("training_curve", None)
        judged = opened.judgements(LEDGER).read()
        judgements = [(record.kind, record.query, record.case) for _, record, _ in judged]
        searches = {name: opened.load_search(name) for name in sorted(opened.searches())}
        groups: dict[int, set[str]] = {}
        for row, member in read_groups(opened.catalogue).items():
            groups.setdefault(member.group, set()).add(names[row])
        lesions = {frozenset(group) for group in groups.values()}
        return End(cases, files, numbers, metric, scores, judgements, searches, lesions)
