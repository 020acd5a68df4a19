from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt

from semblance.app.evaluation.map_page import MapPage
from semblance.core.searches.query import Query
from semblance.core.workflows.evaluation import map_library
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.ranked_searches import unrefined_search
from tests.helpers.tables import PLAIN, table_library


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    library = table_library(
        tmp_path_factory.mktemp("map panel"),
        metrics=(PLAIN, TrainRequest("pca", "other", settings={"components": 2})),
    )
    close_loaded_metrics()
    return library


@pytest.fixture
def panel(qtbot, context, trained):
    context.state.set_library(read_snapshot(trained))
    context.state.set_metric("plain")
    panel = MapPage(context)
    qtbot.addWidget(panel)
    panel.context, panel.state, panel.trained = context, context.state, trained
    panel.resize(900, 400)
    return panel


@pytest.fixture(scope="module")
def maps():
    """The maps of metrics that were computed."""
    return {}


@pytest.fixture
def mapped(panel, jobs, maps, monkeypatch):
    """The panel with its map. A map is computed once for all tests."""
    compute = map_library.map_library

    def kept(library, metric, *given, **more):
        if metric not in maps:
            maps[metric] = compute(library, metric, *given, **more)
        return maps[metric]

    monkeypatch.setattr(map_library, "map_library", kept)
    panel.show()
    jobs.run_pending()
    return panel


@pytest.mark.slow
def test_the_map_is_computed_when_first_shown_and_improves(panel, jobs):
    assert jobs.pending == []
    panel.show()
    kinds = []
    panel._job.partial.connect(lambda library_map: kinds.append(library_map.kind))
    jobs.run_pending()
    assert kinds[0] == "principal axes"
    assert "neighbours" in kinds[1:]
    assert panel.map.metric == "plain"
    assert not panel.map.growing
    assert panel.pages.currentWidget() is panel.view
    assert "of the 10 nearest preserved" in panel.facts.text()
    assert not panel.is_stale
    panel.hide()
    panel.show()
    assert jobs.pending == []


@pytest.mark.slow
def test_another_metric_makes_the_map_stale(mapped, jobs, qtbot):
    mapped.state.set_metric("other")
    assert mapped.is_stale
    assert mapped.badge.isVisible()
    assert mapped.title.text() == "Map of plain"
    qtbot.keyClick(mapped.view, Qt.Key.Key_R)
    jobs.run_pending()
    assert not mapped.is_stale
    assert mapped.title.text() == "Map of other"


def test_selected_cases_are_counted_and_cleared(mapped, qtbot):
    rows = mapped.map.rows[:7]
    mapped.view.selected.emit(rows)
    assert mapped.state.selected_rows.tolist() == rows.tolist()
    counts = np.unique([mapped.state.columns.finding_name(i) for i in range(7)], return_counts=True)
    for name, count in zip(*counts, strict=True):
        assert f"{count} {name}" in mapped.selection_label.text()
    mapped.clear_button.click()
    assert mapped.state.selected_rows is None
    assert not mapped.selection_label.isVisible()


def test_the_query_and_its_similar_cases_are_marked(mapped):
    query = Query(case=mapped.state.columns.ids[4])
    mapped.state.set_query(query)
    mapped.state.set_ranked_search(unrefined_search(nearest_cases(mapped.trained, "plain", query, k=12)))
    markers = mapped.view.markers
    assert markers.query == int(mapped.state.columns.case_row[4])
    assert markers.ranked == [case.row for case in mapped.state.ranking.ranked]


def test_cases_selected_elsewhere_are_highlighted(mapped):
    rows = mapped.map.rows[3:6]
    mapped.highlight_rows(rows)
    assert mapped.view.faded.sum() == len(mapped.map.rows) - 3
    mapped.highlight_rows(rows[:1])
    assert mapped.view.faded is None


def test_unticked_findings_are_hidden(mapped):
    box = mapped.legend._boxes[0]
    box.click()
    shown_codes = mapped.state.columns.finding[mapped.view.selectable]
    assert 0 not in shown_codes.tolist()
    box.click()
    assert mapped.view.selectable.all()


@pytest.mark.slow
def test_a_stopped_map_is_used(panel, jobs, monkeypatch):
    from semblance.core.evaluation import projection

    monkeypatch.setattr(projection, "ROUNDS", 5)
    panel.show()
    stopped = []
    monkeypatch.setattr(panel._job, "stop", lambda: stopped.append(True))
    panel._stop_job()
    assert stopped == [True]
    jobs.run_pending()
    assert panel.map is not None


def test_a_failure_is_explained(panel, jobs, monkeypatch):
    from semblance.core.errors import BadInput

    def fails(*_given, **_more):
        raise BadInput("A map needs at least 3 cases.", "Add cases first.")

    monkeypatch.setattr(map_library, "map_library", fails)
    panel.show()
    jobs.run_pending()
    assert panel.pages.currentWidget() is panel.empty
    assert panel.empty._title.text() == "A map needs at least 3 cases."


def test_the_map_is_saved_as_image_and_table_without_case_names(mapped, jobs, tmp_path):
    for name in ("map.png", "map.svg", "map.pdf", "map.csv"):
        mapped.save_to(tmp_path / name, screen_theme=name == "map.png")
        jobs.run_pending()
        assert (tmp_path / name).stat().st_size > 500
    with Image.open(tmp_path / "map.png") as image:
        assert image.size == (2280, 1800)
        assert len(image.convert("RGB").getcolors(1 << 20)) > 10
    text = (tmp_path / "map.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == len(mapped.map.rows)
    assert list(rows[0]) == ["x", "y", "finding"]
    assert float(rows[0]["x"]) == pytest.approx(float(mapped.map.places[0, 0]), rel=1e-5)
    assert not any(name in text for name in mapped.state.columns.ids)
    assert [m for m in mapped.context.messages.history if m.level == "error"] == []


def test_another_library_clears_the_map(mapped):
    mapped.hide()
    mapped.state.set_library(None)
    assert mapped.map is None
    assert len(mapped.view.points) == 0
