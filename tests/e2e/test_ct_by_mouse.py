"""CT series by mouse and keys: find one by its header, scroll, compare by position, full size, search with a region."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from semblance.app.screenshot import wait_until_idle
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.window.main_window import MainWindow
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.dicom_files import ROOT, ct_slice, save
from tests.helpers.windows import open_window, wait_for

SLICES = 8
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Two series of one study in one frame of reference, the second with its first slice two slices higher, and a
    series of another patient."""
    rng = np.random.default_rng(0)
    for series, (patient, first, name) in enumerate(
        (("P1", 0, "Lung 2.0"), ("P1", 2, "Mediastinum 2.0"), ("P2", 0, "Abdomen 2.0"))
    ):
        body = np.kron(rng.integers(0, 2000, (12, 12)), np.ones((8, 8)))
        for number in range(SLICES):
            pixels = (body + 50 * number).astype(np.int16)
            dataset = ct_slice(
                pixels,
                number,
                series=f"{ROOT}.7{series}",
                SeriesDescription=name,
                FrameOfReferenceUID=f"{ROOT}.5",
            )
            dataset.PatientID, dataset.StudyInstanceUID = patient, f"{ROOT}.6{patient[1]}"
            dataset.ImagePositionPatient = [-10, -20, 2 * (first + number)]
            save(dataset, tmp_path / "cd" / f"{series}" / f"{number}.dcm")
    made = tmp_path / "Cd.semblance"
    import_source(tmp_path / "cd", made)
    extract_features(made, "gabor", workers=1)
    train_metric(made, TrainRequest("euclidean", "plain"))
    return made


def turn_wheel(view: QWidget, notches: int) -> None:
    """Turn the wheel over the middle of ``view``; up is positive."""
    at = QPointF(view.rect().center())
    event = QWheelEvent(
        at, view.mapToGlobal(at), QPoint(), QPoint(0, 120 * notches), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, event)


def drag(qtbot: QtBot, view: QWidget, start: QPoint, end: QPoint) -> None:
    qtbot.mousePress(view, LEFT, pos=start)
    qtbot.mouseMove(view, (start + end) / 2)
    qtbot.mouseMove(view, end)
    qtbot.mouseRelease(view, LEFT, pos=end)


def height(pane: ImagePane) -> float:
    """Where the slice shown lies in the patient, in mm."""
    facts = pane.slices.facts
    assert facts is not None
    assert facts.location is not None
    assert facts.spacing_mm is not None
    return facts.location.height_of(pane.slices.place)


def test_a_series_is_found_scrolled_compared_viewed_and_searched_by_region(qtbot, library):
    with open_window(library, workspace="read") as window:
        panels, state = window.panels, window.state
        window.context.actions["same_patient"].trigger()
        window.context.actions["find_case"].trigger()
        qtbot.keyClicks(panels.library.search, "mediastinum")
        qtbot.waitUntil(lambda: len(panels.library.grid.model()) == 1)
        asked = state.columns.ids[panels.library.grid.model().index(0)]
        qtbot.keyClick(panels.library.search, Qt.Key.Key_Down)
        qtbot.keyClick(panels.library.grid, Qt.Key.Key_Home)
        qtbot.keyClick(panels.library.grid, Qt.Key.Key_Return)
        wait_for(window, lambda: state.ranking is not None)
        assert state.query.case == asked

        query, before = panels.query.pane, panels.query.pane.view.window_level
        first = query.slices.place
        turn_wheel(query.view, 2)
        wait_until_idle(window)
        place = query.slices.place
        assert abs(place - first) == 2
        centre = query.view.rect().center()
        drag(qtbot, query.view, centre, centre + QPoint(40, 30))
        wait_until_idle(window)
        kept = query.view.window_level
        assert kept != before

        lung = next(one for one in state.ranking.ranked if "Lung" in name_of(window, one.row))
        panels.ranking.grid.set_current(lung.row)
        qtbot.keyClick(panels.ranking.grid, Qt.Key.Key_Return)
        wait_until_idle(window)
        page = panels.compare
        one, other = page.panes
        assert page.current_case() == lung.case_id
        assert (one.slices.place, one.view.window_level) == (place, kept)
        assert other.view.window_level == kept
        assert height(one) == height(other)
        assert one.slices.place != other.slices.place
        turn_wheel(other.view, -1)
        wait_until_idle(window)
        assert height(one) == height(other)
        assert one.slices.place == place + 1
        # Beyond the end of the other series the query goes on alone.
        turn_wheel(one.view, SLICES)
        wait_until_idle(window)
        assert (one.slices.place, other.slices.place) == (0, 0)
        moved = one.slices.place
        qtbot.keyClick(page, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert (query.slices.place, query.view.window_level) == (moved, kept)

        qtbot.mouseDClick(panels.query.header, LEFT)
        wait_until_idle(window)
        large = panels.large.pane
        assert (large.slices.place, large.view.window_level) == (moved, kept)
        qtbot.keyClick(large.view, Qt.Key.Key_Escape)
        wait_until_idle(window)

        window.context.actions["region"].trigger()
        drag(qtbot, query.view, centre - QPoint(30, 30), centre + QPoint(30, 30))
        wait_for(window, lambda: state.ranking.query.region is not None)
        assert state.ranking.query.case == asked
        assert {one.case_id for one in state.ranking.ranked} == set(state.columns.ids) - {asked}


def name_of(window: MainWindow, row: int) -> str:
    columns = window.state.columns
    return str(columns.name(columns.index_of_row(row)))
