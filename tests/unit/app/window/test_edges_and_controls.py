"""The window as a whole: few controls in Read, one edge for each column, and messages that move nothing."""

from __future__ import annotations

import itertools

import pytest
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenuBar,
    QSlider,
    QTabBar,
    QToolButton,
    QWidget,
)

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.actions import COMMANDS
from semblance.app.shell.messages import FAILED_SEARCH, Message
from semblance.app.widgets.buttons import Segmented
from semblance.app.widgets.cards.card_layout import MARGIN
from semblance.app.widgets.cards.card_view import CardView
from semblance.app.widgets.layouts import EDGE, ICON_INSET
from semblance.app.window.message_corner import MessageCorner
from semblance.app.window.workspaces import READ, RESEARCH
from semblance.core.errors import BadInput
from tests.helpers.isolation import redirect_user_folders
from tests.helpers.prompt_jobs import PromptJobs
from tests.helpers.windows import open_window, search_first_case

#: Controls of Read besides + and - on the cards.
MOST_CONTROLS = 30
SIZES = ((1280, 800), (1440, 900), (2560, 1440), (1200, 1600))
#: Controls that hold others.
_WHOLE = (QAbstractSpinBox, QComboBox, QLineEdit)


@pytest.fixture(scope="module")
def window(trained, tmp_path_factory):
    # The folders of a test are not those of its module.
    with pytest.MonkeyPatch.context() as patch:
        redirect_user_folders(patch, tmp_path_factory.mktemp("home"))
        patch.setattr("semblance.app.window.main_window.Jobs", PromptJobs)
        patch.setattr("semblance.app.screenshot.IDLE_CHECKS", 12)
        with open_window(trained, workspace=RESEARCH.name) as made:
            made.resize(1440, 900)
            search_first_case(made)
            made.workspaces.choose(READ.name)
            wait_until_idle(made)
            yield made


def shown_in(parent: QWidget) -> list[QWidget]:
    corner = parent.window().message_corner
    return [
        one
        for one in parent.findChildren(QWidget)
        if one.isVisible() and not one.visibleRegion().isEmpty() and not corner.isAncestorOf(one)
    ]


def controls(window: QWidget) -> list[str]:
    """The name of each control that can be pressed or typed into; an icon in a field is part of it."""
    found: list[str] = []
    for one in shown_in(window):
        parent = one.parentWidget()
        if isinstance(one, QTabBar):
            found += [one.tabText(place) for place in range(one.count()) if one.isTabVisible(place)]
        elif isinstance(one, QMenuBar):
            found += [action.text() for action in one.actions() if action.isVisible()]
        elif isinstance(one, Segmented):
            found += [text for _, text in one._options]
        elif isinstance(one, (QAbstractButton, QSlider, *_WHOLE)) and not isinstance(parent, _WHOLE):
            found.append(one.accessibleName() or getattr(one, "text", str)())
    return found


def test_few_controls_stand_around_the_images_of_read(window):
    found = controls(window)
    assert len(found) <= MOST_CONTROLS, "\n".join(found)


def test_each_command_can_be_run_in_read_by_the_palette_or_a_key(window):
    actions = window.context.actions
    listed = {entry.text for entry in actions.entries()}
    unreachable = [
        command.id
        for command in COMMANDS
        if command.id != "palette" and actions[command.id].text().replace("&&", "&") not in listed
    ]
    assert unreachable == []
    assert not actions["palette"].shortcut().isEmpty()


def test_the_similar_cases_stay_wide_where_another_language_has_longer_tabs(window, monkeypatch):
    layout, header = window.parts.layout, window.panels.side.header
    window.workspaces.choose(RESEARCH.name)
    for tabs in (330, 420):
        monkeypatch.setattr(header, "sizeHint", lambda tabs=tabs: QSize(tabs, 32))
        layout.set_default_sizes()
        wait_until_idle(window)
        assert window.panels.ranking.width() >= 560, tabs
    window.workspaces.choose(READ.name)
    wait_until_idle(window)


