"""The colours, fonts and sizes of the window, dark and light. Every widget reads them here and follows their change."""

from __future__ import annotations

import html
import textwrap
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from string import Template

from PySide6.QtCore import QCoreApplication, QDir, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from semblance import resources
from semblance.app.shell.event_loop import TURN_S, IdleQueue
from semblance.core.language import visible_lines
from semblance.core.library.findings import PALETTE

#: Hidden widgets styled together.
BATCH_SIZE = 10

FINDING_COLOURS = tuple(PALETTE.values())
FINDING_LETTER = "#101012"
FINDING_LETTER_ON_BLUE = "#FFFFFF"
UNKNOWN_FINDING = "#6E6E76"
SMALL, BASE, OUTCOME, LARGE, DISPLAY, TICK = 11, 12, 13, 15, 20, 10
#: Characters in a line of a tooltip.
TIP_LETTERS = 88


class Restyler(IdleQueue):
    """Applies the style sheet of the program to the existing widgets.

    Qt itself would style every widget once for each of its parents, or twice if the old sheet is removed first.
    Most widgets are in pages and dialogs that are hidden.
    """

    #: All hidden widgets are styled too.
    finished = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._unstyled: list[QWidget] = []
        self._hidden: list[QWidget] = []
        self._is_done = True

    @property
    def done(self) -> bool:
        """Whether all widgets are styled."""
        return self._is_done

    def apply(self, sheet: str) -> None:
        """Style visible widgets with ``sheet`` now. Hidden ones follow, first those that become visible."""
        self.stop()
        old = bool(self._app.styleSheet())
        if old:
            # This clears the rules that the style has cached for each widget, so that it uses the new sheet.
            style = self._app.style()
            style.unpolish(self._app)
            style.polish(self._app)
        self._app.setStyleSheet(sheet)
        if not old:
            return
        # Widgets that Qt has not polished yet will get the new sheet from Qt.
        polished = Qt.WidgetAttribute.WA_WState_Polished
        self._unstyled = [widget for widget in _all_widgets(self._app) if widget.testAttribute(polished)]
        self._style_visible()
        self._hidden = [widget for widget in self._unstyled if widget.isHidden()]
        self._is_done = not self._unstyled
        if self._unstyled:
            self.add([self._style_next_batch])

    def _style_next_batch(self) -> None:
        self._style_visible()
        end = time.thread_time() + TURN_S
        while self._unstyled:
            batch, self._unstyled = self._unstyled[:BATCH_SIZE], self._unstyled[BATCH_SIZE:]
            _polish(batch)
            if time.thread_time() >= end:
                break
        self.add([self._style_next_batch if self._unstyled else self._finish])

    def _finish(self) -> None:
        self._is_done = True
        self._update_parents()
        self.finished.emit()

    def _update_parents(self) -> None:
        """Layouts also use the sizes of hidden widgets, but Qt does not report their changes."""
        for hidden in self._hidden:
            parent = hidden.parentWidget() if isValid(hidden) else None
            while parent is not None:
                parent.updateGeometry()
                parent = parent.parentWidget()
        self._hidden = []

    def _style_visible(self) -> None:
        alive = [widget for widget in self._unstyled if isValid(widget)]
        self._unstyled = [widget for widget in alive if not widget.isVisible()]
        _polish([widget for widget in alive if widget.isVisible()])


def _all_widgets(app: QApplication) -> Iterator[QWidget]:
    """Every widget, each after its parent, whose font it inherits."""
    for top in app.topLevelWidgets():
        if top.parentWidget() is None:
            yield top
            yield from top.findChildren(QWidget)


def _polish(widgets: list[QWidget]) -> None:
    """Like Qt: style all before the first gets its event, which makes it ask others for their sizes."""
    for widget in widgets:
        if isValid(widget):
            widget.style().polish(widget)
    changed = QEvent(QEvent.Type.StyleChange)
    for widget in widgets:
        if isValid(widget):
            QCoreApplication.sendEvent(widget, changed)


"""Okabe–Ito colours in the order of a library's findings. The eighth finding gets the first colour again."""


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
        """``size``, in px at text scale 1, in px at the current text scale."""
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
    """Signals a change of the theme or the text size, for widgets that paint themselves.

    It is emitted again when hidden widgets are styled too, because their sizes are known only then.
    """

    changed = Signal()


