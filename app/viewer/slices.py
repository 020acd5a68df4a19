"""The slices of a volume as a person goes through them: read ahead in the background, the last ones kept."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.jobs import Job, Jobs, Lane
from core.errors import SemblanceError
from core.imaging.address import PictureAddress
from core.imaging.display import DisplayPicture
from core.workflows import looking
from core.workflows.looking import StackFacts, ViewedSlice

#: Slices asked for at once; few, so that a jump elsewhere does not wait for them.
BATCH = 12
#: Bytes of slices kept.
KEPT = 256 << 20


class Slices(QObject):
    """Where one is in a volume. ``moved(place)``: that slice is wanted; ``ready(place, picture)``: it came;
    ``failed(place, problem)``: it cannot be read."""

    ready = Signal(int, object)
    moved = Signal(int)
    failed = Signal(int, str)

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.facts: StackFacts | None = None
        self.place = 0
        self._library: Path | None = None
        self._what: int | PictureAddress = 0
        self._kept: OrderedDict[int, DisplayPicture] = OrderedDict()
        self._problems: dict[int, str] = {}
        self._first: DisplayPicture | None = None
        self._way = 1
        self._job: Job | None = None
        self._coming: list[int] = []

    def __len__(self) -> int:
        return 0 if self.facts is None else self.facts.slices

    def begin(
        self,
        facts: StackFacts | None,
        library: Path | None,
        what: int | PictureAddress,
        first: DisplayPicture | None,
    ) -> None:
        """Another volume, of which ``first`` is shown, or none; ``what``: a case's row or an address."""
        self._drop_job()
        self.facts, self._library, self._what, self._first = facts, library, what, first
        self._kept.clear()
        self._problems.clear()
        self._way = 1
        self.place = 0 if facts is None else facts.place
        if facts is not None and first is not None:
            self._kept[facts.place] = first
            self.moved.emit(self.place)
            self._ask()

    def step(self, steps: int) -> None:
        """So many slices on, not beyond the ends."""
        self.go(self.place + steps)

    def go(self, place: int) -> None:
        """To slice ``place``, or the end that is nearer."""
        if self.facts is None:
            return
        place = min(max(place, 0), len(self) - 1)
        if place == self.place:
            return
        self._way = 1 if place > self.place else -1
        self.place = place
        self.moved.emit(place)
        if place in self._kept:
            self._kept.move_to_end(place)
            self.ready.emit(place, self._kept[place])
        elif place in self._problems:
            self.failed.emit(place, self._problems[place])
        if self._job is None or (place not in self._kept and place not in self._coming):
            self._ask()

    @property
    def loaded(self) -> frozenset[int]:
        return frozenset(self._kept)

    def _ask(self) -> None:
        """For the slice wanted and those that come next, first the way one goes."""
        self._drop_job()
        room = self._room()
        near = [self.place + self._way * step for step in range(room)]
        back = room if room >= len(self) else room // 3
        near += [self.place - self._way * step for step in range(1, back)]
        missing = [
            place
            for place in near
            if 0 <= place < len(self) and place not in self._kept and place not in self._problems
        ][:BATCH]
        if not missing:
            return
        try:
            job = self._jobs.run(
                "Reading slices",
                looking.view_slices,
                self._library,
                self._what,
                missing,
                self._first,
                lane=Lane.SLICE,
                quiet=True,
            )
        except SemblanceError as error:
            self._refuse(error)
            return
        self._job, self._coming = job, missing
        job.partial.connect(self._take)
        job.done.connect(self._go_on)
        job.failed.connect(self._refuse)

    def _room(self) -> int:
        """How many slices may be kept ahead: two thirds of all that are."""
        size = sum(level.nbytes for level in self._first.levels) if self._first is not None else 1
        return max(2, min(len(self), 2 * KEPT // (3 * max(size, 1))))

    def _take(self, viewed: ViewedSlice) -> None:
        if viewed.picture is None:
            self._problems[viewed.place] = viewed.problem
            if viewed.place == self.place:
                self.failed.emit(viewed.place, viewed.problem)
            return
        self._kept[viewed.place] = viewed.picture
        while len(self._kept) > 1 and self._bytes() > KEPT:
            self._kept.popitem(last=False)
        if viewed.place == self.place:
            self.ready.emit(viewed.place, viewed.picture)

    def _bytes(self) -> int:
        return sum(level.nbytes for picture in self._kept.values() for level in picture.levels)

    def _go_on(self, _: object = None) -> None:
        self._job, self._coming = None, []
        self._ask()

    def _refuse(self, error: SemblanceError) -> None:
        self._job, self._coming = None, []
        self._problems[self.place] = error.message
        self.failed.emit(self.place, error.message)

    def _drop_job(self) -> None:
        if self._job is not None:
            job, self._job = self._job, None
            self._coming = []
            job.cancel()
