"""The cases of a library that a metric is trained on and those it is scored on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData, parse_findings_map, prepare
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.splits import HoldOut, Rows, hold_out
from semblance.core.language import as_lazy, join_texts, tr_lazy
from semblance.core.metrics.registry import learners
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases
from semblance.core.workflows.metrics.train_request import TrainRequest

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import FeatureSet
    from semblance.core.metrics.learner import Learner

#: On the card of a metric of a library without findings.
NO_FINDINGS = tr_lazy("Not scored: no case of the library has a finding.")


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
