"""The page *Test vault*: seal patients of the open library, and open the vault to test a finished metric."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QCheckBox, QComboBox

from semblance.app.research.result_page import ResultPage, ResultTable
from semblance.app.shell import library_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.state import Change
from semblance.app.widgets.dialog import dialog_button, form
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import NoWheelComboBox, spin_box
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.tab_order import enable_widgets
from semblance.core.errors import SemblanceError
from semblance.core.language import format_number, tr, tr_n, translate
from semblance.core.library.vault import VaultOpening
from semblance.core.reports.curves import interval_text
from semblance.core.reports.formatting import time_text
from semblance.core.workflows.metrics import vault
from semblance.core.workflows.metrics.vault import VaultStatus
from semblance.core.workflows.reports.metric_cards import LATER_OPENING
from semblance.core.workflows.searches.batch_queries import listed_cases

#: Percent of the patients that are proposed to be sealed.
_SHARE = 20


class VaultPage(ResultPage):
    """What is sealed above, the openings below."""

    title = tr("Sealed test vault")
    introduction = tr(
        "Sealed patients take part in no training, choice, score or calibration, and are never shown as "
        "similar cases. When everything is chosen, open the vault once to test the metric on them."
    )
    help_page = "vault"
    channel = "test vault"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._status: VaultStatus | None = None
        self.facts = WrappedLabel(selectable=True)
        self.warning = WrappedLabel(role="error", selectable=True)
        self.share = spin_box(5, 50, _SHARE, tr(" % of the patients"))
        self.share.setAccessibleName(tr("Share of the patients to seal"))
        self.seed = spin_box(0, 999_999, 0)
        self.seed.setAccessibleName(tr("Seed"))
        self.seal_button = dialog_button(tr("Seal"), self.seal)
        self.list_button = dialog_button(tr("Seal a list…"), self._choose_list)
        self.list_button.setToolTip(tr("A text file with one patient or case ID a line"))
        self.unseal_button = dialog_button(tr("Undo sealing"), self.unseal)
        self.metric_box: QComboBox = NoWheelComboBox()
        self.metric_box.setAccessibleName(tr("Metric to test"))
        self.finished_box = QCheckBox(tr("I have finished choosing. Count this opening"))
        self.finished_box.toggled.connect(self.update_buttons)
        self.open_button = dialog_button(tr("Open the vault"), self.open_vault)
        self.openings = ResultTable(tr("Openings of the test vault"))
        self.none_yet = EmptyState(tr("Not opened yet"), tr("Each opening is listed here with its scores."))
        self.later = WrappedLabel(f"* {translate(LATER_OPENING)}", role="second", selectable=True)
        self._make_layout()
        context.state.on_change_while_shown(Change.CASES, self, self.load)

    def _make_layout(self) -> None:
        layout = self.content
        layout.addWidget(self.facts)
        layout.addWidget(self.warning)
        fields = form()
        seal = hbox(spacing=8)
        for widget in (self.share, self.seal_button, self.list_button, self.unseal_button):
            seal.addWidget(widget)
        seal.addStretch(1)
        fields.addRow(tr("Seal"), seal)
        seed = hbox()
        seed.addWidget(self.seed)
        seed.addStretch(1)
        fields.addRow(tr("Seed"), seed)
        fields.addRow(tr("Metric"), self.metric_box)
        opening = hbox(spacing=8)
        opening.addWidget(self.finished_box)
        opening.addWidget(self.open_button)
        opening.addStretch(1)
        fields.addRow("", opening)
        layout.addLayout(fields)
        layout.addWidget(SectionHeader(tr("Openings")))
        layout.addWidget(self.openings, 1)
        layout.addWidget(self.none_yet, 1)
        layout.addWidget(self.later)
        self.complete()

    # Commands

    def load(self) -> None:
        """Read what is sealed in the open library."""
        if self._context.state.location is None or self._status is None:
            self._show(None)
        self.run(tr("Reading the test vault"), self._show, vault.vault_status, pool=WorkerPool.READ)

    def seal(self) -> None:
        """Seal a share of the patients."""
        share, seed = self.share.value() / 100, self.seed.value()
        self.run(
            tr("Sealing patients"), self._changed, vault.seal_share, share, seed=seed, pool=WorkerPool.READ
        )

    def seal_list(self, file: Path) -> None:
        """Seal the patients and cases that ``file`` lists."""
        try:
            listed = listed_cases(file)
        except SemblanceError as error:
            self.show_error(error)
            return
        self.run(tr("Sealing patients"), self._changed, vault.seal_listed, listed, pool=WorkerPool.READ)

    def unseal(self) -> None:
        """Undo the sealing."""
        self.run(tr("Undoing the sealing"), self._changed, vault.unseal_vault, pool=WorkerPool.READ)

    def open_vault(self) -> None:
        """Test the chosen metric on the sealed patients."""
        if metric := self.metric_box.currentText():
            self.run(tr("Testing {name} on the vault", name=metric), self._changed, vault.open_vault, metric)

    def _choose_list(self) -> None:
        if file := choose_file(self, tr("List of patients to seal"), "*.txt *.csv"):
            self.seal_list(file)

    # Showing

    def _changed(self, _: object) -> None:
        self.finished_box.setChecked(False)
        library_operations.renew(self._context)

    def _show(self, status: VaultStatus | None) -> None:
        self._status = status
        snapshot = self._context.state.library
        chosen = self.metric_box.currentText() or (
            self._context.state.metric.name if self._context.state.metric else ""
        )
        names = [] if snapshot is None else [metric.name for metric in snapshot.metrics]
        self.metric_box.clear()
        self.metric_box.addItems(names)
        if chosen in names:
            self.metric_box.setCurrentText(chosen)
        self.facts.setText(_facts(status))
        before = () if status is None else status.metrics_before
        self.warning.setText(
            tr(
                "Trained before the sealing, so that they may have seen these patients: {names}.",
                names=", ".join(before),
            )
        )
        self.warning.setVisible(bool(before))
        openings = () if status is None else status.openings
        header = [
            tr("opening"),
            tr("date"),
            tr("metric"),
            tr("accuracy @10"),
            tr("mean AUC"),
            tr("cases"),
        ]
        self.openings.set_rows(header, [_row(one) for one in openings], text_columns=3)
        self.openings.setVisible(bool(openings))
        self.none_yet.setVisible(not openings)
        self.later.setVisible(len(openings) > 1)
        self.update_buttons()

    def update_buttons(self) -> None:
        status = self._status
        writable = self._context.state.can_edit and not self.running
        sealed, opened = bool(status and status.cases), bool(status and status.openings)
        enable_widgets(
            {
                self.seal_button: writable and not opened,
                self.list_button: writable and not opened,
                self.unseal_button: writable and sealed and not opened,
                self.open_button: writable
                and sealed
                and self.metric_box.count() > 0
                and self.finished_box.isChecked(),
            }
        )
        opened_tip = tr("The vault was opened, so it stays as it is") if opened else ""
        for button in (self.seal_button, self.unseal_button):
            button.setToolTip(opened_tip)
        self.open_button.setToolTip(
            tr("Nothing is sealed")
            if not sealed
            else ""
            if self.finished_box.isChecked()
            else tr("Tick that you have finished choosing")
        )


def _row(opening: VaultOpening) -> list[str]:
    result = opening.result
    auc = result.get("mean_auc")
    mark = " *" if opening.number > 1 else ""
    return [
        format_number(opening.number, ",") + mark,
        translate(time_text(opening.time)),
        opening.metric,
        interval_text(*(result.get("accuracy") or (None, None, None))),
        "–" if auc is None else format_number(auc, ".2f"),
        format_number(int(result.get("cases") or 0), ","),
    ]


def _facts(status: VaultStatus | None) -> str:
    if status is None or not status.cases:
        return tr("Nothing is sealed in this library.")
    cases = tr_n("{n} case is sealed", "{n} cases are sealed", status.cases)
    findings = ", ".join(f"{name} {format_number(n, ',')}" for name, n in (status.findings or {}).items())
    of_patients = (
        "" if status.patients is None else " " + tr_n("of {n} patient", "of {n} patients", status.patients)
    )
    return tr(
        "{cases}{of_patients}: {findings}. Sealed on {time}.",
        cases=cases,
        of_patients=of_patients,
        findings=findings,
        time=translate(time_text(status.sealed)),
    )
