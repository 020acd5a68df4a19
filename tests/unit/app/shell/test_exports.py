"""The message about saved files."""

from __future__ import annotations

import pytest

from semblance.app.shell import file_dialogs


@pytest.mark.parametrize(
    ("others", "said"),
    [((), "Saved {}."), (("b.dcm", "c.dcm"), "Saved {} and 2 more files beside it.")],
)
def test_further_files_of_a_report_are_counted_in_the_message(context, jobs, tmp_path, others, said):
    out = tmp_path / "a.dcm"
    files = [out, *(tmp_path / name for name in others)]
    file_dialogs.report_saved_file(context, jobs.run("Writing", lambda **_: files), out)
    jobs.run_pending()
    assert context.messages.history[-1].what == said.format(out)
