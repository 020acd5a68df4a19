"""What a training learns from: findings, the judgements of a ledger, or both together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Rows, from_judgements, sample_triplets
from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.language import as_lazy, join_texts, tr_lazy, tr_lazy_n
from semblance.core.library.records import JudgementRecord
from semblance.core.metrics.registry import learners
from semblance.core.searches.judgement import Judgement

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric
    from semblance.core.workflows.metrics.train_metric import TrainRequest

#: Triplets drawn from findings for each case, beside judged ones.
TRIPLETS_EACH = 20
JUDGED = "judged"


@dataclass(frozen=True, eq=False)
class Supervision:
    """Findings ``y``, ``pairs`` and ``triplets`` for a learner; ``judged`` constraints among them came from
    judgements, and ``note`` says so on the card."""

    y: npt.ArrayLike | None
    pairs: Rows | None = None
    triplets: Rows | None = None
    judged: int = 0
    note: str = ""

    def told(self, metric: Metric) -> Metric:
        """``metric`` with what it came from on its card."""
        if not self.judged:
            return metric
        card = metric.card
        return metric.with_card(
            constraints={**card.constraints, JUDGED: self.judged}, notes=(*card.notes, self.note)
        )


def training_supervision(
    library: Library, request: TrainRequest, learner: Learner, train: EvaluationData
) -> Supervision:
    """What ``request`` lets ``learner`` learn from the training cases.

    Raises:
        BadInput: nothing to learn from, no judgement in force or none that speaks of training cases, or a
            learner that takes none.
    """
    y = train.y if request.from_findings else None
    if not request.judgements:
        if y is None and learner.accepts:
            raise BadInput("Nothing to learn from is chosen.", "Learn from findings, judgements or both.")
        return Supervision(y)
    check_accepts_judgements(type(learner))
    made = [Judgement.from_record(one) for one in _in_force(library, request.judgements)]
    if not made:
        from semblance.core.library.judgements import ledgers

        there = ", ".join(ledgers(library.catalogue))
        raise BadInput(
            tr_lazy("The ledger '{judgements}' has no judgement in force.", judgements=request.judgements),
            tr_lazy("Ledgers of this library: {there}.", there=there)
            if there
            else tr_lazy("Judge some cases first."),
        )
    assert train.case_rows is not None
    place = {int(row): at for at, row in enumerate(train.case_rows)}
    row_of = {r.case_id: place[int(r.id)] for r in library.catalogue.all_cases() if int(r.id) in place}
    # A part of a case, or an image from outside, is no row.
    said = [(one.kind.value, one.asked, one.case, one.other) for one in made]
    judged = from_judgements(said, row_of)
    wants_pairs = "pairs" in learner.accepts
    found = judged.pairs if wants_pairs else judged.triplets
    if not len(found):
        raise BadInput(
            tr_lazy(
                "None of the {n} judgements tells {title} anything about the training cases.",
                n=len(made),
                title=learner.title,
            ),
            "Thumbs make pairs; a like and a dislike of one query, or 'closer', make triplets.",
        )
    left = (
        tr_lazy("; {left_out} of them about other cases were left out", left_out=judged.left_out)
        if judged.left_out
        else ""
    )
    count = tr_lazy_n("{n} judgement", "{n} judgements", len(made))
    sources = count if y is None else tr_lazy("findings and {judgements}", judgements=count)
    note = tr_lazy("Learnt from {sources}{left}.", sources=sources, left=left)
    if wants_pairs:
        return Supervision(y, found, None, len(found), note)
    if y is None:
        return Supervision(None, None, found, len(found), note)
    drawn = sample_triplets(y, TRIPLETS_EACH * train.n_cases, request.seed)
    return Supervision(y, None, np.concatenate([found, drawn]), len(found), note)


def check_accepts_judgements(learner: type[Learner]) -> None:
    """Raises BadInput for a learner that takes neither pairs nor triplets."""
    if not learner.accepts & {"pairs", "triplets"}:
        able = join_texts(as_lazy(one.title) for one in learners() if one.accepts & {"pairs", "triplets"})
        raise BadInput(
            tr_lazy("{title} cannot learn from judgements.", title=learner.title),
            tr_lazy("These can: {able}. Or learn from findings alone.", able=able),
        )


def _in_force(library: Library, ledger: str) -> list[JudgementRecord]:
    return [record for _, record, undone in library.judgements(ledger).read() if undone is None]
