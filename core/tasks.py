"""Progress and cancellation of long work."""

from __future__ import annotations

from typing import Any


class Cancelled(Exception):
    """The caller cancelled the work; finished parts are stored, incomplete parts are not."""


class Reporter:
    """Receives the progress of long work; this base class does nothing and never cancels.

    Functions of ``core`` that can take longer than 0.2 s accept one. They call :meth:`progress` and
    :meth:`check_cancelled` at least every 0.1 s of work where that is possible. All of them raise :class:`Cancelled`
    when it was cancelled; their docstrings say so only where something else is promised with it.
    """

    def progress(self, done: int, total: int | None, what: str) -> None:
        """``done`` of ``total`` units are finished (``None``: unknown); ``what`` names the work."""

    def partial(self, result: object) -> None:
        """Send a picklable intermediate result (a point of a training curve, a chunk of cases)."""

    def check_cancelled(self) -> None:
        """Raise :class:`Cancelled` when the caller no longer wants the result."""

    @property
    def stop_requested(self) -> bool:
        """Whether the caller requests the end of the work with the best result so far."""
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it is one that does nothing."""
        return _silent, ()


class PartReporter(Reporter):
    """For a part of longer work: passes on requests to end it, but neither progress nor intermediate results."""

    def __init__(self, whole: Reporter, *, stops_early: bool = True) -> None:
        """``whole``: the reporter of the longer work; ``stops_early``: False for one of several fits to be compared."""
        self._whole, self._stops_early = whole, stops_early

    def check_cancelled(self) -> None:
        """Raises :class:`Cancelled` if the whole work was cancelled."""
        self._whole.check_cancelled()

    @property
    def stop_requested(self) -> bool:
        """Whether the caller requests the end of the whole, and the part may end with it."""
        return self._stops_early and self._whole.stop_requested


SILENT = Reporter()


def _silent() -> Reporter:
    return SILENT
