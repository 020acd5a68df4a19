"""The slices of a volume as a person goes through them: read ahead in the background, the last ones kept."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from semblance.app.shell.jobs import Job, Jobs, Lane
from semblance.core.errors import SemblanceError
from semblance.core.imaging.display import MIN_SIDE_OF_SLICES, DisplayImage
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import tr
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import StackFacts, ViewedSlice

#: Slices asked for at once, and how often; few, so that a jump elsewhere does not wait for them.
BATCH, IN_FLIGHT = 12, 2
#: Bytes of slices kept.
KEPT = 256 << 20


class Slices(QObject):
    """Where one is in a volume. ``moved(place)``: that slice is wanted; ``ready(place, image)``: it came;
    ``failed(place, problem)``: it cannot be read."""

    ready = Signal(int, object)
    moved = Signal(int)
    failed = Signal(int, str)

    def __init__(self, jobs: Jobs, parent: QObject | None = None, *, share: float = 1.0) -> None:
        """``share`` of :data:`KEPT` is this one's."""
        super().__init__(parent)
        self._jobs, self._share = jobs, share
        self._resting = False
        self.facts: StackFacts | None = None
        self.place = 0
        self._library: Path | None = None
        self._what: int | ImageAddress = 0
        self._kept: OrderedDict[int, DisplayImage] = OrderedDict()
        self._problems: dict[int, str] = {}
        self._first: DisplayImage | None = None
        self._like: DisplayImage | None = None
        self._way = 1
        self._coming: dict[Job, list[int]] = {}

    def __len__(self) -> int:
        return 0 if self.facts is None else self.facts.slices

    def begin(
        self,
        facts: StackFacts | None,
        library: Path | None,
        what: int | ImageAddress,
        first: DisplayImage | None,
    ) -> None:
        """Another volume, of which ``first`` is shown, or none; ``what``: a case's row or an address."""
        self._drop_jobs()
        self.facts, self._library, self._what, self._first = facts, library, what, first
        self._like = None if first is None else first.bare()
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
        if place not in self._kept and not any(place in places for places in self._coming.values()):
            self._drop_jobs()
        self._ask()

    @property
    def loaded(self) -> frozenset[int]:
        return frozenset(self._kept)

    def rest(self) -> None:
        """Not seen for a while: keep the slice one is at, give the memory of the others back."""
        self._resting = True
        self._drop_jobs()
        for place in [place for place in self._kept if place != self.place]:
            del self._kept[place]

    def wake(self) -> None:
        """Seen again."""
        self._resting = False
        self._ask()

    @property
    def busy(self) -> bool:
        """Whether slices are on their way."""
        return bool(self._coming)

    def _ask(self) -> None:
        """For the slice wanted and those that come next, first the way one goes."""
        while len(self._coming) < IN_FLIGHT and not self._resting:
            missing = self._missing()
            if not missing:
                return
            try:
                job = self._jobs.run(
                    tr("Reading slices"),
                    view_images.view_slices,
                    self._library,
                    self._what,
                    missing,
                    self._like,
                    lane=Lane.SLICE,
                    quiet=True,
                )
            except SemblanceError as error:
                self._refuse(error)
                return
            self._coming[job] = missing
            job.partial.connect(self._take)
            job.done.connect(lambda _, job=job: self._go_on(job))
            job.failed.connect(self._refuse)

    def _missing(self) -> list[int]:
        room = self._room()
        near = [self.place + self._way * step for step in range(room)]
        back = room if room >= len(self) else room // 3
        near += [self.place - self._way * step for step in range(1, back)]
        known = {place for places in self._coming.values() for place in places}
        known.update(self._kept, self._problems)
        return [place for place in near if 0 <= place < len(self) and place not in known][:BATCH]

    def _room(self) -> int:
        """How many slices may be kept ahead: all where they fit, else two thirds of those that do."""
        levels = self._first.levels if self._first is not None else ()
        size = sum(level.nbytes for level in levels[:1])
        if levels and max(levels[0].shape[:2]) > MIN_SIDE_OF_SLICES:
            size = sum(level.nbytes for level in levels)
        fitting = self._limit // max(size, 1) - 1
        return len(self) if fitting >= len(self) else max(2, 2 * fitting // 3)

    @property
    def _limit(self) -> int:
        return int(KEPT * self._share)

    def _take(self, viewed: ViewedSlice) -> None:
        if viewed.image is None:
            self._problems[viewed.place] = viewed.problem
            if viewed.place == self.place:
                self.failed.emit(viewed.place, viewed.problem)
            return
        self._kept[viewed.place] = viewed.image
        while len(self._kept) > 1 and self._bytes() > self._limit:
            self._kept.popitem(last=False)
        if viewed.place == self.place:
            self.ready.emit(viewed.place, viewed.image)

    def _bytes(self) -> int:
        return sum(level.nbytes for image in self._kept.values() for level in image.levels)

    def _go_on(self, job: Job) -> None:
        self._coming.pop(job, None)
        self._ask()

    def _refuse(self, error: SemblanceError) -> None:
        self._drop_jobs()
        self._problems[self.place] = error.message
        self.failed.emit(self.place, error.message)

    def _drop_jobs(self) -> None:
        jobs, self._coming = list(self._coming), {}
        for job in jobs:
            job.cancel()
