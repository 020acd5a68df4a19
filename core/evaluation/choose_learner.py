"""Choose the description and the learner of a library's metric by validation inside the training cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
from semblance.core.metrics.steps.levels import of_levels
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.steps.sequence import apply_steps, chosen_steps, fit_steps
from semblance.core.metrics.training_data.training_sample import stratified_sample
from semblance.core.tasks import SILENT, PartReporter, Reporter

if TYPE_CHECKING:
    from semblance.core.metrics.steps.step import Step

PLAIN = "euclidean"
#: The learners that are compared, the plain distance first. Each of the others is better on some data and worse on
#: other data.
SHORT_LIST = (PLAIN, "bdm_v", "boostmetric", "ccml", "lda")
#: Where the encoder's levels are stored, what may be compared: the head as in its own features, which is "" here, the
#: generalised means of all levels, and those of the levels before the last. By name none is best: the first wins on
#: photographs, the last on radiographs.
HEAD = ""
DESCRIPTIONS = {
    HEAD: "levels:head,l2,pca:64",
    "generalised": "levels:generalised,l2,pca:64",
    "blocks": "levels:blocks,l2,pca:64",
}
#: The learner by which descriptions are compared, because it is quick and orders them as the slower ones do.
SELECTOR = "lda"
#: Principal components that are tried besides where a validation part is given, which has more cases than an inner one.
MORE = 128
#: Share of the training cases that an inner split holds out for validation.
VALIDATION_SHARE = 0.4
#: Number of inner splits, and of training cases above which there is one split only.
SPLITS, ONE_SPLIT = 3, 2000
#: Cases of an inner split for fitting and for validation at most, seeded samples with the findings in proportion.
#: More cases to fit on hardly change the order of learners. Fewer to validate on would be farther apart than the
#: cases of the library, which changes the order.
MOST_FITTED, MOST_VALIDATED = 3000, 6000


@dataclass(frozen=True)
class Candidate:
    """A ``learner`` on a ``description`` of the cases, one of :data:`DESCRIPTIONS`, with so many principal
    ``components``, 0 for the usual number."""

    learner: str
    description: str = HEAD
    components: int = 0

    @property
    def key(self) -> str:
        """``bdm_v``, ``bdm_v on blocks`` or ``bdm_v on blocks with 128``."""
        on = f" on {self.description}" if self.description else ""
        return f"{self.learner}{on}" + (f" with {self.components}" if self.components else "")

    @classmethod
    def of_key(cls, key: str) -> Candidate:
        """The inverse of :attr:`key`."""
        name, _, components = key.partition(" with ")
        learner, _, description = name.partition(" on ")
        return cls(learner, description, int(components or 0))

    def steps(self, extractor: str, made_by: Mapping[str, Any]) -> tuple[Step, ...]:
        """The unfitted steps before the learner, for features of ``extractor`` made with the settings ``made_by``."""
        text = DESCRIPTIONS[self.description] if of_levels(extractor, made_by) else ""
        steps = chosen_steps(text, extractor, made_by)
        if not self.components:
            return steps
        return tuple(PCA(self.components) if isinstance(step, PCA) else step for step in steps)

    @property
    def title(self) -> str:
        """The name on screen."""
        learner = as_lazy(declared_learner(self.learner).title)
        described = {
            HEAD: learner,
            "generalised": tr_lazy("{learner} on all levels", learner=learner),
            "blocks": tr_lazy("{learner} on the levels before the last", learner=learner),
        }[self.description]
        if not self.components:
            return described
        return tr_lazy("{learner}, {n} components", learner=as_lazy(described), n=self.components)


@dataclass
class LearnerValidation:
    """Macro retrieval accuracy @ 10 (mean over findings; @ fewer in small parts) of each candidate, by its key, on the
    inner validation parts, and the reasons of those that cannot be chosen: they failed, or find a finding, or all of
    them, worse than the plain distance."""

    accuracy: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> Candidate:
        """The one with the highest accuracy, of equal ones the first that was compared."""
        return Candidate.of_key(max(self.accuracy, key=self.accuracy.__getitem__, default=PLAIN))


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
    ``extractor``. Of the encoder's levels the descriptions are compared first, by one learner; then the learners on
    the best of them.

    The cases are split again, whole patients and copies of an image together (``train.units``): each learner is
    fitted on the larger part and its macro retrieval accuracy @ 10 measured inside the other. A learner that retrieves
    a finding, or separates the findings, worse than the plain distance by more than chance is refused. ``known``:
    results of an earlier call, which are not measured again. ``finished`` is called after every candidate.

    Raises:
        BadInput: too few cases or patients to split.
        Cancelled: the reporter was cancelled; what ``finished`` received is valid.
    """
    validation = known or LearnerValidation()
    selecting = _selecting(extractor, train, learners)
    total = max(1, len(selecting)) + len(learners) - 1
    measuring = _Measuring(train, extractor, seed, reporter)
    done = 0

    def compare(candidates: Sequence[Candidate]) -> None:
        nonlocal done
        for candidate in candidates:
            reporter.check_cancelled()
            reporter.progress(min(done, total), total, tr_lazy("Comparing learners"))
            done += 1
            if candidate.key not in validation.accuracy and candidate.key not in validation.failed:
                measuring.add(candidate, validation)
                finished(validation)

    compare([*([Candidate(PLAIN)] if PLAIN in learners else []), *selecting])
    best = _best_description(selecting, validation)
    compare([Candidate(learner, best) for learner in learners])
    reporter.progress(total, total, tr_lazy("Comparing learners"))
    return validation


