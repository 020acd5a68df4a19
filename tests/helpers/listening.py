"""Reporters that write down what they hear, and that wish things at a chosen moment."""

from __future__ import annotations

from semblance.core.tasks import Cancelled, Reporter


class Listening(Reporter):
    """Keeps all news; cancels, or asks to stop, once ``after`` calls of ``progress`` were heard."""

    def __init__(self, *, cancel_after: int | None = None, stop_after: int | None = None) -> None:
        self.news: list[tuple[int, int | None, str]] = []
        self.partials: list[object] = []
        self._cancel_after, self._stop_after = cancel_after, stop_after

    def progress(self, done: int, total: int | None, what: str) -> None:
        self.news.append((done, total, what))

    def partial(self, result: object) -> None:
        self.partials.append(result)

    def check_cancelled(self) -> None:
        if self._cancel_after is not None and self._heard > self._cancel_after:
            raise Cancelled

    @property
    def stop_requested(self) -> bool:
        return self._stop_after is not None and self._heard > self._stop_after

    @property
    def _heard(self) -> int:
        return len(self.news) + len(self.partials)
