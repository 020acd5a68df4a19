"""The dialog *Outcomes*: whether the estimates of saved searches came true, by period."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from semblance.app.research.experiment_tables import ResultTable, p_value_text
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Lane
from semblance.app.shell.state import Change
from semblance.app.widgets.dialog import closing_row, dialog_layout, help_button, resize_dialog
from semblance.app.widgets.error_line import ErrorLine
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.no_wheel import NoWheelComboBox
from semblance.app.widgets.tab_order import Dialog
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.evaluation.outcome_drift import MONTH, QUARTER, YEAR, PeriodScore
from semblance.core.language import format_number, tr, tr_n
from semblance.core.reports.curves import interval_text
from semblance.core.workflows.searches import outcomes
from semblance.core.workflows.searches.outcomes import DriftReport

_SIZE = (980, 480)


class OutcomesDialog(Dialog):
    """A table with a row for all outcomes and one for each period. ``help_requested``."""

    help_requested = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self.setWindowTitle(tr("Outcomes of past queries"))
        resize_dialog(self, *_SIZE)
        self.period: QComboBox = NoWheelComboBox()
        self.period.setAccessibleName(tr("Period"))
        for key, text in ((MONTH, tr("by month")), (QUARTER, tr("by quarter")), (YEAR, tr("by year"))):
            self.period.addItem(text, key)
        self.period.setCurrentIndex(1)
        self.period.currentIndexChanged.connect(lambda _: self.load())
        self.facts = WrappedLabel(selectable=True)
        self.table = ResultTable(tr("Estimates and outcomes by period"))
        self._error = ErrorLine()
        layout = dialog_layout(self)
        layout.addWidget(
            WrappedLabel(
                tr(
                    "Each saved search keeps the estimate that it was saved with. Enter what the query turned out to "
                    "be in Search > Searches…, and see here whether the estimates came true."
                )
            )
        )
        row = hbox(spacing=8)
        row.addWidget(self.facts, 1)
        row.addWidget(self.period)
        layout.addLayout(row)
        layout.addWidget(self.table, 1)
        layout.addWidget(self._error)
        layout.addLayout(closing_row(self, help_button(self, self.help_requested.emit)))
        context.state.on_change(Change.LIBRARY, self, self.load)

    def load(self) -> None:
        """Read the outcomes of the open library."""
        path = self._context.state.path
        if path is None:
            self.facts.setText("")
            self.table.set_rows(_header(), [])
            return
        job = self._context.jobs.run(
            tr("Reading the outcomes"),
            outcomes.drift_report,
            path,
            str(self.period.currentData()),
            lane=Lane.READ,
            channel="outcomes",
            quiet=True,
        )
        job.done.connect(self._show)
        job.failed.connect(self._error.set_error)

    def _show(self, report: DriftReport) -> None:
        self._error.set_error(None)
        self.facts.setText(_facts(report))
        enough = report.outcomes >= report.minimum
        self.table.set_rows(_header(), [_row(one) for one in report.scores] if enough else [])


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
