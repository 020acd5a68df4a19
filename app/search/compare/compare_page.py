"""The Compare page: the query beside a ranked case, with linked views and the facts of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QMenu, QPushButton, QScrollArea, QWidget

from semblance.app.search.case.case_notes import CaseNotes
from semblance.app.search.compare.compare_facts import WIDTH as FACTS
from semblance.app.search.compare.compare_facts import CompareFacts
from semblance.app.search.compare.compare_header import CompareHeader
from semblance.app.search.compare.feature_table import FeatureTable
from semblance.app.search.compare.second_image import SecondImageButtons
from semblance.app.search.feedback.feedback_buttons import FeedbackButtons
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.linked_panes import LinkedPanes
from semblance.app.viewer.query_source import inside
from semblance.app.viewer.tools import RECTANGLE, RULER, SELECT
from semblance.app.widgets.cards.case_grid import NONE, CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.full_page import FullPage
from semblance.app.widgets.image_header import side_by_side
from semblance.app.widgets.key_tip import KeyTip
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel_header import header_button
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.language import tr, tr_n
from semblance.core.library.case_columns import ImageState
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage
from semblance.core.workflows.searches.compare_features import ComparedFeature, compare_features
from semblance.core.workflows.searches.search_result import RankedCase

LINKED = tr("Zoom, pan, window linked")
#: Below this width the button has no label.
LABEL_WIDTH = 1000
NOTES_HEIGHT = 88
#: Visible cases where they are rows of a table.
TABLE_LINES = 4


class ComparePage(FullPage):
    """Follows the query and its ranking. ``closed``: the user goes back to the ranking; ``case_changed``: another case
    is compared; ``detached(on)``: the page is to be in a window of its own, or in the main window again."""

    menu_requested = Signal(int, QPoint)
    judged = Signal(int, int)
    case_changed = Signal()
    detached = Signal(bool)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Compare"))
        self._context, self._state = context, context.state
        self._ranked: list[RankedCase] = []
        self._place = 0
        self._viewed: list[ViewedImage | None] = [None, None]
        self._jobs: list[Job | None] = [None, None]
        #: The query whose image is shown.
        self._shown_query: Query | None = None
        self.previous = header_button("chevron-left", tr("Previous case (Left)"))
        self.next = header_button("chevron-right", tr("Next case (Right)"))
        self.linked = QPushButton(LINKED)
        self.linked.setAccessibleName(LINKED)
        self.linked.setIcon(icon("compare"))
        self.linked.setCheckable(True)
        self.linked.setChecked(True)
        self.linked.setToolTip(
            tr(
                "Link zoom, position, window and slices of both images (K). Slices are linked by their position in the "
                "patient, else in mm from those side by side now."
            )
        )
        self.in_report = header_button("export", tr("Show this case on the first page of the report (A)"))
        self.in_report.setCheckable(True)
        self.measure = header_button("ruler", tr("Measure: drag a line (M)"))
        self.measure.setCheckable(True)
        self.draw = header_button("rectangle", tr("Draw a region on the ranked case to search with it (R)"))
        self.draw.setCheckable(True)
        self.search_region = QPushButton(tr("Search with this region"))
        self.search_region.setIcon(icon("search"))
        KeyTip(
            self.search_region,
            tr("The region drawn on the ranked case becomes the query"),
            context.actions,
            "ask_case",
        )
        self.search_region.hide()
        self.feedback = FeedbackButtons(context)
        self.detach = header_button("pop-out", "")
        self.detach.setCheckable(True)
        self.detach.toggled.connect(self._update_detach)
        self.detach.clicked.connect(self.detached)
        self._update_detach()
        views = context.state.kept_views
        self.panes = (
            ImagePane(context.jobs, settings=context.settings, share=0.5, kept_views=views),
            ImagePane(context.jobs, settings=context.settings, share=0.5, kept_views=views),
        )
        self._links = LinkedPanes(self.panes, self.linked)
        self.second = SecondImageButtons(self, self.panes[0].view, self.panes[1].view)
        buttons = (self.search_region, self.in_report, self.feedback, self.previous, self.next)
        self._image_tools = (self.draw, self.measure, self.second.blink, self.second.difference, self.linked)
        for widget in (*buttons, *self._image_tools, self.detach):
            self.header.add_action(widget)
        self.headers = (CompareHeader(tr("Query")), CompareHeader(tr("Rank")))
        self.features = FeatureTable()
        self.features.hide()
        self.facts = CompareFacts()
        self.notes = CaseNotes(context.state, self.in_report)
        self.strip = CaseGrid()
        self.strip.set_source(thumbnails)
        # It is one line high; the wheel and the arrow keys go to the other lines.
        self.strip.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.strip.setAccessibleName(tr("Similar cases, nearest first"))
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        for pane in self.panes:
            pane.view.editable = False
            pane.view.leaves_arrows = True
        self._images = side_by_side(self.headers, self.panes)
        self._facts_area = QScrollArea()
        self._facts_area.setWidgetResizable(True)
        self._facts_area.setFrameShape(QFrame.Shape.NoFrame)
        self._facts_area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._facts_area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._facts_area.setWidget(self.facts)
        self._right = QWidget()
        right = vbox(self._right)
        right.addWidget(self._facts_area, 1)
        notes = vbox(spacing=4, margins=(12, 4, 12, 8))
        label = WrappedLabel(tr("Notes on this case"))
        set_look(label, role="second")
        notes.addWidget(label)
        notes.addWidget(self.notes)
        right.addLayout(notes)
        sides = hbox(spacing=1)
        compared = vbox()
        compared.addLayout(self._images, 1)
        compared.addWidget(self.features, 1)
        sides.addLayout(compared, 1)
        sides.addWidget(self._right)
        page = vbox(self)
        page.addWidget(self.header)
        page.addLayout(sides, 1)
        page.addWidget(self.strip)
        self._update_sizes()

    def _connect(self) -> None:
        self.previous.clicked.connect(lambda: self.step(-1))
        self.next.clicked.connect(lambda: self.step(1))
        self.linked.toggled.connect(lambda on: self._link() if on else None)
        self.measure.toggled.connect(self._measure)
        self.draw.toggled.connect(self._draw)
        self.feedback.judged.connect(self.judged)
        self.search_region.clicked.connect(self.search_with_region)
        self.panes[1].view.region.changed.connect(lambda _region: self._update_region())
        self.strip.current_changed.connect(self._show_row)
        self.strip.menu_requested.connect(self.menu_requested)
        for side, pane in enumerate(self.panes):
            pane.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            pane.view.customContextMenuRequested.connect(
                lambda at, side=side: self.make_menu(side).popup(self.panes[side].view.mapToGlobal(at))
            )
            pane.view.tool_changed.connect(lambda name: self.measure.setChecked(name == RULER))
        self.panes[1].view.tool_changed.connect(lambda name: self.draw.setChecked(name == RECTANGLE))
        query = self.panes[0]
        for changed in (query.view.window_changed, query.view.inverted_changed, query.slice_changed):
            changed.connect(lambda _: self.panes[1].view.update())
        self._state.on_change(Change.RANKING, self, self._follow_ranking)
        self._state.on_change(Change.LIBRARY, self, self.closed.emit)
        theme_signals.changed.connect(self._update_sizes)
        # The size of the cards is known once the strip has its width.
        self.strip.verticalScrollBar().rangeChanged.connect(self._update_sizes)

    def _update_sizes(self) -> None:
        """One row of cards of any size. The facts and the label use the width that the images leave. In a window that
        is higher than wide the images are above each other."""
        is_portrait = self.height() > self.width() and self.features.isHidden()
        self._images.setDirection(
            QBoxLayout.Direction.TopToBottom if is_portrait else QBoxLayout.Direction.LeftToRight
        )
        # Rows of a table have no images for cards.
        is_table = self._state.columns.is_table
        self.strip.set_rows(is_table)
        self.strip.setFixedHeight(self.strip.line_height * (TABLE_LINES if is_table else 1))
        self.linked.setText(LINKED if self.width() >= theme().px(LABEL_WIDTH) else "")
        self._right.setFixedWidth(min(theme().px(FACTS), self.width() * 36 // 100))
        self.notes.setFixedHeight(theme().px(NOTES_HEIGHT))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_sizes()

    def _update_detach(self) -> None:
        is_detached = self.detach.isChecked()
        self.detach.setIcon(icon("dock-in" if is_detached else "pop-out"))
        text = (
            tr("Compare in the main window again")
            if is_detached
            else tr("Compare in a window of its own, as for a second monitor")
        )
        self.detach.setToolTip(text)
        self.detach.setAccessibleName(text)

    # The cases compared

    def follow(self, case_row: int) -> None:
        """Show another ranked case, or the first one of another query."""
        if self._state.query != self._shown_query:
            self.compare(case_row)
        else:
            self.strip.set_current(case_row)

    def compare(self, case_row: int) -> None:
        """Show the query beside the ranked case ``case_row``."""
        self._refresh()
        self.strip.set_current(case_row)
        self._open_query()
        self._show_row(case_row)
        target = self.panes[1].view if self.features.isHidden() else self.features
        target.setFocus(Qt.FocusReason.OtherFocusReason)

    def _follow_ranking(self) -> None:
        ranking = self._state.ranking
        # In a window of its own the page stays when the query changes.
        if ranking is not None and ranking.ranked and ranking.query != self._shown_query and self.isVisible():
            self.compare(ranking.ranked[0].row)
        else:
            self._refresh()

    def step(self, steps: int) -> None:
        """Go forward by ``steps`` ranks, or back."""
        if self._ranked:
            place = min(max(self._place + steps, 0), len(self._ranked) - 1)
            self.strip.set_current(self._ranked[place].row)

    def current_case(self) -> str | None:
        """The id of the ranked case."""
        return self._ranked[self._place].case_id if self._ranked else None

    def current_row(self) -> int:
        """The catalogue row of the ranked case, -1 for none."""
        return self._ranked[self._place].row if self._ranked else NONE

    def _refresh(self) -> None:
        ranking, columns = self._state.ranking, self._state.columns
        shown = self._ranked[self._place].row if self._ranked else None
        ranked = [] if ranking is None else ranking.ranked
        self._ranked = [case for case in ranked if columns.index_of_row(case.row) >= 0]
        order = np.array([columns.index_of_row(case.row) for case in self._ranked], dtype=np.intp)
        distances = np.array([case.distance for case in self._ranked], dtype=np.float64)
        marks = self._state.marks
        judgements = {
            int(columns.case_row[index]): mark
            for mark, cases in ((1, marks.liked), (-1, marks.disliked))
            for case in cases
            if (index := columns.index_of_id(case)) >= 0
        }
        self.strip.set_model(CaseModel(columns, order, distances, judgements=judgements))
        if not self._ranked and self.isVisible():
            self.closed.emit()
        elif shown is not None and self.isVisible():
            self._store_case(shown)

    def _store_case(self, case_row: int) -> None:
        """Stay at the same case when marks have moved it. After "less like this", or if it is not ranked any more,
        go on to the case that has its rank now."""
        rows = [case.row for case in self._ranked]
        disliked = {self._state.columns.index_of_id(case) for case in self._state.marks.disliked}
        if case_row in rows and self._state.columns.index_of_row(case_row) not in disliked:
            self._place = rows.index(case_row)
        else:
            self._place = min(self._place, len(rows) - 1)
        self.strip.set_current(rows[self._place])
        if rows[self._place] == case_row:
            self._show_place()
            self._update_facts()
            if not self.features.isHidden():
                # They may be others, of another metric.
                self._open_case()

    def _show_row(self, case_row: int) -> None:
        place = next((p for p, case in enumerate(self._ranked) if case.row == case_row), None)
        if place is None or self._state.path is None:
            return
        self._place = place
        self._show_place()
        self._open_case()
        self.case_changed.emit()

    def _open_case(self) -> None:
        """Show the image of the ranked case, or the features of both if one of both is a row of a table."""
        assert self._state.path is not None
        case, query = self._ranked[self._place], self._state.query
        has_features = self._is_row(case.case_id) or (query is not None and self._is_row(query.case))
        self.features.setVisible(has_features)
        for widget in (*self.panes, *self._image_tools):
            widget.setVisible(not has_features)
        for tool in self._image_tools:
            tool.setEnabled(not has_features)
        self._update_sizes()
        if not has_features:
            self._open(1, view_images.view_case, self._state.path, case.row)
        elif self._state.ranked_search is not None:
            self._viewed[1] = None
            self._update_facts()
            search = self._state.ranked_search.search
            self._open(1, compare_features, self._state.path, search, case.case_id, lane=Lane.SEARCH)

    def _is_row(self, case: str | None) -> bool:
        """Whether the case ``case`` of the library is a row of a table."""
        columns = self._state.columns
        index = columns.index_of_id(case) if case is not None else -1
        return index >= 0 and bool(columns.state[index] == ImageState.NO_IMAGE)

    def _place_text(self, rank: int) -> str:
        """The rank of the case, and the marks of the order where distances do not grow with the rank."""
        ranking = self._state.ranking
        marks = 0 if ranking is None else len(ranking.marks)
        place = tr("query with rank {rank} of {n}", rank=rank, n=len(self._ranked))
        ordered = tr_n("ordered by {n} mark", "ordered by {n} marks", marks)
        return f"{place} · {ordered}" if marks else place

    def _show_place(self) -> None:
        """Show the rank, name and distance of the ranked case."""
        place = self._place
        case, columns = self._ranked[place], self._state.columns
        self.feedback.show_case(case.case_id)
        self.notes.show_case(case.case_id)
        self.header.set_subtitle(self._place_text(case.rank))
        self.previous.setEnabled(place > 0)
        self.next.setEnabled(place + 1 < len(self._ranked))
        index = columns.index_of_row(case.row)
        self.headers[1].show_case(
            tr("Rank {rank}", rank=case.rank),
            columns.name(index),
            columns.finding_name(index),
            int(columns.finding[index]),
            columns.letters.get(columns.finding_name(index) or "", "?"),
            tr("distance {distance}", distance=self.strip.model().distance_text(place)),
        )

    def _open_query(self) -> None:
        query, columns = self._state.query, self._state.columns
        self._shown_query = query
        if query is None or self._state.path is None:
            return
        index = columns.index_of_id(query.case) if query.case else -1
        finding = columns.finding_name(index) if index >= 0 else None
        name = columns.name(index) if index >= 0 else (query.image.name if query.image else "")
        code = int(columns.finding[index]) if index >= 0 else -1
        self.headers[0].show_case(
            tr("Query"), name, finding, code, columns.letters.get(finding or "", "?"), ""
        )
        self._viewed[0] = None
        if query.image is not None:
            self._open(0, view_images.view_file, query.image)
        elif index >= 0 and not self._is_row(query.case):
            self._open(0, view_images.view_case, self._state.path, int(columns.case_row[index]))

    def _open(
        self, side: int, function: Callable[..., object], *args: object, lane: Lane = Lane.READ
    ) -> None:
        before = self._jobs[side]
        if before is not None:
            before.cancel()
        self.headers[side].show_problem(None)
        try:
            job = self._context.jobs.run(
                tr("Opening the case"),
                function,
                *args,
                lane=lane,
                channel=f"compare{side}",
                quiet=True,
            )
        except SemblanceError as error:
            self._fail(side, error)
            return
        self._jobs[side] = job
        job.done.connect(lambda viewed: self._show(side, viewed))
        job.failed.connect(lambda error: self._fail(side, error))
        job.ended.connect(lambda: self._clear_job(side, job))

    def _clear_job(self, side: int, job: Job) -> None:
        if self._jobs[side] is job:
            self._jobs[side] = None

    def _show(self, side: int, viewed: ViewedImage | list[ComparedFeature]) -> None:
        if isinstance(viewed, list):
            self.features.show_features(viewed, tr("Rank {rank}", rank=self._ranked[self._place].rank))
            return
        pane = self.panes[side]
        self._viewed[side] = viewed
        image = viewed.image
        pane.view.setAccessibleName(
            tr(
                "Image of {name}, {width} by {height} pixels",
                name=self.headers[side].title,
                width=image.width,
                height=image.height,
            )
        )
        pane.view.editable = False
        if side == 1:
            self.draw.setChecked(False)
        query = self._state.query
        region = query.region if query is not None and side == 0 else None
        path = query.image if query is not None and query.image is not None else Path()
        address = viewed.case.row if viewed.case is not None else ImageAddress(path)
        with self._links.paused():
            pane.show_viewed(viewed, self._state.path, address, inside(region, viewed.image))
            pane.go_to_slice_of(region or viewed.region)
            pane.view.set_tool(RULER if self.measure.isChecked() else SELECT)
        if side == 1:
            self._links.share_view(0)
        self._links.link_slices()
        self._update_facts()

    def _link(self) -> None:
        """Link the views from now on, with the slices that are side by side."""
        self._links.share_view(0)
        self._links.link_slices()

    def _fail(self, side: int, error: SemblanceError) -> None:
        self._viewed[side] = None
        self.panes[side].show_nothing()
        self.features.show_features([], "")
        self.headers[side].show_problem(error)
        self._update_facts()

    def _update_facts(self) -> None:
        query = self._state.query
        if query is None or not self._ranked:
            return
        case = self._ranked[self._place]
        self.facts.show_facts(
            self._state.columns,
            (tr("Query"), tr("Rank {rank}", rank=case.rank)),
            (query.case, case.case_id),
            (self._viewed[0], self._viewed[1]),
        )

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.second.blink.setChecked(False)

    def _measure(self, on: bool) -> None:
        for pane in self.panes:
            if on or pane.view.tool == RULER:
                pane.view.set_tool(RULER if on else SELECT)

    # A region of the ranked case

    @property
    def drawn(self) -> Region | None:
        """The region drawn on the ranked case, with its slice."""
        pane = self.panes[1]
        return pane.on_shown_slice(pane.view.region.region) if pane.view.editable else None

    def search_with_region(self) -> None:
        """Search with the region drawn on the ranked case."""
        case, region = self.current_case(), self.drawn
        if case is not None and region is not None:
            self.closed.emit()
            search_operations.submit_query(self._context, Query(case=case, region=region))

    def make_menu(self, side: int) -> QMenu:
        """The menu of one of the images; it deletes itself when it closes."""
        menu = image_menu(self.panes[side].view, self._context, self)
        if side == 1:
            menu.addAction(tr("Draw region\tR"), self.draw.click).setEnabled(self._viewed[1] is not None)
            key = self._context.actions.key_text("ask_case")
            search = menu.addAction(f"{tr('Search with this region')}\t{key}", self.search_with_region)
            search.setEnabled(self.drawn is not None)
        return menu

    def _draw(self, on: bool) -> None:
        view = self.panes[1].view
        if on:
            view.editable = True
            view.set_tool(RECTANGLE)
            view.setFocus(Qt.FocusReason.OtherFocusReason)
        elif view.tool == RECTANGLE:
            view.set_tool(SELECT)
        self._update_region()

    def _update_region(self) -> None:
        self.search_region.setVisible(self.drawn is not None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        actions: dict[int, Callable[[], object]] = {
            Qt.Key.Key_K: self.linked.toggle,
            Qt.Key.Key_R: self.draw.click,
            Qt.Key.Key_O: self.second.blink.click,
            Qt.Key.Key_X: self.second.difference.click,
            Qt.Key.Key_A: self.in_report.click,
            Qt.Key.Key_Left: lambda: self.step(-1),
            Qt.Key.Key_Right: lambda: self.step(1),
            Qt.Key.Key_Comma: lambda: self.step(-1),
            Qt.Key.Key_Period: lambda: self.step(1),
        }
        if self.feedback.handle_key(event):
            return
        action = actions.get(event.key())
        if action is None:
            super().keyPressEvent(event)
        else:
            action()
