"""Thumbnails by catalogue row, cached up to a limit. The last request is loaded first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage
from shiboken6 import isValid

from semblance.app.shell.event_loop import one_shot
from semblance.core.language import tr

LIMIT_BYTES = 32 * 1024 * 1024
BATCH = 24
MAX_FETCHES = 2
MAX_QUEUED = 1024


class CardImage(Protocol):
    """A decoded thumbnail: (h, w) grey or (h, w, 3) RGB uint8, or the reason why there is none."""

    @property
    def row(self) -> int: ...
    @property
    def pixels(self) -> npt.NDArray[np.uint8] | None: ...
    @property
    def problem(self) -> str: ...


Done = Callable[[Sequence[CardImage]], None]
Fetch = Callable[[list[int], Done], None]


class CaseExport(Protocol):
    """Gives other programs the image of a case that is dragged into them, see
    :class:`semblance.app.widgets.cards.case_drag.DragImages`."""

    def offer(self, data: Any, shown: QImage) -> None: ...
    def finish(self, data: Any) -> None: ...


class ThumbnailSource(QObject):
    """Provides thumbnails. ``ready(rows)``: a frozenset of catalogue rows with an image or a problem."""

    ready = Signal(object)
    #: What other programs get of a card that is dragged into them. Without it they get nothing.
    drag_images: CaseExport | None = None

    def get(self, case_row: int) -> QImage | None:
        """The image, or ``None`` while it is loaded, which this call requests, or if it has a problem."""
        raise NotImplementedError

    def get_sized(self, case_row: int, side: int) -> QImage | None:
        """As :meth:`get`, for a square of ``side`` pixels: a larger image where it is needed and there is one."""
        raise NotImplementedError

    def problem(self, case_row: int) -> str:
        """Why there is no image; empty if there is one or it is being loaded."""
        raise NotImplementedError

    def replace(self, case_row: int, pixels: npt.NDArray[np.uint8]) -> None:
        """Show other pixels, (h, w) grey or (h, w, 3) RGB, as the image of a case."""
        raise NotImplementedError


class ThumbnailLoader(ThumbnailSource):
    """A cache of at most ``limit`` bytes over ``fetch``.

    ``fetch(rows, done)`` gets at most ``batch`` catalogue rows and later calls ``done`` exactly once, in the GUI
    thread, with the images it has. Missing rows may be requested again. At most ``max_fetches`` run at a time.
    The last request is fetched first. Beyond ``max_queued`` the oldest request is dropped. ``larger`` has the images
    for squares of more than ``enough`` pixels; until they are there, those of ``fetch`` are shown.
    """

    def __init__(
        self,
        fetch: Fetch,
        parent: QObject | None = None,
        *,
        limit: int = LIMIT_BYTES,
        batch: int = BATCH,
        max_fetches: int = MAX_FETCHES,
        max_queued: int = MAX_QUEUED,
        larger: ThumbnailLoader | None = None,
        enough: int = 0,
    ) -> None:
        super().__init__(parent)
        self._larger, self._enough = larger, enough
        if larger is not None:
            larger.ready.connect(self.ready)
        self._fetch, self._limit, self._batch = fetch, limit, batch
        self._max_fetches, self._max_queued = max_fetches, max_queued
        self._images: OrderedDict[int, QImage] = OrderedDict()
        self.cached_bytes = 0
        self._problems: dict[int, str] = {}
        self._queue: OrderedDict[int, None] = OrderedDict()
        self._in_progress: set[int] = set()
        self._running = 0
        self._generation = 0
        self._send_timer = one_shot(self, self._send)

    def get(self, case_row: int) -> QImage | None:
        image = self._images.get(case_row)
        if image is not None:
            self._images.move_to_end(case_row)
            return image
        if case_row not in self._in_progress and case_row not in self._problems:
            self._queue[case_row] = None
            self._queue.move_to_end(case_row)
            if len(self._queue) > self._max_queued:
                self._queue.popitem(last=False)
            if not self._send_timer.isActive():
                self._send_timer.start(0)
        return None

    def get_sized(self, case_row: int, side: int) -> QImage | None:
        small = self.get(case_row)
        if self._larger is None or side <= self._enough or small is None:
            return small
        return self._larger.get(case_row) or small

    def problem(self, case_row: int) -> str:
        return self._problems.get(case_row, "")

    def replace(self, case_row: int, pixels: npt.NDArray[np.uint8]) -> None:
        self._store(case_row, as_image(pixels))
        if self._larger is not None:
            # Its own image would be that before the replacement.
            self._larger.replace(case_row, pixels)
        self.ready.emit(frozenset((case_row,)))

    def forget(self, case_rows: Collection[int]) -> None:
        """Remove outdated images and problems, for example after relinking."""
        if self._larger is not None:
            self._larger.forget(case_rows)
        for row in case_rows:
            self._problems.pop(row, None)
            image = self._images.pop(row, None)
            if image is not None:
                self.cached_bytes -= image.sizeInBytes()
        self.ready.emit(frozenset(case_rows))

    def clear(self) -> None:
        """Remove everything and ignore running fetches, because another library was opened."""
        if self._larger is not None:
            self._larger.clear()
        known = frozenset(self._images) | frozenset(self._problems)
        self._generation += 1
        self._images.clear()
        self._problems.clear()
        self._queue.clear()
        self._in_progress.clear()
        self.cached_bytes = self._running = 0
        self.ready.emit(known)

    def _send(self) -> None:
        while self._queue and self._running < self._max_fetches:
            size = min(self._batch, len(self._queue))
            rows = [self._queue.popitem()[0] for _ in range(size)]
            self._in_progress.update(rows)
            self._running += 1
            self._fetch(rows, partial(self._arrived, rows, self._generation))

    def _arrived(self, rows: list[int], generation: int, answer: Sequence[CardImage]) -> None:
        # The answer may arrive after the window was deleted.
        if not isValid(self) or generation != self._generation:
            return
        self._running -= 1
        self._in_progress.difference_update(rows)
        for image in answer:
            if image.pixels is None:
                self._problems[image.row] = image.problem or tr("could not be read")
            else:
                self._store(image.row, as_image(image.pixels))
        if answer:
            self.ready.emit(frozenset(image.row for image in answer))
        self._send()

    def _store(self, row: int, image: QImage) -> None:
        old = self._images.pop(row, None)
        if old is not None:
            self.cached_bytes -= old.sizeInBytes()
        self._problems.pop(row, None)
        self._images[row] = image
        self.cached_bytes += image.sizeInBytes()
        while self.cached_bytes > self._limit and len(self._images) > 1:
            _, dropped = self._images.popitem(last=False)
            self.cached_bytes -= dropped.sizeInBytes()


def as_image(pixels: npt.NDArray[np.uint8]) -> QImage:
    """A QImage with its own copy of ``pixels``, (h, w) grey or (h, w, 3) RGB uint8."""
    plain = np.ascontiguousarray(pixels, dtype=np.uint8)
    height, width = plain.shape[:2]
    grey = plain.ndim == 2
    form = QImage.Format.Format_Grayscale8 if grey else QImage.Format.Format_RGB888
    return QImage(plain.data, width, height, plain.strides[0], form).copy()