def test_marks_are_changed_under_refine_alone():
    of_marks = {
        command.menu for command in COMMANDS if command.id.endswith("_judgement") or command.id == "refine"
    }
    assert of_marks == {"Refine"}


def columns(window) -> dict[str, QWidget]:
    docks = {name: dock for name, dock in window.parts.layout.docks.items() if name != "evaluation"}
    shown = {name: dock for name, dock in docks.items() if dock.isVisible() and not dock.collapsed}
    return shown | {"ranking": window.panels.ranking}


def ends(column: QWidget) -> list[tuple[str, int, int]]:
    """What is seen in a column, with its distance in px to the left and to the right edge."""
    edges = []
    for one in shown_in(column):
        left = one.mapTo(column, QPoint(0, 0)).x()
        right = column.width() - left - one.width()
        if isinstance(one, CardView):
            if not len(one.model()) or one.verticalScrollBar().value():
                continue
            places = one.visible_places()
            cards = [one.card_rect(place) for place in places]
            first, last = min(card.left() for card in cards), max(card.right() for card in cards)
            is_row = last - first + 1 >= one.viewport().width()
            inset = 0 if is_row else MARGIN
            if is_row:
                continue
            left, right = left + first + inset, column.width() - (left + last + 1 - inset)
        elif isinstance(one, QToolButton) and not (one.isChecked() and one.text() == ""):
            left, right = left + ICON_INSET, right + ICON_INSET
            if isinstance(one.parentWidget(), QLineEdit):
                continue
        elif not isinstance(one, QLabel | QAbstractButton | QLineEdit | QComboBox | Segmented):
            continue
        edges.append(
            (f"{type(one).__name__} {one.accessibleName() or getattr(one, 'text', str)()}", left, right)
        )
    return edges


@pytest.mark.parametrize("size", SIZES)
def test_what_is_seen_in_a_column_begins_and_ends_on_one_line(window, size):
    window.resize(*size)
    wait_until_idle(window)
    off = [
        (name, what, left, right)
        for name, column in columns(window).items()
        for what, left, right in ends(column)
        if (left < 2 * EDGE and left != EDGE) or right < EDGE
    ]
    assert off == []


def places(window) -> dict[int, QRect]:
    """Where each visible widget is, but for what the status line says."""
    return {
        id(one): QRect(one.mapTo(window, QPoint(0, 0)), one.size())
        for one in shown_in(window)
        if not window.status.isAncestorOf(one) and not isinstance(one, MessageCorner)
    }


def test_no_message_moves_anything(window):
    window.resize(1440, 900)
    wait_until_idle(window)
    before, messages = places(window), window.context.messages
    long = "This says at some length what happened to a file with a name that is long. " * 3
    acts = [("Show", window.update), ("Do something else about it that takes a few words", window.update)]
    for topic, n_acts, hint, what in itertools.product(
        ("", FAILED_SEARCH), (0, 2), ("", "Do it again.", long), ("It happened.", long)
    ):
        messages.info(what, hint, acts[:n_acts], topic=topic)
        messages.warning(what, hint, acts[:n_acts], topic=topic)
        messages.error(BadInput(what, hint), acts[:n_acts], topic=topic)
        assert places(window) == before
    wait_until_idle(window)
    assert places(window) == before
    window.message_corner.show_past()
    assert places(window) == before
    window.message_corner.hide_past()
    window.message_corner.clear()
    assert places(window) == before


def test_messages_stay_in_front_when_panels_come_to_the_front(window):
    window.message_corner.show_message(Message("error", "It broke.", event="broke"))
    for dock in window.parts.layout.docks.values():
        dock.bring_to_front()
    wait_until_idle(window)
    order = window.children()
    docks = window.parts.layout.docks.values()
    assert all(order.index(dock) < order.index(window.message_corner) for dock in docks)
    window.message_corner.clear()
