"""A new style sheet: at once for visible widgets, soon for hidden ones, once for each widget."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPalette
from PySide6.QtWidgets import (
    QDockWidget,
    QLabel,
    QMainWindow,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell import theme as themes
from semblance.app.shell.icons import icon, icon_pixmap
from semblance.app.shell.theme import (
    BATCH_SIZE,
    DARK,
    FINDING_COLOURS,
    LIGHT,
    THEMES,
    TIP_LETTERS,
    finding_colour,
    font,
    is_styled,
    plain_tip,
    set_look,
    set_theme,
    theme,
    theme_signals,
)
from tests.helpers.icons import icon_names

ROOT = Path(__file__).resolve().parents[4]


def luminance(colour: str) -> float:
    parts = [QColor(colour).redF(), QColor(colour).greenF(), QColor(colour).blueF()]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("chosen", THEMES.values(), ids=str)
def test_text_can_be_read_on_every_ground(chosen) -> None:
    for background in (chosen.panel, chosen.bar, chosen.control, chosen.card_hover, chosen.selected):
        assert contrast(chosen.text, background) >= 7
        assert contrast(chosen.second, background) >= 4.5
    assert contrast(chosen.third, chosen.panel) >= 4.5
    assert contrast(chosen.on_accent, chosen.accent_filled) >= 4.5
    assert contrast(chosen.error, chosen.panel) >= 4.5


@pytest.mark.parametrize("code", range(len(FINDING_COLOURS)))
def test_letters_can_be_read_on_every_finding(code: int) -> None:
    assert contrast(finding_colour(code), themes.finding_letter_colour(code)) >= 4.5


def test_colours_repeat_and_the_unknown_is_grey() -> None:
    assert finding_colour(7) == finding_colour(0)
    assert finding_colour(-1) == themes.UNKNOWN_FINDING
    assert contrast(finding_colour(-1), themes.finding_letter_colour(-1)) >= 4.5


def test_a_change_is_reported_and_reaches_widgets(qtbot, qapp) -> None:
    set_theme(qapp, "dark")
    label = QLabel("x")
    qtbot.addWidget(label)
    with qtbot.waitSignal(themes.theme_signals.changed):
        set_theme(qapp, "light", 1.5)
    assert theme().name == "light"
    assert theme().px(12) == 18
    assert font().pixelSize() == 18
    assert qapp.palette().window().color() == QColor(LIGHT.panel)
    set_theme(qapp, "dark")
    assert theme() == DARK
    with pytest.raises(KeyError):
        set_theme(qapp, "sepia")


@pytest.mark.parametrize("name", THEMES)
def test_every_token_of_the_style_sheet_is_filled(qapp, name: str) -> None:
    sheet = themes.style_sheet(THEMES[name])
    assert "$" not in sheet.replace("$name", "")
    assert THEMES[name].accent in sheet


def test_a_style_is_applied(qtbot, qapp) -> None:
    set_theme(qapp, "dark")
    button = QPushButton("Train")
    qtbot.addWidget(button)
    button.resize(80, 26)
    set_look(button, primary=True)
    assert button.grab().toImage().pixelColor(6, 13) == QColor(DARK.accent_filled)


def test_a_widget_gets_its_look_once_when_it_is_first_shown(qtbot, qapp) -> None:
    label = QLabel("x")
    qtbot.addWidget(label)
    set_look(label, role="small")
    assert label.font().pixelSize() == themes.BASE
    label.show()
    assert label.font().pixelSize() == themes.SMALL
    set_look(label, role="")
    assert label.font().pixelSize() == themes.BASE


def test_images_of_the_style_sheet_follow_the_theme() -> None:
    script = runpy.run_path(str(ROOT / "packaging" / "theme_images.py"))
    for chosen in THEMES.values():
        for path, text in script["images"](chosen).items():
            assert path.read_text(encoding="utf-8") == text, f"run packaging/theme_images.py: {path.name}"


def test_every_icon_draws_something_at_any_ratio(qapp) -> None:
    assert len(icon_names()) > 40
    for name in icon_names():
        for ratio in (1.0, 1.25, 2.0):
            pixmap = icon_pixmap(name, 16, "#ffffff", ratio)
            assert pixmap.width() == round(16 * ratio)
            image = pixmap.toImage()
            inside = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
            assert any(colour.alpha() > 128 for colour in inside), name


def test_icons_follow_theme_and_state(qapp) -> None:
    made = icon("rectangle")

    def shade(mode: QIcon.Mode, state: QIcon.State = QIcon.State.Off) -> str:
        image = made.pixmap(made.actualSize(made.pixmap(16, 16).size() * 4), mode, state).toImage()
        at = image.width() // 2, round(image.height() * 5.5 / 24)
        return image.pixelColor(*at).name().upper()

    set_theme(qapp, "dark")
    assert shade(QIcon.Mode.Normal) == DARK.second
    assert shade(QIcon.Mode.Disabled) == DARK.disabled
    assert shade(QIcon.Mode.Active) == DARK.text
    assert shade(QIcon.Mode.Normal, QIcon.State.On) == DARK.accent
    set_theme(qapp, "light")
    assert shade(QIcon.Mode.Normal) == LIGHT.second
    set_theme(qapp, "dark")


def test_an_unknown_icon_is_refused() -> None:
    with pytest.raises(FileNotFoundError):
        icon("no-such-icon")


def test_importing_theme_and_start_page_loads_no_heavy_library() -> None:
    script = (
        "import sys, semblance.app.shell.theme, semblance.app.shell.icons\n"
        "import semblance.app.widgets.cards.case_grid, semblance.app.window.start_page\n"
        "import semblance.app.widgets.parameter_form, semblance.app.window.palette\n"
        "heavy = 'sklearn skimage matplotlib zarr sqlalchemy scipy PIL torch pydicom'.split()\n"
        "print(sorted(set(heavy) & set(sys.modules)))"
    )
    before_the_first_paint = (
        "import sys, semblance.app.window.main_window\n"
        "heavy = 'numpy sklearn skimage matplotlib zarr sqlalchemy scipy PIL pydicom'.split()\n"
        "print(sorted(set(heavy) & set(sys.modules)))"
    )
    for one in (script, before_the_first_paint):
        done = subprocess.run(
            [sys.executable, "-c", one], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "[]"


def test_a_long_tip_is_shown_in_lines_and_never_as_html():
    words = plain_tip("Area under the curve: " + "how often a case with it comes before one without it, " * 4)
    assert max(map(len, words.split("\n"))) <= TIP_LETTERS
    assert len(words.split("\n")) > 1
    assert plain_tip("One\ntwo") == "One\ntwo"
    assert plain_tip("<b>bold</b>") == "<span>&lt;b&gt;bold&lt;/b&gt;</span>"


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
def pages(qtbot, counts, monkeypatch) -> QStackedWidget:
    """A visible page, and a hidden one with many labels, of which a turn of the event loop styles one batch."""
    monkeypatch.setattr(themes, "TURN_S", 0.0)
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
