"""The command opens the Experiments window, and a worst query opens its image in the main window."""

from __future__ import annotations

import contextlib

import pytest
from PySide6.QtCore import Qt

from semblance.app.research.encoders_page import EncodersPage
from semblance.app.research.experiments_page import ExperimentsPage
from semblance.app.shell.library_operations import close_library
from semblance.app.window.help_dialog import HelpDialog
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.research import experiments
from tests.helpers.images import striped_folder
from tests.helpers.inline_runner import InlineRunner
from tests.helpers.windows import open_window, wait_for


@pytest.fixture
def window(tmp_path, monkeypatch, without_processes):
    @contextlib.contextmanager
    def here(workers, scheduler):
        yield InlineRunner()

    monkeypatch.setattr(experiments, "open_engine", here)
    library = tmp_path / "lib.semblance"
    import_source(striped_folder(tmp_path / "images", n=24), library)
    extract_features(library, "pixels", settings={"size": 8})
    with open_window(library) as main_window:
        main_window.context.settings.set_text("experiments_folder", str(tmp_path))
        yield main_window


def test_a_worst_query_opens_its_image(qtbot, window):
    window.context.actions["experiments"].trigger()
    dialog = window.findChild(ExperimentsPage)
    assert dialog.isVisible()
    dialog.form.learners.tick(["euclidean"])
    dialog.form.numbers.set_values({"repeats": 1})
    dialog.run_button.click()
    wait_for(window, lambda: dialog.document and dialog.document["complete"])
    dialog.results.tabs.setCurrentIndex(3)
    dialog.results.queries.setCurrentCell(0, 0)
    assert dialog.results.preview.isVisible()
    assert dialog.results.preview.row == dialog.results.queries.case(0)
    qtbot.keyClick(dialog.results.queries, Qt.Key.Key_Return)
    assert window.pages.currentWidget() is window.panels.large
    row = dialog.results.queries.case(0)
    index = window.state.columns.index_of_id(window.panels.large.source.case)
    assert int(window.state.columns.case_row[index]) == row
    qtbot.keyClick(window.panels.large, Qt.Key.Key_Escape)
    assert window.pages.currentWidget() is dialog
    assert dialog.document["complete"]
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert window.pages.currentWidget() is window.panels.ranking
    window.context.actions["experiments"].trigger()
    assert window.findChildren(ExperimentsPage) == [dialog]
    assert window.pages.currentWidget() is dialog


def test_a_case_of_another_library_names_it(window):
    window.context.actions["experiments"].trigger()
    dialog = window.findChild(ExperimentsPage)
    dialog.results.case_requested.emit("/elsewhere/other.semblance", 1)
    message = window.context.messages.history[-1]
    assert message.what == "This case is of other.semblance."
    assert window.pages.currentWidget() is dialog


def test_f1_in_the_comparison_of_encoders_opens_its_help(qtbot, window):
    window.context.actions["compare_encoders"].trigger()
    dialog = window.findChild(EncodersPage)
    assert window.pages.currentWidget() is dialog
    window.context.actions["help"].trigger()
    assert "Compare encoders" in window.findChild(HelpDialog).page.toPlainText()


def test_a_library_opened_later_comes_first_and_replaces_the_ticked_example(window):
    library = window.state.location
    close_library(window.context)
    window.context.actions["experiments"].trigger()
    cases = window.findChild(ExperimentsPage).form.cases
    assert cases.ticked() == ("table:builtin:wine",)
    window.open_library(library)
    wait_for(window, lambda: window.state.location == library)
    window.context.actions["experiments"].trigger()
    assert cases.ticked() == (cases.keys()[0],) == (f"library:{library}:{window.state.features}",)
