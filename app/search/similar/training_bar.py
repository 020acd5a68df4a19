"""The bar above the similar cases of a query that the metric was trained on: its order is partly remembered."""

from __future__ import annotations

from semblance.app.search.similar.ranking_bar import ChangeBar
from semblance.app.shell import search_operations
from semblance.app.widgets.estimate_caution import TRAINED_ON_QUERY
from semblance.core.language import tr, translate
from semblance.core.workflows.searches.estimate import TRAINED


class TrainingBar(ChangeBar):
    """Visible while the metric was trained on the query or its patient, and while these are left out."""

    def _change(self) -> None:
        ranking = self._state.ranking
        without = ranking is not None and not ranking.without_patient
        job = search_operations.rank_without_patient(self._context, on=without)
        if job is not None:
            self.change.setEnabled(False)
            job.ended.connect(self.refresh)

    def refresh(self) -> None:
        ranking = self._state.ranking
        if ranking is None:
            self.hide()
            return
        has_patient = self._has_patient(ranking.query.case)
        self.change.setEnabled(True)
        if ranking.without_patient:
            self._text.setText(
                tr("Ranked by {metric}, trained again without this patient", metric=ranking.metric)
                if has_patient
                else tr("Ranked by {metric}, trained again without this case", metric=ranking.metric)
            )
            self._text.set_tip(tr("The scores of the metric were measured before it was trained again."))
            self.change.setText(tr("Rank as trained"))
            self.change.setToolTip(tr("Rank by the metric as it was trained"))
        else:
            self._text.setText(translate(TRAINED))
            self._text.set_tip(TRAINED_ON_QUERY)
            self.change.setText(
                tr("Rank without this patient") if has_patient else tr("Rank without this case")
            )
            self.change.setToolTip(
                tr(
                    "Train the metric again without the query, its patient and its copies, and rank by it. It gives "
                    "an estimate as for a new patient."
                )
            )
        self.setVisible(ranking.without_patient or ranking.vote.trained)

    def _has_patient(self, case: str | None) -> bool:
        """Whether the query is a case of a known patient."""
        columns = self._state.columns
        index = -1 if case is None else columns.index_of_id(case)
        return index >= 0 and columns.patient[index] >= 0
