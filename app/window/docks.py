"""The docks of the window: their headers, places and sizes in each workspace, in narrow and in small windows."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QDockWidget, QLayout, QMainWindow, QWidget

from semblance.app.shell.actions import Actions
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.shell.theme import is_styled, theme, theme_signals
from semblance.app.widgets.buttons import KeyTip, key_button
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import Panel, PanelHeader, TabHeader
from semblance.app.window.workspaces import NARROW, DockArrangement, DockLength, WorkspaceChoice
from semblance.core.language import tr

if TYPE_CHECKING:
    from semblance.app.shell.context import Context
    from semblance.app.window.panels import Panels


ICON_BAR_WIDTH = 40

LAYOUT_VERSION = 3
#: The least size of a page on the whole window beside the lists, in px at text scale 1.
_PAGE = QSize(800, 560)
#: px that the similar cases have at least where tabs beside them can be replaced.
_SIMILAR_CASES = 560
#: Height of the lists in px at text scale 1, when they are opened.
_LISTS_HEIGHT = 260
_LISTS = "lists"
#: Tolerance in px for a dock that the user did not resize.
_TOLERANCE = 6
_BOTH = (Qt.Orientation.Horizontal, Qt.Orientation.Vertical)


class _DockTitle(PanelHeader):
    """The header of a dock. Dragging it moves the dock, a double click makes it float."""

    def __init__(self, dock: Dock, title: str, actions: Sequence[QWidget]) -> None:
        super().__init__(title)
        self._dock = dock
        for widget in actions:
            self.add_action(widget)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._dock.setFloating(not self._dock.isFloating())
        event.accept()


class _WidgetSwitcher(QWidget):
    """Shows one of several widgets, or none, with the size hint of the shown one."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self._column = vbox(self)
        # The icon bar is never wider than its size hint.
        self._column.setSizeConstraint(QLayout.SizeConstraint.SetMinAndMaxSize)
        self._column.addWidget(widget)
        self._shown: QWidget | None = widget

    def show_only(self, widget: QWidget | None) -> None:
        """Show ``widget``, which is added on first use, or nothing."""
        if self._shown is not None:
            focus = self.window().focusWidget()
            if focus is not None and self._shown.isAncestorOf(focus):
                # Else Qt looks through the whole window for the next widget, which may be the next to be hidden.
                focus.clearFocus()
            self._shown.hide()
        if widget is not None:
            if self._column.indexOf(widget) < 0:
                self._column.addWidget(widget)
            widget.show()
        self._shown = widget
        self._column.activate()


class Dock(QDockWidget):
    """A panel in a dock. ``is_open``: the user has not closed it; ``collapsed``: only its icon bar is shown."""

    help_requested = Signal(str)

    def __init__(
        self,
        window: QMainWindow,
        title: str,
        name: str,
        panel: QWidget,
        actions: Sequence[QWidget] = (),
        *,
        header: QWidget | None = None,
    ) -> None:
        """``header`` of the panel's own takes the place of the usual one with ``actions`` in it."""
        super().__init__(title, window)
        self.setObjectName(name)
        self.is_open = True
        self.collapsed = False
        self._panel = panel
        if header is None:
            bar = _DockTitle(self, title, actions)
            bar.help_requested.connect(lambda: self.help_requested.emit(name))
            header = bar
        self._bar = header
        # A collapsed panel stays in the dock, because removed widgets would all be styled again.
        self._head, self._body = _WidgetSwitcher(header), _WidgetSwitcher(panel)
        self.setTitleBarWidget(self._head)
        self.setWidget(self._body)
        feature = QDockWidget.DockWidgetFeature
        self.setFeatures(feature.DockWidgetMovable | feature.DockWidgetFloatable | feature.DockWidgetClosable)
        self.toggleViewAction().triggered.connect(self._set_open)

    def show_help_button(self, shown: bool) -> None:
        """Whether its header has the question mark, where the header is not the panel's own."""
        if isinstance(self._bar, _DockTitle):
            self._bar.show_help_button(shown)

    def show_help_key(self, actions: Actions) -> None:
        """Show the key of the help in the tooltip of the question mark."""
        if isinstance(self._bar, PanelHeader | TabHeader):
            KeyTip(self._bar.help_button, tr("Help for this panel"), actions, "help")

    def bring_to_front(self) -> None:
        """Show it in front of other docks in the same place."""
        self.is_open = True
        self.show()
        self.raise_()

    def _set_open(self, is_open: bool) -> None:
        self.is_open = is_open

    def collapse(self, bar: QWidget | None) -> None:
        """Show ``bar`` instead of the panel, or the panel again."""
        self.collapsed = bar is not None
        self._head.show_only(None if self.collapsed else self._bar)
        self._body.show_only(bar or self._panel)
        self.updateGeometry()


