"""A reporter that records progress, and cancels or stops at a given moment."""

from __future__ import annotations

from semblance.core.tasks import Cancelled, Reporter


class RecordingReporter(Reporter):
    """Records all calls. Cancels or stops after a number of calls."""

    def __init__(self, *, cancel_after: int | None = None, stop_after: int | None = None) -> None:
        self.messages: list[tuple[int, int | None, str]] = []
        self.partials: list[object] = []
        self._cancel_after, self._stop_after = cancel_after, stop_after

    def progress(self, done: int, total: int | None, what: str) -> None:
        self.messages.append((done, total, what))

    def partial(self, result: object) -> None:
        self.partials.append(result)

    def check_cancelled(self) -> None:
        if self._cancel_after is not None and self._call_count > self._cancel_after:
            raise Cancelled

    @property
    def stop_requested(self) -> bool:
        return self._stop_after is not None and self._call_count > self._stop_after

    @property
    def _call_count(self) -> int:
        return len(self.messages) + len(self.partials)
