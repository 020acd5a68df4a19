"""The page *Agreement between annotators*: how far people agree on concepts and judgements, and where they differ."""

from __future__ import annotations

from semblance.app.research.result_page import ResultPage, ResultTable, side_by_side
from semblance.app.shell.context import Context
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import fill
from semblance.core.evaluation.agreement import AgreementCoefficient
from semblance.core.language import format_number, tr, tr_n, translate
from semblance.core.workflows.research import annotator_agreement
from semblance.core.workflows.research.annotator_agreement import (
    COMPARISONS,
    CONCEPT,
    SubjectAgreement,
)

#: Differences that are listed; the command line gives all.
MAX_DIFFERENCES = 500


class AgreementPage(ResultPage):
    """The subjects above, the pairs of people and the differences of the selected one below."""

    title = tr("Agreement between annotators")
    introduction = tr(
        "Coefficients are 1 for full agreement and 0 for that of chance, with 95 % intervals over "
        "patients. Each person's latest mark counts. Reader studies measure agreement on findings."
    )
    help_page = channel = "agreement"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._found: tuple[SubjectAgreement, ...] = ()
        self.subjects = ResultTable(tr("Agreement by concept and kind of mark"))
        self.subjects.currentCellChanged.connect(lambda *_: self._select())
        self.pairs = ResultTable(tr("Agreement of every two annotators"))
        self.differences = ResultTable(tr("Marked differently"))
        self.show_cases_of(self.differences)
        self.differences.horizontalHeader().setStretchLastSection(True)
        self.facts = WrappedLabel(role="second")
        parts = side_by_side(
            (tr("Every two annotators"), self.pairs), (tr("Marked differently"), self.differences)
        )
        fill(self.content, (self.subjects, 1), self.facts, (parts, 2))
        self.complete()

    def load(self) -> None:
        """Measure the agreement in the open library."""
        title = tr("Measuring the agreement")
        self.read(title, self._show, annotator_agreement.annotator_agreement)

    def _show(self, found: tuple[SubjectAgreement, ...] | None) -> None:
        self._found = found = found or ()
        rows = [
            [
                _title(one),
                ", ".join(f"{person.name} ({format_number(person.n, ',')})" for person in one.annotators),
                format_number(one.shared, ","),
                _text(one.alpha),
                format_number(one.complete, ","),
                _text(one.fleiss),
            ]
            for one in found
        ]
        titles = [
            tr("subject"),
            tr("annotators (marked)"),
            tr("by two or more"),
            tr("Krippendorff's alpha"),
            tr("by all"),
            tr("Fleiss' kappa"),
        ]
        self.subjects.set_rows(titles, rows, text_columns=2)
        if found and self.subjects.currentRow() < 0:
            self.subjects.setCurrentCell(0, 0)
        self._select()

    def _select(self) -> None:
        row = self.subjects.currentRow()
        one = self._found[row] if 0 <= row < len(self._found) else None
        pairs = [] if one is None else one.pairs
        self.pairs.set_rows(
            [tr("annotators"), tr("marked by both"), tr("agreed"), tr("Cohen's kappa")],
            [
                [
                    " · ".join(pair.names),
                    format_number(pair.n, ","),
                    format_number(pair.agreed / pair.n, ".0%") if pair.n else "–",
                    _text(pair.kappa),
                ]
                for pair in pairs
            ],
        )
        listed = () if one is None else one.differences[:MAX_DIFFERENCES]
        rows = [self._context.state.columns.row_of_id(found.cases[-1]) for found in listed]
        self.differences.set_rows(
            [tr("case") if one is None or one.kind == CONCEPT else tr("query and cases"), tr("answers")],
            [
                [
                    " · ".join(found.cases),
                    ", ".join(f"{name}: {translate(answer)}" for name, answer in found.answers.items()),
                ]
                for found in listed
            ],
            text_columns=2,
            cases=[row if row >= 0 else None for row in rows],
        )
        self.facts.setText(_facts(one))


def _title(one: SubjectAgreement) -> str:
    if one.kind == CONCEPT:
        return tr("Concept: {name}", name=one.name)
    return (
        tr("Which of two cases is closer") if one.kind == COMPARISONS else tr("More or less like the query")
    )


def _text(value: AgreementCoefficient | None) -> str:
    if value is None:
        return "–"
    mean = format_number(value.value, ".2f")
    if value.interval is None:
        return mean
    low, high = (format_number(end, ".2f") for end in value.interval)
    return tr("{mean} ({low} to {high})", mean=mean, low=low, high=high)


def _facts(one: SubjectAgreement | None) -> str:
    if one is None:
        return tr(
            "No concept was marked by two people, and no marks are of two people. Everybody marks under the name "
            "of their account, or of Settings."
        )
    parts = [tr_n("{n} was marked differently.", "{n} were marked differently.", len(one.differences))]
    if len(one.differences) > MAX_DIFFERENCES:
        parts.append(tr("The first {n} are listed.", n=MAX_DIFFERENCES))
    if one.shared and one.alpha is None:
        parts.append(tr("All answers are the same, so no coefficient can be computed."))
    return " ".join(parts)
