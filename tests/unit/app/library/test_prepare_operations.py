from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PySide6.QtWidgets import QLabel

from semblance.app.library import library_commands
from semblance.app.library.prepare_operations import import_and_prepare, prepare_for_searching
from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.edit_operations import EDIT_TOPIC
from semblance.app.widgets.empty_state import EmptyState
from semblance.core.library.open_library import open_library
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features.measuring_order import rows_to_measure_first
from semblance.core.workflows.library import prepare_library
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from tests.helpers.images import striped_folder, stripes
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN
from tests.helpers.windows import open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")


@pytest.fixture
def no_dialog(monkeypatch):
    def refuse(*_args):
        raise AssertionError("a dialog was opened")

    monkeypatch.setattr(library_commands, "ImportDialog", refuse)


def shown_in(widget) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel) if label.text()]


def messages(window) -> list[str]:
    return [message.what for message in window.context.messages.history]


def test_a_dropped_folder_is_searched_without_a_dialog(no_dialog, tmp_path):
    folder = striped_folder(tmp_path / "images", n=12)
    with open_window() as window:
        window.parts.commands.library.open_dropped(folder)
        wait_for(window, lambda: window.state.ranking is not None and not window.jobs.active)
        assert window.state.location == tmp_path / "images.semblance"
        assert window.state.query.case == window.state.columns.ids[0]
        assert window.state.metric.name == window.state.library.current_metric == "encoder + Euclidean"
        assert {case.case_id for case in window.state.ranking.ranked} < set(window.state.columns.ids)
        imported, prepared = messages(window)[-2:]
        assert "12 cases" in imported
        assert "6 level" in imported
        assert "20 cases each" in prepared


def test_a_panel_shows_that_it_waits_for_the_preparation(monkeypatch, tmp_path):
    library = tmp_path / "images.semblance"
    import_source(striped_folder(tmp_path / "images", n=8), library)
    go_on = threading.Event()
    prepare = prepare_library.prepare_library

    def wait(*given, **settings):
        go_on.wait()
        return prepare(*given, **settings)

    monkeypatch.setattr(prepare_library, "prepare_library", wait)
    with open_window(library) as window:
        empty = window.panels.ranking.findChild(EmptyState)
        assert shown_in(empty)[0] == "No features yet"
        prepare_for_searching(window.context)
        assert shown_in(empty)[0] == "Measuring the cases"
        go_on.set()
        wait_for(window, lambda: window.state.ranking is not None and not window.jobs.active)
        assert window.state.preparing is None


