"""Images side by side that share zoom, position, window, inversion and slice."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from PySide6.QtWidgets import QAbstractButton

from semblance.app.viewer.image_display import LinkedCursor
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.linking import (
    LevelLink,
    Point,
    is_same_frame,
    linked_slice,
    linked_view,
    linked_window,
)
from semblance.core.imaging.region import Box
from semblance.core.imaging.slice_plane import SlicePlane, cut_line
from semblance.core.language import format_number, tr
from semblance.core.retrieval.slice_alignment import Alignment


class LinkedPanes:
    """``panes`` follow the one that the user changes while ``switch`` is checked.

    Slices belong together by their position in the patient where two volumes have one frame of reference. Else the
    slices that :meth:`link_slices` found side by side belong together, or those that the panes begin with.
    """

    def __init__(self, panes: Sequence[ImagePane], switch: QAbstractButton) -> None:
        self._panes, self._switch = tuple(panes), switch
        self._is_paused = False
        #: By the place of the pane: its group, which shares zoom, window and inversion, and whether it is mirrored.
        self._groups: Sequence[Hashable] = [None] * len(self._panes)
        self._mirrored: Sequence[bool] = [False] * len(self._panes)
        #: The points of the images that are at the same position, by the place of the pane; () for their middles.
        self._points: tuple[Point, ...] = ()
        #: The slices that were side by side when they were linked, by the place of the pane.
        self._side_by_side: dict[int, int] = {}
        #: By what slices of two volumes are linked (``None``: by position, else by hand), and the levels found.
        self._link: LevelLink | None = None
        self._levels: tuple[Alignment, Alignment] | None = None
        #: The slice at which a pane follows the one that was scrolled, by its place.
        self._followed: dict[int, int] = {}
        #: Whether a user said that images without a position belong together.
        self.is_by_hand = False
        for place, pane in enumerate(panes):
            pane.view.view_changed.connect(partial(self.share_view, place, window=False))
            pane.view.window_changed.connect(lambda _, place=place: self.share_view(place))
            pane.view.inverted_changed.connect(lambda _, place=place: self._share_inversion(place))
            pane.slice_changed.connect(lambda _, place=place: self._share_slice(place))
            pane.slice_changed.connect(lambda _: self.show_cut_lines())
            pane.view.pointed_at.connect(partial(self._share_cursor, place))
        switch.toggled.connect(lambda _: self.show_cut_lines())

    def set_groups(self, groups: Sequence[Hashable], mirrored: Sequence[bool]) -> None:
        """From now on zoom, position, window and inversion are shared within each group only; ``mirrored``: images
        whose left is the right of the others."""
        self._groups, self._mirrored = groups, mirrored

    @property
    def is_paused(self) -> bool:
        """Whether no pane follows another one now, as while one does already."""
        return self._is_paused

    def group(self, place: int) -> list[int]:
        """The places of the panes that share zoom, window and inversion with the one at ``place``, itself too."""
        return [number for number, group in enumerate(self._groups) if group == self._groups[place]]

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No pane follows another one in this block."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def share_view(self, place: int, *, window: bool = True) -> None:
        """Apply zoom and position of the pane at ``place`` to the others, and its ``window``: after a change of the
        zoom alone images stay in the windows of their files."""
        one = self._panes[place].view
        if self._is_paused or not self._switch.isChecked() or one.image is None:
            return
        if one.viewport.fitted:
            self._points = ()
        with self.paused():
            for number, pane in enumerate(self._panes):
                other = pane.view
                if other is one or other.image is None or self._groups[number] != self._groups[place]:
                    continue
                together = (self._points[place], self._points[number]) if self._points else None
                is_mirrored = self._mirrored[number] != self._mirrored[place]
                other.set_view(linked_view(one.viewport, other.viewport, together, is_mirrored=is_mirrored))
                if not window:
                    continue
                # Pixel values in different units, as of CT and MR, cannot be compared.
                has_same_unit = one.image.unit == other.image.unit
                if has_same_unit and one.window_level is not None and other.window_level is not None:
                    pane.follow_window(linked_window(one.window_level, one.image, other.image))

    def zoom_to(self, boxes: Sequence[Box | None]) -> None:
        """Show these places of the images, ``None`` for none, in the middle. While the panes are linked they have one
        relative zoom, so that sizes can be compared, and the places stay at the same position."""
        shown = [(pane.view, box) for pane, box in zip(self._panes, boxes, strict=True)]
        found = [(view, box) for view, box in shown if view.image is not None and box is not None]
        relative = [view.viewport.around(box).zoom / view.viewport.fit_zoom for view, box in found]
        is_linked = self._switch.isChecked() and len(found) == len(self._panes)
        with self.paused():
            for (view, box), zoom in zip(found, relative, strict=True):
                relative_zoom = min(relative) if is_linked else zoom
                view.set_view(view.viewport.centred(*_middle(box), view.viewport.fit_zoom * relative_zoom))
        self._points = tuple(_middle(box) for _, box in found) if is_linked else ()

    def fit(self) -> None:
        """Show the whole images."""
        self.forget_places()
        with self.paused():
            for pane in self._panes:
                pane.view.fit()

    def forget_places(self) -> None:
        """From now on the middles of the images belong together, as of other images."""
        self._points = ()
        self.is_by_hand = False

    def _share_inversion(self, place: int) -> None:
        """Invert the others where the pane at ``place`` is inverted, each from how its file has it."""
        one = self._panes[place].view
        if self._is_paused or not self._switch.isChecked() or one.image is None:
            return
        inverted = one.inverted != one.image.inverse
        with self.paused():
            for other in (self._panes[number].view for number in self.group(place)):
                if other.image is not None and (other.inverted != other.image.inverse) != inverted:
                    other.invert()

    def link_slices(self) -> None:
        """Take the slices shown to belong together; in one frame of reference show the position of the first pane."""
        first, *others = (pane.slices for pane in self._panes)
        self._side_by_side = {place: pane.slices.place for place, pane in enumerate(self._panes)}
        self._followed = {}
        facts = first.facts
        is_same = facts is not None and any(
            other.facts is not None and is_same_frame(facts, other.facts) for other in others
        )
        if is_same and self._link in (None, LevelLink.POSITION):
            self._share_slice(0)
        self.show_cut_lines()

    def link_levels(
        self, link: LevelLink | None, levels: Alignment | None = None, *, moves: bool = True
    ) -> None:
        """Let the slices of two panes follow each other by ``link``; ``levels`` of the first one's in the other, which
        count for ``LevelLink.CONTENT``. If it ``moves``, the second pane goes to the level of the first, unless that
        is by hand; else with the next scrolling."""
        self._link = link
        self._levels = None if levels is None else (levels, levels.inverse())
        self._followed = {}
        if link is LevelLink.HAND:
            self._side_by_side = {place: pane.slices.place for place, pane in enumerate(self._panes)}
        elif moves and link in (LevelLink.CONTENT, LevelLink.POSITION):
            self._share_slice(0)

    def forget_slices(self) -> None:
        """Other volumes are shown, which begin at slices that belong together."""
        self._side_by_side, self._followed = {}, {}
        self.is_by_hand = False

    # Positions in the patient

    def show_cut_lines(self) -> None:
        """Show on each image where the others cut it that have its frame of reference."""
        planes = [_plane(pane) if self._switch.isChecked() else None for pane in self._panes]
        for pane, on in zip(self._panes, planes, strict=True):
            image, lines = pane.view.image, []
            for other, cut in zip(self._panes, planes, strict=True):
                other_image = other.view.image
                if other is pane or on is None or cut is None or not cut.is_in_frame_of(on):
                    continue
                assert image is not None
                assert other_image is not None
                size = other_image.height, other_image.width
                line = cut_line(cut, size, on, (image.height, image.width))
                # A scout is no slice: what it shows lies on no line.
                if line is not None and not cut.is_projection:
                    lines.append(line)
            pane.view.show_cut_lines(tuple(lines))

    def _share_cursor(self, place: int, at: tuple[int, int] | None) -> None:
        """Show in the others the position that the mouse points at in the pane at ``place``."""
        one = self._panes[place]
        for pane in self._panes:
            if pane is one:
                continue
            is_linked = at is not None and self._switch.isChecked() and one.view.image is not None
            shown = self._cursor_on(pane, one, at) if is_linked and at is not None else None
            pane.view.show_linked_cursor(shown)

    def _cursor_on(self, pane: ImagePane, one: ImagePane, at: tuple[int, int]) -> LinkedCursor | None:
        """The pixel ``at`` of ``one`` as ``pane`` shows it: at the same position in one frame of reference; else at the
        same relative one, if the slices are at the same level or the user linked the images by hand."""
        image, source = pane.view.image, one.view.image
        if image is None or source is None:
            return None
        point, plane, here = (at[0] + 0.5, at[1] + 0.5), _plane(one), _plane(pane)
        if plane is not None and here is not None and plane.is_in_frame_of(here):
            ((x, y, away),) = here.pixels_of(plane.points_of([point])).tolist()
            if not (0 <= x <= image.width and 0 <= y <= image.height):
                return None
            if here.is_projection or plane.is_projection or abs(away) <= _half_thickness(pane):
                return LinkedCursor(x, y)
            distance = tr("{mm} mm away", mm=format_number(abs(away), ".3g"))
            return LinkedCursor(x, y, distance, is_here=False)
        relative = point[0] / source.width * image.width, point[1] / source.height * image.height
        if self._link is LevelLink.CONTENT:
            return LinkedCursor(*relative, tr("same level, place in it not matched"), is_here=False)
        if self._link is LevelLink.HAND or self.is_by_hand:
            return LinkedCursor(*relative, tr("same relative place, linked by hand"), is_here=False)
        return None

    def _share_slice(self, place: int) -> None:
        one = self._panes[place].slices
        is_linked = self._switch.isChecked() and self._link is not LevelLink.OFF
        if self._is_paused or not is_linked or one.facts is None:
            return
        if one.place == self._followed.get(place):
            # It arrived where another one sent it, as at the end of a shorter volume.
            return
        self._followed = {}
        with self.paused():
            for follower, pane in enumerate(self._panes):
                other = pane.slices
                if other is one or other.facts is None:
                    continue
                together = (
                    self._side_by_side.get(place, one.facts.place),
                    self._side_by_side.get(follower, other.facts.place),
                )
                if self._link is LevelLink.CONTENT and self._levels is not None:
                    found = _level(self._levels[place], one.place)
                else:
                    uses_positions = self._link is not LevelLink.HAND
                    found = linked_slice(
                        one.place, one.facts, other.facts, together, uses_positions=uses_positions
                    )
                if found is not None:
                    self._followed[follower] = found
                    other.go_to_slice(found)


def _level(levels: Alignment, place: int) -> int | None:
    """The counterpart of ``place``, or that of the nearest slice that has one."""
    if not len(levels.slices):
        return None
    return levels.counterpart(min(max(place, int(levels.slices[0])), int(levels.slices[-1])))


def _plane(pane: ImagePane) -> SlicePlane | None:
    """Where the image of a pane lies."""
    image = pane.view.image
    return None if image is None else image.slice_facts.plane


def _half_thickness(pane: ImagePane) -> float:
    """How far from the middle of a slice, in mm, it still shows what lies there."""
    facts, image = pane.slices.facts, pane.view.image
    if facts is not None and facts.spacing_mm is not None:
        return facts.spacing_mm[0] / 2 + 0.01
    thickness = None if image is None else image.slice_facts.thickness_mm
    return 0.5 if thickness is None else thickness / 2


def _middle(box: Box) -> Point:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
