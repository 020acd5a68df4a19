"""Feature sets and metrics are renamed, duplicated and deleted in their dialog, and come back."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.app.metrics.metrics_panel import MetricsPanel
from semblance.core.library.library import Library
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.libraries import make_library, numbers_set
from tests.helpers.widgets import show_widget


@pytest.fixture
def path(tmp_path):
    path = make_library(tmp_path / "lib.semblance")
    with Library.open(path) as library:
        for features, metric in (("first", "m"), ("second", "n")):
            file = library.new_metric_file()
            file.write_bytes(b"a metric")
            made = numbers_set(library, features)
            library.add_metric(metric, "euclidean", made.id, file, {}, np.empty(0, np.int64), None)
        library.set_current_metric("m")
    return path


@pytest.fixture
def dialog(qtbot, context, path):
    context.state.set_library(read_snapshot(path))
    return show_widget(qtbot, MetricsPanel(context), 600, 400)


def listed(dialog):
    tree = dialog.tree
    tops = [tree.topLevelItem(place) for place in range(tree.topLevelItemCount())]
    return {top.text(0): [top.child(n).text(0) for n in range(top.childCount())] for top in tops}


def test_all_is_changed_and_undone(dialog, context):
    original = {"first": ["m"], "second": ["n"]}
    assert listed(dialog) == original
    dialog.tree.choose("m", True)
    dialog.duplicate_button.click()
    context.jobs.run_pending()
    assert listed(dialog)["first"] == ["m", "m copy"]
    assert dialog.tree.chosen() == ("m copy", True)
    dialog.tree.choose("second", False)
    assert "also deletes the 1 metric" in dialog.note.text()
    dialog.delete_button.click()
    context.jobs.run_pending()
    assert listed(dialog) == {"first": ["m", "m copy"]}
    dialog.tree.topLevelItem(0).setText(0, "features")
    context.jobs.run_pending()
    assert list(listed(dialog)) == ["features"]
    for _ in range(3):
        dialog.undo_button.click()
        context.jobs.run_pending()
    assert listed(dialog) == original


def test_a_renamed_metric_in_use_stays_in_use(dialog, context):
    dialog.tree.topLevelItem(0).child(0).setText(0, "best")
    context.jobs.run_pending()
    assert (context.state.metric.name, dialog.tree.chosen()) == ("best", ("best", True))


def test_a_name_that_is_taken_is_refused_and_the_old_one_shown(dialog, context):
    dialog.tree.topLevelItem(0).setText(0, "second")
    context.jobs.run_pending()
    assert "taken" in context.messages.history[-1].what
    assert list(listed(dialog)) == ["first", "second"]
