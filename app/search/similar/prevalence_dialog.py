"""The dialog that sets how frequent findings are in the user's practice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtWidgets import QDialog, QWidget

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.fields import NumberField
from semblance.app.widgets.labels import WrappedLabel
from semblance.core.errors import BadArguments
from semblance.core.language import format_number, tr
from semblance.core.parameters import Parameter
from semblance.core.workflows.searches.estimate import prevalences, set_prevalences

#: Findings that have a field; the command line sets others.
MAX_FIELDS = 12
_PARAMETER = Parameter("prevalence", None, "The share of cases with the finding, in percent.")


class PrevalenceDialog(Dialog):
    """A field in percent for each finding. Those with an empty one share the rest as in the library."""

    def __init__(
        self,
        in_library: Sequence[tuple[str, float]],
        shares: Mapping[str, float],
        parent: QWidget | None = None,
    ) -> None:
        """``in_library``: findings with their shares, 0 to 1, of the library's cases; ``shares``: those set."""
        super().__init__(parent)
        self.setWindowTitle(tr("Set prevalence"))
        self._others = dict(shares)
        self.fields: dict[str, NumberField] = {}
        fields = form()
        for finding, share in in_library[:MAX_FIELDS]:
            field = NumberField(_PARAMETER)
            known = self._others.pop(finding, None)
            field.set_value(None if known is None else float(f"{100 * known:.6g}"))
            field.setPlaceholderText(format_number(100 * share, ".3g"))
            field.setAccessibleName(tr("Prevalence of {finding} in percent", finding=finding))
            field.edited.connect(self._check)
            fields.addRow(tr("{finding}, %", finding=finding), field)
            self.fields[finding] = field
        self._problem = WrappedLabel(role="second")
        self.accept_button = accept_button(tr("Set prevalence"))
        self.accept_button.clicked.connect(self.accept)
        layout = dialog_layout(self)
        layout.addWidget(
            WrappedLabel(
                tr(
                    "How many of 100 cases in your practice have each finding? Findings with an empty field share "
                    "the rest as they do in the library, whose shares are shown in grey."
                )
            )
        )
        layout.addLayout(fields)
        layout.addWidget(self._problem)
        layout.addLayout(action_row(self, self.accept_button))
        self.setMinimumWidth(theme().px(420))

    def shares(self) -> dict[str, float]:
        """Finding -> share, 0 to 1, of the fields that are filled, and of findings without a field.

        Raises:
            BadArguments: a field that is no percentage above 0 and below 100, or more than 100 % together.
        """
        found = dict(self._others)
        for finding, field in self.fields.items():
            value = field.value()
            if value is None:
                continue
            if not isinstance(value, int | float) or not 0 < value < 100:
                raise BadArguments(tr("A prevalence is more than 0 % and less than 100 %."))
            found[finding] = value / 100
        if sum(found.values()) > 1.0 + 1e-9:
            raise BadArguments(tr("The prevalences are more than 100 % together."))
        return found

    def _check(self) -> None:
        problem = ""
        try:
            self.shares()
        except BadArguments as refused:
            problem = str(refused)
        self._problem.setText(problem)
        self.accept_button.setEnabled(not problem)


def edit_prevalences(context: Context, parent: QWidget) -> None:
    """Ask for the prevalences of the open library, record them and rank again."""
    library, snapshot = context.state.path, context.state.library
    if library is None or snapshot is None:
        return
    columns = snapshot.columns
    counts = [int((columns.finding == number).sum()) for number in range(len(columns.findings))]
    total = max(1, sum(counts))
    in_library = [(name, n / total) for name, n in zip(columns.findings, counts, strict=True)]

    def ask(shares: Mapping[str, float]) -> None:
        dialog = PrevalenceDialog(in_library, shares, parent)
        if dialog.exec() == QDialog.DialogCode.Accepted:
            job = context.jobs.run(
                "", set_prevalences, library, dialog.shares(), pool=WorkerPool.READ, quiet=True
            )
            context.follow(job, lambda _: search_operations.rank(context))
        dialog.deleteLater()

    context.follow(context.jobs.run("", prevalences, library, pool=WorkerPool.READ, quiet=True), ask)