class _ActiveTheme:
    theme = DARK
    base_family = ""
    restyler: Restyler | None = None
    #: The colour of each finding of the open library, a place in the palette.
    finding_colours: tuple[int, ...] = ()


theme_signals = ThemeSignals()


def theme() -> Theme:
    """The current theme."""
    return _ActiveTheme.theme


@lru_cache(maxsize=256)
def colour(value: str, alpha: float = 1.0) -> QColor:
    """The colour ``#RRGGBB``. The object is shared: do not change it."""
    result = QColor(value)
    result.setAlphaF(alpha)
    return result


def font(size: int = BASE, weight: int = 400) -> QFont:
    """The system's font at ``size`` px before text scaling, with digits of equal width."""
    return _font(size, weight, theme().text_scale, _ActiveTheme.base_family)


@lru_cache(maxsize=64)
def _font(size: int, weight: int, scale: float, family: str) -> QFont:
    result = QFont(family) if family else QFont()
    result.setPixelSize(max(1, round(size * scale)))
    result.setWeight(QFont.Weight(weight))
    result.setFeature(QFont.Tag("tnum"), 1)
    return result


def set_theme(app: QApplication, name: str, text_scale: float = 1.0) -> None:
    """Set the theme of the program and emit :data:`theme_signals`.

    Raises:
        KeyError: no theme of that name (``dark`` and ``light`` exist).
    """
    chosen = replace(THEMES[name], text_scale=text_scale)
    if not _ActiveTheme.base_family:
        _ActiveTheme.base_family = QGuiApplication.font().family()
        QDir.addSearchPath("theme", str(resources.path("theme")))
        app.setStyle("Fusion")
    _ActiveTheme.theme = chosen
    # Each tells every widget, of which there are more than a thousand.
    if app.palette() != (palette := _palette(chosen)):
        app.setPalette(palette)
    if app.font() != font():
        app.setFont(font())
    if _ActiveTheme.restyler is None:
        _ActiveTheme.restyler = Restyler(app)
        _ActiveTheme.restyler.finished.connect(theme_signals.changed)
    _ActiveTheme.restyler.apply(style_sheet(chosen))
    theme_signals.changed.emit()


def is_styled() -> bool:
    """Whether hidden widgets are styled too. Visible ones are styled as soon as the theme is set."""
    return _ActiveTheme.restyler is None or _ActiveTheme.restyler.done


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
    """Set properties the style sheet selects on, and style the widget again if any changed.

    Qt styles a widget that was not shown or measured yet on its own, once it is.
    """
    changed = False
    for name, value in properties.items():
        if widget.property(name) != value:
            widget.setProperty(name, value)
            changed = True
    if changed and widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        style = widget.style()
        style.unpolish(widget)
        style.polish(widget)
        widget.update()


def plain_tip(text: str) -> str:
    """``text`` for a tooltip, wrapped and never interpreted as HTML, its hidden characters spelled out."""
    text = visible_lines(text)
    lines = [part for line in text.split("\n") for part in _wrap_line(line)]
    if GuiQt.mightBeRichText(text):
        return f"<span>{'<br>'.join(html.escape(line) for line in lines)}</span>"
    return "\n".join(lines)


def _wrap_line(line: str) -> list[str]:
    if len(line) <= TIP_LETTERS:
        return [line]
    return textwrap.wrap(line, TIP_LETTERS, break_on_hyphens=False, drop_whitespace=True)


def set_finding_colours(colours: tuple[int, ...]) -> None:
    """Set the colour, a place in the palette, of each finding of the open library; others have that of their place."""
    _ActiveTheme.finding_colours = colours


def finding_colour(index: int) -> str:
    """The colour of the finding at ``index`` of the open library's findings; grey for a negative index."""
    chosen = _ActiveTheme.finding_colours
    if index < 0:
        return UNKNOWN_FINDING
    return FINDING_COLOURS[(chosen[index] if index < len(chosen) else index) % len(FINDING_COLOURS)]


def finding_letter_colour(index: int) -> str:
    """The colour of a letter on :func:`finding_colour`."""
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
