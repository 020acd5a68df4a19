"""The slices of a volume, read ahead in the background and cached, and the slider that chooses one."""

from __future__ import annotations

from collections import OrderedDict

from PySide6.QtCore import QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QSizePolicy, QSlider, QToolButton, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job, Jobs, WorkerPool
from semblance.app.shell.theme import set_look
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.menus import Menu
from semblance.core.errors import SemblanceError
from semblance.core.imaging.display import MIN_SIDE_OF_SLICES, DisplayImage
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import StackFacts, ViewedSlice

#: Slices in one job, and jobs at a time. Few, so that a jump elsewhere does not wait for them.
BATCH, IN_FLIGHT = 12, 2
#: Bytes of cached slices.
CACHE_BYTES = 256 << 20


class Slices(QObject):
    """The current slice of a volume. ``moved(place)``: another slice was chosen. ``ready(place, image)``: it is
    loaded. ``loaded_slice(place, image)``: any slice is. ``failed(place, problem)``: it cannot be read."""

    ready = Signal(int, object)
    loaded_slice = Signal(int, object)
    moved = Signal(int)
    failed = Signal(int, str)

    def __init__(self, jobs: Jobs, parent: QObject | None = None, *, share: float = 1.0) -> None:
        """``share``: the part of :data:`CACHE_BYTES` that this object may use."""
        super().__init__(parent)
        self._jobs, self._share = jobs, share
        self._is_paused = False
        self.facts: StackFacts | None = None
        self.place = 0
        self._library: LibraryLocation | None = None
        self._address: int | ImageAddress = 0
        self._images: OrderedDict[int, DisplayImage] = OrderedDict()
        self._problems: dict[int, str] = {}
        self._first: DisplayImage | None = None
        self._reference: DisplayImage | None = None
        self._direction = 1
        self._loading: dict[Job, list[int]] = {}

    def __len__(self) -> int:
        return 0 if self.facts is None else self.facts.slices

    def begin(
        self,
        facts: StackFacts | None,
        library: LibraryLocation | None,
        address: int | ImageAddress,
        first: DisplayImage | None,
    ) -> None:
        """Another volume, of which ``first`` is shown, or none; ``address``: a case's row or an address."""
        self._cancel_jobs()
        self.facts, self._library, self._address, self._first = facts, library, address, first
        self._reference = None if first is None else first.without_pixels()
        self._images.clear()
        self._problems.clear()
        self._direction = 1
        self.place = 0 if facts is None else facts.place
        if facts is not None and first is not None:
            self._images[facts.place] = first
            self.moved.emit(self.place)
            self._request_slices()

    def step(self, steps: int) -> None:
        """Go ``steps`` slices further, not beyond the ends."""
        self.go_to_slice(self.place + steps)

    def go_to_slice(self, place: int) -> None:
        """Go to slice ``place``, or to the nearer end."""
        if self.facts is None:
            return
        place = min(max(place, 0), len(self) - 1)
        if place == self.place:
            return
        self._direction = 1 if place > self.place else -1
        self.place = place
        self.moved.emit(place)
        if place in self._images:
            self._images.move_to_end(place)
            self.ready.emit(place, self._images[place])
        elif place in self._problems:
            self.failed.emit(place, self._problems[place])
        if place not in self._images and not any(place in places for places in self._loading.values()):
            self._cancel_jobs()
        self._request_slices()

    @property
    def image(self) -> DisplayImage | None:
        """The current slice, if it is loaded."""
        return self._images.get(self.place)

    @property
    def loaded(self) -> frozenset[int]:
        return frozenset(self._images)

    def release_memory(self) -> None:
        """Release all slices but the current one while the view is hidden."""
        self._is_paused = True
        self._cancel_jobs()
        for place in [place for place in self._images if place != self.place]:
            del self._images[place]

    def resume_loading(self) -> None:
        """Load slices again when the view is shown."""
        self._is_paused = False
        self._request_slices()

    @property
    def busy(self) -> bool:
        """Whether slices are being loaded."""
        return bool(self._loading)

    def _request_slices(self) -> None:
        """Request the current slice and those around it, first in the direction of the last step."""
        while len(self._loading) < IN_FLIGHT and not self._is_paused:
            missing = self._missing()
            if not missing:
                return
            try:
                job = self._jobs.run(
                    tr("Reading slices"),
                    view_images.view_slices,
                    self._library,
                    self._address,
                    missing,
                    self._reference,
                    pool=WorkerPool.SLICE,
                    quiet=True,
                )
            except SemblanceError as error:
                self._fail(error)
                return
            self._loading[job] = missing
            job.partial.connect(self._store)
            job.done.connect(lambda _, job=job: self._job_done(job))
            job.failed.connect(self._fail)

    def _missing(self) -> list[int]:
        ahead = self._slices_ahead()
        near = [self.place + self._direction * step for step in range(ahead)]
        back = ahead if ahead >= len(self) else ahead // 3
        near += [self.place - self._direction * step for step in range(1, back)]
        known = {place for places in self._loading.values() for place in places}
        known.update(self._images, self._problems)
        return [place for place in near if 0 <= place < len(self) and place not in known][:BATCH]

    def _slices_ahead(self) -> int:
        """The number of slices to load ahead: all if they fit into memory, else two thirds of those that do."""
        levels = self._first.levels if self._first is not None else ()
        size = sum(level.nbytes for level in levels[:1])
        if levels and max(levels[0].shape[:2]) > MIN_SIDE_OF_SLICES:
            size = sum(level.nbytes for level in levels)
        fitting = self._limit // max(size, 1) - 1
        return len(self) if fitting >= len(self) else max(2, 2 * fitting // 3)

    @property
    def _limit(self) -> int:
        return int(CACHE_BYTES * self._share)

    def _store(self, viewed: ViewedSlice) -> None:
        if viewed.image is None:
            self._problems[viewed.place] = viewed.problem
            if viewed.place == self.place:
                self.failed.emit(viewed.place, viewed.problem)
            return
        self._images[viewed.place] = viewed.image
        self.loaded_slice.emit(viewed.place, viewed.image)
        while len(self._images) > 1 and self._bytes() > self._limit:
            self._images.popitem(last=False)
        if viewed.place == self.place:
            self.ready.emit(viewed.place, viewed.image)

    def _bytes(self) -> int:
        return sum(level.nbytes for image in self._images.values() for level in image.levels)

    def _job_done(self, job: Job) -> None:
        self._loading.pop(job, None)
        self._request_slices()

    def _fail(self, error: SemblanceError) -> None:
        self._cancel_jobs()
        self._problems[self.place] = error.message
        self.failed.emit(self.place, error.message)

    def _cancel_jobs(self) -> None:
        jobs, self._loading = list(self._loading), {}
        for job in jobs:
            job.cancel()


#: Slices a second: the default, and those in the menu.
RATE, RATES = 12, (4, 8, 12, 20, 30)


class SliceBar(QWidget):
    """Controls a :class:`Slices`; hidden without a volume. ``rate_changed(rate)``: the user chose another rate."""

    rate_changed = Signal(int)

    def __init__(self, slices: Slices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slices = slices
        self.setObjectName("slice-bar")
        self.slider = QSlider(Qt.Orientation.Vertical)
        self.slider.setInvertedAppearance(True)
        self.slider.setInvertedControls(True)
        self.slider.setAccessibleName(tr("Slice"))
        self.slider.setToolTip(tr("Scroll through the slices (wheel, Page Up, Page Down)"))
        self.play = QToolButton()
        self.play.setCheckable(True)
        self.play.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.play.setToolTip(tr("Play the slices (C)"))
        self.play.setAccessibleName(tr("Play the slices"))
        self.play.setIcon(icon("play"))
        self.rate_button = QToolButton()
        self.rate_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.rate_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        set_look(self.rate_button, role="pace")
        menu = Menu(self.rate_button)
        for rate in RATES:
            act = menu.addAction(tr("{rate} slices a second", rate=rate))
            act.triggered.connect(lambda _=False, rate=rate: self._choose(rate))
        self.rate_button.setMenu(menu)
        column = vbox(self, spacing=4)
        column.addWidget(self.slider, 1, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.play, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.rate_button, 0, Qt.AlignmentFlag.AlignHCenter)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.rate = RATE
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._show_next)
        self._loading: int | None = None
        self.slider.valueChanged.connect(slices.go_to_slice)
        self.play.toggled.connect(self.set_playing)
        slices.moved.connect(self._follow)
        slices.ready.connect(lambda *_: self._arrived())
        slices.failed.connect(lambda *_: self._arrived())
        self.set_rate(RATE)
        self.begin()

    def begin(self) -> None:
        """Another volume, or none."""
        self.play.setChecked(False)
        several = len(self._slices) > 1
        self.setVisible(several)
        if several:
            with QSignalBlocker(self.slider):
                self.slider.setRange(0, len(self._slices) - 1)
                self.slider.setPageStep(max(1, len(self._slices) // 10))
                self.slider.setValue(self._slices.place)

    def set_playing(self, on: bool) -> None:
        """Begin or end running through the slices."""
        if self.play.isChecked() != on:
            self.play.setChecked(on)
            return
        self.play.setIcon(icon("pause" if on else "play"))
        self._loading = None
        if on:
            self._timer.start(round(1000 / self.rate))
        else:
            self._timer.stop()

    def set_rate(self, rate: int) -> None:
        """Slices a second."""
        self.rate = rate
        self._timer.setInterval(round(1000 / rate))
        self.rate_button.setText(tr("{rate}/s", rate=rate))
        self.rate_button.setToolTip(tr("Speed: {rate} slices a second", rate=rate))
        self.rate_button.setAccessibleName(self.rate_button.toolTip())

    def _choose(self, rate: int) -> None:
        self.set_rate(rate)
        self.rate_changed.emit(rate)

    def _show_next(self) -> None:
        # Wait until the last slice is shown: a slow disk makes it slower, not jerky.
        if self._loading is None:
            following = (self._slices.place + 1) % max(1, len(self._slices))
            if following not in self._slices.loaded:
                self._loading = following
            self._slices.go_to_slice(following)

    def _arrived(self) -> None:
        self._loading = None

    def _follow(self, place: int) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(place)
