"""Why the query and the compared case are alike, beside their images: the places that match, and their shares."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from semblance.app.search.why.place_reason import PlaceReason, marks_of, parts_of_places
from semblance.app.search.why.waterfall import Contribution, Waterfall
from semblance.app.search.why.why_images import request_images
from semblance.app.shell.context import Context
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import EDGE, HLine, vbox
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.app.widgets.place_marks import PlaceMarks
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, translate
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.searches.compare_cases import ImageComparison
from semblance.core.workflows.searches.compare_places import ComparedPlaces, PlaceMatch
from semblance.core.workflows.searches.rank_cases import RankedSearch

#: Channel of the comparison of places.
REASON_CHANNEL = "compare reason"


class PairReason(QWidget):
    """Hidden where the images have no places to compare. ``changed``: other places are to be drawn on the images.

    ``details``: the places and what the distance is made of, to be shown below what matters more.
    """

    changed = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._pair: tuple[RankedSearch, str] | None = None
        self._places: ComparedPlaces | None = None
        self._letter = ""
        self._pointed: PlaceMatch | None = None
        self.reason = PlaceReason()
        self.note = WrappedLabel(role="small")
        self.copy_details = CopyDetailsButton()
        self.sum = Waterfall()
        column = vbox(self, spacing=6, margins=(EDGE, 8, EDGE, 0))
        column.addWidget(ElidedLabel(tr("Why these two"), role="title"))
        column.addWidget(self.reason.sentence)
        self.details = QWidget(self)
        below = vbox(self.details, spacing=6, margins=(EDGE, 0, EDGE, 8))
        for widget in (
            HLine(),
            self.reason,
            self.sum,
            self.note,
            self.copy_details,
        ):
            below.addWidget(widget)
        self.reason.pointed_at.connect(self._emphasise)
        self.hide()
        self.details.hide()

    def show_pair(self, ranked_search: RankedSearch | None, case: RankedCase | None) -> None:
        """Compare the places of the query and of ``case``; ``None``: show nothing."""
        if ranked_search is None or case is None:
            self._context.jobs.cancel_channel(REASON_CHANNEL)
            self._pair = None
            self._reserve(0)
            self._show(None)
            return
        pair = (ranked_search, case.case_id)
        if self._pair is not None and self._pair[0] is ranked_search and self._pair[1] == case.case_id:
            return
        self._pair = pair
        if not self.isHidden():
            # The facts below stay where they are until the next reason is there.
            self._reserve(self.height())
        self._show(None)

        def if_awaited(found: ImageComparison) -> None:
            if self._pair is pair:
                self._reserve(0)
                self._show(found)

        def fail(error: SemblanceError) -> None:
            if self._pair is pair:
                self._reserve(0)
                self.note.setText(error.message)
                self.note.show()
                self.copy_details.set_error(error)
                self.show()
                self.details.show()

        request_images(self._context, ranked_search, case, if_awaited, fail, channel=REASON_CHANNEL)

    def marks(self, image: int) -> PlaceMarks:
        """What is drawn on the query (``image`` 0) or on the case (1)."""
        return marks_of(self._places, image, self._letter, self._pointed)

    @property
    def places(self) -> ComparedPlaces | None:
        """What is alike in places, ``None`` where it is not known."""
        return self._places

    def point(self, image: int, at: tuple[float, float] | None) -> None:
        """The pointer is at a pixel of the query or of the case, or at none."""
        pair: PlaceMatch | None = None
        if self._places is not None and at is not None:
            pair = self._places.pair_at(image, *at)
        if pair == self._pointed:
            return
        self._letter, self._pointed = "", pair
        self.reason.show_pointed(self._places if pair is not None else None, pair)
        self.changed.emit()

    def _reserve(self, height: int) -> None:
        """Take up this height while nothing is shown."""
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(height > 0)
        self.setSizePolicy(policy)
        self.setMinimumHeight(height)

    def _emphasise(self, letter: str) -> None:
        self._letter, self._pointed = letter, None
        self.changed.emit()

    def _show(self, found: ImageComparison | None) -> None:
        self._places = places = None if found is None else found.places
        self._letter, self._pointed = "", None
        self.copy_details.set_error(None)
        self.reason.show_comparison(found)
        self.note.setText("" if places is None else translate(places.note))
        self.note.setVisible(bool(self.note.text()))
        self.sum.setVisible(places is not None and bool(places.parts))
        if places is not None and places.parts:
            name = tr("Similarity") if places.is_similarity else tr("Distance")
            contributions = [Contribution(*part) for part in parts_of_places(places)]
            self.sum.show_contributions(
                contributions, places.total, total_name=name, in_percent=not places.is_similarity
            )
        self.setVisible(places is not None)
        self.details.setVisible(places is not None)
        self.changed.emit()
