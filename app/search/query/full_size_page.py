"""The full-size view: one case in the whole window, with its slices, its planes and the region tools."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QLabel,
    QMenu,
    QPushButton,
    QStackedWidget,
    QWidget,
)

from semblance.app.search.feedback.mark_cards import FeedbackButtons
from semblance.app.search.query.query_facts import QueryFacts, QueryNotice
from semblance.app.search.query.region_search import RegionSearch, SearchChoice
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import SHOW_AFTER_MS, Job, WorkerPool
from semblance.app.shell.query_source import QuerySource, inside
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.key_images import KeyImages
from semblance.app.viewer.localizer import LocalizerView
from semblance.app.viewer.plane_views import PlaneViews
from semblance.app.viewer.slice_strip import SliceStrip
from semblance.app.viewer.slices import RATE, RATES
from semblance.app.viewer.tool_row import ToolRow
from semblance.app.widgets.buttons import KeyTip
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import EDGE, HLine, fill, hbox, vbox
from semblance.app.widgets.menus import attach_menu
from semblance.app.widgets.panel import FullPage
from semblance.app.widgets.place_marks import NO_PLACE_MARKS, PlaceMarks
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Box
from semblance.core.language import tr
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage

_SIDE = 296
_RATE = "cine_rate"


class FullSizePage(FullPage):
    """``closed`` when the user goes back; ``header_requested``: show the file header."""

    header_requested = Signal()
    judged = Signal(int, int)

    def __init__(self, context: Context) -> None:
        back = (tr("Back"), tr("Back to where you were (Esc)"))
        super().__init__(tr("Full-size image"), tr("Image"), back)
        self._context, self._state = context, context.state
        self._source: QuerySource | None = None
        self._loaded: ViewedImage | None = None
        self._job: Job | None = None
        self.three_planes = QPushButton(tr("Three planes"))
        self.three_planes.setIcon(icon("planes"))
        self.three_planes.setCheckable(True)
        self.three_planes.setToolTip(tr("Show the two planes across the slices too, linked by a cross (X)"))
        self.file_header = QPushButton(tr("File header"))
        self.file_header.setIcon(icon("table"))
        KeyTip(self.file_header, tr("Every entry of the file's header"), context.actions, "header")
        self.feedback = FeedbackButtons(context)
        self.feedback.judged.connect(self.judged)
        for widget in (self.feedback, self.three_planes, self.file_header):
            self.header.add_action(widget)
        self.more = self.header.add_button("more", tr("More for this image"))
        self.add_detach_button()

        self.pane = ImagePane(
            context.jobs,
            settings=context.settings,
            last_views=context.state.last_views,
            figures=context.figures,
        )
        self.view = self.pane.view
        self.strip = SliceStrip(context.jobs)
        self.localizer = LocalizerView(context.jobs, self.pane)
        self.planes = PlaneViews(context.jobs, self.pane)
        self.tools = ToolRow()
        self.search_with = SearchChoice()
        self.search = QPushButton(tr("Search with this"))
        self.search.setIcon(icon("search"))
        self.facts = QueryFacts()
        self.hint = WrappedLabel(role="second")
        self.place_hint = WrappedLabel(role="second")
        self.place_hint.hide()
        self.notice = QueryNotice()
        self._loading_timer = one_shot(self, self._show_loading, SHOW_AFTER_MS)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        self._label = QLabel(tr("Search with"))
        set_look(self._label, role="second")
        self._side = QWidget()
        side = vbox(self._side, spacing=8, margins=(12, 8, 12, 8))
        side.addWidget(self.facts)
        self._separator = HLine()
        side.addWidget(self._separator)
        side.addWidget(self._label)
        for widget in (self.search_with, self.search, self.hint, self.place_hint):
            side.addWidget(widget)
        side.addStretch(1)

        middle = vbox(spacing=8, margins=(EDGE, 5, EDGE, 8))
        middle.addWidget(self.tools)
        self._images = QWidget()
        fill(hbox(self._images, spacing=8), (self.pane, 3), (self.planes, 2))
        self._pages = QStackedWidget()
        self._pages.addWidget(self._images)
        self._pages.addWidget(self.notice)
        middle.addWidget(self._pages, 1)

        row = hbox()
        slices = fill(vbox(), self.localizer, (self.strip, 1))
        fill(row, slices, (middle, 1), self._side)
        fill(vbox(self), self.header, (row, 1))
        self._fit()

    def _connect(self) -> None:
        view, pane, strip = self.view, self.pane, self.strip
        self._region = RegionSearch(self._context, pane, self.tools, self.search_with)
        self._region.region_changed.connect(self._show_region)
        self.file_header.clicked.connect(self.header_requested)
        self.three_planes.toggled.connect(self.planes.set_shown)
        self.search.clicked.connect(self._search)
        self.more.clicked.connect(
            lambda: self._open_menu(self.more.mapToGlobal(QPoint(0, self.more.height())))
        )
        for one in (view, *self.planes.views.values()):
            attach_menu(one, partial(self._menu_of, one))
        KeyImages(self._context, pane).changed.connect(strip.show_key_images)
        view.window_changed.connect(lambda _: self._show_window_level())
        view.inverted_changed.connect(lambda _: self._show_window_level())
        for chooser in (strip, self.localizer):
            chooser.slice_requested.connect(pane.slices.go_to_slice)
        strip.scrolled.connect(pane.slices.step)
        pane.slices.moved.connect(strip.show_place)
        pane.bar.rate_changed.connect(lambda rate: self._context.settings.set_text(_RATE, str(rate)))
        self._state.on_change(Change.QUERY, self, self._follow_query)
        self._state.on_change(Change.CASES, self, self._show_case)
        self._state.on_change(Change.METRIC, self, self._show_region)
        self._state.on_change(Change.RANKING, self, self._show_place)
        self._state.on_other_source(self, lambda: self._source, self._follow_source)
        theme_signals.changed.connect(self._fit)

    def _fit(self) -> None:
        self._side.setFixedWidth(min(theme().px(_SIDE), max(1, self.width() * 30 // 100)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # What is shown

    @property
    def source(self) -> QuerySource | None:
        """The case or file that is shown."""
        return self._source

    @property
    def shows_source(self) -> bool:
        """Whether its image is shown, not still loading."""
        return self._loaded is not None

    def show_source(self, source: QuerySource) -> None:
        """Show a case of the open library, or a file."""
        self._cancel_job()
        self._source, self._loaded = source, None
        self.view.editable = False
        self._show_nothing()
        self._loading_timer.start()
        row = self._state.columns.row_of_id(source.case)
        try:
            if source.image is not None:
                job = self._run(view_images.view_file, source.image)
            elif row >= 0 and self._state.location is not None:
                job = self._run(view_images.view_case, self._state.location, row)
            else:
                self._fail(
                    SemblanceError(
                        tr("{name} is not in this library.", name=source.name), tr("Choose another case.")
                    )
                )
                return
        except SemblanceError as error:
            self._fail(error)
            return
        self._job = job
        job.done.connect(self._show)
        job.failed.connect(self._fail)
        job.ended.connect(lambda: self._clear_job(job))

    def _follow_source(self, source: QuerySource | None) -> None:
        """Show another query in place of the one before."""
        if source is None:
            self.closed.emit()
        else:
            self.show_source(source)

    def _run(self, function: object, *args: object) -> Job:
        assert callable(function)
        return self._context.jobs.run(
            tr("Opening the image"), function, *args, pool=WorkerPool.READ, channel="full size", quiet=True
        )

    def leave(self) -> None:
        """Stop showing the image and free the memory of slices and planes."""
        self._cancel_job()
        self._source = self._loaded = None
        self.planes.end()
        self._show_nothing()

    def _cancel_job(self) -> None:
        self._loading_timer.stop()
        if self._job is not None:
            job, self._job = self._job, None
            job.cancel()

    def _clear_job(self, job: Job) -> None:
        if self._job is job:
            self._job = None

    def _show(self, viewed: ViewedImage) -> None:
        source = self._source
        if source is None:
            return
        self._loading_timer.stop()
        self._loaded = viewed
        self._pages.setCurrentWidget(self._images)
        self.view.editable = True
        query = self._state.query
        region = query.region if query is not None and self._is_query() else None
        address = viewed.case.row if viewed.case is not None else ImageAddress(source.image or Path())
        self.pane.show_viewed(viewed, self._state.location, address, inside(region, viewed.image))
        self.pane.go_to_slice_of(region)
        if (place := self._place) is not None:
            self.pane.go_to_slice(place.number)
        self.strip.begin(viewed.stack, *self.pane.source, viewed.image)
        self.strip.show_place(self.pane.slices.place)
        self.localizer.begin(self._state.location, self._study())
        self._show_window_level()
        self.planes.begin(viewed.stack)
        image = viewed.image
        self.pane.name_image(source.name)
        volume = viewed.stack is not None and viewed.stack.slices > 1 and not image.is_colour
        self.three_planes.setVisible(volume)
        try:
            rate = int(self._context.settings.text(_RATE, str(RATE)))
        except ValueError:
            rate = RATE
        self.pane.bar.set_rate(rate if rate in RATES else RATE)
        self._show_case()
        self._follow_query()
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _study(self) -> list[int]:
        """The catalogue rows of the other cases of the study of the case."""
        columns, source = self._state.columns, self._source
        index = -1 if source is None else columns.index_of_id(source.case)
        studies = columns.headers.codes["study"]
        if index < 0 or not studies[index]:
            return []
        found = (studies == studies[index]) & (columns.patient == columns.patient[index])
        return [int(row) for row in columns.case_row[found] if row != columns.case_row[index]]

    def _show_nothing(self) -> None:
        self._pages.setCurrentWidget(self._images)
        self.pane.show_nothing()
        self.strip.begin(None, None, 0, None)
        self.localizer.begin()
        self.planes.begin(None)
        self.three_planes.setVisible(False)
        self._show_case()

    def _show_loading(self) -> None:
        self.notice.show_loading()
        self._pages.setCurrentWidget(self.notice)

    def _fail(self, error: SemblanceError) -> None:
        self._loading_timer.stop()
        self._loaded = None
        self._show_nothing()
        self.notice.show_image_error(error, self._retry)
        self._pages.setCurrentWidget(self.notice)

    def _retry(self) -> None:
        if self._source is not None:
            self.show_source(self._source)

    # Facts and hints

    def _is_query(self) -> bool:
        return self._source is not None and self._source == self._state.source

    def _follow_query(self) -> None:
        """If the image is that of the query, regions are searched with at once."""
        self._region.is_query = self._is_query()
        self._region.follow()
        self._show_region()
        self._show_place()

    @property
    def _place(self) -> MatchedPlace | None:
        """Where the present search by place found its query in this image."""
        source, ranking = self._source, self._state.ranking
        if source is None or source.case is None or ranking is None:
            return None
        return next((one.place for one in ranking.ranked if one.case_id == source.case), None)

    def _show_place(self) -> None:
        """Draw the matched place, and say how to zoom to it."""
        place = self._place if self._loaded is not None else None
        self.pane.show_place_marks(
            NO_PLACE_MARKS if place is None else PlaceMarks((place.box,), slice=place.number)
        )
        self.place_hint.setVisible(self._zoomed_box() is not None)
        self.place_hint.setText(
            tr("Z zooms to the region") if place is None else tr("Z zooms to the matched place")
        )

    def _zoomed_box(self) -> Box | None:
        """The matched place or, in the image of the query, its region."""
        if self._loaded is None:
            return None
        place, region = self._place, self.view.region.region
        return place.box if place is not None else None if region is None else region.box

    def zoom_to_place(self) -> None:
        """Zoom to the matched place or the region, or show the whole image again."""
        box, place = self._zoomed_box(), self._place
        if box is None:
            return
        if self.view.viewport.fitted:
            if place is not None:
                self.pane.go_to_slice(place.number)
            self.view.set_view(self.view.viewport.around(box))
        else:
            self.view.fit()

    def _show_region(self) -> None:
        loaded, drawn = self._loaded, self.view.region
        case_region = loaded.region if loaded is not None else None
        self.facts.show_region(drawn.region, case_region, in_use=drawn.in_use, has_query=loaded is not None)
        is_query = self._region.is_query
        self.search.setVisible(loaded is not None and not is_query)
        self.search.setEnabled(self._state.metric is not None)
        for widget in (self._label, self.search_with, self._separator, self.hint):
            widget.setVisible(loaded is not None)
        if loaded is not None:
            self.place_hint.setVisible(self._zoomed_box() is not None)
            no_metric = tr("There is no metric yet. Train one to search with this image.")
            follows = tr("The similar cases update while you draw.") if is_query else ""
            self.hint.setText(no_metric if self._state.metric is None else follows)

    def _show_case(self) -> None:
        source, loaded = self._source, self._loaded
        self.feedback.show_case(source.case if source is not None else None)
        self.header.set_subtitle(source.label(self._state.columns) if source is not None else "")
        self.facts.show_case(
            self._state.columns, source.case if source else None, has_query=source is not None
        )
        library = self._state.library
        self.facts.show_lesion(
            self._state.columns, source.case if source else None, library.lesions if library else {}
        )
        self.facts.show_image(loaded.image if loaded is not None else None)
        self.tools.setEnabled(loaded is not None)
        self.tools.auto.setVisible(loaded is None or not loaded.image.is_colour)
        self.file_header.setEnabled(loaded is not None)
        self._region.update_controls()

    def _show_window_level(self) -> None:
        if self.view.image is not None:
            self.strip.show_window_level(self.view.image, self.view.window_level, inverted=self.view.inverted)

    # Actions

    def _search(self) -> None:
        if self._source is not None:
            query = Query(self._source.case, self._source.image, self._region.chosen_region)
            search_operations.submit_query(self._context, query, match=self._region.match)

    def make_menu(self, view: ImageView | None = None) -> QMenu:
        """The menu of the image, or of the plane in ``view``; it deletes itself when it closes."""
        return image_menu(view or self.view, self._context, self, self.pane, self.header_requested.emit)

    def _menu_of(self, view: ImageView, _at: QPoint) -> QMenu | None:
        return None if self._loaded is None else self.make_menu(view)

    def _open_menu(self, at: QPoint) -> None:
        if self._loaded is not None:
            self.make_menu().popup(at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.feedback.handle_key(event):
            return
        if event.key() == Qt.Key.Key_X and self.three_planes.isVisible():
            self.three_planes.toggle()
        elif event.key() == Qt.Key.Key_Z and not event.modifiers():
            self.zoom_to_place()
        else:
            super().keyPressEvent(event)
