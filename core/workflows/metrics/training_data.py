"""What a learner is fitted on: the cases, their split, and the findings, pairs and triplets that supervise it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import JudgedConstraints, from_judgements, sample_triplets
from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData, parse_findings_map, prepare
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.splits import HoldOut, Rows, hold_out
from semblance.core.language import as_lazy, join_texts, tr_lazy, tr_lazy_n
from semblance.core.metrics.registry import learners
from semblance.core.searches.feedback.judgements import Judgement
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases
from semblance.core.workflows.metrics.train_request import TrainRequest

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import FeatureSet
    from semblance.core.metrics.declarations import LearnerDeclaration
    from semblance.core.metrics.learner import Learner
    from semblance.core.metrics.metric import Metric


#: On the card of a metric of a library without findings.
NO_FINDINGS = tr_lazy("Not scored: no case of the library has a finding.")

#: Triplets drawn from findings for each case, beside judged ones.
TRIPLETS_EACH = 20
JUDGED = "judged"


@dataclass(frozen=True, eq=False)
class TrainingData:
    """``everything``: all cases that have the features; ``cases``: those with a finding, as renamed.

    ``split`` says which ``cases`` are trained on and which are held out by patient. Without a split nothing
    is held out: all cases are trained on, without their findings, and ``unscored`` says why.
    """

    feature_set: FeatureSet
    everything: EvaluationData
    cases: EvaluationData
    split: HoldOut | None
    findings_map: Mapping[str, str] | None = None
    unscored: str = ""

    @property
    def training_rows(self) -> Rows:
        """(n,) the rows of ``cases`` to train on."""
        return np.arange(self.cases.n_cases) if self.split is None else self.split.train

    @property
    def train(self) -> EvaluationData:
        """The cases to train on, with a copy of their features."""
        return self.cases if self.split is None else self.cases.rows(self.split.train)

    @property
    def training_ids(self) -> npt.NDArray[np.int64]:
        """(n,) catalogue ids of the cases to train on."""
        assert self.cases.case_rows is not None
        ids: npt.NDArray[np.int64] = self.cases.case_rows[self.training_rows]
        return ids

    @property
    def held_out(self) -> HeldOutCases | None:
        """The cases to score on; ``None`` where none are held out."""
        if self.split is None:
            return None
        return HeldOutCases(
            self.cases,
            self.split.train,
            self.split.test,
            self.everything,
            self.training_ids,
            self.findings_map,
        )


def read_training_data(library: Library, request: TrainRequest, learner: Learner) -> TrainingData:
    """The cases ``request`` names, split by patient; all of them where a learner needs no findings and the
    library has none, or too few to hold some out.

    Raises:
        BadArguments: unknown feature set, or a finding that no case has.
        BadInput: too few cases or findings for ``learner``.
    """
    feature_set = library.features.get(request.features)
    everything = library_data(library, feature_set)
    findings_map = parse_findings_map(request.findings) if request.findings else None
    if any(everything.y):
        try:
            return split_cases(feature_set, everything, findings_map, request)
        except BadInput as few:
            if learner.accepts:
                hint = join_texts([few.hint, _findingless_learners()], " ") if few.hint else ""
                raise BadInput(few.message, hint or _findingless_learners()) from few
            unscored = tr_lazy("Not scored: {message}", message=few.message)
    else:
        unscored = NO_FINDINGS
    _check_findingless(everything, learner, request)
    return TrainingData(feature_set, everything, everything, None, unscored=unscored)


def split_cases(
    feature_set: FeatureSet,
    everything: EvaluationData,
    findings_map: Mapping[str, str] | None,
    request: TrainRequest,
) -> TrainingData:
    """The cases of ``everything`` with a finding, some held out by patient as ``request`` says.

    Raises:
        BadArguments: a finding that no case has.
        BadInput: too few cases, findings or patients to hold some out.
    """
    cases = prepare(everything, findings=findings_map, max_cases=request.max_cases, seed=request.seed)
    split = hold_out(cases.y.tolist(), cases.units, request.seed, request.held_out)
    if len(split.train) < 2:
        raise BadInput(
            tr_lazy(
                "{data} has {n_cases} cases with a finding: too few to hold some out.",
                data=cases.name,
                n_cases=cases.n_cases,
            ),
            "Import more.",
        )
    return TrainingData(feature_set, everything, cases, split, findings_map)


def _check_findingless(data: EvaluationData, learner: Learner, request: TrainRequest) -> None:
    """Raise an error for a training without findings that has no other supervision."""
    if learner.accepts and not request.judgements:
        raise BadInput(
            tr_lazy(
                "{data} has no findings, and {title} learns from them.", data=data.name, title=learner.title
            ),
            tr_lazy("Give the cases findings (a labels.csv). {value}", value=_findingless_learners()),
        )
    if data.n_cases < 2:
        raise BadInput(
            tr_lazy("{data} has {n_cases} case.", data=data.name, n_cases=data.n_cases),
            "Import more: there is nothing to compare.",
        )


def _findingless_learners() -> str:
    """Which learners can be trained on any library."""
    return tr_lazy(
        "These need no findings: {those}.",
        those=join_texts(as_lazy(one.title) for one in learners() if not one.accepts),
    )


@dataclass(frozen=True, eq=False)
class Supervision:
    """Findings ``y``, ``pairs`` and ``triplets`` for a learner; ``judged``: number of constraints from judgements;
    ``note``: the sentence about them on the card."""

    y: npt.ArrayLike | None
    pairs: npt.NDArray[np.int64] | None = None
    triplets: npt.NDArray[np.int64] | None = None
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
            raise BadInput("Nothing to learn from is chosen.", "Learn from findings, marks or both.")
        return Supervision(y)
    check_accepts_judgements(type(learner))
    judgements = _judgements_in_force(library, ledger)
    judged = _judged_constraints(library, judgements, train)
    takes_pairs = "pairs" in learner.accepts
    constraints = judged.pairs if takes_pairs else judged.triplets
    if not len(constraints):
        raise BadInput(
            tr_lazy(
                "None of the {n} marks is about training cases that {title} can use.",
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
            tr_lazy("{title} cannot learn from marks.", title=learner.title),
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
        tr_lazy("The ledger '{judgements}' has no mark in force.", judgements=ledger),
        tr_lazy("Ledgers of this library: {there}.", there=names)
        if names
        else tr_lazy("Mark some cases first."),
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
    count = tr_lazy_n("{n} mark", "{n} marks", n)
    sources = tr_lazy("findings and {judgements}", judgements=count) if with_findings else count
    left = tr_lazy("; {left_out} of them about other cases were left out", left_out=left_out)
    return tr_lazy("Learnt from {sources}{left}.", sources=sources, left=left if left_out else "")
