"""The Compare page: the query beside a ranked case, with linked views and the facts of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QMouseEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QMenu, QPushButton, QScrollArea, QWidget

from semblance.app.search.case_panel import CaseNotes, KeptNote
from semblance.app.search.compare.compared_pair import WIDTH as FACTS
from semblance.app.search.compare.compared_pair import ComparedPair, CompareFacts, FeatureTable, compared_pair
from semblance.app.search.compare.pair_reason import PairReason
from semblance.app.search.compare.same_level import SameLevel, VolumePair
from semblance.app.search.compare.second_image import SecondImageButtons
from semblance.app.search.feedback import mark_cards
from semblance.app.search.feedback.mark_cards import FeedbackButtons
from semblance.app.search.query.query_facts import region_size
from semblance.app.search.similar.card_images import RankingThumbnails
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import SHOW_AFTER_MS, Job, WorkerPool
from semblance.app.shell.query_source import inside
from semblance.app.shell.state import Change
from semblance.app.shell.theme import theme, theme_signals
from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.key_images import KeyImages
from semblance.app.viewer.linked_panes import LinkedPanes
from semblance.app.viewer.tool_row import MeasureButton
from semblance.app.viewer.tools import KINDS, RECTANGLE, SELECT
from semblance.app.widgets.buttons import KeyTip
from semblance.app.widgets.cards.card_layout import STRIP_CARDS
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_drag import CaseData, drag, is_drag
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.app.widgets.drop_target import DropTarget
from semblance.app.widgets.finding_chips import FindingChip
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox, vbox
from semblance.app.widgets.menus import attach_menu
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.app.widgets.panel import FullPage, ImageHeader, header_button, leave_keyboard, side_by_side
from semblance.app.widgets.place_marks import NO_PLACE_MARKS
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.language import tr, tr_n
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage
from semblance.core.workflows.searches.compare_cases import ComparedFeature, compare_features

LINKED = tr("Zoom, pan, window linked")
#: Below this width the button has no label.
LABEL_WIDTH = 1000
NOTES_HEIGHT = 88
#: The line below the images.
ACTS_HEIGHT = 44
#: Visible cases where they are rows of a table.
TABLE_LINES = 4


class ComparePage(FullPage):
    """Shows a :class:`ComparedPair` of the present ranking. ``closed``: the user goes back to the ranking;
    ``case_changed``: another case is compared."""

    menu_requested = Signal(int, QPoint)
    header_requested = Signal(object)
    judged = Signal(int, int)
    case_changed = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Compare"))
        self._context, self._state = context, context.state
        #: What is compared: all that is drawn comes from this one value.
        self._pair: ComparedPair | None = None
        self._viewed: list[ViewedImage | None] = [None, None]
        self._jobs: list[Job | None] = [None, None]
        self.previous = header_button("chevron-left", tr("Previous case (Left)"))
        self.next = header_button("chevron-right", tr("Next case (Right)"))
        self.linked = QPushButton(LINKED)
        self.linked.setAccessibleName(LINKED)
        self.linked.setIcon(icon("compare"))
        self.linked.setCheckable(True)
        self.linked.setChecked(True)
        self.linked.setToolTip(
            tr(
                "Link zoom, position, window and slices of both images (K). Same level, beside this button, says by "
                "what slices are linked."
            )
        )
        self.measure = MeasureButton()
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
        self.acts = CompareActs(context)
        self.feedback, self.in_report = self.acts.feedback, self.acts.in_report
        self.panes = (self._new_pane(), self._new_pane())
        for pane in self.panes:
            # Both images stay equally high where one is in colour, without a histogram.
            policy = pane.histogram.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            pane.histogram.setSizePolicy(policy)
        self._links = LinkedPanes(self.panes, self.linked)
        self.level = SameLevel(context, self.panes, self._links, self)
        self.second = SecondImageButtons(context, self.panes, self)
        buttons = (self.search_region, self.previous, self.next)
        self._image_tools = (self.draw, self.measure, self.second.blink, self.second.difference, self.linked)
        for widget in (*buttons, *self._image_tools, self.level.button):
            self.header.add_action(widget)
        self.add_detach_button()
        self.headers = (CompareHeader(tr("Query")), CompareHeader(tr("Rank")))
        self.features = FeatureTable()
        self.features.hide()
        #: What is searched with and how to see the places, below the query of a search by place.
        self.place_line = ElidedLabel(role="second")
        self._is_zoomed_to_places = False
        self.reason = PairReason(context)
        self.facts = CompareFacts()
        self.notes = CaseNotes(context.state, self.in_report)
        self.kept_note = KeptNote(context, self.notes, "compared note")
        self.strip = CaseGrid()
        self.strip.set_style(STRIP_CARDS)
        self.strip.set_source(thumbnails)
        self._thumbnails = RankingThumbnails(context, thumbnails, self)
        self._thumbnails.source_changed.connect(self.strip.set_source)
        # It is one line high; the wheel and the arrow keys go to the other lines.
        self.strip.hide_scroll_bar()
        self.strip.setAccessibleName(tr("Similar cases, nearest first"))
        self._drop = DropTarget(tr("Search with this"), self.panes[0])
        self._lay_out()
        self._connect()

    def _new_pane(self) -> ImagePane:
        context = self._context
        return ImagePane(
            context.jobs,
            settings=context.settings,
            share=0.5,
            last_views=context.state.last_views,
            figures=context.figures,
        )

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
        inner = QWidget()
        fill(vbox(inner), self.reason, self.facts, self.reason.details, STRETCH)
        self._facts_area.setWidget(inner)
        self._right = QWidget()
        right = vbox(self._right)
        right.addWidget(self._facts_area, 1)
        notes = vbox(spacing=4, margins=(12, 4, 12, 8))
        title = hbox(spacing=8)
        title.addWidget(ElidedLabel(tr("Notes on this case"), role="second"), 1)
        title.addWidget(self.kept_note.button)
        fill(notes, title, self.notes, self.kept_note)
        right.addLayout(notes)
        sides = hbox(spacing=1)
        compared = fill(vbox(), (self._images, 1), (self.features, 1))
        # Always as high, with a line for the query or without.
        below = fill(hbox(spacing=1), (self.place_line, 1), (self.acts, 1))
        compared.addLayout(below)
        sides.addLayout(compared, 1)
        sides.addWidget(self._right)
        fill(vbox(self), self.header, (sides, 1), self.strip)
        self.place_line.setContentsMargins(12, 0, 12, 0)
        self.place_line.setMinimumWidth(0)
        self._update_sizes()

    def _connect(self) -> None:
        self.previous.clicked.connect(lambda: self.step(-1))
        self.next.clicked.connect(lambda: self.step(1))
        self.linked.toggled.connect(lambda on: self._link() if on else None)
        self.reason.changed.connect(self._draw_places)
        self.measure.tool_requested.connect(self._measure)
        self.draw.toggled.connect(self._draw)
        self.feedback.judged.connect(self.judged)
        self.search_region.clicked.connect(self.search_with_region)
        self.headers[1].dragged.connect(self._drag_case)
        self._drop.case_dropped.connect(partial(search_operations.submit_case, self._context))
        self._drop.file_dropped.connect(
            lambda path: search_operations.submit_query(self._context, Query(image=path))
        )
        self.panes[1].view.region.changed.connect(lambda _region: self._update_region())
        self.strip.current_changed.connect(self._follow_strip)
        self.strip.menu_requested.connect(self.menu_requested)
        for side, pane in enumerate(self.panes):
            KeyImages(self._context, pane)
            attach_menu(pane.view, partial(self._menu_of, side))
            pane.view.pointed_at.connect(lambda at, side=side: self.reason.point(side, at))
            pane.view.tool_changed.connect(self._share_tool)
        self.panes[1].view.tool_changed.connect(lambda name: self.draw.setChecked(name == RECTANGLE))
        query = self.panes[0]
        for changed in (query.view.window_changed, query.view.inverted_changed, query.slice_changed):
            changed.connect(lambda _: self.panes[1].view.update())
        self._late_timer = one_shot(self, self._draw_case, SHOW_AFTER_MS)
        self._state.on_change(Change.RANKING | Change.CASES, self, self._follow_state)
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
        is_wide = self.width() >= theme().px(LABEL_WIDTH)
        self.linked.setText(LINKED if is_wide else "")
        self.level.set_text_shown(shown=is_wide)
        self._right.setFixedWidth(min(theme().px(FACTS), self.width() * 36 // 100))
        self.notes.setFixedHeight(min(theme().px(NOTES_HEIGHT), self.height() // 10))
        for one in (self.place_line, self.acts):
            one.setFixedHeight(theme().px(ACTS_HEIGHT))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_sizes()

    # The cases compared

    def follow(self, case_row: int) -> None:
        """Show another ranked case, in the order shown."""
        held = None if self._pair is None or self._pair.latest is None else self._pair.at(case_row)
        self._show_pair(held or self._pair_with(case_row))

    def compare(self, case_row: int) -> None:
        """Show the query beside the ranked case ``case_row``, in the order of the present ranking."""
        self._show_pair(self._pair_with(case_row))
        target = self.panes[1].view if self.features.isHidden() else self.features
        target.setFocus(Qt.FocusReason.OtherFocusReason)

    def _follow_strip(self, case_row: int) -> None:
        """The user chose a case below the images."""
        if not self.strip.is_replacing and case_row not in (NONE, self.current_row()):
            self.follow(case_row)

    def _drag_case(self) -> None:
        """Drag the compared case, onto the query or into another program."""
        if self._pair is not None:
            row = self._pair.case.row
            image = None if self.strip.source is None else self.strip.source.get(row)
            pixmap = None if image is None else QPixmap.fromImage(image)
            drag(self.headers[1], CaseData(row), pixmap, self.strip.source)

    def step(self, steps: int) -> None:
        """Go forward by ``steps`` ranks, or back."""
        if self._pair is not None:
            self._show_pair(self._pair.moved(steps))

    def current_case(self) -> str | None:
        """The id of the ranked case."""
        return None if self._pair is None else self._pair.case.case_id

    def current_row(self) -> int:
        """The catalogue row of the ranked case, -1 for none."""
        return NONE if self._pair is None else self._pair.case.row

    def row_after_leaving(self) -> int:
        """The catalogue row to go on with in the ranking, -1 for none: the ranked case, or the one that takes its place
        if it was marked as less alike. Such a case goes last, where nobody wants to follow it."""
        pair, now = self._pair, self._state.ranking
        if pair is None or now is None or pair.case.case_id not in pair.marks.disliked:
            return self.current_row()
        ranked = now.ranked
        return ranked[min(pair.place, len(ranked) - 1)].row if ranked else NONE

    def _pair_with(self, case_row: int) -> ComparedPair | None:
        """The query and the ranked case ``case_row``, or the nearest if that is not ranked; ``None`` without one."""
        state = self._state
        if state.location is None or state.ranked_search is None:
            return None
        return compared_pair(state.location, state.columns, state.ranked_search, case_row)

    def _follow_state(self) -> None:
        """Compare with the present ranking. Another query begins with its nearest case."""
        before = self._pair
        if not self.isVisible():
            self._show_pair(None)
            return
        same_query = before is not None and before.source == self._state.source
        pair = self._pair_with(before.case.row if same_query and before is not None else NONE)
        if pair is not None and before is not None and same_query:
            pair = pair.after(before)
        self._show_pair(pair)
        if pair is None and not self._state.awaits_ranking:
            self.closed.emit()

    def _show_pair(self, pair: ComparedPair | None) -> None:
        """Show this pair, or nothing. A header and its image change at once, when the image is there."""
        before, self._pair = self._pair, pair
        if pair is None:
            self._clear()
            return
        if (
            before is None
            or before.ranked_search is not pair.ranked_search
            or before.columns is not pair.columns
        ):
            self._thumbnails.show_slices(pair.found_slices)
            self.strip.set_model(pair.cards())
        elif before.latest is not pair.latest:
            self.strip.set_judgements(pair.judgements)
        self.acts.show_marks(pair)
        self.strip.set_current(pair.case.row)
        self.header.set_subtitle(self._rank_text(pair))
        self._show_place_line(pair)
        self.previous.setEnabled(pair.place > 0)
        self.next.setEnabled(pair.place + 1 < len(pair.ranked))
        if before is None or before.source != pair.source:
            self._clear_images()
        if before is None or (before.source, before.query.region) != (pair.source, pair.query.region):
            self._open_query(pair)
        if before is None or not before.shows_same_case(pair):
            self._open_case(pair)
        else:
            self._draw_case()
        has_images = self.features.isHidden()
        self.reason.show_pair(*((pair.ranked_search, pair.case) if has_images else (None, None)))
        if before is None or before.case.row != pair.case.row:
            self.case_changed.emit()

    def _clear(self) -> None:
        """Show neither a query nor a case."""
        for job in self._jobs:
            if job is not None:
                job.cancel()
        self._jobs = [None, None]
        self.strip.set_model(CaseModel(self._state.columns))
        self.header.set_subtitle("")
        self._show_place_line(None)
        self._clear_images()
        for header in self.headers:
            header.show_nothing()
        self.acts.show_marks(None)
        self.feedback.show_case(None)
        self.notes.show_case(None)
        self.kept_note.show_case(None)

    def _clear_images(self) -> None:
        self.level.begin(None)
        self._late_timer.stop()
        self._viewed = [None, None]
        for pane in self.panes:
            pane.show_nothing()
        self.features.show_features([], "")
        self.reason.show_pair(None, None)
        self.facts.clear()

    def _open_case(self, pair: ComparedPair) -> None:
        """Show the image of the ranked case, or the features of both if one of both is a row of a table."""
        has_features = pair.is_table_row(pair.case.case_id) or pair.is_table_row(pair.query.case)
        self.features.setVisible(has_features)
        for widget in (*self.panes, *self._image_tools):
            widget.setVisible(not has_features)
        for tool in self._image_tools:
            tool.setEnabled(not has_features)
        self._update_sizes()
        self._late_timer.start()
        if not has_features:
            self._open(1, view_images.view_case, pair.library, pair.case.row)
        else:
            search = pair.ranked_search.search
            self._open(1, compare_features, pair.library, search, pair.case.case_id, pool=WorkerPool.SEARCH)

    def _rank_text(self, pair: ComparedPair) -> str:
        """What is compared, the rank of the case, and the marks of the order."""
        marks = len(pair.ranked_search.result.marks)
        rank, n = pair.case.rank, len(pair.ranked)
        if pair.case.place is None:
            text = tr("query with rank {rank} of {n}", rank=rank, n=n)
        elif pair.query.region is None or pair.case.place.is_whole:
            text = tr("by place: {query}, rank {rank} of {n}", query=pair.query_name, rank=rank, n=n)
        else:
            text = tr(
                "by place: region of {query}, rank {rank} of {n}", query=pair.query_name, rank=rank, n=n
            )
        ordered = tr_n("ordered by {n} mark", "ordered by {n} marks", marks)
        return f"{text} · {ordered}" if marks else text

    # Matched places

    def _show_place_line(self, pair: ComparedPair | None) -> None:
        """Say what a search by place was made with, and how to see its places."""
        place = None if pair is None else pair.case.place
        is_shown = place is not None and not place.is_whole and self.features.isHidden()
        if pair is None or not is_shown:
            self.place_line.setText("")
            return
        zooms = tr("Z zooms both to the matched place")
        region = pair.query.region
        parts = [zooms] if region is None else [tr("Region {size}", size=region_size(region)), zooms]
        self.place_line.setText("   ".join(parts))

    def _draw_places(self) -> None:
        """Draw the places that match on both images, and what a search by place found in the case."""
        pair = self._pair
        if pair is None or not self.features.isHidden():
            return
        place = pair.case.place
        for side, pane in enumerate(self.panes):
            marks = self.reason.marks(side)
            if side == 1 and place is not None:
                frames = marks.frames[1:] if place.is_whole else (place.box, *marks.frames[1:])
                marks = replace(marks, frames=frames, slice=place.number)
            elif side == 0 and pair.query.region is not None:
                # The region is drawn already.
                marks = replace(marks, frames=marks.frames[1:], slice=pair.query.region.middle_slice)
            elif pane.place is not None:
                region = pane.case_region
                middle = None if region is None else region.middle_slice
                frames = marks.frames[1:] if place is not None and place.is_whole else marks.frames
                marks = replace(
                    marks, frames=frames, slice=len(pane.slices) // 2 if middle is None else middle
                )
            pane.show_place_marks(marks if self._viewed[side] is not None else NO_PLACE_MARKS)

    def zoom_to_places(self) -> None:
        """Zoom both images to the matched place, or show the whole images again."""
        pair = self._pair
        if pair is None or pair.case.place is None or not self.features.isHidden():
            return
        if self._is_zoomed_to_places and not self.panes[1].view.viewport.fitted:
            self._is_zoomed_to_places = False
            self._links.fit()
            return
        self._is_zoomed_to_places = True
        with self._links.paused():
            self.panes[0].go_to_slice_of(pair.query.region, always=True)
            self.panes[1].go_to_slice(pair.case.place.number)
        region = pair.query.region
        self._links.zoom_to((None if region is None else region.box, pair.case.place.box))

    def _draw_case(self) -> None:
        """Show the rank and the name of the ranked case, and the facts of both."""
        pair = self._pair
        if pair is None:
            return
        self._late_timer.stop()
        if self._jobs[1] is not None:
            # The image of this case is not there yet: that of the one before must not stay beside its header.
            self._viewed[1] = None
            self.panes[1].show_nothing()
            self.features.show_features([], "")
        self._draw_places()
        self.feedback.show_case(pair.case.case_id)
        self.notes.show_case(pair.case.case_id)
        self.kept_note.show_case(pair.case.case_id)
        self.headers[1].show_case(tr("Rank {rank}", rank=pair.case.rank), *pair.described(pair.case.case_id))
        for header, pane in zip(self.headers, self.panes, strict=True):
            pane.name_image(header.title)
        self.facts.show_facts(
            pair.columns,
            (tr("Query"), tr("Rank {rank}", rank=pair.case.rank)),
            (pair.query.case, pair.case.case_id),
            (self._viewed[0], self._viewed[1]),
        )

    def _open_query(self, pair: ComparedPair) -> None:
        query = pair.query
        self.headers[0].show_case(tr("Query"), *pair.described(query.case))
        if query.image is not None:
            self._open(0, view_images.view_file, query.image)
        elif pair.query_row >= 0 and not pair.is_table_row(query.case):
            self._open(0, view_images.view_case, pair.library, pair.query_row)

    def _open(
        self, side: int, function: Callable[..., object], *args: object, pool: WorkerPool = WorkerPool.READ
    ) -> None:
        before, self._jobs[side] = self._jobs[side], None
        if before is not None:
            before.cancel()
        self.headers[side].show_problem(None)
        try:
            job = self._context.jobs.run(
                tr("Opening the case"),
                function,
                *args,
                pool=pool,
                channel=f"compare{side}",
                quiet=True,
            )
        except SemblanceError as error:
            self._fail(side, error)
            return
        self._jobs[side] = job
        self._update_region()
        job.done.connect(lambda viewed: self._receive(side, job, viewed))
        job.failed.connect(lambda error: self._receive(side, job, error))

    def _receive(
        self, side: int, job: Job, found: ViewedImage | list[ComparedFeature] | SemblanceError
    ) -> None:
        """Show what was found, unless another image was requested since."""
        if self._jobs[side] is not job:
            return
        self._jobs[side] = None
        if isinstance(found, SemblanceError):
            self._fail(side, found)
        else:
            self._show(side, found)

    def _show(self, side: int, viewed: ViewedImage | list[ComparedFeature]) -> None:
        pair = self._pair
        if pair is None:
            return
        if isinstance(viewed, list):
            self._viewed[1] = None
            self.features.show_features(viewed, tr("Rank {rank}", rank=pair.case.rank))
            self._draw_case()
            return
        pane = self.panes[side]
        self._viewed[side] = viewed
        pane.view.editable = False
        if side == 1:
            self.draw.setChecked(False)
        region = pair.query.region if side == 0 else None
        address = viewed.case.row if viewed.case is not None else ImageAddress(pair.query.image or Path())
        with self._links.paused():
            pane.show_viewed(viewed, pair.library, address, inside(region, viewed.image))
            pane.go_to_slice_of(region or viewed.region)
            if side == 1 and pair.case.place is not None:
                pane.go_to_slice(pair.case.place.number)
            pane.view.set_tool(self.measure.name if self.measure.isChecked() else SELECT)
        if side == 1:
            self._links.forget_places()
            if self._is_zoomed_to_places and not self.panes[0].view.viewport.fitted:
                self._is_zoomed_to_places = False
                self.zoom_to_places()
            else:
                self._links.share_view(0)
        self._links.link_slices()
        self.level.begin(self._volume_pair(pair), moves=pair.case.place is None)
        self._draw_case()

    def _volume_pair(self, pair: ComparedPair) -> VolumePair | None:
        """The volumes that both images are slices of, once both are shown."""
        if any(one is None or one.stack is None for one in self._viewed):
            return None
        one, other = (pane.source[1] for pane in self.panes)
        return VolumePair(pair.library, one, other)

    def _link(self) -> None:
        """Link the views from now on, with the slices that are side by side."""
        self._links.share_view(0)
        self._links.link_slices()

    def _fail(self, side: int, error: SemblanceError) -> None:
        self._viewed[side] = None
        self.panes[side].show_nothing()
        if side == 1:
            self.features.show_features([], "")
        self._draw_case()
        self.headers[side].show_problem(error)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.second.blink.setChecked(False)

    def _measure(self, name: str) -> None:
        """Measure both images with the tool ``name``, or no longer if it is in use."""
        is_on = self.panes[1].view.tool == name
        for pane in self.panes:
            pane.view.set_tool(SELECT if is_on else name)

    def _share_tool(self, name: str) -> None:
        """A tool that a key chose measures both images, as the button says. A region is drawn on the ranked case."""
        self.measure.show_tool(name)
        tool = name if self.measure.isChecked() else SELECT
        for pane in self.panes:
            if pane.view.tool != tool and (tool != SELECT or pane.view.tool in KINDS):
                pane.view.set_tool(tool)

    # A region of the ranked case

    @property
    def drawn(self) -> Region | None:
        """The region drawn on the ranked case, with its slice; ``None`` while its image is loading."""
        pane = self.panes[1]
        is_shown = pane.view.editable and self._jobs[1] is None
        return pane.on_shown_slice(pane.view.region.region) if is_shown else None

    def search_with_region(self) -> None:
        """Search with the region drawn on the ranked case."""
        case, region = self.current_case(), self.drawn
        if case is not None and region is not None:
            self.closed.emit()
            search_operations.submit_query(self._context, Query(case=case, region=region))

    def make_menu(self, side: int) -> QMenu:
        """The menu of one of the images; it deletes itself when it closes."""
        pane = self.panes[side]
        menu = image_menu(pane.view, self._context, self, pane, lambda: self.header_requested.emit(pane))
        if side == 1:
            menu.addAction(tr("Draw region\tR"), self.draw.click).setEnabled(self._viewed[1] is not None)
            text = self._context.actions.menu_text(tr("Search with this region"), "ask_case")
            search = menu.addAction(text, self.search_with_region)
            search.setEnabled(self.drawn is not None)
        return menu

    def _link_by_hand(self) -> None:
        """The slices shown now belong together, and so does each place in both images."""
        self.level.link_shown_slices()
        self._links.is_by_hand = True

    def _menu_of(self, side: int, _at: QPoint) -> QMenu:
        return self.make_menu(side)

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
            Qt.Key.Key_L: self._link_by_hand,
            Qt.Key.Key_Z: self.zoom_to_places,
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


class CompareHeader(ImageHeader):
    """Title, name and finding of an image, or why there is no image. ``dragged``: by the mouse, which on the image
    changes its window."""

    dragged = Signal()

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._pressed_at: QPoint | None = None
        self._chip = FindingChip(-1, "?")
        self._row.insertWidget(self._row.indexOf(self._subtitle) + 1, self._chip)
        self.problem = ElidedLabel(role="second", mode=Qt.TextElideMode.ElideMiddle)
        self.add_action(self.problem)
        self.copy_details = CopyDetailsButton()
        self.add_action(self.copy_details)

    def show_case(self, title: str, name: str, finding: str | None, code: int, letter: str) -> None:
        self.set_title(title)
        self.set_subtitle(name)
        self._chip.set_finding(code, letter, finding or tr("not given"))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed_at = event.position().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed_at is not None and is_drag(self._pressed_at, event):
            self._pressed_at = None
            self.dragged.emit()

    def show_nothing(self) -> None:
        """Show no case."""
        self.show_problem(None)
        self.show_case("", "", "", -1, "")

    def show_problem(self, error: SemblanceError | None) -> None:
        """Show why there is no image."""
        self.problem.setText("" if error is None else str(error))
        self.copy_details.set_error(error)


class CompareActs(QWidget):
    """What is done with the compared case: the buttons + and -, into the report, and what the marks did."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._state, self._actions = context.state, context.actions
        self.feedback = FeedbackButtons(context, with_text=True)
        self.in_report = QPushButton()
        self.in_report.setCheckable(True)
        leave_keyboard(self.in_report)
        self.in_report.setToolTip(tr("Show this case on the first page of the report (A)"))
        self.in_report.toggled.connect(self._name_report)
        self.undo = header_button("undo", tr("Undo"))
        self.undo.clicked.connect(lambda: mark_cards.undo(context))
        #: What the marks will do to the order.
        self.text = ElidedLabel(role="second")
        row = hbox(self, spacing=8, margins=(12, 0, 12, 0))
        for widget in (self.feedback, self.in_report, self.undo):
            row.addWidget(widget)
        row.addWidget(self.text, 1)
        theme_signals.changed.connect(self._fit)
        self._name_report()
        self.show_marks(None)

    def show_marks(self, pair: ComparedPair | None) -> None:
        """Show the marks of the query, and how many cases they move once one leaves the page."""
        n = 0 if pair is None else len(pair.marks)
        self.text.set_short_text("")
        if pair is None:
            self.text.setText("")
        elif pair.latest is not None:
            moving = tr_n("{n} case moves", "{n} cases move", pair.moving)
            self.text.set_short_text(moving)
            if n:
                self.text.setText(tr("Marked. {cases}", cases=moving))
            else:
                self.text.setText(tr("No marks. {cases}", cases=moving))
        elif n:
            self.text.setText(tr_n("{n} mark", "{n} marks", n))
        else:
            self.text.setText(tr("No marks yet."))
        self.text.set_tip(tr("The similar cases are in the new order when you go back.") if n else "")
        self.undo.setEnabled(n > 0 and self._state.can_write)
        tip = self._actions.text_with_key(tr("Undo the last mark"), "undo_judgement")
        self.undo.setToolTip(self._state.why_not_written or (tip if n else tr("There is no mark to undo.")))

    def _name_report(self) -> None:
        text = tr("In the report") if self.in_report.isChecked() else tr("Add to report")
        self.in_report.setText(text)
        self._fit()

    def _fit(self) -> None:
        """As wide with both texts, and as high as the buttons beside it."""
        self.in_report.ensurePolished()
        metrics = self.in_report.fontMetrics()
        self.text.setMinimumWidth(
            metrics.horizontalAdvance(tr_n("{n} case moves", "{n} cases move", 999)) + 2
        )
        texts = (tr("In the report"), tr("Add to report"))
        self.in_report.setFixedSize(
            max(map(metrics.horizontalAdvance, texts)) + theme().px(24), theme().px(32)
        )