def test_one_case_without_a_finding_is_no_error(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    Image.fromarray(stripes(np.random.default_rng(0), upright=True)).save(folder / "only.png")
    with open_window() as window:
        window.parts.commands.library.open_dropped(folder)
        wait_for(window, lambda: len(window.context.messages.history) >= 2 and not window.jobs.active)
        imported, alone = window.context.messages.history
        assert imported.what == "Imported 1 case: no findings."
        assert (alone.level, alone.what) == (
            "info",
            "images has one case: there is nothing to compare it with.",
        )
        assert window.state.preparing is None


def test_the_import_can_be_repeated_as_another_kind_from_its_message(monkeypatch, tmp_path):
    kinds = []

    class Recorded(library_commands.ImportDialog):
        def exec(self) -> int:
            kinds.append(self.kind())
            return 0

    monkeypatch.setattr(library_commands, "ImportDialog", Recorded)
    with open_window() as window:
        window.parts.commands.library.open_dropped(striped_folder(tmp_path / "images", n=4))
        wait_for(window, lambda: window.state.ranking is not None and not window.jobs.active)
        # The message on the metric replaces the one on the import and keeps its link.
        (shown,) = window.message_corner.messages()
        assert "20 cases each" in shown.what
        message = window.context.messages.history[-1]
        ((text, run),) = message.actions
        assert text == "Import differently…"
        run()
        assert kinds == ["folder"]


def test_a_case_with_two_findings_is_said_until_it_is_read(tmp_path):
    folder = striped_folder(tmp_path / "images", n=12, patients=False)
    (folder / "upright" / "copy.png").write_bytes((folder / "level" / "p000.png").read_bytes())
    with open_window() as window:
        window.parts.commands.library.open_dropped(folder)
        wait_for(window, lambda: window.state.ranking is not None and not window.jobs.active)
        prepared, imported = window.message_corner.messages()
        assert "several times with different findings" in imported.hint
        assert "20 cases each" in prepared.what


def test_a_metric_chosen_before_stays(tmp_path):
    with open_window(striped_library(tmp_path, n=12)) as window:
        chosen = window.state.metric.name
        prepare_for_searching(window.context)
        wait_for(window, lambda: not window.jobs.active)
        assert "encoder + Euclidean" in {metric.name for metric in window.state.library.metrics}
        assert window.state.metric.name == window.state.library.current_metric == chosen


def test_cases_that_are_added_are_ranked_by_the_metric_in_use(tmp_path):
    library = striped_library(tmp_path, n=12, metrics=())
    prepare_library.prepare_library(library)
    train_metric(library, replace(PLAIN, name="mine", features="colour_edge_texture"))
    with open_window(library) as window:
        assert window.state.library.current_metric == "encoder + Euclidean"
        window.state.set_metric("mine")
        import_and_prepare(window.context, striped_folder(tmp_path / "more", n=6, seed=9), library, "folder")
        wait_for(window, lambda: window.state.ranking is not None and not window.jobs.active)
        assert window.state.metric.name == window.state.ranking.metric == "mine"
        assert any(case.case_id.startswith("more/") for case in window.state.ranking.ranked)


def test_the_plain_distance_is_one_press_away_from_a_trained_metric(monkeypatch, tmp_path):
    library = striped_library(tmp_path, n=12, metrics=(PLAIN, replace(PLAIN, name="trained")))
    accuracy = prepare_library.MeanInterval(0.5, None)
    metrics = tuple(
        prepare_library.PreparedMetric(name, "bdm_v", accuracy) for name in (PLAIN.name, "trained")
    )

    def prepare(path, *, reporter, **_options):
        return prepare_library.Preparation(
            str(path), metrics=metrics, current="trained", message="trained is better.", details="By 0.1."
        )

    monkeypatch.setattr(prepare_library, "prepare_library", prepare)
    with open_window(library) as window:
        closed = []
        window.context.messages.outdated.connect(closed.append)
        prepare_for_searching(window.context)
        wait_for(window, lambda: window.state.ranking is not None)
        assert window.state.ranking.metric == "trained"
        # The message that an edit made metrics out of date is no longer true.
        assert EDIT_TOPIC in closed
        message = window.context.messages.history[-1]
        assert (message.what, message.hint) == ("trained is better.", "By 0.1.")
        ((text, run),) = message.actions
        assert text == f"Use {PLAIN.name}"
        run()
        wait_until_idle(window)
        assert window.state.ranking.metric == PLAIN.name


def test_a_cancelled_preparation_says_how_to_continue(monkeypatch, tmp_path):
    library = tmp_path / "images.semblance"
    import_source(striped_folder(tmp_path / "images", n=8), library)

    def cancel(*_args, **_settings):
        raise Cancelled

    with open_window(library) as window:
        with monkeypatch.context() as patch:
            patch.setattr(prepare_library, "prepare_library", cancel)
            prepare_for_searching(window.context)
            wait_until_idle(window)
        message = window.context.messages.history[-1]
        assert message.hint.startswith("What was imported and measured is kept.")
        ((_, run),) = message.actions
        run()
        wait_for(window, lambda: window.state.ranking is not None)
    with open_library(library) as opened:
        assert opened.current_metric().name == "encoder + Euclidean"


def test_cases_scrolled_to_are_measured_first_while_the_library_is_prepared(qtbot, tmp_path):
    with open_window(striped_library(tmp_path, n=40)) as window:
        panel, state = window.panels.library, window.state
        panel.resize(panel.width(), 300)
        bar = panel.grid.verticalScrollBar()
        bar.setValue(bar.maximum())
        wait_until_idle(window)
        assert rows_to_measure_first(state.location) == []
        state.set_preparing(state.location)
        bar.setValue(bar.minimum())
        bar.setValue(bar.maximum())
        qtbot.waitUntil(lambda: bool(rows_to_measure_first(state.location)))
        model = panel.grid.model()
        assert rows_to_measure_first(state.location) == [
            model.case_row(p) for p in panel.grid.visible_places()
        ]
        assert state.columns.case_row[-1] in rows_to_measure_first(state.location)
