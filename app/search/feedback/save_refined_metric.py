"""Save the refined metric: the dialog for its name and author, and the job, after which it is scored and selected."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QWidget,
)

from semblance.app.search.feedback.mark_cards import author
from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.settings import AUTHOR
from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.dialog import Dialog, accept_button, cancel_button, dialog_layout, form
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, fill
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import account, unique_name
from semblance.core.searches.search import new_ledger
from semblance.core.workflows.metrics import score_metric
from semblance.core.workflows.searches.feedback import refine_metric

#: With fewer judgements the scores rarely change.
FEW = 10


def save_refined(context: Context, parent: QWidget) -> None:
    """Ask for a name, and save the refined metric."""
    state = context.state
    if state.search is None or state.library is None:
        return
    taken = [metric.name for metric in state.library.metrics]
    dialog = SaveRefinedDialog(state.search.metric, state.judgement_count, taken, author(context), parent)
    if dialog.exec() == QDialog.DialogCode.Accepted:
        save_metric(context, dialog.name(), dialog.author())
    dialog.deleteLater()


class SaveRefinedDialog(Dialog):
    """After acceptance :meth:`name` and :meth:`author` give what was entered."""

    def __init__(
        self,
        base: str,
        judgements: int,
        existing: Collection[str],
        author: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Save as new metric"))
        self.setMinimumWidth(theme().px(440))
        self._existing = set(existing)
        self._name = QLineEdit(unique_name(tr("{base} refined", base=base), list(existing)))
        self._name.selectAll()
        self._author = QLineEdit(author)
        self._author.setPlaceholderText(tr("nobody"))
        note = tr_n(
            "Made from {n} mark on {base}. It is then tested on cases neither marked nor used for training.",
            "Made from {n} marks on {base}. It is then tested on cases neither marked nor used for training.",
            judgements,
            base=base,
        )
        few_note = " " + tr("So few marks rarely change the scores.") if judgements < FEW else ""
        self._note = WrappedLabel(note + few_note, "small")
        privacy_note = WrappedLabel(
            tr("Your name is stored in the library and on the metric card. No report contains it."), "small"
        )
        fields = form()
        fields.addRow(tr("Name"), self._name)
        fields.addRow("", self._note)
        fields.addRow(tr("Judged by"), self._author)
        fields.addRow("", privacy_note)
        self._problem = QLabel()
        set_look(self._problem, role="error")
        self._problem.hide()
        self.save_button = accept_button(tr("Save"))
        self.save_button.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        fill(buttons, (self._problem, 1), STRETCH, cancel_button(self), self.save_button)
        column = dialog_layout(self)
        column.addLayout(fields)
        column.addLayout(buttons)
        self._name.textChanged.connect(self._validate)
        self._validate()

    def name(self) -> str:
        return self._name.text().strip()

    def author(self) -> str:
        return self._author.text().strip()

    def _validate(self) -> None:
        exists = self.name() in self._existing
        self._problem.setText(tr("A metric with this name exists already.") if exists else "")
        self._problem.setVisible(exists)
        set_look(self._name, error=exists)
        self.save_button.setEnabled(bool(self.name()) and not exists)


def save_metric(context: Context, name: str, author_name: str) -> Job | None:
    """Save the refined metric as ``name`` by ``author_name``, then score and select it.

    Its judgements become part of it, so the search continues with a new ledger.
    """
    state, search = context.state, context.state.search
    path = state.location
    if path is None or search is None or state.ranked_search is None:
        return None
    own_name = author(context)
    context.settings.set_text(AUTHOR, "" if author_name == account() else author_name)
    authors_in_force = {
        entry.judgement.author for entry in state.ranked_search.entries if entry.undone is None
    }
    authors = sorted(
        {
            author_name if author_in_force == own_name else author_in_force
            for author_in_force in authors_in_force
        }
        - {""}
    )
    job = context.jobs.run(
        tr("Saving {name}", name=name),
        refine_metric.save_refined,
        path,
        search,
        name,
        authors=authors,
        pool=WorkerPool.SEARCH,
    )

    def choose() -> None:
        if state.search == search:
            state.set_metric(name)
            # The metric itself leaves out the excluded groups, so the search need not.
            state.change_search(ledger=new_ledger(), strength=1.0, without=())
            search_operations.rank(context)
        _score(context, path, name)

    def show(_card: object) -> None:
        context.messages.info(
            tr("{name} is saved. It is being tested on cases not used for training.", name=name)
        )
        if state.location == path:
            library_operations.renew(context, choose)

    return context.follow(job, show)


def _score(context: Context, path: LibraryLocation, name: str) -> None:
    job = context.jobs.run(
        tr("Scoring {name}", name=name), score_metric.score_metric, path, name, channel=f"score {name}"
    )

    def warn(error: SemblanceError) -> None:
        # The metric can be used without a score.
        context.messages.warning(
            tr("{name} has no score: {reason}", name=name, reason=error.message), error.hint
        )

    def show(_scores: object) -> None:
        if context.state.location == path:
            library_operations.renew(context, lambda: search_operations.rank_after_scoring(context, name))

    job.done.connect(show)
    job.failed.connect(warn)
