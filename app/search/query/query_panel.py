"""The Query panel: the image that is searched with, its region and its facts. Files and cases can be dropped on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QIcon, QMouseEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QLabel,
    QMenu,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from semblance.app.search.query.query_facts import QueryFacts, QueryNotice, region_text
from semblance.app.search.query.region_search import RegionSearch, SearchChoice
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import SHOW_AFTER_MS, Job, WorkerPool
from semblance.app.shell.query_source import QuerySource, inside
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.key_images import KeyImages
from semblance.app.viewer.tool_row import ToolRow
from semblance.app.widgets.buttons import KeyTip
from semblance.app.widgets.drop_target import DropTarget
from semblance.app.widgets.layouts import EDGE, fill, hbox, vbox
from semblance.app.widgets.menus import Menu, attach_menu, open_below
from semblance.app.widgets.panel import Panel, PanelHeader
from semblance.app.widgets.place_marks import NO_PLACE_MARKS, PlaceMarks
from semblance.app.widgets.tables import NAMES
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import tr, visible
from semblance.core.library.case_columns import ImageAvailability
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.card_images import WindowLevel
from semblance.core.workflows.imaging.view_images import ViewedImage

#: Below this height the facts are hidden, so that the image stays visible.
FACTS_MIN_HEIGHT = 400
#: Queries in the menu of the last ones, and the side of their images in px at text scale 1.
MOST_LISTED, _HISTORY_ICON = 12, 32


class QueryPanel(Panel):
    """Follows ``state.query``. Drawing a region searches again with it. ``help_requested``: show the help page;
    ``full_size_requested``: show the image on the whole window; ``header_requested``: show the file header."""

    help_requested = Signal()
    full_size_requested = Signal()
    header_requested = Signal()
    image_shown = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource | None = None) -> None:
        super().__init__(tr("Query"))
        self._context, self._state, self._thumbnails = context, context.state, thumbnails
        #: Small images of the files that were searched with.
        self._file_icons: dict[Path, QIcon] = {}
        self._source: QuerySource | None = None
        self._loaded: ViewedImage | None = None
        self._failed = self._is_plain = False
        self._job: Job | None = None
        self.setObjectName("query-panel")

        self.header = _Header(tr("Query"), help_button=False)
        self._outside = QLabel(tr("not in library"))
        set_look(self._outside, role="third")
        self.header.add_action(self._outside)
        self.full_size = self.header.add_button("expand", tr("View full size"))
        KeyTip(self.full_size, tr("View full size, or double-click here"), context.actions, "view_large")
        self.full_size.clicked.connect(self.full_size_requested)
        self.header.double_clicked.connect(self.full_size_requested)
        self.history = self.header.add_button("history", tr("Last queries"))
        KeyTip(self.history, tr("Last queries; back to the one before"), context.actions, "previous_query")
        self.history.clicked.connect(lambda: open_below(self.history, self.make_history_menu()))
        self.more = self.header.add_button("more", tr("More for this image"))
        self.more.clicked.connect(
            lambda: self._open_menu(self.more.mapToGlobal(QPoint(0, self.more.height())))
        )

        self.pane = ImagePane(
            context.jobs,
            settings=context.settings,
            last_views=context.state.last_views,
            figures=context.figures,
        )
        self.view, self.histogram = self.pane.view, self.pane.histogram
        self.tools = ToolRow()
        self.notice = QueryNotice()
        self.search_with = SearchChoice()
        self.search_with.setObjectName("search-with")
        self.facts = QueryFacts()
        self._drop = DropTarget(tr("Search with this"), self)
        self._lay_out()
        self._connect()
        self._refresh()

    def _lay_out(self) -> None:
        self._pages = QStackedWidget()
        self._pages.addWidget(self.pane)
        self._pages.addWidget(self.notice)

        self._search_with_row = QWidget()
        row = hbox(self._search_with_row)
        self._search_label = QLabel(tr("Search with"))
        set_look(self._search_label, role="second")
        row.addWidget(self._search_label)
        row.addWidget(self.search_with, 1)

        body = QWidget()
        self._body = vbox(body, spacing=8)
        self._body.setContentsMargins(EDGE, 5, EDGE, 8)
        for widget in (
            self.tools,
            self._pages,
            self._search_with_row,
            self.facts,
        ):
            self._body.addWidget(widget, 1 if widget is self._pages else 0)
        fill(vbox(self), self.header, (body, 1))
        self._fit_labels()

    def _connect(self) -> None:
        view, state = self.view, self._state
        self._region = RegionSearch(self._context, self.pane, self.tools, self.search_with)
        self._region.region_changed.connect(self._show_region)
        view.window_changed.connect(lambda _: self._update_window_level())
        view.inverted_changed.connect(lambda _: self._update_window_level())
        KeyImages(self._context, self.pane)
        attach_menu(view, lambda _at: None if self._source is None else self.make_menu())
        self._loading_timer = one_shot(self, self._show_loading, SHOW_AFTER_MS)
        state.on_change(Change.QUERY, self, self._refresh)
        state.on_change(Change.CASES, self, self._cases_changed)
        self._drop.file_dropped.connect(self.search_with_file)
        self._drop.case_dropped.connect(partial(search_operations.submit_case, self._context))
        theme_signals.changed.connect(self._fit_labels)

    # For the window

    def set_plain(self, plain: bool) -> None:
        """Show the image and its facts only, without histogram."""
        self.pane.set_histogram_shown(not plain)
        self.tools.set_plain(plain)
        self.tools.menu_filler = self._fill_menu if plain else None
        self._is_plain = plain
        self._show_header_buttons()

    def _show_header_buttons(self) -> None:
        """The buttons of the header. Few are wanted in Read: the menu of the tools has both there."""
        self.full_size.setVisible(self._loaded is not None and not self._is_plain)
        self.more.setVisible(self._source is not None and not self._is_plain)

    def show_place_marks(self, marks: PlaceMarks) -> None:
        """Draw the places of a reason on the image: those of a volume on the slice that was compared."""
        region = self._state.query.region if self._state.query is not None else None
        if region is not None:
            # Its frame is the region, which is drawn already.
            marks = replace(marks, frames=marks.frames[1:], slice=region.middle_slice)
        elif self.pane.place is not None:
            region = self.pane.case_region
            middle = len(self.pane.slices) // 2 if region is None else region.middle_slice
            marks = replace(marks, slice=middle)
        self.pane.show_place_marks(marks if self.shows_query else NO_PLACE_MARKS)

    def set_tool(self, name: str) -> None:
        """One of :data:`semblance.app.viewer.tools.ALL`; the image gets the keyboard."""
        self._region.set_tool(name)

    def focus_target(self) -> QWidget:
        """What gets the focus when the panel gets it: the image, or the notice in its place."""
        return self.view if self._loaded is not None else self.notice.findChild(QPushButton) or self.notice

    @property
    def shows_query(self) -> bool:
        """Whether the image of the current query is shown, not still loading."""
        return self._loaded is not None and self._job is None and not self._failed

    def choose_image(self) -> None:
        """Let the user select a file to search with."""
        if file := choose_file(self, tr("Search with an image"), search_operations.FILE_FILTER):
            self.search_with_file(file)

    def search_with_file(self, path: Path) -> None:
        """Search with an image from outside the library."""
        search_operations.submit_query(self._context, Query(image=path))

    # Following the query

    def _refresh(self) -> None:
        query = self._state.query
        if query is None:
            self._start(None)
            self._show_nothing()
            return
        source = QuerySource.of(self._state.location, query)
        if source == self._source:
            self._region.follow()
            return
        self._start(source)
        if query.image is not None:
            self._load(view_images.view_file, query.image)
            return
        index = self._state.columns.index_of_id(query.case)
        if index < 0 or self._state.location is None:
            self._fail(
                SemblanceError(
                    tr("{name} is not in this library.", name=source.name), tr("Choose another case.")
                )
            )
        elif self._state.columns.state[index] == ImageAvailability.NO_IMAGE:
            self._show_table_row()
        else:
            self._load(view_images.view_case, self._state.location, int(self._state.columns.case_row[index]))

    def _load(self, function: Callable[..., ViewedImage], *args: object) -> None:
        try:
            job = self._context.jobs.run(
                tr("Opening the image"), function, *args, pool=WorkerPool.READ, channel="view", quiet=True
            )
        except SemblanceError as error:
            self._fail(error)
            return
        self._job = job
        self._loading_timer.start()

        def clear_job() -> None:
            if self._job is job:
                self._job = None

        job.done.connect(self._show_image)
        job.failed.connect(self._fail)
        job.ended.connect(clear_job)

    def _start(self, source: QuerySource | None) -> None:
        """Cancel loading the previous image. It stays visible until the next one is loaded."""
        before = self._source
        if before is not None and before.image is not None and self.shows_query:
            # Only the icons of queries that can be returned to are needed again.
            past = {entry.search.query.image for entry in self._state.history.entries}
            self._file_icons = {path: drawn for path, drawn in self._file_icons.items() if path in past}
            self._file_icons[before.image] = QIcon(self.view.grab())
        self._source, self._failed = source, False
        self.view.editable = False
        self._loading_timer.stop()
        if self._job is not None:
            job, self._job = self._job, None
            job.cancel()

    def _show_image(self, viewed: ViewedImage) -> None:
        query = self._state.query
        if query is None:
            return
        self._loading_timer.stop()
        self._loaded = viewed
        image = viewed.image
        self.view.editable = True
        what = viewed.case.row if viewed.case is not None else ImageAddress(query.image or Path())
        self.pane.show_viewed(viewed, self._state.location, what, inside(query.region, image))
        self.pane.go_to_slice_of(query.region)
        self.pane.name_image(self._source.name if self._source else "")
        self._show_page(self.pane)
        self._region.follow()
        self.image_shown.emit()

    def _show_nothing(self) -> None:
        self._loaded = None
        self.notice.show_no_query(self.choose_image)
        self._show_page(self.notice)

    def _show_loading(self) -> None:
        self._loaded = None
        self.notice.show_loading()
        self._show_page(self.notice)

    def _show_table_row(self) -> None:
        self._loaded = None
        self.notice.show_table_row()
        self._show_page(self.notice)

    def _fail(self, error: SemblanceError) -> None:
        self._loading_timer.stop()
        self._loaded, self._failed = None, True
        self.notice.show_image_error(error, self._retry)
        self._show_page(self.notice)

    def _retry(self) -> None:
        self._source = None
        self._refresh()

    def _show_page(self, page: QWidget) -> None:
        """Show the image or the notice, and the controls that belong to it."""
        if self._loaded is None:
            self.pane.show_nothing()
        self._pages.setCurrentWidget(page)
        self.setFocusProxy(self.focus_target())
        has_query = self._source is not None
        self.header.set_subtitle(self._source.label(self._state.columns) if self._source else "")
        self._outside.setVisible(has_query and self._source is not None and self._source.case is None)
        self._show_header_buttons()
        self.history.setVisible(has_query)
        self.history.setEnabled(len(self._state.history.entries) > 1)
        self.tools.setVisible(has_query)
        self._search_with_row.setVisible(self._loaded is not None)
        self.tools.setEnabled(self._loaded is not None)
        self.tools.auto.setVisible(self._loaded is None or not self._loaded.image.is_colour)
        self._refresh_facts()
        self._fit_facts()
        self._update_window_level()

    # Region

    def _show_region(self) -> None:
        drawn, loaded = self.view.region, self._loaded
        case_region = loaded.region if loaded is not None else None
        self.facts.show_region(drawn.region, case_region, in_use=drawn.in_use, has_query=loaded is not None)
        text = region_text(drawn.region, case_region, in_use=drawn.in_use)
        self.view.setAccessibleDescription(tr("Region: {region}", region=text) if loaded is not None else "")

    def _update_window_level(self) -> None:
        image, window, values = self.view.image, self.view.window_level, self.view.window_values
        if image is None or window is None or values is None:
            self._state.set_window_level(None)
            return
        bits = 8 * image.levels[0].dtype.itemsize
        negative = self.view.inverted != image.inverse
        self._state.set_window_level(WindowLevel(*values, image.unit, bits, negative, window.curve))

    # Facts

    def _cases_changed(self) -> None:
        if self._failed:
            self._retry()
        else:
            self._refresh_facts()

    def _refresh_facts(self) -> None:
        source = self._source
        self.facts.show_case(
            self._state.columns, source.case if source else None, has_query=source is not None
        )
        library = self._state.library
        self.facts.show_lesion(
            self._state.columns, source.case if source else None, library.lesions if library else {}
        )
        self.facts.show_image(self._loaded.image if self._loaded else None)
        self._region.update_controls()

    def _fit_labels(self) -> None:
        self._search_label.setFixedWidth(theme().px(NAMES))

    def _fit_facts(self) -> None:
        self.facts.setVisible(self._source is not None and self.height() >= theme().px(FACTS_MIN_HEIGHT))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_facts()

    # Menu

    def make_menu(self) -> QMenu:
        """The menu of the image; it deletes itself when it closes."""
        menu = image_menu(self.view, self._context, self, self.pane, self.header_requested.emit)
        source = self._source
        if source is not None and not source.case:
            if self._loaded is not None:
                full_size = self._context.actions.menu_text(tr("View full size"), "view_large")
                menu.addAction(full_size, self.full_size_requested.emit)
            menu.addAction(tr("Copy file name"), lambda: QGuiApplication.clipboard().setText(source.name))
        help_text = self._context.actions.menu_text(tr("Help for this panel"), "help")
        menu.addAction(help_text, self.help_requested.emit)
        return menu

    def make_history_menu(self) -> QMenu:
        """The last queries, the newest first; the present one cannot be chosen."""
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setStyleSheet(f"QMenu {{ icon-size: {theme().px(_HISTORY_ICON)}px }}")
        history, columns = self._state.history, self._state.columns
        for place in reversed(range(len(history.entries))[-MOST_LISTED:]):
            query = history.entries[place].search.query
            name = QuerySource.of(self._state.location, query).label(columns)
            if query.region is not None and not query.slices:
                name = tr("{image}, region", image=name)
            action = menu.addAction(self._icon_of(query), visible(name).replace("&", "&&"))
            if place == history.place:
                action.setEnabled(False)
            action.triggered.connect(partial(search_operations.submit_past_query, self._context, place))
        return menu

    def _icon_of(self, query: Query) -> QIcon:
        if query.image is not None:
            return self._file_icons.get(query.image, icon("image"))
        row = self._state.columns.row_of_id(query.case)
        if row < 0 or self._thumbnails is None:
            return icon("image")
        image = self._thumbnails.get(row)
        return icon("image") if image is None else QIcon(QPixmap.fromImage(image))

    def _fill_menu(self, menu: QMenu) -> None:
        """Add the menu of the image to ``menu``."""
        if self._source is not None:
            image = self.make_menu()
            image.setParent(menu)
            menu.addActions(image.actions())

    def _open_menu(self, at: QPoint) -> None:
        if self._source is not None:
            self.make_menu().popup(at)


class _Header(PanelHeader):
    """Emits ``double_clicked`` instead of floating the dock. Dragging floats it too."""

    double_clicked = Signal()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.double_clicked.emit()
        event.accept()
