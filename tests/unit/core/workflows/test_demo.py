"""One progress of the demo's steps."""

from __future__ import annotations

from semblance.core.tasks import Reporter
from semblance.core.workflows.demo import WholeProgress


class Shares(Reporter):
    def __init__(self) -> None:
        self.seen: list[float] = []

    def progress(self, done: int, total: int | None, what: str) -> None:
        assert total is not None
        self.seen.append(done / total)


def test_the_progress_of_several_steps_only_grows():
    shown = Shares()
    whole = WholeProgress(shown)
    for end in (0.2, 0.9, 1.0):
        reporter = whole.step(end)
        for total in (5, 3):
            for done in range(total + 1):
                reporter.progress(done, total, "some work")
        reporter.progress(0, None, "work of unknown length")
        assert 0.7 * end < shown.seen[-1] <= end
    assert shown.seen == sorted(shown.seen) and shown.seen[0] == 0
    assert len(set(shown.seen)) > 20
