"""A new style sheet: at once for visible widgets, soon for hidden ones, once for each widget."""

from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPalette
from PySide6.QtWidgets import (
    QDockWidget,
    QLabel,
    QMainWindow,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell.theme import BATCH_SIZE, DARK, LIGHT, is_styled, set_look, set_theme, theme_signals


class RecordingLabel(QLabel):
    """A label that counts how often it was given a style."""

    def __init__(self, text: str, counts: Counter[str]) -> None:
        super().__init__(text)
        self.counts = counts

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.StyleChange:
            self.counts[self.text()] += 1
        super().changeEvent(event)


@pytest.fixture(autouse=True)
def dark_again(qapp):
    set_theme(qapp, "dark")
    yield
    set_theme(qapp, "dark")


@pytest.fixture
def counts() -> Counter[str]:
    return Counter()


@pytest.fixture
def pages(qtbot, counts) -> QStackedWidget:
    """A visible page, and a hidden one with many labels."""
    made = QStackedWidget()
    for name, many in (("visible", 1), ("hidden", 3 * BATCH_SIZE)):
        page = QWidget()
        column = QVBoxLayout(page)
        for _ in range(many):
            label = RecordingLabel(name, counts)
            set_look(label, role="small")
            column.addWidget(label)
        made.addWidget(page)
    qtbot.addWidget(made)
    made.show()
    made.setCurrentIndex(1)
    made.setCurrentIndex(0)
    return made


def styles(page: QWidget) -> set[tuple[str, int]]:
    """The colour and the size of the letters of a page."""
    return {
        (label.palette().color(QPalette.ColorRole.WindowText).name().upper(), label.font().pixelSize())
        for label in page.findChildren(QLabel)
    }


def test_visible_widgets_are_restyled_at_once_and_the_rest_soon(qtbot, qapp, pages, counts):
    visible, hidden = pages.widget(0), pages.widget(1)
    counts.clear()
    set_theme(qapp, "light", 2.0)
    assert styles(visible) == {(LIGHT.third, 22)}
    assert counts == {"visible": 1}
    assert not is_styled()
    qtbot.waitUntil(is_styled)
    assert styles(hidden) == {(LIGHT.third, 22)}
    assert counts == {"visible": 1, "hidden": 3 * BATCH_SIZE}


def test_what_is_shown_meanwhile_comes_first(qapp, pages):
    others = [QLabel("other") for _ in range(3 * BATCH_SIZE)]
    for other in others:
        pages.addWidget(other)
        other.ensurePolished()
    set_theme(qapp, "light", 1.5)
    pages.setCurrentIndex(1)
    qapp.processEvents()
    assert not is_styled()
    assert styles(pages.widget(1)) == {(LIGHT.third, round(11 * 1.5))}


def test_the_change_is_emitted_again_once_hidden_widgets_are_styled(qtbot, qapp, pages):
    styled: list[bool] = []

    def note() -> None:
        styled.append(is_styled())

    theme_signals.changed.connect(note)
    try:
        set_theme(qapp, "light", 1.5)
        qtbot.waitUntil(is_styled)
        qtbot.waitUntil(lambda: len(styled) == 2)
    finally:
        theme_signals.changed.disconnect(note)
    assert styled == [False, True]


def test_a_second_change_before_the_first_is_done_leaves_nothing_behind(qtbot, qapp, pages):
    set_theme(qapp, "light", 2.0)
    set_theme(qapp, "dark", 1.5)
    qtbot.waitUntil(is_styled)
    assert styles(pages.widget(0)) == styles(pages.widget(1)) == {(DARK.third, round(11 * 1.5))}


def test_a_widget_that_is_gone_meanwhile_is_left_out(qtbot, qapp, pages):
    set_theme(qapp, "light")
    hidden = pages.widget(1)
    pages.removeWidget(hidden)
    hidden.deleteLater()
    qtbot.waitUntil(is_styled)
    assert styles(pages.widget(0)) == {(LIGHT.third, 11)}


def test_removing_a_style_leaves_nothing_of_an_older_theme(qtbot, qapp, pages):
    label = pages.widget(1).findChild(QLabel)
    set_theme(qapp, "light", 2.0)
    qtbot.waitUntil(is_styled)
    set_look(label, role="")
    plain = QLabel("new")
    qtbot.addWidget(plain)
    plain.show()
    assert label.font().pixelSize() == plain.font().pixelSize() == 24
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Window):
        assert label.palette().color(role) == plain.palette().color(role)


@pytest.fixture
def docks(qtbot) -> QMainWindow:
    """A window with parts inside each other, and a page in a dock that was measured and never shown."""
    made = QMainWindow()
    qtbot.addWidget(made)
    for number in range(8):
        dock, pages, page = QDockWidget(str(number)), QStackedWidget(), QWidget()
        QVBoxLayout(page).addWidget(QLabel("measured"))
        pages.addWidget(QLabel("visible"))
        pages.addWidget(page)
        dock.setWidget(pages)
        made.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    made.show()
    for label in made.findChildren(QLabel):
        label.sizeHint()
    return made


def test_every_part_of_a_window_has_the_new_text_size(qtbot, qapp, docks):
    for scale in (1.15, 1.3, 1.5):
        set_theme(qapp, "dark", scale)
    visible = [part for part in docks.findChildren(QWidget) if part.isVisible()]
    assert {part.font().pixelSize() for part in visible} == {18}
    qtbot.waitUntil(is_styled)
    assert {part.font().pixelSize() for part in docks.findChildren(QWidget)} == {18}


def test_size_hints_include_hidden_pages_after_a_change_of_text_size(qtbot, qapp):
    around, pages = QWidget(), QStackedWidget()
    qtbot.addWidget(around)
    for text in ("visible", "hidden and wide"):
        pages.addWidget(QLabel(text))
    column = QVBoxLayout(around)
    column.addWidget(pages)
    around.show()
    set_theme(qapp, "dark", 2.0)
    # A size hint from before the hidden page is restyled is not cached.
    around.sizeHint()
    qtbot.waitUntil(is_styled)
    margins = column.contentsMargins()
    margin_width = margins.left() + margins.right()
    assert around.sizeHint().width() - margin_width == pages.widget(1).sizeHint().width()


def test_a_button_changed_to_a_theme_looks_like_one_made_in_it(qtbot, qapp):
    def button() -> QPushButton:
        made = QPushButton("Train")
        qtbot.addWidget(made)
        set_look(made, primary=True)
        made.show()
        return made

    changed = button()
    set_theme(qapp, "light", 1.5)
    fresh = button()
    for one in (changed, fresh):
        one.adjustSize()
    assert changed.size() == fresh.size()
    assert changed.grab().toImage() == fresh.grab().toImage()
    assert changed.grab().toImage().pixelColor(8, 20) == QColor(LIGHT.accent_filled)
    assert QFontMetrics(changed.font()).height() == QFontMetrics(fresh.font()).height()
