from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QMainWindow, QPushButton, QWidget

from semblance.app.shell.state import Change
from semblance.app.window.tour import Tour, beside
from semblance.core.workflows import demo
from tests.helpers.scored_snapshots import metric, snapshot

LEFT = Qt.MouseButton.LeftButton


class Grid(QPushButton):
    """Stands for the grid of similar cases."""

    def model(self):
        return "a case"

    def viewport(self):
        return self

    def card_rect(self, _place):
        return QRect(4, 4, 150, 180)

    def mark_rects(self, _place):
        return QRect(90, 160, 28, 24), QRect(119, 160, 28, 24)


@pytest.fixture
def tour(qtbot, context, monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "usual_folder", lambda: tmp_path)
    monkeypatch.setattr(type(context.state), "ranking", property(lambda _state: "similar cases"))
    window = QMainWindow()
    qtbot.addWidget(window)
    window.resize(1280, 800)
    query, ranking = QWidget(window), QWidget(window)
    query.setGeometry(40, 40, 340, 700)
    ranking.setGeometry(390, 40, 880, 700)
    query.pane, ranking.summary, ranking.report = (
        QWidget(query),
        QWidget(ranking),
        QPushButton("Report", ranking),
    )
    query.pane.setGeometry(0, 80, 340, 300)
    ranking.summary.setGeometry(0, 40, 880, 56)
    ranking.report.setGeometry(760, 4, 28, 28)
    ranking.grid = Grid(ranking)
    ranking.grid.setGeometry(0, 100, 880, 600)
    window.show()
    return Tour(context, window, SimpleNamespace(query=query, ranking=ranking))


def test_five_steps_by_keys_beside_what_they_point_at(qtbot, tour):
    grid = tour._panels.ranking.grid
    grid.setFocus()
    tour.start()
    shown = []
    while (callout := tour._callout) is not None:
        target = tour.steps[tour._place].target()
        assert tour._ring.isVisible() and tour._ring.geometry().contains(target)
        assert not callout.geometry().intersects(target) and tour._window.rect().contains(callout.geometry())
        shown.append(callout.accessibleName())
        assert callout.next.hasFocus() and callout.next.accessibleDescription()
        qtbot.keyClick(callout.next, Qt.Key.Key_Space)
    assert len(set(shown)) == 5 and shown[-1] == "Tour, 5 of 5: Report"
    assert grid.hasFocus(), "the keyboard returns to where it was"


def test_back_esc_and_what_is_hidden(qtbot, tour):
    tour.start()
    qtbot.mouseClick(tour._callout.next, LEFT)
    qtbot.mouseClick(tour._callout.back, LEFT)
    assert tour._callout.accessibleName() == "Tour, 1 of 5: The query"
    tour._panels.query.hide()
    qtbot.waitUntil(lambda: not tour._ring.isVisible())
    assert tour._callout.isVisible(), "the step stays, without its frame"
    qtbot.keyClick(tour._panels.ranking.grid, Qt.Key.Key_Escape)
    assert tour._callout is None
    tour.start()
    tour._context.state.set_library(None)
    assert tour._callout is None, "it ends with its library"


def test_it_is_offered_once_on_the_demo_and_never_begins_by_itself(tour, context, tmp_path, monkeypatch):
    state = context.state
    state.set_library(snapshot(metric("good", 0.9)))
    state.changed.emit(Change.RANKING)
    assert context.messages.history == [], "not in another library"
    monkeypatch.setattr(type(state), "location", property(lambda _state: tmp_path))
    for _ in range(2):
        state.changed.emit(Change.RANKING)
    (offer,) = context.messages.history
    assert tour._callout is None and [text for text, _ in offer.actions] == ["Start the tour"]
    offer.actions[0][1]()
    assert tour._callout is not None


@given(
    st.tuples(st.integers(0, 1200), st.integers(0, 760), st.integers(1, 900), st.integers(1, 700)),
    st.sampled_from([(1280, 800), (1200, 1600), (2560, 1440)]),
    st.sampled_from([(320, 124), (480, 230)]),
)
def test_the_callout_hides_its_target_only_where_there_is_no_space_beside_it(target, area, size):
    area, size = QRect(0, 0, *area), QSize(*size)
    target = QRect(*target).intersected(area)
    where = beside(target, size, area)
    assert area.contains(where) and where.size() == size
    space = (
        max((area.width() - target.right() - 1, target.left()), key=lambda width: width) >= size.width() + 26
        or max(area.height() - target.bottom() - 1, target.top()) >= size.height() + 26
    )
    assert not (space and where.intersects(target))
