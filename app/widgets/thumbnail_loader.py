"""Small images by catalogue row: kept while there is room, asked for latest seen first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage
from shiboken6 import isValid

from semblance.app.shell.delayed_call import one_shot
from semblance.core.language import tr

LIMIT_BYTES = 32 * 1024 * 1024
BATCH = 24
IN_FLIGHT = 2
WAITING = 1024


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


class ThumbnailSource(QObject):
    """What a grid asks for images; ``ready`` carries the frozenset of catalogue rows that have news."""

    ready = Signal(object)

    def get(self, case_row: int) -> QImage | None:
        """The image, or ``None`` while it is on its way (asking is what sends for it) or has a problem."""
        raise NotImplementedError

    def problem(self, case_row: int) -> str:
        """Why there is no image; empty when there is one or it is on its way."""
        raise NotImplementedError


class ThumbnailLoader(ThumbnailSource):
    """A cache of at most ``limit`` bytes over ``fetch``.

    ``fetch(rows, done)`` gets at most ``batch`` catalogue rows and later calls ``done`` exactly once, on the
    GUI thread, with those it could answer; rows it leaves out may be asked for again. At most ``in_flight``
    fetches run at a time; what was asked for last goes first, and beyond ``waiting`` the oldest is
    forgotten until it is seen again.
    """

    def __init__(
        self,
        fetch: Fetch,
        parent: QObject | None = None,
        *,
        limit: int = LIMIT_BYTES,
        batch: int = BATCH,
        in_flight: int = IN_FLIGHT,
        waiting: int = WAITING,
    ) -> None:
        super().__init__(parent)
        self._fetch, self._limit, self._batch = fetch, limit, batch
        self._in_flight, self._waiting = in_flight, waiting
        self._kept: OrderedDict[int, QImage] = OrderedDict()
        self._bytes = 0
        self._problems: dict[int, str] = {}
        self._wanted: OrderedDict[int, None] = OrderedDict()
        self._asked: set[int] = set()
        self._running = 0
        self._generation = 0
        self._send_soon = one_shot(self, self._send)

    @property
    def bytes_kept(self) -> int:
        return self._bytes

    def get(self, case_row: int) -> QImage | None:
        image = self._kept.get(case_row)
        if image is not None:
            self._kept.move_to_end(case_row)
            return image
        if case_row not in self._asked and case_row not in self._problems:
            self._wanted[case_row] = None
            self._wanted.move_to_end(case_row)
            if len(self._wanted) > self._waiting:
                self._wanted.popitem(last=False)
            if not self._send_soon.isActive():
                self._send_soon.start(0)
        return None

    def problem(self, case_row: int) -> str:
        return self._problems.get(case_row, "")

    def forget(self, case_rows: Collection[int]) -> None:
        """Drop images and problems that are no longer true, for example after relinking."""
        for row in case_rows:
            self._problems.pop(row, None)
            image = self._kept.pop(row, None)
            if image is not None:
                self._bytes -= image.sizeInBytes()
        self.ready.emit(frozenset(case_rows))

    def clear(self) -> None:
        """Forget everything, answers still on their way included (another library was opened)."""
        known = frozenset(self._kept) | frozenset(self._problems)
        self._generation += 1
        self._kept.clear()
        self._problems.clear()
        self._wanted.clear()
        self._asked.clear()
        self._bytes = self._running = 0
        self.ready.emit(known)

    def _send(self) -> None:
        while self._wanted and self._running < self._in_flight:
            size = min(self._batch, len(self._wanted))
            rows = [self._wanted.popitem()[0] for _ in range(size)]
            self._asked.update(rows)
            self._running += 1
            self._fetch(rows, partial(self._arrived, rows, self._generation))

    def _arrived(self, rows: list[int], generation: int, answer: Sequence[CardImage]) -> None:
        # An answer may come when the window is gone already.
        if not isValid(self) or generation != self._generation:
            return
        self._running -= 1
        self._asked.difference_update(rows)
        for image in answer:
            if image.pixels is None:
                self._problems[image.row] = image.problem or tr("could not be read")
            else:
                self._keep(image.row, as_image(image.pixels))
        if answer:
            self.ready.emit(frozenset(image.row for image in answer))
        self._send()

    def _keep(self, row: int, image: QImage) -> None:
        old = self._kept.pop(row, None)
        if old is not None:
            self._bytes -= old.sizeInBytes()
        self._problems.pop(row, None)
        self._kept[row] = image
        self._bytes += image.sizeInBytes()
        while self._bytes > self._limit and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.sizeInBytes()


def as_image(pixels: npt.NDArray[np.uint8]) -> QImage:
    """A QImage with its own copy of ``pixels``, (h, w) grey or (h, w, 3) RGB uint8."""
    plain = np.ascontiguousarray(pixels, dtype=np.uint8)
    height, width = plain.shape[:2]
    grey = plain.ndim == 2
    form = QImage.Format.Format_Grayscale8 if grey else QImage.Format.Format_RGB888
    return QImage(plain.data, width, height, plain.strides[0], form).copy()
