"""The supervision of a training: findings, the judgements of a ledger, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import JudgedConstraints, Rows, from_judgements, sample_triplets
from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.language import as_lazy, join_texts, tr_lazy, tr_lazy_n
from semblance.core.metrics.registry import learners
from semblance.core.searches.feedback.judgements import Judgement

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.declarations import LearnerDeclaration
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric

#: Triplets drawn from findings for each case, beside judged ones.
TRIPLETS_EACH = 20
JUDGED = "judged"


@dataclass(frozen=True, eq=False)
class Supervision:
    """Findings ``y``, ``pairs`` and ``triplets`` for a learner; ``judged``: number of constraints from judgements;
    ``note``: the sentence about them on the card."""

    y: npt.ArrayLike | None
    pairs: Rows | None = None
    triplets: Rows | None = None
    judged: int = 0
    note: str = ""

    def noted_on(self, metric: Metric) -> Metric:
        """``metric`` with the judgements it learned from on its card."""
        if not self.judged:
            return metric
        card = metric.card
        return metric.with_card(
            constraints={**card.constraints, JUDGED: self.judged}, notes=(*card.notes, self.note)
        )


def training_supervision(
    library: Library, learner: Learner, train: EvaluationData, *, from_findings: bool, ledger: str, seed: int
) -> Supervision:
    """The supervision of ``learner`` by the training cases: their findings, the judgements of ``ledger`` ("" for
    none), or both.

    Raises:
        BadInput: nothing to learn from, no judgement in force or none about training cases, or a learner that
            takes none.
    """
    y = train.y if from_findings else None
    if not ledger:
        if y is None and learner.accepts:
            raise BadInput("Nothing to learn from is chosen.", "Learn from findings, judgements or both.")
        return Supervision(y)
    check_accepts_judgements(type(learner))
    judgements = _judgements_in_force(library, ledger)
    judged = _judged_constraints(library, judgements, train)
    takes_pairs = "pairs" in learner.accepts
    constraints = judged.pairs if takes_pairs else judged.triplets
    if not len(constraints):
        raise BadInput(
            tr_lazy(
                "None of the {n} judgements is about training cases that {title} can use.",
                n=len(judgements),
                title=learner.title,
            ),
            "Marks make pairs. More like this and less like this for one query, or 'closer', make triplets.",
        )
    note = _note(len(judgements), judged.left_out, with_findings=y is not None)
    if takes_pairs:
        return Supervision(y, constraints, None, len(constraints), note)
    if y is None:
        return Supervision(None, None, constraints, len(constraints), note)
    drawn = sample_triplets(y, TRIPLETS_EACH * train.n_cases, seed)
    return Supervision(y, None, np.concatenate([constraints, drawn]), len(constraints), note)


def check_accepts_judgements(learner: type[LearnerDeclaration]) -> None:
    """Raises BadInput for a learner that takes neither pairs nor triplets."""
    if not learner.accepts & {"pairs", "triplets"}:
        able = join_texts(as_lazy(one.title) for one in learners() if one.accepts & {"pairs", "triplets"})
        raise BadInput(
            tr_lazy("{title} cannot learn from judgements.", title=learner.title),
            tr_lazy("These can: {able}. Or learn from findings alone.", able=able),
        )


def _judgements_in_force(library: Library, ledger: str) -> list[Judgement]:
    """The judgements of ``ledger`` that were not undone.

    Raises:
        BadInput: there are none.
    """
    records = [record for _, record, undone in library.judgements(ledger).read() if undone is None]
    if records:
        return [Judgement.from_record(record) for record in records]
    from semblance.core.library.judgements import ledgers

    names = ", ".join(ledgers(library.catalogue))
    raise BadInput(
        tr_lazy("The ledger '{judgements}' has no judgement in force.", judgements=ledger),
        tr_lazy("Ledgers of this library: {there}.", there=names)
        if names
        else tr_lazy("Judge some cases first."),
    )


def _judged_constraints(
    library: Library, judgements: Sequence[Judgement], train: EvaluationData
) -> JudgedConstraints:
    """Pairs and triplets of rows of ``train``. Judgements on a region of a case or on an image from outside are left
    out."""
    assert train.case_rows is not None
    place = {int(row): at for at, row in enumerate(train.case_rows)}
    row_of = {r.case_id: place[int(r.id)] for r in library.catalogue.all_cases() if int(r.id) in place}
    return from_judgements(
        [(one.kind.value, one.query_key, one.case, one.other) for one in judgements], row_of
    )


def _note(n: int, left_out: int, *, with_findings: bool) -> str:
    """The sentence on the card about the ``n`` judgements."""
    count = tr_lazy_n("{n} judgement", "{n} judgements", n)
    sources = tr_lazy("findings and {judgements}", judgements=count) if with_findings else count
    left = tr_lazy("; {left_out} of them about other cases were left out", left_out=left_out)
    return tr_lazy("Learnt from {sources}{left}.", sources=sources, left=left if left_out else "")