class LibraryIconBar(Panel):
    """``open_requested(what)``: "" the panel, "filter" its filter."""

    open_requested = Signal(str)
    add_requested = Signal()

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        column = vbox(self, spacing=12, margins=(8, 6, 8, 8))
        buttons = []
        for name, tip, command, what in (
            ("chevron-right", tr("Open the library"), "go_library", ""),
            ("library", tr("Open the library"), "go_library", ""),
            ("filter", tr("Filter the cases"), "find_case", "filter"),
        ):
            button = key_button(name, tip, actions, command)
            button.clicked.connect(lambda _=False, what=what: self.open_requested.emit(what))
            column.addWidget(button)
            buttons.append(button)
        self._first = buttons[0]
        add = key_button("folder-plus", tr("Add images to this library"), actions, "import_more")
        add.clicked.connect(self.add_requested)
        column.addWidget(add)
        column.addStretch(1)
        theme_signals.changed.connect(self.fit)
        self.fit()

    def take_focus(self) -> None:
        """Focus the button that opens the panel."""
        self._first.setFocus(Qt.FocusReason.OtherFocusReason)

    def fit(self) -> None:
        """Set the width for the text size."""
        self.setFixedWidth(theme().px(ICON_BAR_WIDTH))


class DockLayout(QObject):
    """The docks of one window, built on first use."""

    def __init__(
        self, window: QMainWindow, context: Context, panels: Panels, workspaces: WorkspaceChoice
    ) -> None:
        super().__init__(window)
        self._window, self._context, self._panels, self._workspaces = window, context, panels, workspaces
        self._was_narrow = self._is_laid_out = self._is_saved = False
        #: The workspace and the arrangement of the docks, and the size of the window they were last fitted to.
        self._workspace = workspaces.current
        self._arrangement = self._workspace.arrangements[0]
        self._size = QSize()
        #: Sizes of the docks before the lists were opened.
        self._before_lists: dict[Dock, QSize] = {}
        #: Whether widths and heights are the default ones, which grow with the window.
        self._default_orientations: list[Qt.Orientation] = []
        # A border between docks may have been dragged.
        window.installEventFilter(self)
        workspaces.leaving.connect(self.save)
        workspaces.changed.connect(self._show_workspace)

    @lazy_part
    def docks(self) -> dict[str, Dock]:
        """The docks by their names: library, query, side, evaluation and lists."""
        window, panels = self._window, self._panels
        library, query, side, evaluation = panels.library, panels.query, panels.side, panels.evaluation
        docks = {
            "library": Dock(
                window, tr("Library"), "library", library, [library.view, library.collapse_button]
            ),
            "query": Dock(window, tr("Query"), "query", query, header=query.header),
            "side": Dock(window, side.title, "side", side, header=side.header),
            "evaluation": Dock(window, tr("Evaluation"), "evaluation", evaluation, header=evaluation.header),
            _LISTS: Dock(window, tr("Lists"), _LISTS, panels.lists, header=panels.lists.header),
        }
        panels.lists.emptied.connect(partial(self._close_lists, docks[_LISTS]))
        for dock in docks.values():
            dock.help_requested.connect(panels.help_requested)
            dock.show_help_button(not self._workspace.plain)
            dock.show_help_key(self._context.actions)
        # The name of its tab where docks lie over each other.
        side.header.changed.connect(lambda _tab: docks["side"].setWindowTitle(side.title))
        self._arrangement = self._fitting_arrangement()
        self._size = window.size()
        self._open_all(docks)
        return docks

    def show_dock(self, name: str) -> Dock:
        """Bring a dock to the front, in a workspace that shows it."""
        self._workspaces.choose_with_dock(name)
        dock = self.docks[name]
        dock.bring_to_front()
        return dock

    def show_list(self, name: str, widget: QWidget) -> None:
        """Show a list beside the images, in every workspace and below every page: see
        :class:`semblance.app.window.lists_panel.ListsPanel`."""
        dock = self.docks[_LISTS]
        was_hidden = dock.isHidden()
        if was_hidden:
            self._before_lists = self.shown_sizes()
        self._panels.lists.show_list(name, widget)
        dock.bring_to_front()
        if was_hidden and not dock.isFloating():
            self._window.resizeDocks([dock], [theme().px(_LISTS_HEIGHT)], Qt.Orientation.Vertical)
        self._panels.lists.focus_current()

    def _close_lists(self, dock: Dock) -> None:
        had_focus = dock.isAncestorOf(self._window.focusWidget() or self._window)
        dock.is_open = False
        dock.hide()
        QTimer.singleShot(0, self, partial(self.resize_docks, self._before_lists))
        self._before_lists = {}
        if had_focus:
            self._panels.ranking.grid.setFocus(Qt.FocusReason.OtherFocusReason)

    def shown_sizes(self) -> dict[Dock, QSize]:
        """The sizes of the docks that are seen: those behind another tab have none of their own."""
        return {dock: dock.size() for dock in self.docks.values() if not dock.visibleRegion().isEmpty()}

    def resize_docks(self, sizes: Mapping[Dock, QSize]) -> None:
        """Give the docks that are shown these sizes again."""
        docks = [dock for dock in sizes if not dock.isHidden() and not dock.isFloating()]
        for orientation, lengths in (
            (Qt.Orientation.Horizontal, [sizes[dock].width() for dock in docks]),
            (Qt.Orientation.Vertical, [sizes[dock].height() for dock in docks]),
        ):
            self._window.resizeDocks(docks, lengths, orientation)

    def hide_docks(self) -> None:
        """Hide all docks behind a page on the whole window; the lists stay where they leave it enough space."""
        for name, dock in self.docks.items():
            dock.setVisible(name == _LISTS and dock.is_open and self._leaves_space(dock))

    def _leaves_space(self, dock: Dock) -> bool:
        """Whether a page on the whole window has enough space beside ``dock``."""
        if dock.isFloating():
            return True
        across = self._window.dockWidgetArea(dock) in (
            Qt.DockWidgetArea.LeftDockWidgetArea,
            Qt.DockWidgetArea.RightDockWidgetArea,
        )
        if across:
            return self._window.width() - dock.width() >= theme().px(_PAGE.width())
        top = self._window.menuWidget()
        bars = (0 if top is None else top.height()) + self._window.statusBar().height()
        return self._window.height() - bars - dock.height() >= theme().px(_PAGE.height())

    def show_side(self, tab: str) -> None:
        """Bring a tab of the side panel to the front, in a workspace that shows it."""
        self._workspaces.choose_with_tab(tab)
        self.docks["side"].bring_to_front()
        self._panels.side.show_tab(tab)

    def show_docks(self, shown: bool) -> None:
        """Show the docks that are built and not closed by the user, or hide all."""
        for dock in (DockLayout.docks.built(self) or {}).values():
            dock.setVisible(shown and dock.is_open)

    def reset(self) -> None:
        """Show every dock of the workspace at its default place."""
        self._open_all(self.docks)
        self.set_default_sizes()

    @property
    def is_narrow(self) -> bool:
        """Whether the window is too narrow for the whole Library panel."""
        return self._window.width() < theme().px(NARROW)

    def _fitting_arrangement(self) -> DockArrangement:
        scale = theme().text_scale
        return self._workspace.arrangement(
            round(self._window.width() / scale), round(self._window.height() / scale)
        )

    def _open_all(self, docks: Mapping[str, Dock]) -> None:
        """DockPlace the docks of the workspace and show them; without a library only the start page is shown."""
        self._place(docks)
        for name, dock in docks.items():
            dock.is_open = name in self._workspace.docks
            dock.setVisible(dock.is_open and self._context.state.library is not None)

    def _place(self, docks: Mapping[str, Dock]) -> None:
        """Move every dock to its default place."""
        window, bottom = self._window, Qt.DockWidgetArea.BottomDockWidgetArea
        window.setCorner(Qt.Corner.TopLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        window.setCorner(Qt.Corner.BottomLeftCorner, bottom)
        window.setCorner(Qt.Corner.BottomRightCorner, bottom)
        for name, dock in docks.items():
            # setFloating makes a new window even if the dock does not float.
            if dock.isFloating():
                dock.setFloating(False)
            if name not in self._workspace.docks:
                window.addDockWidget(bottom, dock)
                dock.hide()
        for place in self._arrangement.places:
            dock = docks[place.dock]
            if place.edge is not None:
                window.addDockWidget(place.edge, dock)
            elif place.beside:
                window.splitDockWidget(docks[place.beside], dock, Qt.Orientation.Horizontal)
            elif place.below:
                window.splitDockWidget(docks[place.below], dock, Qt.Orientation.Vertical)
            else:
                window.tabifyDockWidget(docks[place.over], dock)
        if "evaluation" in self._workspace.docks:
            window.tabifyDockWidget(docks["evaluation"], docks[_LISTS])
        docks["query"].raise_()

    def set_default_sizes(self, *, orientations: Iterable[Qt.Orientation] = _BOTH) -> None:
        """Set the default widths and heights for the size of the window, or only one of them."""
        lengths = self._default_lengths(self._window.size())
        for orientation in orientations:
            docks = [self.docks[name] for name in lengths[orientation]]
            self._window.resizeDocks(docks, list(lengths[orientation].values()), orientation)
        self._default_orientations = list({*self._default_orientations, *orientations})

    def _default_lengths(self, size: QSize) -> dict[Qt.Orientation, dict[str, int]]:
        """Widths and heights in px of docks in a window of ``size``."""

        def px(length: DockLength, total: int) -> int:
            least = length.narrow if self._was_narrow and length.narrow is not None else length.px
            return max(theme().px(least), round(total * length.share) - theme().px(length.less))

        widths = {name: px(one, size.width()) for name, one in self._arrangement.widths.items()}
        if "side" in widths:
            # Its tabs may be called longer in another language; docks come out a few px smaller than wanted.
            tabs = self._panels.side.header.sizeHint().width() + theme().px(4)
            is_beside = any(one.dock == "side" and one.edge is not None for one in self._arrangement.places)
            free = size.width() - sum(widths.values()) + widths["side"] - theme().px(_SIMILAR_CASES)
            # Where the similar cases would become narrow, its combo box replaces the tabs.
            if not is_beside or tabs <= free:
                widths["side"] = max(widths["side"], tabs)
        heights = {name: px(one, size.height()) for name, one in self._arrangement.heights.items()}
        return {Qt.Orientation.Horizontal: widths, Qt.Orientation.Vertical: heights}

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonRelease:
            QTimer.singleShot(0, self, self._note_sizes)
        return super().eventFilter(watched, event)

    def _note_sizes(self) -> None:
        """Note whether widths and heights are the default ones."""
        docks = DockLayout.docks.built(self)
        if docks is None or not self._are_docks_shown(docks):
            return

        def is_default(orientation: Qt.Orientation, wanted_lengths: Mapping[str, int]) -> bool:
            shown = [(docks[name], wanted) for name, wanted in wanted_lengths.items()]
            return all(
                abs((dock.width() if orientation == Qt.Orientation.Horizontal else dock.height()) - wanted)
                <= _TOLERANCE
                for dock, wanted in shown
                if dock.isVisible() and not dock.isFloating()
            )

        lengths = self._default_lengths(self._window.size())
        self._default_orientations = [one for one in _BOTH if is_default(one, lengths[one])]

    def open_library_panel(self, what: str = "") -> None:
        """Show the whole Library panel, also in a narrow window. ``what``: "filter" to focus its filter."""
        dock = self.docks["library"]
        if dock.collapsed:
            # The ranking gives room first: else the panels at the right would, and cut their tabs and names.
            lengths = self._arrangement.widths
            neighbours = [self.docks[name] for name in lengths if name != "library" and lengths[name].px]
            widths = [theme().px(lengths["library"].px or 0), *(one.width() for one in neighbours)]
            self._expand_library()
            self._window.resizeDocks([dock, *neighbours], widths, Qt.Orientation.Horizontal)
        if what == "filter":
            self._panels.library.focus_filter()

    def take_focus(self) -> None:
        """Focus the cases of the library, or the similar cases if those are collapsed."""
        if self.docks["library"].collapsed:
            self._panels.ranking.grid.setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            self._panels.library.focus_cases()

    def collapse_library(self) -> None:
        """Show the icon bar instead of the Library panel and move the focus to it."""
        self._collapse_library()
        self._icon_bar.take_focus()
        self.set_default_sizes()

    def _collapse_library(self) -> None:
        dock, icon_bar = self.docks["library"], self._icon_bar
        had_focus = dock.isAncestorOf(self._window.focusWidget() or self._window)
        # The text size may just have changed.
        icon_bar.fit()
        dock.collapse(icon_bar)
        if had_focus:
            icon_bar.take_focus()
        self._panels.library.collapse_button.setVisible(self.is_narrow)

    def _expand_library(self) -> None:
        dock, library = self.docks["library"], self._panels.library
        had_focus = self._icon_bar.isAncestorOf(self._window.focusWidget() or self._window)
        dock.collapse(None)
        if had_focus:
            library.focus_cases()
        library.collapse_button.setVisible(self.is_narrow)

    def follow_size(self) -> None:
        """Arrange the docks for the size of the window: fold the Library panel, or unfold it, where the window became
        narrow or wide, and let docks that the user did not resize grow with it.
        """
        docks = DockLayout.docks.built(self)
        if docks is None:
            return
        before, self._size = self._size, self._window.size()
        arrangement = self._fitting_arrangement()
        is_same = arrangement is self._arrangement
        if is_same and self.is_narrow == self._was_narrow:
            self._is_saved = False
            has_other_sizes = self._default_lengths(before) != self._default_lengths(self._size)
            if self._is_laid_out and has_other_sizes and self._are_docks_shown(docks):
                self.set_default_sizes(orientations=self._default_orientations)
            return
        if not is_styled():
            # Panels are sized once it is known how small their hidden pages can be; what they have is kept
            # as long as they have it.
            if not is_same and not self._is_saved:
                self._is_saved = True
                self._store()
            return
        if not is_same:
            if not self._is_saved:
                self._store()
            self._is_saved = False
            self._arrangement = arrangement
            shown = [name for name, dock in docks.items() if not dock.isHidden()]
            self._arrange(docks, shown, are_shown=self._are_docks_shown(docks))
        if self.is_narrow != self._was_narrow:
            self._was_narrow = self.is_narrow
            if self.is_narrow:
                self._collapse_library()
            else:
                self._expand_library()
            if self._is_laid_out:
                self.set_default_sizes()
        # At once, so that no intermediate layout is painted.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)

    def _show_workspace(self) -> None:
        """Arrange the docks for the workspace that was chosen."""
        self._workspace = self._workspaces.current
        docks = DockLayout.docks.built(self)
        if docks is None:
            return
        focus = self._window.focusWidget()
        self._arrangement = self._fitting_arrangement()
        is_open = self._context.state.library is not None
        for name, dock in docks.items():
            dock.is_open = name in self._workspace.docks or (name == _LISTS and dock.is_open)
            dock.show_help_button(not self._workspace.plain)
        shown = [name for name, dock in docks.items() if dock.is_open]
        self._arrange(docks, shown if is_open else (), are_shown=is_open)
        self._show_saved_tab()
        if is_open and (focus is None or not focus.isVisible()):
            focus = self._panels.ranking.grid
        if focus is not None:
            # Docks lose the focus when they are arranged.
            focus.setFocus(Qt.FocusReason.OtherFocusReason)

    def _arrange(self, docks: Mapping[str, Dock], shown: Container[str], *, are_shown: bool) -> None:
        """DockPlace the docks again and show those in ``shown``. ``are_shown``: they are not behind another page."""
        self._place(docks)
        for name, dock in docks.items():
            dock.setVisible(name in shown)
        if self._is_laid_out and are_shown:
            self._restore()
        elif self._context.state.library is None:
            # With the next library.
            self._is_laid_out = False

    @staticmethod
    def _are_docks_shown(docks: Mapping[str, Dock]) -> bool:
        """Whether docks are hidden only where the user closed them, not behind a page on the whole window."""
        others = [dock for name, dock in docks.items() if name != _LISTS]
        return any(not dock.isHidden() for dock in others) or not any(dock.is_open for dock in others)

    def _restore(self) -> None:
        """Restore the saved layout of the workspace in a window of this kind, or the default one."""
        settings = self._context.settings
        layout = settings.bytes(self._key)
        is_restored = layout is not None and self._window.restoreState(layout, LAYOUT_VERSION)
        # Sizes set before the restored layout is applied would be forgotten.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        defaults = settings.text(f"{self._key}-default").split()
        self._default_orientations = []
        self.set_default_sizes(
            orientations=[one for one in _BOTH if not is_restored or str(one.value) in defaults]
        )
        lists = self.docks[_LISTS]
        for name, dock in self.docks.items():
            if name not in self._workspace.docks:
                dock.hide()
        # Which lists are open is not saved.
        lists.setVisible(lists.is_open and bool(self._panels.lists.shown))
        for dock in self.docks.values():
            dock.is_open = not dock.isHidden()

    @property
    def _key(self) -> str:
        """The key of the layout in the settings."""
        return f"layout{LAYOUT_VERSION}-{self._workspace.name}-{self._arrangement.name}"

    @property
    def _tab_key(self) -> str:
        return f"side_tab-{self._workspace.name}"

    def save(self) -> None:
        """Keep where the docks are, while they are shown: behind other pages they have no sizes."""
        self._note_sizes()
        self._store()

    def _store(self) -> None:
        docks = DockLayout.docks.built(self)
        if docks is not None and self._is_laid_out and self._are_docks_shown(docks):
            settings = self._context.settings
            settings.set_bytes(self._key, self._window.saveState(LAYOUT_VERSION))
            settings.set_text(
                f"{self._key}-default", " ".join(str(one.value) for one in self._default_orientations)
            )
            settings.set_text(self._tab_key, self._panels.side.current)

    def restore_once(self) -> None:
        """Restore the docks once they are shown, because they can be sized only then."""
        if not self._is_laid_out:
            QTimer.singleShot(0, self, self._restore_layout)

    def _restore_layout(self) -> None:
        self._is_laid_out = True
        self._restore()
        self._show_saved_tab()
        # Docks lose the focus when they are arranged.
        self.take_focus()
        grid = self._panels.library.grid
        if grid.current() < 0 and len(grid.model()):
            grid.set_current(grid.model().case_row(0))
        QTimer.singleShot(0, self, self._panels.library.show_current)

    def _show_saved_tab(self) -> None:
        tab = self._context.settings.text(self._tab_key)
        if tab in self._workspace.tabs:
            self._panels.side.show_tab(tab)

    @lazy_part
    def _icon_bar(self) -> LibraryIconBar:
        icon_bar = LibraryIconBar(self._context.actions)
        icon_bar.open_requested.connect(self.open_library_panel)
        icon_bar.add_requested.connect(self._context.actions["import_more"].trigger)
        return icon_bar
