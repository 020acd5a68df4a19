"""Results of jobs reach whoever asked for them."""

from __future__ import annotations

from types import SimpleNamespace

from semblance.core.tasks import SILENT, Reporter


def answer(*, reporter: Reporter = SILENT) -> int:
    return 42


def test_the_result_for_a_library_is_dropped_where_another_one_is_open(context, jobs, monkeypatch):
    found = []
    monkeypatch.setattr(context.state, "library", SimpleNamespace(location="first"))
    for library in (None, "first", "second"):
        context.follow(jobs.run("", answer), found.append, library=library)
        jobs.run_pending()
    assert found == [42, 42]
