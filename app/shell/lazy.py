"""Parts of the window that are built when they are first asked for, and what is done while nobody waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer

T = TypeVar("T")


class lazy_part(cached_property[T]):  # noqa: N801 - a decorator
    """A part its owner builds once it is first asked for; ``Owner.part.built(owner)`` does not build it.

    What is built late reads the state by itself: no news of before are told again.
    """

    def built(self, owner: object) -> T | None:
        """The part, where it was built already."""
        found: T | None = vars(owner).get(self.attrname or "")
        return found


class IdleQueue(QObject):
    """Does short steps one by one, each in a turn of the event loop of its own: keys and clicks go first."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._steps: deque[Callable[[], object]] = deque()
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._next)

    @property
    def done(self) -> bool:
        """Whether no step is left."""
        return not self._steps

    def add(self, steps: Iterable[Callable[[], object]]) -> None:
        """Do ``steps`` after those there are."""
        self._steps.extend(steps)
        self._timer.start()

    def stop(self) -> None:
        """Leave what was not begun."""
        self._steps.clear()
        self._timer.stop()

    def _next(self) -> None:
        if self._steps:
            self._steps.popleft()()
        if not self._steps:
            self._timer.stop()
