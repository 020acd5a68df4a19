"""A narrow top bar shortens labels and menus in their order."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu, QToolButton, QWidget

from semblance.app.metrics.emphasis_slider import EmphasisSlider
from semblance.app.screenshot import process_events
from semblance.app.shell.actions import MENUS, Actions
from semblance.app.shell.jobs import Jobs
from semblance.app.shell.theme import set_theme
from semblance.app.window.top_bar import ChoiceButton, TopBar, with_mnemonics
from semblance.app.window.workspaces import RESEARCH, WorkspaceChoice
from tests.helpers.contexts import make_context

LONG = "Eine lange Bezeichnung"


@pytest.fixture
def bar(qtbot):
    """A maker of bars whose choices have these labels, and whose menus ``more`` entries than usual."""
    made = []

    def make(labels: list[str], more: int = 0) -> TopBar:
        window = QWidget()
        qtbot.addWidget(window)
        context = make_context(Jobs(window))
        choices = [ChoiceButton(label, lambda: [QAction("a")]) for label in labels]
        workspaces = WorkspaceChoice(context.settings, window)
        workspaces.choose(RESEARCH.name)
        bar = TopBar(Actions(window), named(choices), EmphasisSlider(context), workspaces)
        bar.setParent(window)
        for number in range(more):
            bar.menus.addMenu(f"Menu {number}")
        made.append(window)
        window.show()
        return bar

    yield make
    for window in made:
        window.close()


def named(choices: list[ChoiceButton]) -> dict[str, ChoiceButton]:
    """The choices of Research, and the one of Read that is none of them."""
    ranked_by = ChoiceButton("Ranked by", lambda: [QAction("a")])
    return dict(zip(RESEARCH.choices, choices, strict=True)) | {"ranked_by": ranked_by}


def at(bar: TopBar, width: int, qapp) -> tuple[bool, bool]:
    """Whether labels, and words, are shown at ``width``; everything has the width it needs."""
    bar.window().resize(width, 100)
    bar.resize(width, bar.height())
    # What becomes shorter posts events of its own.
    while process_events():
        pass
    more = bar.menus.findChild(QToolButton, "qt_menubar_ext_button")
    assert more.isVisible() == (bar.menus.width() < bar.menus.sizeHint().width())
    assert width < 1024 or not more.isVisible(), "only a small window hides menus behind a sign"
    assert bar.commands.width() >= bar.commands.sizeHint().width()
    labels = [choice.labelled for choice in bar.choices]
    assert len(set(labels)) == 1
    return labels[0], bar.emphasis_slider._visual.isVisible()


def test_a_wide_bar_shows_labels_and_words_a_narrow_one_neither(bar, qapp):
    made = bar(["Library", "Features", "Metric"])
    assert at(made, 1600, qapp) == (True, True)
    assert made.commands.text()
    # The words of the slider say what it does: at 1280 px the button has an icon only.
    assert at(made, 1280, qapp) == (False, True)
    assert not made.commands.text()
    assert at(made, 1024, qapp) == (False, False)
    assert not made.commands.text()
    assert made.commands.accessibleName() == "All commands"


def test_long_labels_and_menus_shorten_the_bar_at_a_greater_width(bar, qapp):
    assert at(bar([LONG] * 3), 1440, qapp) == (False, True)
    assert at(bar(["Library", "Features", "Metric"], more=6), 1440, qapp) == (False, False)


def test_larger_text_needs_more_space(bar, qapp):
    set_theme(qapp, "dark", 1.5)
    made = bar(["Library", "Features", "Metric"])
    assert at(made, 2200, qapp) == (True, True)
    assert at(made, 1600, qapp)[0] is False


def test_labels_go_before_values_are_cut_and_only_the_longest_is(bar, qapp):
    made = bar(["Library", "Features", "Metric"])
    library, features, metric = made.choices
    for choice, value in zip(made.choices, ("busi_256", "gabor", "BDM+V"), strict=True):
        choice.set_value(value)
    least = next(width for width in range(1280, 1800, 5) if at(made, width, qapp) == (True, True))
    metric.set_value("with clicks refined")
    assert at(made, least, qapp) == (False, True)
    assert metric.width() == metric.preferred_width(labelled=False)
    metric.set_value("a name that nobody would find too short for a metric, were it not on a bar")
    at(made, 1280, qapp)
    for choice in (library, features):
        assert choice.width() == choice.preferred_width(labelled=False)
    assert metric.width() < metric.preferred_width(labelled=False)


def test_the_word_of_all_commands_goes_before_short_values_are_cut(bar, qapp):
    made = bar(["Library", "Features", "Metric"])
    for choice, value in zip(made.choices, ("trial", "gabor", "BDM+V"), strict=True):
        choice.set_value(value)
    least = next(width for width in range(800, 1600, 5) if at(made, width, qapp) and made.commands.text())
    for width in (least - 5, least):
        at(made, width, qapp)
        widths = [choice.preferred_width(labelled=False) for choice in made.choices]
        assert [choice.width() for choice in made.choices] == widths, width


def choice_of(qtbot) -> tuple[ChoiceButton, list[str]]:
    """A choice of three, the second in force, and what was taken."""
    taken: list[str] = []

    def options() -> list[QAction]:
        made = [QAction(name) for name in ("one", "two", "three")]
        for action in made:
            action.setCheckable(True)
            action.triggered.connect(partial(taken.append, action.text()))
        made[1].setChecked(True)
        return made

    choice = ChoiceButton("Metric", options)
    qtbot.addWidget(choice)
    choice.show()
    return choice, taken


@pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
@pytest.mark.parametrize("by", ["mouse", "keys"])
def test_a_picker_opens_its_choices_and_one_can_be_taken(qtbot, by):
    choice, taken = choice_of(qtbot)

    def take() -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        third = menu.actions()[2]
        qtbot.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(third).center())

    QTimer.singleShot(100, take)
    if by == "mouse":
        qtbot.mouseClick(choice, Qt.MouseButton.LeftButton)
    else:
        qtbot.keyClick(choice, Qt.Key.Key_Down)
    assert taken == ["three"]


@pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
@pytest.mark.parametrize(
    ("key", "taken"), [(Qt.Key.Key_Up, ["one"]), (Qt.Key.Key_Down, ["three"]), (None, ["two"])]
)
def test_the_keys_begin_at_the_choice_in_force(qtbot, key, taken):
    choice, ran = choice_of(qtbot)

    def take() -> None:
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        if key is not None:
            qtbot.keyClick(menu, key)
        qtbot.keyClick(menu, Qt.Key.Key_Return)

    QTimer.singleShot(100, take)
    qtbot.keyClick(choice, Qt.Key.Key_Down)
    assert ran == taken


def test_a_long_value_gets_width_from_a_short_one(bar, qapp):
    made = bar(["Library", "Features", "Metric"])
    short, long, _ = made.choices
    short.set_value("corel")
    long.set_value("colour_edge_texture")
    at(made, 1600, qapp)
    assert short.width() < long.width()
    assert long.width() >= long.sizeHint().width()


@pytest.mark.parametrize(
    ("titles", "marked"),
    [
        (["File", "Edit", "View"], ["&File", "&Edit", "&View"]),
        (["Case", "Search", "Compare", "Close"], ["&Case", "&Search", "C&ompare", "C&lose"]),
        (["Ähre", "ähnlich"], ["&Ähre", "ä&hnlich"]),
        (["a", "a"], ["&a", "a"]),
    ],
)
def test_every_menu_has_a_letter_of_its_own(titles, marked):
    assert with_mnemonics(titles) == marked


def test_the_menus_have_different_letters():
    marked = with_mnemonics(MENUS.values())
    letters = [title[title.index("&") + 1].lower() for title in marked]
    assert len(set(letters)) == len(MENUS)
