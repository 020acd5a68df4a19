from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget

from semblance.app.search.similar.prevalence_dialog import PrevalenceDialog, edit_prevalences
from semblance.core.errors import BadArguments
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.searches.estimate import prevalences
from tests.helpers.tables import PLAIN, table_library

IN_LIBRARY = [("benign", 0.38), ("malignant", 0.62)]


@pytest.fixture
def make(qtbot):
    def made(shares):
        dialog = PrevalenceDialog(IN_LIBRARY, shares)
        qtbot.addWidget(dialog)
        return dialog

    return made


def test_fields_are_percentages_and_empty_ones_are_the_librarys(make):
    dialog = make({"malignant": 0.1})
    assert dialog.fields["malignant"].text() == "10"
    assert (dialog.fields["benign"].text(), dialog.fields["benign"].placeholderText()) == ("", "38")
    assert dialog.shares() == {"malignant": 0.1}
    dialog.fields["malignant"].set_value(None)
    assert dialog.shares() == {}


@pytest.mark.parametrize("text", ["0", "100", "many"])
def test_an_impossible_share_cannot_be_set(make, qtbot, text):
    dialog = make({})
    qtbot.keyClicks(dialog.fields["malignant"], text)
    assert not dialog.accept_button.isEnabled()
    with pytest.raises(BadArguments):
        dialog.shares()


def test_findings_without_a_field_keep_their_share(make):
    assert make({"normal": 0.5, "benign": 0.2}).shares() == {"normal": 0.5, "benign": 0.2}


def test_what_is_set_is_recorded_in_the_library(qtbot, context, jobs, monkeypatch, tmp_path):
    library = table_library(tmp_path, metrics=(PLAIN,))
    context.state.set_library(read_snapshot(library))
    parent = QWidget()
    qtbot.addWidget(parent)

    def enter(dialog):
        dialog.fields["kind 1"].set_value(10)
        return PrevalenceDialog.DialogCode.Accepted

    monkeypatch.setattr(PrevalenceDialog, "exec", enter)
    edit_prevalences(context, parent)
    jobs.run_pending()
    assert prevalences(library) == {"kind 1": 0.1}
