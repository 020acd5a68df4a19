"""Progress and cancelling of a command: bars on stderr, Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Any, Self

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from semblance.app.cli.output import stderr
from semblance.core.language import visible
from semblance.core.log import PhaseLog
from semblance.core.tasks import Cancelled, Reporter


class _Bars(Progress):
    """Progress bars, and above them what has been found so far."""

    above: RenderableType | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        if self.above is not None:
            yield self.above
        yield from super().get_renderables()


class ConsoleReporter(Reporter):
    """A progress bar with time left on stderr; Ctrl-C cancels, and a second one ends at once."""

    def __init__(self) -> None:
        self._bars = _Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=stderr,
            transient=True,
            disable=not stderr.is_terminal,
        )
        self._tasks: dict[str, Any] = {}
        self._cancelled = threading.Event()
        self._before: Any = None
        self._phases = PhaseLog()

    def __enter__(self) -> Self:
        self._bars.start()
        with contextlib.suppress(ValueError):  # only the main thread may take signals
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        self._phases.end()
        self._bars.stop()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def progress(self, done: int, total: int | None, what: str) -> None:
        self._phases.enter(what)
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(visible(what), total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)

    def show_above(self, found: RenderableType) -> None:
        """Show ``found`` above the bars, in place of what was there."""
        self._bars.above = found

    def check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _interrupted(self, _signal: int, _frame: FrameType | None) -> None:
        if self._cancelled.is_set():
            raise KeyboardInterrupt
        self._cancelled.set()
