"""Features computed elsewhere come into a library from the window, and a set of it goes out."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QWidget

from semblance.app.metrics import metric_commands, metrics_panel
from semblance.app.metrics.metric_commands import MetricCommands
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.libraries import make_library


@pytest.fixture
def commands(qtbot, context, tmp_path):
    context.state.set_library(read_snapshot(make_library(tmp_path / "lib.semblance")))
    window = QWidget()
    qtbot.addWidget(window)
    commands = MetricCommands(context, window)
    commands.list_requested.connect(lambda _name, panel: qtbot.addWidget(panel))
    return commands


def test_features_are_imported_under_the_name_of_their_file_and_exported(
    commands, context, tmp_path, monkeypatch
):
    ids = list(context.state.columns.ids)
    vectors = np.random.default_rng(0).normal(size=(len(ids), 5)).astype(np.float32)
    file, out = tmp_path / "dinov2.npz", tmp_path / "out.npz"
    np.savez(file, vectors=vectors[1:], case_ids=ids[1:])
    monkeypatch.setattr(metric_commands, "choose_file", lambda *_: file)
    commands.import_features()
    context.jobs.run_pending()
    shown = context.messages.history[-1]
    assert f"{len(ids) - 1} cases have the features 'dinov2' now." in shown.what
    assert "1 case has none of them" in shown.hint
    context.jobs.run_pending()
    assert [one.name for one in context.state.library.feature_sets][-1] == "dinov2"

    context.state.set_features("dinov2")
    commands.export_features()
    dialog = commands._manage
    assert dialog.tree.chosen() == ("dinov2", False), "the current set is chosen"
    assert dialog.export_button.isEnabled()
    monkeypatch.setattr(metrics_panel, "choose_target", lambda *_: (out, "NumPy (*.npz)"))
    dialog.export_button.click()
    context.jobs.run_pending()
    with np.load(out) as written:
        assert any(np.array_equal(written[name], vectors[1:]) for name in written.files)


def test_ids_of_no_case_are_named_and_change_nothing(commands, context, tmp_path, monkeypatch):
    file = tmp_path / "wrong.npz"
    np.savez(file, vectors=np.ones((9, 2)), case_ids=[f"other {n}" for n in range(9)])
    monkeypatch.setattr(metric_commands, "choose_file", lambda *_: file)
    sets = context.state.library.feature_sets
    commands.import_features()
    context.jobs.run_pending()
    shown = context.messages.history[-1].what
    assert "other 0" in shown and "and 4 more" in shown
    assert read_snapshot(context.state.location).feature_sets == sets


def test_an_imported_metric_says_that_its_learner_is_unknown(commands, context, tmp_path, monkeypatch):
    monkeypatch.setattr(metric_commands, "choose_file", lambda *_: tmp_path / "m.semblance-metric")
    answer = ("m", True, ("Learner unknown: 'quantum'.",))
    monkeypatch.setattr(metric_commands.metric_exchange, "import_file", lambda *_, **__: answer)
    commands.import_metric()
    context.jobs.run_pending()
    said = [one for one in context.messages.history if one.what == "m is in the library."]
    assert said and "Learner unknown: 'quantum'." in said[0].hint
