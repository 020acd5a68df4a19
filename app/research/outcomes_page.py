"""The page *Outcomes*: whether the estimates of saved searches came true, by period."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox

from semblance.app.research.result_page import ResultPage, ResultTable, p_value_text
from semblance.app.shell.context import Context
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import fill, hbox
from semblance.core.evaluation.outcome_drift import MONTH, QUARTER, YEAR, PeriodScore
from semblance.core.language import format_number, tr, tr_n
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.searches import outcomes
from semblance.core.workflows.searches.outcomes import DriftReport


class OutcomesPage(ResultPage):
    """A table with a row for all outcomes and one for each period."""

    title = tr("Outcomes of past queries")
    introduction = tr(
        "Each saved search keeps the estimate that it was saved with. Enter what the query turned out to "
        "be in Search > Searches…, and see here whether the estimates came true."
    )
    help_page = channel = "outcomes"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.period: QComboBox = NoWheelComboBox()
        self.period.setAccessibleName(tr("Period"))
        for key, text in ((MONTH, tr("by month")), (QUARTER, tr("by quarter")), (YEAR, tr("by year"))):
            self.period.addItem(text, key)
        self.period.setCurrentIndex(1)
        self.period.currentIndexChanged.connect(lambda _: self.load())
        self.facts = WrappedLabel(selectable=True)
        self.table = ResultTable(tr("Estimates and outcomes by period"))
        row = fill(hbox(spacing=8), (self.facts, 1), self.period)
        self.content.addLayout(row)
        self.content.addWidget(self.table, 1)
        self.complete()

    def load(self) -> None:
        """Read the outcomes of the open library."""
        period = str(self.period.currentData())
        self.read(tr("Reading the outcomes"), self._show, outcomes.drift_report, period)

    def _show(self, report: DriftReport | None) -> None:
        self.facts.setText("" if report is None else _facts(report))
        enough = report is not None and report.outcomes >= report.minimum
        self.table.set_rows(_header(), [_row(one) for one in report.scores] if report and enough else [])


def _header() -> list[str]:
    return [
        tr("period"),
        tr("outcomes"),
        tr("mean estimate"),
        tr("had the finding"),
        tr("Brier score"),
        tr("calibration error (perfect: below)"),
        "p",
    ]


def _row(one: PeriodScore) -> list[str]:
    name, n = one.period or tr("all"), format_number(one.n, ",")
    if one.estimate is None or one.error is None or one.perfect is None:
        return [name, n, tr("too few"), "", "", "", ""]
    mark = " *" if one.is_beyond_chance else ""
    return [
        name,
        n,
        format_number(one.estimate, ".2f"),
        interval_text(one.observed, *(one.observed_interval or (None, None))) + mark,
        interval_text(one.brier, *(one.brier_interval or (None, None))),
        tr("{error:.2f} ({perfect:.2f})", error=one.error, perfect=one.perfect),
        p_value_text(one.p),
    ]


def _facts(report: DriftReport) -> str:
    parts = [
        tr_n(
            "{n} outcome was entered for {estimates} saved searches with an estimate.",
            "{n} outcomes were entered for {estimates} saved searches with an estimate.",
            report.outcomes,
            estimates=report.estimates,
        )
    ]
    if report.outcomes < report.minimum:
        parts.append(tr("Below {n} outcomes nothing is claimed.", n=report.minimum))
    else:
        if report.reference is not None:
            parts.append(
                tr("The Brier score on the metric's held-out cases was {brier:.2f}.", brier=report.reference)
            )
        if any(one.is_beyond_chance for one in report.scores):
            parts.append(tr("* The estimates differ from the outcomes by more than chance."))
    return " ".join(parts)
