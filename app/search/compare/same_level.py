"""The same level in both volumes that are compared: by content, by position, by hand, or not at all."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QToolButton

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job
from semblance.app.shell.theme import plain_tip
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.linked_panes import LinkedPanes
from semblance.app.viewer.linking import LevelLink, is_same_frame
from semblance.app.widgets.menus import Menu
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.language import format_number, tr
from semblance.core.library.location import LibraryLocation
from semblance.core.retrieval.slice_alignment import POSITION, Alignment
from semblance.core.workflows.searches import align_volumes

#: A pair must be shown for so long before its slices are described, so that nothing is begun while stepping.
PAUSE_MS = 700
#: Pairs whose levels are remembered.
MAX_PAIRS = 32


@dataclass(frozen=True)
class VolumePair:
    """Two volumes: each the row of a case of ``library``, or an address."""

    library: LibraryLocation | None
    one: int | ImageAddress
    other: int | ImageAddress


class SameLevel(QObject):
    """The ``button`` that says by what the slices of both ``panes`` follow each other, and has a menu to choose it.

    Volumes in one frame of reference follow each other by position at once. Else their slices are described in the
    background, and they are linked by hand meanwhile, with the slices that were side by side at first.
    """

    def __init__(
        self, context: Context, panes: tuple[ImagePane, ImagePane], links: LinkedPanes, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._context, self._panes, self._links = context, panes, links
        self._pair: VolumePair | None = None
        self._found: OrderedDict[VolumePair, Alignment] = OrderedDict()
        self._job: Job | None = None
        self._problem: SemblanceError | None = None
        self._moves = True
        #: What the user chose for this pair; "off" stays for the next.
        self._chosen: LevelLink | None = None
        self._link: LevelLink | None = None
        self.button = QToolButton()
        self.button.setIcon(icon("layers"))
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.button.hide()
        self._has_text = True
        menu = Menu(self.button)
        group = QActionGroup(menu)
        self._actions: dict[LevelLink, QAction] = {}
        for link, text in (
            (LevelLink.CONTENT, tr("By content")),
            (LevelLink.POSITION, tr("By position in the patient")),
            (LevelLink.HAND, tr("By hand: the slices shown now belong together\tL")),
            (LevelLink.OFF, tr("Off: each volume scrolls alone")),
        ):
            action = self._actions[link] = menu.addAction(text)
            action.setCheckable(True)
            group.addAction(action)
            action.triggered.connect(lambda _=False, link=link: self.choose(link))
        self.button.setMenu(menu)
        self._timer = one_shot(self, self._begin_job, PAUSE_MS)
        for pane in panes:
            pane.slice_changed.connect(lambda _: self._update())

    @property
    def link(self) -> LevelLink | None:
        """By what slices follow each other now; ``None`` without two volumes."""
        return self._link

    def begin(self, pair: VolumePair | None, *, moves: bool = True) -> None:
        """Compare ``pair``, whose images the panes show, or nothing. ``moves``: the second volume goes to the level of
        the first as soon as that is known; else it stays at its slice, which the search found."""
        self._moves = moves
        if pair == self._pair:
            self._apply()
            return
        self._cancel()
        self._pair, self._problem = pair, None
        if self._chosen is not LevelLink.OFF:
            self._chosen = None
        self._apply()
        if pair is not None and self._link is not None and pair not in self._found:
            self._timer.start()

    def choose(self, link: LevelLink) -> None:
        """Link the slices by ``link`` from now on."""
        self._chosen = link
        self._apply()
        is_missing = self._pair is not None and self._pair not in self._found
        if link is LevelLink.CONTENT and is_missing and self._job is None:
            self._begin_job()

    def link_shown_slices(self) -> None:
        """The slices shown now belong together: both volumes go on from here by their distances in mm."""
        if self._link is not None:
            self.choose(LevelLink.HAND)

    def set_text_shown(self, *, shown: bool) -> None:
        """Whether the button has a text beside its icon."""
        self._has_text = shown
        self.button.setToolButtonStyle(
            Qt.ToolButtonStyle.ToolButtonTextBesideIcon if shown else Qt.ToolButtonStyle.ToolButtonIconOnly
        )
        self._reserve_width()

    @property
    def levels(self) -> Alignment | None:
        """The levels of the pair, once they are found."""
        return None if self._pair is None else self._found.get(self._pair)

    def _facts_are_volumes(self) -> bool:
        facts = [pane.slices.facts for pane in self._panes]
        return all(one is not None and one.slices > 1 for one in facts)

    def _is_same_frame(self) -> bool:
        one, other = (pane.slices.facts for pane in self._panes)
        return one is not None and other is not None and is_same_frame(one, other)

    def _apply(self) -> None:
        """Link the panes as chosen, else as well as is known."""
        if self._pair is None or not self._facts_are_volumes():
            self._link = None
            self._links.link_levels(None)
            self._update()
            return
        levels = self.levels
        has_levels = levels is not None and len(levels.slices) > 0
        automatic = LevelLink.HAND
        if has_levels and levels is not None:
            automatic = LevelLink.POSITION if levels.by == POSITION else LevelLink.CONTENT
        elif self._is_same_frame():
            automatic = LevelLink.POSITION
        link = self._chosen or automatic
        if link is LevelLink.CONTENT and not has_levels:
            # Until the levels are found, or where there are none.
            link = LevelLink.HAND
        if link is not self._link or link is not LevelLink.HAND or self._chosen is LevelLink.HAND:
            moves = self._moves or self._chosen is not None
            self._links.link_levels(link, levels if has_levels else None, moves=moves)
        self._link = link
        self._update()

    def _begin_job(self) -> None:
        pair = self._pair
        if pair is None or pair in self._found:
            return
        try:
            job = self._context.jobs.run(
                tr("Finding the same level"),
                align_volumes.align_volumes,
                pair.library,
                pair.one,
                pair.other,
                channel="same level",
            )
        except SemblanceError as error:
            self._fail(error)
            return
        self._job = job
        job.changed.connect(self._update)
        job.done.connect(lambda found: self._receive(pair, found))
        job.failed.connect(self._fail)
        job.cancelled.connect(self._forget_job)
        self._update()

    def _receive(self, pair: VolumePair, found: Alignment) -> None:
        self._job = None
        self._found[pair] = found
        while len(self._found) > MAX_PAIRS:
            self._found.popitem(last=False)
        if pair == self._pair:
            self._apply()

    def _fail(self, error: SemblanceError) -> None:
        self._job, self._problem = None, error
        self._update()

    def _forget_job(self) -> None:
        self._job = None
        self._update()

    def _cancel(self) -> None:
        self._timer.stop()
        job, self._job = self._job, None
        if job is not None:
            job.cancel()

    # What is shown

    def _update(self) -> None:
        self.button.setVisible(self._link is not None)
        if self._link is None:
            return
        text = tr("Same level: {state}", state=self._state())
        if self.button.text() != text:
            self.button.setText(text)
            self.button.setAccessibleName(text)
            self._reserve_width()
        self.button.setToolTip(plain_tip(self._explanation()))
        levels = self.levels
        self._actions[self._link].setChecked(True)
        self._actions[LevelLink.CONTENT].setEnabled(levels is None or len(levels.slices) > 0)
        self._actions[LevelLink.POSITION].setEnabled(self._is_same_frame())

    def _reserve_width(self) -> None:
        """Make space for the longest text, so that the buttons beside it stay while the level is looked for and while
        one scrolls."""
        share = format_number(1.0, ".0%")
        texts = (
            tr("finding… {share}", share=share),
            tr("by content, confidence {confidence}", confidence=share),
            tr("by content, no counterpart"),
            tr("the volumes do not overlap"),
        )
        wide = self.button.fontMetrics().horizontalAdvance
        longest = max(wide(tr("Same level: {state}", state=one)) for one in texts)
        beside = self.button.sizeHint().width() - wide(self.button.text())
        self.button.setMinimumWidth(beside + longest if self._has_text else 0)

    def _state(self) -> str:
        levels = self.levels
        if self._link is LevelLink.OFF:
            return tr("off")
        if self._link is LevelLink.POSITION:
            return tr("by position")
        if self._link is LevelLink.CONTENT and levels is not None:
            if levels.counterpart(self._panes[0].slices.place) is None:
                return tr("by content, no counterpart")
            return tr(
                "by content, confidence {confidence}", confidence=format_number(levels.confidence, ".0%")
            )
        if self._job is not None:
            share = self._job.fraction
            return (
                tr("finding…") if share is None else tr("finding… {share}", share=format_number(share, ".0%"))
            )
        if levels is not None and not len(levels.slices) and self._chosen is not LevelLink.HAND:
            return tr("the volumes do not overlap")
        return tr("by hand")

    def _explanation(self) -> str:
        levels = self.levels
        by_hand = tr("Scroll both volumes to the same level and press L to link them there.")
        if self._problem is not None:
            return f"{self._problem} {by_hand}"
        if self._link is LevelLink.OFF:
            return tr("Each volume scrolls alone.")
        if self._link is LevelLink.POSITION:
            return tr(
                "Both volumes have one frame of reference: the slices shown have the same position in the patient."
            )
        if self._link is LevelLink.CONTENT and levels is not None:
            return tr(
                "The slices shown have the same level by what they show. For {confidence} of the slices the most "
                "similar one in the other volume, looked for alone, is near the one that is shown. {share} of the "
                "query's slices have a counterpart.",
                confidence=format_number(levels.confidence, ".0%"),
                share=format_number(levels.overlap, ".0%"),
            )
        if levels is not None and not len(levels.slices):
            return f"{tr('These volumes do not overlap, or too little for the same level to be found.')} {by_hand}"
        beside = tr("The slices that were side by side belong together; both volumes go on from there in mm.")
        return f"{beside} {by_hand}"
