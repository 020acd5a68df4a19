"""Images side by side that share zoom, position, window, inversion and slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from PySide6.QtWidgets import QAbstractButton

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
from semblance.core.retrieval.slice_alignment import Alignment


class LinkedPanes:
    """``panes`` follow the one that the user changes while ``switch`` is checked.

    Slices belong together by their position in the patient where two volumes have one frame of reference. Else the
    slices that :meth:`link_slices` found side by side belong together, or those that the panes begin with.
    """

    def __init__(self, panes: Sequence[ImagePane], switch: QAbstractButton) -> None:
        self._panes, self._switch = tuple(panes), switch
        self._is_paused = False
        #: The points of the images that are at the same position, by the place of the pane; () for their middles.
        self._points: tuple[Point, ...] = ()
        #: The slices that were side by side when they were linked, by the place of the pane.
        self._side_by_side: dict[int, int] = {}
        #: By what slices of two volumes are linked (``None``: by position, else by hand), and the levels found.
        self._link: LevelLink | None = None
        self._levels: tuple[Alignment, Alignment] | None = None
        #: The slice at which a pane follows the one that was scrolled, by its place.
        self._followed: dict[int, int] = {}
        for place, pane in enumerate(panes):
            pane.view.view_changed.connect(partial(self.share_view, place, window=False))
            pane.view.window_changed.connect(lambda _, place=place: self.share_view(place))
            pane.view.inverted_changed.connect(lambda _, place=place: self._share_inversion(place))
            pane.slice_changed.connect(lambda _, place=place: self._share_slice(place))

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
                if other is one or other.image is None:
                    continue
                together = (self._points[place], self._points[number]) if self._points else None
                other.set_view(linked_view(one.viewport, other.viewport, together))
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

    def _share_inversion(self, place: int) -> None:
        """Invert the others where the pane at ``place`` is inverted, each from how its file has it."""
        one = self._panes[place].view
        if self._is_paused or not self._switch.isChecked() or one.image is None:
            return
        inverted = one.inverted != one.image.inverse
        with self.paused():
            for other in (pane.view for pane in self._panes):
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


def _middle(box: Box) -> Point:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