def best_on_validation_part(
    data: EvaluationData,
    extractor: str,
    score: Callable[[Sequence[Step], str], float],
    *,
    learners: Sequence[str] = SHORT_LIST,
    reporter: Reporter = SILENT,
) -> LearnerValidation:
    """Compare the descriptions of ``data`` by one learner, then ``learners`` on the best of them, with the usual and
    with :data:`MORE` principal components.

    ``score`` fits a learner after unfitted steps on the training part and measures it with the validation part.

    Raises:
        Cancelled: the reporter was cancelled.
    """
    validation = LearnerValidation()

    def compare(candidates: Sequence[Candidate]) -> None:
        for candidate in candidates:
            reporter.check_cancelled()
            if candidate.key in validation.accuracy or candidate.key in validation.failed:
                continue
            try:
                validation.accuracy[candidate.key] = score(
                    candidate.steps(extractor, data.made_by), candidate.learner
                )
            except (SemblanceError, np.linalg.LinAlgError) as error:
                validation.failed[candidate.key] = str(error)

    selecting = _selecting(extractor, data, learners)
    compare([Candidate(PLAIN), *selecting])
    best = _best_description(selecting, validation)
    projected = any(isinstance(step, PCA) for step in Candidate(PLAIN).steps(extractor, data.made_by))
    compare([Candidate(name, best, more) for more in ((0, MORE) if projected else (0,)) for name in learners])
    return validation


def _selecting(extractor: str, data: EvaluationData, learners: Sequence[str]) -> list[Candidate]:
    """By which the description is chosen; none if there is only one."""
    if SELECTOR not in learners or not of_levels(extractor, data.made_by):
        return []
    return [Candidate(SELECTOR, description) for description in DESCRIPTIONS]


def _best_description(selecting: Sequence[Candidate], validation: LearnerValidation) -> str:
    """That of the best of ``selecting``, of equal ones the first; the head if none can be chosen."""
    scores = {
        one.description: validation.accuracy[one.key] for one in selecting if one.key in validation.accuracy
    }
    return max(scores, key=scores.__getitem__, default=HEAD)


class _Measuring:
    """Measures candidates on the inner splits of ``train``, which are made when the first is measured."""

    def __init__(self, train: EvaluationData, extractor: str, seed: int, reporter: Reporter) -> None:
        self._train, self._extractor, self._seed = train, extractor, seed
        self._reporter = PartReporter(reporter, stops_early=False)
        self._parts: dict[str, list[_TrainingPart]] = {}
        self._plain: FindingShares | None = None

    def add(self, candidate: Candidate, validation: LearnerValidation) -> None:
        """Enter the accuracy of ``candidate``, or why it cannot be chosen."""
        title = candidate.title
        plain_parts = self._of(HEAD) if self._plain is None else []
        try:
            if self._plain is None:
                self._plain = _measured(plain_parts, PLAIN, self._seed, self._reporter)
            if candidate == Candidate(PLAIN):
                found = self._plain
            else:
                parts = self._of(candidate.description)
                found = _measured(parts, candidate.learner, self._seed, self._reporter)
            names = np.unique(self._train.y).tolist()
            worse = (
                []
                if found is self._plain
                else worse_findings(found, self._plain, names, title=title, seed=self._seed)
            )
            score = float(mean_over_findings(found.accuracy[:, np.newaxis], found.findings)[0])
            if worse:
                validation.failed[candidate.key] = tr_lazy(
                    "{reasons} Its macro accuracy is {accuracy:.2f}.",
                    reasons=join_texts(worse, " "),
                    accuracy=score,
                )
            else:
                validation.accuracy[candidate.key] = score
        except (SemblanceError, np.linalg.LinAlgError) as error:
            validation.failed[candidate.key] = tr_lazy("{title}: {error}", title=title, error=str(error))

    def _of(self, description: str) -> list[_TrainingPart]:
        if description not in self._parts:
            # One description at a time, because the rows of several are large.
            self._parts = {}
            steps = Candidate(PLAIN, description).steps(self._extractor, self._train.made_by)
            self._parts[description] = _parts(self._train, steps, self._seed)
        return self._parts[description]


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

    @property
    def nearest(self) -> int:
        """How many nearest cases are looked at: :data:`K`, or half of the cases of an average finding, because among
        hardly more cases than are looked at all learners find the same."""
        return min(K, max(1, len(self.rows) // (2 * self.n_findings)))

    def shares(self, learner: str, seed: int, reporter: Reporter) -> Matrix:
        """(v, c) the share of each finding among the :attr:`nearest` inside the validation part, of ``learner`` fitted
        on the other; NaN for a case that has none.

        Raises:
            BadInput: no case of the validation part can be a query.
        """
        fitted = make_learner(learner, random_state=seed)
        fitted.fit(self.fit_rows, self.fit.y, groups=self.fit.groups, reporter=reporter)
        reporter.check_cancelled()
        distances = distances_after_steps(fitted.metric().distance, self.rows, self.rows, self.lesions)
        units = np.arange(len(self.rows)) if self.units is None else self.units
        shares = shares_of_nearest(distances, self.findings, self.n_findings, units, self.nearest)
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


def _parts(train: EvaluationData, steps: Sequence[Step], seed: int) -> list[_TrainingPart]:
    parts = []
    names, findings = np.unique(train.y, return_inverse=True)
    units = patient_codes(train.units, train.n_cases)
    for split in inner_splits(train, seed):
        fit = train.rows(sampled_rows(train.y, split.train, MOST_FITTED, seed))
        cases = sampled_rows(train.y, split.test, MOST_VALIDATED, seed)
        held_out = train.rows(cases)
        fitted, rows = fit_steps(steps, fit.X, fit.y)
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
