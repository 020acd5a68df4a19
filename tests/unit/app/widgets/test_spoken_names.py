"""Painted widgets and icons have names for screen readers."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QToolButton, QWidget

from semblance.app.search.similar.summary_strip import EstimateView
from semblance.app.search.why.waterfall import Contribution, Waterfall
from semblance.app.shell.actions import Actions
from semblance.app.widgets.drop_target import DropTarget
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import SearchField
from semblance.app.window.start_page import StartPage


def test_an_estimate_shows_its_share_and_interval(qtbot):
    view = EstimateView()
    qtbot.addWidget(view)
    view.set_estimate(0.82, (0.7, 0.9), ((0, "B"), (1, "M")))
    assert view.accessibleName() == "Estimate 0.82, 0.70 to 0.90"


def test_an_empty_place_shows_what_is_missing(qtbot):
    state = EmptyState("No metric yet", "Train one.")
    qtbot.addWidget(state)
    assert state.accessibleName() == "No metric yet"
    state.show_message("", "Reading the volume…")
    assert state.accessibleName() == "Reading the volume…"


def test_a_drop_target_shows_what_can_be_dropped(qtbot):
    under = QWidget()
    qtbot.addWidget(under)
    assert DropTarget("Ask with this image", under).accessibleName() == "Ask with this image"


def test_icons_in_a_search_field_have_words(qtbot):
    field = SearchField("Search the help")
    qtbot.addWidget(field)
    assert [button.text() for button in field.findChildren(QToolButton)] == ["Search the help", "Clear"]


def test_bars_of_a_distance_tell_their_part(qtbot):
    waterfall = Waterfall()
    qtbot.addWidget(waterfall)
    waterfall.show_contributions([Contribution("shape", 0.3), Contribution("size", 0.1)], 0.4)
    assert [row.bar.accessibleName() for row in waterfall.rows] == ["shape: +0.300", "size: +0.100"]


@pytest.mark.parametrize("title", ["Try the demo", "New library", "Open library"])
def test_cards_of_the_start_page_have_their_titles(qtbot, title):
    page = StartPage(Actions())
    qtbot.addWidget(page)
    assert title in [one.accessibleName() for one in page.findChildren(QWidget)]
