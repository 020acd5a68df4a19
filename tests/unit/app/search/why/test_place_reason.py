"""The reason in places is drawn on both images, and rows, images and keys point at the same pair."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from semblance.app.search.compare.pair_reason import PairReason
from semblance.app.search.why.place_reason import marks_of
from semblance.app.search.why.why_images import AnnotatedImage, WhyImages
from semblance.app.widgets.layouts import vbox
from semblance.core.features.places import PlaceGrid
from semblance.core.workflows.searches.compare_cases import ComparedImage, ImageComparison
from semblance.core.workflows.searches.compare_places import ComparedPlaces, PlaceMatch
from tests.helpers.widgets import show_widget

SIDE = 4


def comparison(**changes) -> ImageComparison:
    """Two images of 40 x 40 pixels with 4 x 4 places; each place matches the one beside it."""
    grid = PlaceGrid(SIDE, SIDE, (0.0, 0.0, 40.0, 40.0))
    partners = np.stack([(np.arange(16) + 1) % 16, (np.arange(16) - 1) % 16])
    shares = np.full((2, 16), 0.5 / 16)
    pairs = tuple(
        PlaceMatch(letter, (grid.place_box(place), grid.place_box(place + 1)), 0.9 - 0.1 * number, 0.5 / 16)
        for number, (letter, place) in enumerate(zip("abcd", (0, 5, 6, 9), strict=True))
    )
    parts = (*((letter, 0.5 / 16) for letter in "abcd"), ("Rest of frames", 0.1), ("Outside frames", 0.275))
    places = ComparedPlaces(
        ((0.0, 0.0, 30.0, 30.0), (10.0, 0.0, 40.0, 30.0)),
        pairs,
        "Alike in a dark area (a).",
        "Framed: what the two have most in common.",
        (grid, grid),
        partners,
        np.full((2, 16), 0.5),
        shares,
        parts,
        0.5,
    )
    pixels = np.tile(np.arange(40, dtype=np.uint8), (40, 1))
    side = ComparedImage(pixels)
    box = (0.0, 0.0, 40.0, 40.0)
    return ImageComparison(side, side, "", dataclasses.replace(places, **changes), (box, box))


@pytest.fixture
def images(qtbot, context):
    widget = show_widget(qtbot, WhyImages(context), 320, 600)
    widget._show(comparison())
    return widget


def letters(view) -> str:
    return "".join(point.letter for point in view._places.points)


def test_each_pair_has_a_row_with_both_crops_and_its_numbers(images):
    rows = images.reason.rows
    assert [row.letter for row in rows] == list("abcd")
    assert rows[0].accessibleName() == "Place a: similarity 0.90, 6.2 % of the distance"
    assert all(not crop.isNull() for row in rows for crop in row._crops)
    assert images.reason.sentence.text() == "Alike in a dark area (a)."
    assert letters(images.query) == letters(images.case) == "abcd"
    assert "matched places a, b, c, d" in images.query.accessibleName()
    assert images.query._places.frames == ((0.0, 0.0, 30.0, 30.0),)


def test_rows_and_keys_emphasise_their_letter_on_both_images(images, qtbot):
    rows = images.reason.rows
    rows[0].setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(lambda: images.query._places.chosen == "a")
    qtbot.keyClick(rows[0], Qt.Key.Key_Down)
    assert rows[1].hasFocus()
    assert images.query._places.chosen == images.case._places.chosen == "b"


def point(view, x: float, y: float) -> None:
    at = QPointF(x, y)
    move = QMouseEvent(
        QMouseEvent.Type.MouseMove,
        at,
        at,
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier(0),
    )
    view.mouseMoveEvent(move)


def test_pointing_at_a_place_shows_its_match_on_the_other_image(images):
    target = images.query._target()
    point(images.query, target.x() + target.width() * 0.9, target.y() + target.height() * 0.1)
    assert images.query._places.frames[1] == (30.0, 0.0, 40.0, 10.0)
    assert images.case._places.frames[1] == (0.0, 10.0, 10.0, 20.0)
    assert "similarity 0.50" in images.reason.pointed.text()
    point(images.query, target.x() + target.width() * 0.1, target.y() + target.height() * 0.1)
    assert images.case._places.chosen == "a"
    images.query.pointed_at.emit(None)
    assert len(images.query._places.frames) == 1
    assert "Point at a place" in images.reason.pointed.text()


def test_nothing_remains_without_places(images):
    images._show(dataclasses.replace(comparison(), places=None))
    assert images.reason.isHidden()
    assert not images.query._places
    images.query.show_image(AnnotatedImage())
    point(images.query, 5, 5)
    assert marks_of(None, 0).points == ()


def test_the_reason_beside_compared_images_adds_up(qtbot, context):
    reason = show_widget(qtbot, PairReason(context), 300, 600)
    reason._show(comparison())
    assert not reason.isHidden()
    names = [one.name for one in reason.sum.contributions]
    assert names == ["Place a", "Place b", "Place c", "Place d", "Rest of frames", "Outside frames"]
    assert sum(one.amount for one in reason.sum.contributions) == pytest.approx(0.5)
    assert reason.sum.total.name == "Distance"
    reason.point(1, (15.0, 5.0))
    assert reason.marks(0).chosen == "a"
    reason.point(1, None)
    assert reason.marks(0).chosen == ""
    reason._show(comparison(is_similarity=True))
    assert reason.sum.total.name == "Similarity"
    reason._show(comparison(parts=(), note="This metric has no exact shares."))
    assert reason.sum.isHidden()
    assert reason.note.text() == "This metric has no exact shares."


def test_what_stands_below_stays_in_its_place_until_the_next_reason_is_there(qtbot, context):
    reason = PairReason(context)
    page = QWidget()
    column = vbox(page)
    below = QWidget()
    column.addWidget(reason)
    column.addWidget(below, 1)
    show_widget(qtbot, page, 300, 900)
    reason._show(comparison())
    column.activate()
    before = below.y()
    assert before > 30
    reason.show_pair(SimpleNamespace(search=None), SimpleNamespace(case_id="a"))
    column.activate()
    assert reason.isHidden() and below.y() == before
    reason.show_pair(None, None)
    column.activate()
    assert below.y() == 0


def test_no_image_stands_below_the_name_of_another_case(images):
    images._case = SimpleNamespace(rank=1, row=0, case_id="a", finding=None, place=None)
    images._show(comparison())
    assert images._title.text() == "Rank 1  a"
    images.show_pair(SimpleNamespace(search=None), SimpleNamespace(rank=6, row=1, case_id="b", finding=None))
    assert images._title.text() == "Rank 1  a" and images.case.shown.pixels is not None
    images._show_late()
    assert images._title.text() == "Rank 6  b"
    assert images.case.shown.pixels is None and images.query.shown.problem == "Comparing places"
    assert images.reason.isHidden() and not images.query._places
