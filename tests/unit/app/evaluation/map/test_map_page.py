from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt

from semblance.app.evaluation.map.map_page import MapPage
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation import map_library
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.asked import asked_for
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    made = table_library(
        tmp_path_factory.mktemp("map panel"),
        metrics=(PLAIN, TrainRequest("pca", "other", settings={"components": 2})),
    )
    close_loaded_metrics()
    return made


@pytest.fixture
def panel(qtbot, context, trained):
    context.state.set_library(read_snapshot(trained))
    context.state.set_metric("plain")
    panel = MapPage(context)
    qtbot.addWidget(panel)
    panel.context, panel.state, panel.trained = context, context.state, trained
    panel.resize(900, 400)
    return panel


def test_it_maps_once_it_is_seen_and_grows(panel, jobs):
    assert jobs.held == []
    panel.show()
    seen = []
    panel._job.partial.connect(lambda found: seen.append(found.kind))
    jobs.let_run()
    assert seen[0] == "principal axes"
    assert "neighbours" in seen[1:]
    assert panel.map.metric == "plain"
    assert not panel.map.growing
    assert panel._pages.currentWidget() is panel.view
    assert "of the 10 nearest kept" in panel.facts.text()
    assert not panel.stale
    panel.hide()
    panel.show()
    assert jobs.held == []


def test_another_metric_makes_it_stale_until_it_is_mapped_again(panel, jobs, qtbot):
    panel.show()
    jobs.let_run()
    panel.state.set_metric("other")
    assert panel.stale
    assert panel.badge.isVisible()
    assert panel.title.text() == "Map of plain"
    qtbot.keyClick(panel.view, Qt.Key.Key_R)
    jobs.let_run()
    assert not panel.stale
    assert panel.title.text() == "Map of other"


def test_what_is_picked_is_told_and_forgotten(panel, jobs, qtbot):
    panel.show()
    jobs.let_run()
    rows = panel.map.rows[:7]
    panel.view.picked.emit(rows)
    assert panel.state.selected_rows.tolist() == rows.tolist()
    counts = np.unique([panel.state.columns.finding_name(i) for i in range(7)], return_counts=True)
    for name, count in zip(*counts, strict=True):
        assert f"{count} {name}" in panel.picked.text()
    panel.clear.click()
    assert panel.state.selected_rows is None
    assert not panel.picked.isVisible()


def test_the_query_and_its_nearest_are_marked(panel, jobs):
    panel.show()
    jobs.let_run()
    query = Query(case=panel.state.columns.ids[4])
    panel.state.set_query(query)
    panel.state.set_ranked_search(asked_for(nearest_cases(panel.trained, "plain", query, k=12)))
    marks = panel.view._marks
    assert marks.query == int(panel.state.columns.case_row[4])
    assert marks.ranked == [line.row for line in panel.state.ranking.ranked]


def test_cases_chosen_elsewhere_stand_out(panel, jobs):
    panel.show()
    jobs.let_run()
    some = panel.map.rows[3:6]
    panel.mark(some)
    assert panel.view._faded.sum() == len(panel.map.rows) - 3
    panel.mark(some[:1])
    assert panel.view._faded is None


def test_findings_are_left_out_by_a_tick(panel, jobs):
    panel.show()
    jobs.let_run()
    box = panel._key._boxes[0]
    box.click()
    left = panel.state.columns.finding[panel.view.drawn]
    assert 0 not in left.tolist()
    box.click()
    assert panel.view.drawn.all()


def test_it_can_be_stopped_and_kept(panel, jobs, monkeypatch):
    from semblance.core.evaluation import neighbour_map

    monkeypatch.setattr(neighbour_map, "ROUNDS", 5)
    panel.show()
    stopped = []
    monkeypatch.setattr(panel._job, "stop", lambda: stopped.append(True))
    panel._stop()
    assert stopped == [True]
    jobs.let_run()
    assert panel.map is not None


def test_a_failure_says_what_to_do(panel, jobs, monkeypatch):
    from semblance.core.errors import BadInput

    def fails(*_given, **_more):
        raise BadInput("A map needs at least 3 cases.", "Add cases first.")

    monkeypatch.setattr(map_library, "map_library", fails)
    panel.show()
    jobs.let_run()
    assert panel._pages.currentWidget() is panel._empty
    assert panel._empty._title.text() == "A map needs at least 3 cases."


def test_it_is_saved_as_a_image_and_as_a_table_without_names(panel, jobs, tmp_path):
    panel.show()
    jobs.let_run()
    for name in ("map.png", "map.svg", "map.pdf", "map.csv"):
        panel.save_to(tmp_path / name, as_seen=name == "map.png")
        jobs.let_run()
        assert (tmp_path / name).stat().st_size > 500
    with Image.open(tmp_path / "map.png") as image:
        assert image.size == (2280, 1800)
        assert len(image.convert("RGB").getcolors(1 << 20)) > 10
    text = (tmp_path / "map.csv").read_text(encoding="utf-8-sig")
    lines = list(csv.DictReader(text.splitlines()))
    assert len(lines) == len(panel.map.rows)
    assert list(lines[0]) == ["x", "y", "finding"]
    assert float(lines[0]["x"]) == pytest.approx(float(panel.map.places[0, 0]), rel=1e-5)
    assert not any(name in text for name in panel.state.columns.ids)
    assert [m for m in panel.context.messages.history if m.level == "error"] == []


def test_another_library_forgets_the_map(panel, jobs):
    panel.show()
    jobs.let_run()
    panel.hide()
    panel.state.set_library(None)
    assert panel.map is None
    assert len(panel.view.points) == 0
