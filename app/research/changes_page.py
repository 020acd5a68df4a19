"""The page *Changes over time*: what changed in a patient, and the changes of others that are most like it."""

from __future__ import annotations

from semblance.app.research.result_page import ResultPage, ResultTable, side_by_side
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.widgets.labels import WrappedLabel
from semblance.core.language import format_number, tr, tr_n
from semblance.core.library.case_names import date_name
from semblance.core.workflows.research import patient_changes
from semblance.core.workflows.research.patient_changes import PatientChange, SimilarChange

#: Similar changes that are listed.
MAX_SIMILAR = 50


class ChangesPage(ResultPage):
    """The changes of all patients at the left, those most like the selected one at the right."""

    title = tr("Changes over time")
    introduction = tr(
        "An experiment: what changed from one image of a patient to the next is compared with what changed in other "
        "patients. Read in Help how far that can be trusted."
    )
    help_page = channel = "changes"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._changes: tuple[PatientChange, ...] = ()
        self.changes = ResultTable(tr("Changes of patients"))
        self.changes.currentCellChanged.connect(lambda *_: self._rank())
        self.show_cases_of(self.changes)
        self.similar = ResultTable(tr("The most similar changes of other patients"))
        self.show_cases_of(self.similar)
        self.facts = WrappedLabel(role="second")
        parts = side_by_side(
            (tr("Changes of patients"), self.changes),
            (tr("The most similar changes of other patients"), self.similar),
        )
        self.content.addWidget(parts, 1)
        self.content.addWidget(self.facts)
        self.complete()

    def load(self) -> None:
        """List the changes of the patients of the open library."""
        self.read(tr("Listing the changes"), self._show, patient_changes.patient_changes)

    def _show(self, found: tuple[PatientChange, ...] | None) -> None:
        self._changes = found = found or ()
        self.changes.set_rows(
            [tr("patient"), tr("prior"), tr("current"), tr("finding"), tr("days")],
            [[one.patient, *map(date_name, one.dates), one.finding or "–", _days(one)] for one in found],
            text_columns=4,
            cases=[one.current_row for one in found],
        )
        patients = len({one.patient for one in found})
        self.facts.setText(
            tr_n("{n} change", "{n} changes", len(found))
            + tr_n(" of {n} patient.", " of {n} patients.", patients)
            if found
            else tr("No patient has two dated images of one kind.")
        )
        self.similar.set_rows([], [])
        if found and self.changes.currentRow() < 0:
            self.changes.setCurrentCell(0, 0)
        else:
            self._rank()

    def _rank(self) -> None:
        row = self.changes.currentRow()
        if 0 <= row < len(self._changes):
            features = self._feature_set()
            self.run(
                tr("Comparing the changes"),
                self._show_similar,
                patient_changes.similar_changes,
                self._changes[row].current,
                features,
                pool=WorkerPool.SEARCH,
                quiet=True,
            )

    def _feature_set(self) -> str | None:
        """The feature set of the metric that is chosen; ``None``: the only one."""
        state = self._context.state
        metric = state.metric
        return None if metric is None else metric.features

    def _show_similar(self, found: tuple[SimilarChange, ...]) -> None:
        listed = found[:MAX_SIMILAR]
        self.similar.set_rows(
            [
                tr("patient"),
                tr("prior"),
                tr("current"),
                tr("finding"),
                tr("whole image"),
                tr("changed places"),
            ],
            [
                [
                    one.change.patient,
                    *map(date_name, one.change.dates),
                    one.change.finding or "–",
                    format_number(one.whole, ".2f"),
                    "–" if one.places is None else format_number(one.places, ".2f"),
                ]
                for one in listed
            ],
            text_columns=4,
            tips={
                4: tr("Cosine of the differences of the whole images, from -1 to 1."),
                5: tr("Cosine of the differences of the places that changed most, from -1 to 1."),
            },
            cases=[one.change.current_row for one in listed],
        )


def _days(change: PatientChange) -> str:
    return "–" if change.days is None else format_number(change.days, ",")
