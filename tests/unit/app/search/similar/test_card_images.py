"""The slices of a volume on its card."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from semblance.app.search.similar.card_images import CardSlices, RankingThumbnails
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.imaging import card_images
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.dicom_files import ct_slice, save
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
SHIFT = Qt.KeyboardModifier.ShiftModifier

pytestmark = pytest.mark.usefixtures("forget_volumes")


@pytest.fixture
def grid(qtbot, context, tmp_path):
    ramp = np.tile(np.arange(16, dtype=np.int16), (16, 1))
    for number in range(10):
        save(ct_slice(ramp * 100 + 10 * number, number), tmp_path / "ct" / f"{number}.dcm")
    import_source(tmp_path / "ct", tmp_path / "lib")
    context.state.set_library(read_snapshot(tmp_path / "lib"))
    columns = context.state.columns
    made = show_widget(qtbot, CaseGrid(), 300, 300)
    made.set_source(ThumbnailLoader(lambda _rows, done: done([])))
    made.set_model(CaseModel(columns, columns.ordered_by_id()))
    made.slices = CardSlices(context, made)
    return made


def turn(grid, notches, modifiers=Qt.KeyboardModifier.ShiftModifier):
    at = QPointF(grid.card_rect(0).center())
    place = QPointF(grid.viewport().mapToGlobal(at.toPoint()))
    event = QWheelEvent(
        at, place, QPoint(), QPoint(0, 120 * notches), Qt.MouseButton.NoButton, modifiers,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(grid.viewport(), event)


def test_the_card_shows_the_slice_and_the_case_opens_on_it(grid, context, jobs):
    row = int(context.state.columns.case_row[0])
    turn(grid, -2)
    jobs.run_pending()
    first = grid.source.get(row).copy()
    kept = context.state.last_views.get((context.state.location, row))
    assert kept.place == 7
    turn(grid, -9)
    jobs.run_pending()
    assert context.state.last_views.get((context.state.location, row)).place == 9
    assert grid.source.get(row) is not None
    assert not first.isNull()


def test_without_shift_the_cards_scroll(grid, context):
    turn(grid, -2, Qt.KeyboardModifier.NoModifier)
    row = int(context.state.columns.case_row[0])
    assert context.state.last_views.get((context.state.location, row)) is None


def test_a_card_shows_the_slice_on_which_a_place_was_found_and_frames_it_on_that_slice_alone(
    grid, context, jobs, qtbot
):
    row = int(context.state.columns.case_row[0])
    place = MatchedPlace(2, 3, 6, 5, 8, 0.7, 16, 16)
    thumbnails = RankingThumbnails(context, grid.source)
    thumbnails.source_changed.connect(grid.set_source)
    thumbnails.show_slices({row: place.number})
    grid.slices.show_places({row: place})
    assert grid.source.get(row) is None
    qtbot.waitUntil(lambda: bool(jobs.pending))
    jobs.run_pending()
    matched = card_images.card_slice(context.state.location, row, 7, 320).pixels
    assert grid.source.get(row).pixelColor(100, 100).red() == pytest.approx(int(matched[100, 100]), abs=4)
    assert grid.slices.visible_places == {row: place}
    turn(grid, -1)
    assert context.state.last_views.get((context.state.location, row)).place == 8
    assert grid.slices.visible_places == {}
    turn(grid, 1)
    assert grid.slices.visible_places == {row: place}
