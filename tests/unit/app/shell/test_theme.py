from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QIcon
from PySide6.QtWidgets import QLabel, QPushButton

from semblance.app.shell import theme as themes
from semblance.app.shell.icons import icon, icon_pixmap
from semblance.app.shell.theme import (
    DARK,
    FINDING_COLOURS,
    LIGHT,
    THEMES,
    TIP_LETTERS,
    finding_colour,
    font,
    plain_tip,
    set_look,
    set_theme,
    theme,
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
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_long_tip_is_shown_in_lines_and_never_as_html():
    words = plain_tip("Area under the curve: " + "how often a case with it comes before one without it, " * 4)
    assert max(map(len, words.split("\n"))) <= TIP_LETTERS
    assert len(words.split("\n")) > 1
    assert plain_tip("One\ntwo") == "One\ntwo"
    assert plain_tip("<b>bold</b>") == "<span>&lt;b&gt;bold&lt;/b&gt;</span>"
