"""The bar above the similar cases that names the marks of other searches: those that refine the metric, and those that
a region of the image sets aside."""

from __future__ import annotations

from semblance.app.search.feedback import refine_metric
from semblance.app.search.similar.ranking_bar import ChangeBar
from semblance.core.language import tr, tr_n


class OtherMarksBar(ChangeBar):
    """Visible while marks on other cases refine the metric, and while marks on this image are not used."""

    def _change(self) -> None:
        if self._state.refining_count:
            refine_metric.use_other_marks(self._context, on=False)
        else:
            refine_metric.use_marks_set_aside(self._context)

    def refresh(self) -> None:
        refining, aside = self._state.refining_count, len(self._state.marks_set_aside)
        query = self._state.query
        if refining:
            self._text.setText(
                tr_n("Refined by {n} mark on other cases", "Refined by {n} marks on other cases", refining)
            )
            self._text.set_tip(tr("The metric follows these marks, and there is no estimate."))
            self.change.setText(tr("Use the plain metric"))
            self.change.setToolTip(tr("Rank without the marks on other cases. They are kept."))
        elif aside and query is not None:
            self._text.setText(
                tr_n(
                    "{n} mark on this image is set aside for the region",
                    "{n} marks on this image are set aside for the region",
                    aside,
                )
                if query.region is not None
                else tr_n(
                    "{n} mark on a region is set aside for the whole image",
                    "{n} marks on a region are set aside for the whole image",
                    aside,
                )
            )
            self._text.set_short_text(tr_n("{n} mark set aside", "{n} marks set aside", aside))
            self._text.set_tip("")
            self.change.setText(tr("Use them"))
            self.change.setToolTip(self._state.why_not_written or tr("Mark the same cases for this search"))
        self.change.setEnabled(bool(refining) or self._state.can_write)
        self.setVisible(bool(refining or aside))
