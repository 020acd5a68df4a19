"""Choose the learner of a library's metric by validation inside the training cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.evaluate_metric import accuracy_after_steps
from semblance.core.evaluation.splits import HoldOut, Rows, hold_out, patient_codes
from semblance.core.language import as_lazy, tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.registry import learner_class, make_learner
from semblance.core.metrics.steps.extractor_steps import chosen_steps
from semblance.core.metrics.steps.sequence import apply_steps, fit_steps
from semblance.core.metrics.training_data.training_sample import stratified_sample
from semblance.core.tasks import SILENT, PartReporter, Reporter

PLAIN = "euclidean"
#: The learners that are compared, the plain distance first. Each of the others is better on some data and worse on
#: other data.
SHORT_LIST = (PLAIN, "bdm_v", "boostmetric", "ccml", "lda")
#: Share of the training cases that an inner split holds out for validation.
VALIDATION_SHARE = 0.4
#: Number of inner splits, and of training cases above which there is one split only.
SPLITS, ONE_SPLIT = 3, 2000
#: Cases of an inner split for fitting and for validation at most, seeded samples with the findings in proportion.
#: More cases to fit on hardly change the order of learners. Fewer to validate on would be farther apart than the
#: cases of the library, which changes the order.
MOST_FITTED, MOST_VALIDATED = 3000, 6000


@dataclass
class LearnerValidation:
    """Retrieval accuracy @ 10 of each learner on the inner validation parts, and the reasons of those without one."""

    accuracy: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The learner with the highest accuracy, of equal ones the first that was compared."""
        return max(self.accuracy, key=self.accuracy.__getitem__, default=PLAIN)


def validate_learners(
    train: EvaluationData,
    extractor: str,
    *,
    learners: Sequence[str] = SHORT_LIST,
    known: LearnerValidation | None = None,
    finished: Callable[[LearnerValidation], None] = lambda _validation: None,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> LearnerValidation:
    """Compare ``learners`` on ``train``, which must be training cases alone, with the default steps of
    ``extractor``.

    The cases are split again, whole patients and copies of an image together (``train.units``): each learner is
    fitted on the larger part and its retrieval accuracy @ 10 measured inside the other. ``known``: results of an
    earlier call, which are not measured again. ``finished`` is called after every learner.

    Raises:
        BadInput: too few cases or patients to split.
        Cancelled: the reporter was cancelled; what ``finished`` received is valid.
    """
    validation = known or LearnerValidation()
    parts: list[_TrainingPart] | None = None
    for number, name in enumerate(learners):
        if name in validation.accuracy or name in validation.failed:
            continue
        title = as_lazy(learner_class(name).title)
        reporter.check_cancelled()
        reporter.progress(number, len(learners), tr_lazy("Comparing learners"))
        if parts is None:
            parts = _parts(train, extractor, seed)
        try:
            scores = [part.accuracy(name, seed, PartReporter(reporter, stops_early=False)) for part in parts]
            validation.accuracy[name] = float(np.mean(scores))
        except (SemblanceError, np.linalg.LinAlgError) as error:
            validation.failed[name] = tr_lazy("{title}: {error}", title=title, error=str(error))
        finished(validation)
    reporter.progress(len(learners), len(learners), tr_lazy("Comparing learners"))
    return validation


@dataclass(frozen=True, eq=False)
class _TrainingPart:
    """An inner split after its steps: ``fit_rows`` (n, m) of the cases ``fit``, and ``rows`` (v, m) of those
    to validate on, with numbers of their findings and units (v,)."""

    fit: EvaluationData
    fit_rows: Matrix
    rows: Matrix
    findings: Rows
    units: Rows | None
    lesions: Rows | None

    def accuracy(self, learner: str, seed: int, reporter: Reporter) -> float:
        """Retrieval accuracy @ 10 inside the validation part of ``learner`` fitted on the other.

        Raises:
            BadInput: no case of the validation part can be a query.
        """
        fitted = make_learner(learner, random_state=seed)
        fitted.fit(self.fit_rows, self.fit.y, groups=self.fit.groups, reporter=reporter)
        reporter.check_cancelled()
        accuracy = accuracy_after_steps(
            fitted.metric().distance, self.rows, self.findings, self.units, self.lesions
        )
        if accuracy is None:
            raise BadInput(
                "The validation part has no two cases of different patients.", "Import more cases."
            )
        return accuracy


def inner_splits(train: EvaluationData, seed: int) -> list[HoldOut]:
    """The splits of ``train`` to choose by; whole units of :attr:`EvaluationData.units` are on one side.

    Raises:
        BadInput: too few cases or patients.
    """
    splits = 1 if train.n_cases > ONE_SPLIT else SPLITS
    return [
        hold_out(train.y.tolist(), train.units, seed + number, VALIDATION_SHARE) for number in range(splits)
    ]


def _parts(train: EvaluationData, extractor: str, seed: int) -> list[_TrainingPart]:
    parts = []
    for split in inner_splits(train, seed):
        fit = _sample(train.rows(split.train), MOST_FITTED, seed)
        held_out = _sample(train.rows(split.test), MOST_VALIDATED, seed)
        fitted, rows = fit_steps(chosen_steps("", extractor, train.made_by), fit.X, fit.y)
        parts.append(
            _TrainingPart(
                fit,
                rows,
                apply_steps(fitted, held_out.X, held_out.X.shape[1]),
                np.unique(held_out.y, return_inverse=True)[1].astype(np.intp),
                patient_codes(held_out.units, held_out.n_cases),
                held_out.lesions_of(np.arange(held_out.n_cases)),
            )
        )
    return parts


def _sample(data: EvaluationData, most: int, seed: int) -> EvaluationData:
    if data.n_cases <= most:
        return data
    return data.rows(stratified_sample(data.y, max(most, len(data.findings)), seed))
