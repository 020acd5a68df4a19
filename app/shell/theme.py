"""The colours, fonts and measures of the window, dark and light; every widget reads them here."""

from __future__ import annotations

import html
import textwrap
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from string import Template

from PySide6.QtCore import QDir, QObject, Signal
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette, Qt
from PySide6.QtWidgets import QApplication, QWidget

from semblance import resources
from semblance.app.shell.restyle import Restyler

FINDING_COLOURS = ("#D55E00", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#0072B2", "#F0E442")
"""Okabe–Ito, in the order of a library's findings; the eighth begins again."""
FINDING_LETTER = "#101012"
FINDING_LETTER_ON_BLUE = "#FFFFFF"
UNKNOWN_FINDING = "#6E6E76"
SMALL, BASE, OUTCOME, LARGE, DISPLAY, TICK = 11, 12, 13, 15, 20, 10
#: Letters in a line of a tooltip.
TIP_LETTERS = 88


@dataclass(frozen=True)
class Theme:
    """One set of colours (``#RRGGBB``) and the factor on every text size."""

    name: str
    gap: str
    panel: str
    bar: str
    control: str
    control_line: str
    hover: str
    card_hover: str
    line: str
    strong_line: str
    text: str
    second: str
    third: str
    disabled: str
    accent: str
    accent_filled: str
    on_accent: str
    selected: str
    tool_on: str
    track: str
    bar_fill: str
    error: str
    error_back: str
    image_well: str = "#141415"
    image_text: str = "#ADADB4"
    image_link: str = "#B9B3FF"
    region: str = "#B9B3FF"
    text_scale: float = 1.0

    @property
    def is_dark(self) -> bool:
        return self.name == "dark"

    def px(self, size: float) -> int:
        """``size`` at text scale 1, in the pixels it takes now."""
        return max(1, round(size * self.text_scale))


DARK = Theme(
    name="dark",
    gap="#0B0B0C",
    panel="#1A1A1C",
    bar="#202023",
    control="#2B2B2F",
    control_line="#2B2B2F",
    hover="#36363B",
    card_hover="#28282C",
    line="#2A2A2E",
    strong_line="#3D3D43",
    text="#ECECEE",
    second="#ADADB4",
    third="#94949C",
    disabled="#5C5C63",
    accent="#9A92FF",
    accent_filled="#6C61EA",
    on_accent="#FFFFFF",
    selected="#26253A",
    tool_on="#2C2A45",
    track="#303035",
    bar_fill="#85858D",
    error="#FF7A7A",
    error_back="#3A2224",
)
LIGHT = Theme(
    name="light",
    gap="#CFCFD4",
    panel="#FBFBFC",
    bar="#F2F2F4",
    control="#FFFFFF",
    control_line="#CBCBD1",
    hover="#E9E9ED",
    card_hover="#EDEDF0",
    line="#E3E3E7",
    strong_line="#CBCBD1",
    text="#17171A",
    second="#4E4E56",
    third="#6B6B74",
    disabled="#A9A9B0",
    accent="#5549D6",
    accent_filled="#5549D6",
    on_accent="#FFFFFF",
    selected="#ECEBFC",
    tool_on="#E7E5FB",
    track="#E1E1E6",
    bar_fill="#73737B",
    error="#B3261E",
    error_back="#FBE9E7",
)
THEMES = {DARK.name: DARK, LIGHT.name: LIGHT}


class ThemeSignals(QObject):
    """Says when the theme or the text size has changed; widgets that paint themselves listen.

    It comes again when hidden widgets wear it too: whoever measures them knows their sizes only then.
    """

    changed = Signal()


class _Current:
    theme = DARK
    base_family = ""
    restyling: Restyler | None = None


theme_signals = ThemeSignals()


def theme() -> Theme:
    """The theme now in force."""
    return _Current.theme


@lru_cache(maxsize=256)
def colour(value: str, alpha: float = 1.0) -> QColor:
    """The colour written ``#RRGGBB``; do not change the object, it is shared."""
    made = QColor(value)
    made.setAlphaF(alpha)
    return made


def font(size: int = BASE, weight: int = 400) -> QFont:
    """The system's sans at ``size`` px before text scaling, with figures of one width."""
    return _font(size, weight, theme().text_scale, _Current.base_family)


@lru_cache(maxsize=64)
def _font(size: int, weight: int, scale: float, family: str) -> QFont:
    made = QFont(family) if family else QFont()
    made.setPixelSize(max(1, round(size * scale)))
    made.setWeight(QFont.Weight(weight))
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def set_theme(app: QApplication, name: str, text_scale: float = 1.0) -> None:
    """Give the whole program a theme and tell :data:`theme_signals`.

    Raises:
        KeyError: no theme of that name (``dark`` and ``light`` exist).
    """
    chosen = replace(THEMES[name], text_scale=text_scale)
    if not _Current.base_family:
        _Current.base_family = QGuiApplication.font().family()
        QDir.addSearchPath("theme", str(resources.path("theme")))
        app.setStyle("Fusion")
    _Current.theme = chosen
    app.setPalette(_palette(chosen))
    app.setFont(font())
    if _Current.restyling is None:
        _Current.restyling = Restyler(app)
        _Current.restyling.given.connect(theme_signals.changed)
    _Current.restyling.give(style_sheet(chosen))
    theme_signals.changed.emit()


def is_styled() -> bool:
    """Whether hidden widgets wear the theme too; those that are seen wear it as soon as it is set."""
    return _Current.restyling is None or _Current.restyling.done


def style_sheet(chosen: Theme) -> str:
    """The style sheet of ``resources/theme/app.qss`` with its tokens filled in."""
    values = {key: str(value) for key, value in asdict(chosen).items()}
    values |= {f"h{n}": f"{chosen.px(n)}px" for n in (10, 12, 14, 16, 18, 22, 24, 26, 28)}
    values |= {f"f{n}": f"{chosen.px(n)}px" for n in (SMALL, OUTCOME, LARGE, DISPLAY)}
    values |= {
        "name_field": f"{chosen.px(300)}px",
        "field_inner": f"{chosen.px(24) - 2}px",
        "tab_inner": f"{chosen.px(32) - 4}px",
        "radio": f"{(chosen.px(12) + 2) // 2}px",
        "hover_line": chosen.hover if chosen.is_dark else chosen.strong_line,
        "pressed_line": chosen.track if chosen.is_dark else chosen.strong_line,
        "primary_hover": colour(chosen.accent_filled).lighter(110).name(),
        "primary_pressed": colour(chosen.accent_filled).darker(112).name(),
        "menu_selected": chosen.hover,
    }
    values["images"] = f"theme:{chosen.name}"
    return Template(resources.path("theme/app.qss").read_text(encoding="utf-8")).substitute(values)


def set_look(widget: QWidget, **properties: str | bool) -> None:
    """Set properties the style sheet selects on, and style the widget again if any changed."""
    changed = False
    for name, value in properties.items():
        if widget.property(name) != value:
            widget.setProperty(name, value)
            changed = True
    if changed:
        style = widget.style()
        style.unpolish(widget)
        style.polish(widget)
        widget.update()


def plain_tip(text: str) -> str:
    """``text`` for a tooltip, in lines that fit beside what they tell of; never taken for HTML."""
    lines = [part for line in text.split("\n") for part in _lines(line)]
    if Qt.mightBeRichText(text):
        return f"<span>{'<br>'.join(html.escape(line) for line in lines)}</span>"
    return "\n".join(lines)


def _lines(line: str) -> list[str]:
    if len(line) <= TIP_LETTERS:
        return [line]
    return textwrap.wrap(line, TIP_LETTERS, break_on_hyphens=False, drop_whitespace=True)


def finding_colour(index: int) -> str:
    """The colour of the finding at ``index`` of a library's findings; grey below zero."""
    return FINDING_COLOURS[index % len(FINDING_COLOURS)] if index >= 0 else UNKNOWN_FINDING


def finding_letter_colour(index: int) -> str:
    """The colour that can be read on :func:`finding_colour`."""
    on_dark = index < 0 or finding_colour(index) == "#0072B2"
    return FINDING_LETTER_ON_BLUE if on_dark else FINDING_LETTER


def _palette(chosen: Theme) -> QPalette:
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    palette = QPalette()
    for what, value in {
        role.Window: chosen.panel,
        role.WindowText: chosen.text,
        role.Base: chosen.panel,
        role.AlternateBase: chosen.bar,
        role.Text: chosen.text,
        role.PlaceholderText: chosen.third,
        role.Button: chosen.control,
        role.ButtonText: chosen.text,
        role.BrightText: chosen.error,
        role.ToolTipBase: chosen.control,
        role.ToolTipText: chosen.text,
        role.Highlight: chosen.accent_filled,
        role.HighlightedText: chosen.on_accent,
        role.Accent: chosen.accent,
        role.Link: chosen.accent,
        role.LinkVisited: chosen.accent,
        role.Light: chosen.hover,
        role.Midlight: chosen.hover,
        role.Mid: chosen.line,
        role.Dark: chosen.strong_line,
        role.Shadow: chosen.gap,
    }.items():
        palette.setColor(what, QColor(value))
    for what in (role.WindowText, role.Text, role.ButtonText, role.PlaceholderText):
        palette.setColor(group.Disabled, what, QColor(chosen.disabled))
    return palette
