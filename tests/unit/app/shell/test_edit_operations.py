"""Edits of the open library, and what is offered after them."""

from __future__ import annotations

import shutil

from semblance.app.shell import edit_operations
from semblance.core.workflows.library.edit_cases import set_finding
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.tables import table_library


def test_another_library_does_not_offer_to_undo_an_edit_of_the_one_before(context, jobs, tmp_path):
    library = table_library(tmp_path / "table", n=6)
    other = shutil.copytree(library, tmp_path / "other.semblance")
    context.state.set_library(read_snapshot(library))
    edit_operations.edit(context, set_finding, ["t/c1"], "seen again")
    edit_operations.undo(context)
    context.state.set_library(read_snapshot(other))
    jobs.run_pending()
    assert [one for one in context.messages.history if one.actions] == []
