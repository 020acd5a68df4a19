"""The region drawn on an image, and searching with it, in the Query panel and in the full-size view."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.query_source import inside
from semblance.app.shell.state import Change
from semblance.app.viewer import tools
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.tool_row import ToolRow
from semblance.app.widgets.buttons import Segmented
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.imaging.segmentation import NoOutline
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.searches.query import ALL_SLICES
from semblance.core.searches.search import BOTH, PLACE, WHOLE
from semblance.core.workflows.imaging import view_images

#: Without places the region is compared as an image of its own.
REGION = "region"
#: All of the slice that is shown of a volume, and all its slices.
SLICE, VOLUME = "slice", "volume"
#: A slice is searched with when it has been shown so long.
_SCROLLED_MS = 250
_TIPS = {
    SLICE: tr("Search with the slice shown. Each volume that is found opens on the slice most like it."),
    VOLUME: tr(
        "Search with all slices: each is compared with the slice most like it. Each volume that is found opens on the "
        "slice most like the one shown."
    ),
    PLACE: tr("Find this region inside other images. Every result shows where it was found."),
    BOTH: tr("Find this region inside other images, and prefer images that are alike as a whole."),
    REGION: tr(
        "Compare this region, cut out, with whole images. To find it inside them, measure places: Research > Metric > "
        "Measure places."
    ),
}


class SearchChoice(Segmented):
    """What a query with a region is compared by: its place in other images, the whole image, or both."""

    def __init__(self) -> None:
        super().__init__(((REGION, tr("region")), (WHOLE, tr("whole image"))))
        self.setAccessibleName(tr("Search with"))

    def offer(self, *, by_place: bool, has_own_region: bool, has_slices: bool = False) -> None:
        """Offer places where there are some, and of a volume the slice shown and all. ``has_own_region``: without a
        drawn region a case is compared by the one that it has in the library."""
        whole = tr("own region") if has_own_region else tr("whole image")
        tip = (
            tr("Compare by the region that this case has in the library.")
            if has_own_region
            else tr("Compare the whole images. The region is not used.")
        )
        first = [(PLACE, tr("place"))] if by_place else [(REGION, tr("region"))]
        last = [(BOTH, tr("both"))] if by_place else []
        if by_place and has_slices:
            first[:0] = [(SLICE, tr("slice")), (VOLUME, tr("volume"))]
        self.set_options((*first, (WHOLE, whole), *last), {**_TIPS, WHOLE: tip})


class RegionSearch(QObject):
    """Connects ``pane``, ``tools`` and ``choice`` to the query of the window.

    ``is_query``: the image is that of the query, so a region that is drawn is searched with at once.
    ``region_changed``: another region is drawn, or it is used or no longer used.
    """

    region_changed = Signal()

    def __init__(self, context: Context, pane: ImagePane, tools: ToolRow, choice: SearchChoice) -> None:
        super().__init__(pane)
        self._context, self._pane, self._tools, self._choice = context, pane, tools, choice
        self.is_query = True
        #: What an image that is not the query is to be compared by.
        self._match = ""
        view = pane.view
        view.tool_changed.connect(tools.show_tool)
        view.region.moved.connect(lambda _: self.update_controls())
        view.measure.changed.connect(lambda: tools.undo.setEnabled(view.can_undo))
        view.region.changed.connect(self._search_drawn)
        view.segment_requested.connect(lambda x, y: self._outline((x, y)))
        view.refine_requested.connect(lambda: self._outline(view.region.region))
        tools.tool_requested.connect(self.set_tool)
        tools.undo_requested.connect(self._undo)
        tools.auto_requested.connect(view.auto)
        choice.changed.connect(self._set_choice)
        self._scrolled = one_shot(self, self._search_shown_slice, _SCROLLED_MS)
        pane.slice_changed.connect(lambda _: self._scrolled.start() if self.by_slice else None)
        context.state.on_change(Change.SEARCH | Change.CASES, self, self.update_controls)

    @property
    def drawn(self) -> Region | None:
        """The region drawn, with its slice."""
        return self._pane.on_shown_slice(self._pane.view.region.region)

    @property
    def by_slice(self) -> bool:
        """Whether the query is a whole slice of the volume shown, or all its slices."""
        query, image = self._context.state.query, self._pane.view.image
        region = None if query is None or not self.is_query else query.region
        if region is None or image is None or self._pane.place is None:
            return False
        return region.z is not None and region.covers(image.height, image.width)

    @property
    def match(self) -> str:
        """What the image is compared by: :attr:`semblance.core.searches.search.Search.match`."""
        return self._context.state.match if self.is_query else self._match

    @property
    def chosen_region(self) -> Region | None:
        """The region to search with: that drawn or, to find its place, that of the case in the library."""
        own = self._pane.case_region if self._choice.value() in (PLACE, BOTH) else None
        return None if self._choice.value() == WHOLE else self.drawn or own

    def set_tool(self, name: str) -> None:
        """One of :data:`semblance.app.viewer.tools.ALL`; the image gets the keyboard."""
        self._pane.view.set_tool(name)
        if self._pane.view.image is not None:
            self._pane.view.setFocus()

    def follow(self) -> None:
        """Draw the region of the query, or show the drawn region as not used."""
        view, query = self._pane.view, self._context.state.query
        if view.image is None or not view.editable:
            return
        if self.is_query:
            region = None if query is None else inside(query.region, view.image)
            drawn = view.region
            if region is not None:
                if drawn.region != region or not drawn.in_use:
                    view.show_region(region)
            elif drawn.region is not None:
                view.show_region(drawn.region, in_use=False)
        self.update_controls()

    def update_controls(self) -> None:
        """Update the controls beside the image."""
        drawn, own = self._pane.view.region, self._pane.case_region
        # A saved search may compare the region, cut out, where there are places too.
        by_place = self._context.state.has_places and self.match != WHOLE
        has_slices = self.is_query and self._pane.place is not None
        self._choice.offer(
            by_place=by_place, has_own_region=by_place and own is not None, has_slices=has_slices
        )
        self._choice.setEnabled(drawn.region is not None or (by_place and (own is not None or has_slices)))
        if by_place and self.by_slice:
            query = self._context.state.query
            self._choice.set_value(VOLUME if query is not None and query.slices else SLICE)
        elif by_place:
            is_used = drawn.region is not None and drawn.in_use
            self._choice.set_value((BOTH if self.match == BOTH else PLACE) if is_used else WHOLE)
        else:
            # Without a drawn region, the region of the case is used if it has one.
            by_region = drawn.in_use if drawn.region is not None else own is not None
            self._choice.set_value(REGION if by_region else WHOLE)
        self._tools.undo.setEnabled(self._pane.view.can_undo)
        self.region_changed.emit()

    def _search_drawn(self, region: Region | None) -> None:
        if self._pane.view.editable and self.is_query:
            search_operations.submit_region(self._context, self._pane.on_shown_slice(region))
        self.update_controls()

    def _outline(self, where: tuple[int, int] | Region | None) -> None:
        pane = self._pane
        if where is not None and pane.view.editable:
            outline_mass(self._context, pane.view, *pane.source, pane.place, where)

    def _undo(self) -> None:
        self._pane.view.undo()

    def _set_choice(self, key: str) -> None:
        view = self._pane.view
        if not view.editable:
            return
        match = BOTH if key == BOTH else ""
        if key in (SLICE, VOLUME):
            slices = ALL_SLICES if key == VOLUME else ""
            search_operations.submit_region(self._context, self._shown_slice(), match=match, slices=slices)
        elif self.is_query:
            search_operations.submit_region(self._context, self.chosen_region, match=match)
        else:
            self._match = match
            view.show_region(view.region.region or self.chosen_region, in_use=key != WHOLE)
        self.update_controls()

    def _shown_slice(self) -> Region | None:
        image = self._pane.view.image
        if image is None or self._pane.place is None:
            return None
        return self._pane.on_shown_slice(Region(0, 0, image.width, image.height))

    def _search_shown_slice(self) -> None:
        """Search with the slice shown, where another one was searched with; with all slices, open on another."""
        query = self._context.state.query
        # While another image is loading, the slice shown is that of the query before.
        if query is not None and self.by_slice and self._pane.view.editable:
            search_operations.submit_region(self._context, self._shown_slice(), slices=query.slices)


def outline_mass(
    context: Context,
    view: ImageView,
    library: LibraryLocation | None,
    what: int | ImageAddress,
    place: int | None,
    where: tuple[int, int] | Region,
) -> Job:
    """Draw the mass at the pixel or in the region ``where`` as the region of ``view``; a later request
    replaces this one, and an image shown in the meantime is not changed.

    Where there is no outline, a message says so and offers the brush.
    """
    shown = view.image
    job = context.jobs.run(
        tr("Outlining"),
        view_images.outline_mass,
        library,
        what,
        place,
        where,
        pool=WorkerPool.SLICE,
        channel="outline",
        quiet=True,
    )

    def draw(region: Region) -> None:
        if view.image is shown and view.editable:
            view.region.draw(region)

    def fail(error: SemblanceError) -> None:
        if not isinstance(error, NoOutline):
            context.messages.error(error)
            return
        if view.image is not shown:
            return
        brush = (tr("Use the brush"), lambda: view.set_tool(tools.BRUSH))
        context.messages.warning(
            tr("No outline was found: {reason}", reason=error.message),
            tr("Click at another place in the mass, or paint the region with the brush."),
            (brush,),
            topic="outline",
        )

    job.done.connect(draw)
    job.failed.connect(fail)
    return job
