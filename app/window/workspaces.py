"""The two workspaces of the window, Read and Research: which panels each shows, where, and how large.

A workspace is data. Panels do not know it: :mod:`semblance.app.window.docks` and the top bar follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Qt, Signal

from semblance.app.shell.settings import Settings
from semblance.app.widgets.cards.card_layout import LARGE_CARDS, SMALL_CARDS, CardStyle
from semblance.core.language import tr

#: Below this width in px at text scale 1 the Library panel collapses to an icon bar.
NARROW = 1360
_LEFT, _TOP, _RIGHT, _BOTTOM = (
    Qt.DockWidgetArea.LeftDockWidgetArea,
    Qt.DockWidgetArea.TopDockWidgetArea,
    Qt.DockWidgetArea.RightDockWidgetArea,
    Qt.DockWidgetArea.BottomDockWidgetArea,
)
#: The name in saved settings.
_KEY = "workspace"


@dataclass(frozen=True)
class DockLength:
    """A width or height: ``px`` at text scale 1, in a narrow window ``narrow``, but at least ``share`` of the window's
    less ``less`` px."""

    px: int
    narrow: int | None = None
    share: float = 0.0
    less: int = 0


@dataclass(frozen=True)
class DockPlace:
    """Where a dock is: at an ``edge`` of the window, or at the right of (``beside``), ``below`` or ``over`` another."""

    dock: str
    edge: Qt.DockWidgetArea | None = None
    beside: str = ""
    below: str = ""
    over: str = ""


@dataclass(frozen=True)
class DockArrangement:
    """The places of the docks in windows of at least ``width`` x ``height`` px, with their sizes by their names.

    ``portrait``: only in windows that are higher than wide.
    """

    name: str
    places: tuple[DockPlace, ...]
    widths: Mapping[str, DockLength]
    heights: Mapping[str, DockLength] = field(default_factory=dict)
    width: int = 0
    height: int = 0
    portrait: bool = False

    def fits(self, width: int, height: int) -> bool:
        """Whether it is meant for a window of ``width`` x ``height`` px at text scale 1."""
        return width >= self.width and height >= self.height and (height > width or not self.portrait)


@dataclass(frozen=True)
class Workspace:
    """``docks`` and ``tabs`` of the side panel that it shows, ``choices`` and ``slider`` in the top bar.

    ``cards``: of the similar cases. ``plain``: no histogram, no judgements, nothing on how metrics were trained.

    ``arrangements``: the first that fits the window is used; the last fits every window.
    """

    name: str
    title: str
    docks: tuple[str, ...]
    tabs: tuple[str, ...]
    choices: tuple[str, ...]
    slider: bool
    cards: CardStyle
    plain: bool
    arrangements: tuple[DockArrangement, ...]

    def arrangement(self, width: int, height: int) -> DockArrangement:
        """The arrangement for a window of ``width`` x ``height`` px at text scale 1."""
        return next(one for one in self.arrangements if one.fits(width, height))


_LIBRARY = DockLength(208, narrow=40)
#: Widths in small windows, where the other panels lie over each other.
_TABS_WIDTHS = {"library": DockLength(208, narrow=40), "query": DockLength(0, share=0.46)}
_READ_WIDTHS = {"library": _LIBRARY, "query": DockLength(300, share=0.4, less=168)}

READ = Workspace(
    "read",
    tr("Read"),
    ("library", "query", "side"),
    ("why", "case", "notes"),
    ("library", "ranked_by"),
    slider=False,
    cards=LARGE_CARDS,
    plain=True,
    arrangements=(
        # Why has a column of its own only where the query and the similar cases keep 80 % of the window.
        DockArrangement(
            "wide",
            (DockPlace("library", _LEFT), DockPlace("query", beside="library"), DockPlace("side", _RIGHT)),
            {**_READ_WIDTHS, "side": DockLength(308)},
            width=3200,
            height=480,
        ),
        DockArrangement(
            "portrait",
            (DockPlace("library", _LEFT), DockPlace("query", _TOP), DockPlace("side", beside="query")),
            {"library": _LIBRARY, "query": DockLength(300, share=1.0, less=360), "side": DockLength(320)},
            {"query": DockLength(320, share=0.42)},
            width=800,
            height=1000,
            portrait=True,
        ),
        DockArrangement(
            "standard",
            (
                DockPlace("library", _LEFT),
                DockPlace("query", beside="library"),
                DockPlace("side", below="query"),
            ),
            _READ_WIDTHS,
            {"query": DockLength(200, share=1.0, less=304), "side": DockLength(236)},
            width=1000,
            height=760,
        ),
        DockArrangement(
            "tabs",
            (
                DockPlace("library", _LEFT),
                DockPlace("query", beside="library"),
                DockPlace("side", over="query"),
            ),
            _READ_WIDTHS,
        ),
    ),
)

RESEARCH = Workspace(
    "research",
    tr("Research"),
    ("library", "query", "side", "evaluation"),
    ("why", "case", "notes", "train", "refine"),
    ("library", "features", "metric"),
    slider=True,
    cards=SMALL_CARDS,
    plain=False,
    arrangements=(
        DockArrangement(
            "portrait",
            (
                DockPlace("library", _LEFT),
                DockPlace("query", _TOP),
                DockPlace("side", beside="query"),
                DockPlace("evaluation", _BOTTOM),
            ),
            {"library": _LIBRARY, "query": DockLength(300, share=1.0, less=368), "side": DockLength(328)},
            {"query": DockLength(320, share=0.36), "evaluation": DockLength(236)},
            width=800,
            height=1000,
            portrait=True,
        ),
        DockArrangement(
            "standard",
            (
                DockPlace("library", _LEFT),
                DockPlace("query", beside="library"),
                DockPlace("side", _RIGHT),
                DockPlace("evaluation", _BOTTOM),
            ),
            {
                "library": _LIBRARY,
                "query": DockLength(332, narrow=312),
                "side": DockLength(320),
            },
            {"evaluation": DockLength(236, narrow=180)},
            width=1000,
            height=480,
        ),
        DockArrangement(
            "tabs",
            (
                DockPlace("library", _LEFT),
                DockPlace("query", beside="library"),
                DockPlace("side", over="query"),
                DockPlace("evaluation", over="side"),
            ),
            _TABS_WIDTHS,
        ),
    ),
)

WORKSPACES = {workspace.name: workspace for workspace in (READ, RESEARCH)}


class WorkspaceChoice(QObject):
    """The workspace of one window: at first the one last used. ``leaving``: before, ``changed``: after it changes."""

    leaving = Signal()
    changed = Signal()

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.current = WORKSPACES.get(settings.text(_KEY), READ)

    def choose(self, name: str) -> None:
        """Switch to the workspace ``name``."""
        if name != self.current.name:
            self.leaving.emit()
            self.current = WORKSPACES[name]
            self._settings.set_text(_KEY, name)
            self.changed.emit()

    def choose_with_dock(self, dock: str) -> None:
        """Switch to the workspace that shows ``dock``, unless the current one does."""
        if dock not in self.current.docks:
            self.choose(next(workspace.name for workspace in WORKSPACES.values() if dock in workspace.docks))

    def choose_with_tab(self, tab: str) -> None:
        """Switch to the workspace that shows the ``tab`` of the side panel, unless the current one does."""
        if tab not in self.current.tabs:
            self.choose(next(workspace.name for workspace in WORKSPACES.values() if tab in workspace.tabs))
