"""Choose the learner of a library's metric by validation inside the training cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.evaluation.chance import K
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import distances_after_steps
from semblance.core.evaluation.scores import mean_over_findings, shares_of_nearest
from semblance.core.evaluation.splits import HoldOut, Rows, hold_out, patient_codes
from semblance.core.evaluation.worse_findings import FindingShares, worse_findings
from semblance.core.language import as_lazy, join_texts, tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.registry import declared_learner, make_learner
from semblance.core.metrics.steps.sequence import apply_steps, chosen_steps, fit_steps
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
    """Macro retrieval accuracy @ 10 (mean over findings) of each learner on the inner validation parts, and the reasons
    of those that cannot be chosen: they failed, or find a finding, or all of them, worse than the plain distance."""

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
    fitted on the larger part and its macro retrieval accuracy @ 10 measured inside the other. A learner that retrieves
    a finding, or separates the findings, worse than the plain distance by more than chance is refused. ``known``:
    results of an earlier call, which are not measured again. ``finished`` is called after every learner.

    Raises:
        BadInput: too few cases or patients to split.
        Cancelled: the reporter was cancelled; what ``finished`` received is valid.
    """
    validation = known or LearnerValidation()
    parts: list[_TrainingPart] | None = None
    plain: FindingShares | None = None
    for number, name in enumerate(learners):
        if name in validation.accuracy or name in validation.failed:
            continue
        title = as_lazy(declared_learner(name).title)
        reporter.check_cancelled()
        reporter.progress(number, len(learners), tr_lazy("Comparing learners"))
        if parts is None:
            parts = _parts(train, extractor, seed)
        try:
            quiet = PartReporter(reporter, stops_early=False)
            if plain is None:
                plain = _measured(parts, PLAIN, seed, quiet)
            found = plain if name == PLAIN else _measured(parts, name, seed, quiet)
            names = np.unique(train.y).tolist()
            worse = [] if name == PLAIN else worse_findings(found, plain, names, title=title, seed=seed)
            score = mean_over_findings(found.accuracy[:, np.newaxis], found.findings)
            if worse:
                validation.failed[name] = tr_lazy(
                    "{reasons} Its macro accuracy is {accuracy:.2f}.",
                    reasons=join_texts(worse, " "),
                    accuracy=float(score[0]),
                )
            else:
                validation.accuracy[name] = float(score[0])
        except (SemblanceError, np.linalg.LinAlgError) as error:
            validation.failed[name] = tr_lazy("{title}: {error}", title=title, error=str(error))
        finished(validation)
    reporter.progress(len(learners), len(learners), tr_lazy("Comparing learners"))
    return validation


@dataclass(frozen=True, eq=False)
class _TrainingPart:
    """An inner split after its steps: ``fit_rows`` (n, m) of the cases ``fit``, and ``rows`` (v, m) of those
    to validate on, with numbers of their findings, of ``n_findings``, and of their units (v,), both the same in all
    parts; ``cases`` (v,) number them."""

    fit: EvaluationData
    fit_rows: Matrix
    rows: Matrix
    findings: Rows
    n_findings: int
    cases: Rows
    units: Rows | None
    lesions: Rows | None

    def shares(self, learner: str, seed: int, reporter: Reporter) -> Matrix:
        """(v, c) the share of each finding among the 10 nearest inside the validation part, of ``learner`` fitted on
        the other; NaN for a case that has none.

        Raises:
            BadInput: no case of the validation part can be a query.
        """
        fitted = make_learner(learner, random_state=seed)
        fitted.fit(self.fit_rows, self.fit.y, groups=self.fit.groups, reporter=reporter)
        reporter.check_cancelled()
        distances = distances_after_steps(fitted.metric().distance, self.rows, self.rows, self.lesions)
        units = np.arange(len(self.rows)) if self.units is None else self.units
        shares = shares_of_nearest(distances, self.findings, self.n_findings, units, K)
        if np.isnan(shares).all():
            raise BadInput(
                "The validation part has no two cases of different patients.", "Import more cases."
            )
        return shares


def _measured(parts: Sequence[_TrainingPart], learner: str, seed: int, reporter: Reporter) -> FindingShares:
    """What ``learner`` retrieves in all ``parts``; a case or patient of several parts is one unit."""
    shares = [part.shares(learner, seed, reporter) for part in parts]
    return FindingShares(
        np.concatenate(shares),
        np.concatenate([part.findings for part in parts]),
        np.concatenate([part.cases if part.units is None else part.units for part in parts]),
        np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts]),
    )


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
    names, findings = np.unique(train.y, return_inverse=True)
    units = patient_codes(train.units, train.n_cases)
    for split in inner_splits(train, seed):
        fit = train.rows(sampled_rows(train.y, split.train, MOST_FITTED, seed))
        cases = sampled_rows(train.y, split.test, MOST_VALIDATED, seed)
        held_out = train.rows(cases)
        fitted, rows = fit_steps(chosen_steps("", extractor, train.made_by), fit.X, fit.y)
        parts.append(
            _TrainingPart(
                fit,
                rows,
                apply_steps(fitted, held_out.X, held_out.X.shape[1]),
                findings[cases].astype(np.intp),
                len(names),
                cases,
                None if units is None else units[cases],
                held_out.lesions_of(np.arange(held_out.n_cases)),
            )
        )
    return parts


def sampled_rows(findings: npt.NDArray[np.str_], rows: Rows, most: int, seed: int) -> Rows:
    """``rows``, or of more than ``most`` a sample with the findings in proportion."""
    if len(rows) <= most:
        return rows
    own = findings[rows]
    chosen: Rows = rows[stratified_sample(own, max(most, len(np.unique(own))), seed)]
    return chosen
