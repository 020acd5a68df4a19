"""Prepare a library for searching: default features, the plain distance, and a trained metric if it is better."""

from __future__ import annotations

import hashlib
import itertools
import math
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.evaluation.chance import K
from semblance.core.evaluation.choose_learner import (
    DESCRIPTIONS,
    PLAIN,
    SHORT_LIST,
    Candidate,
    LearnerValidation,
    validate_learners,
)
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.data_sources import library_data
from semblance.core.evaluation.evaluate_metric import FindingScore, chance_note, stored_scores
from semblance.core.evaluation.intervals import over_findings
from semblance.core.evaluation.splits import patient_codes
from semblance.core.evaluation.worse_findings import FindingShares, worse_findings
from semblance.core.features.extractor import BURNT_IN_MARKS, KEEP
from semblance.core.features.places import LEVELS
from semblance.core.features.registry import extractor_class, make_extractor
from semblance.core.json_document import JsonDocument
from semblance.core.language import as_lazy, count_label, join_texts, tr_lazy
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.library.open_library import open_library
from semblance.core.metrics.registry import learner_title, make_learner
from semblance.core.tasks import SILENT, PartReporter, Reporter
from semblance.core.workflows.features.describe_slices import describe_slices
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.library_places import code_places
from semblance.core.workflows.features.measure_new_cases import measure_new_cases
from semblance.core.workflows.features.measuring_order import rows_to_measure_first
from semblance.core.workflows.features.suitable_extractors import suitable_extractors
from semblance.core.workflows.metrics.measure_places import (
    PLACES_NOT_MEASURED,
    REGION_SEARCH,
    WEIGHT_CHOICE,
    region_entries,
    weight_entries,
)
from semblance.core.workflows.metrics.provisional_metric import store_provisional_metric
from semblance.core.workflows.metrics.score_metric import held_out_searches
from semblance.core.workflows.metrics.stored_metric import store_metric, stored_metric
from semblance.core.workflows.metrics.train_metric import fit_and_score
from semblance.core.workflows.metrics.train_request import PREPARED, PROVISIONAL, TrainRequest
from semblance.core.workflows.metrics.training_data import NO_FINDINGS, TrainingData, read_training_data

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import FeatureSet, MetricRecord
    from semblance.core.metrics.metric import Metric

#: A metric is trained if two findings have so many cases each.
CASES_OF_A_FINDING = 20
#: In a larger library only the default features are compared: the encoder's levels take three times their memory.
MOST_DESCRIBED = 50_000
#: With fewer held-out patients, or cases if no patient is known, no interval is used.
HELD_OUT_UNITS = 10


@dataclass(frozen=True)
class MeanInterval(JsonDocument):
    """A mean with its 95 % interval; ``None`` where it is not defined."""

    JSON_STRICT: ClassVar[bool] = True

    mean: float | None
    ci95: tuple[float, float] | None

    @classmethod
    def of(cls, mean: float | None, low: float | None, high: float | None) -> MeanInterval:
        """The mean with the ends of its interval, if there are both."""
        return cls(mean, None if low is None or high is None else (low, high))


@dataclass(frozen=True)
class PreparedMetric:
    """A metric of the preparation with its held-out retrieval accuracy @ 10, that as the mean over findings (``macro``)
    and that of the ``worst`` finding, undefined where not scored. ``chance_note``: the sentence on a metric whose
    accuracy is not above chance, else "". ``beats_chance``: whether it is; ``None`` where it is not known."""

    name: str
    learner: str
    accuracy: MeanInterval
    macro: MeanInterval = MeanInterval(None, None)
    worst: MeanInterval = MeanInterval(None, None)
    worst_finding: str = ""
    chance_note: str = ""
    beats_chance: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """One of the ``metrics`` of ``prepared`` (CONTRACT.md)."""
        return {
            "name": self.name,
            "learner": self.learner,
            f"retrieval_accuracy@{K}": self.accuracy.to_json(),
            f"macro_retrieval_accuracy@{K}": self.macro.to_json(),
            f"worst_finding@{K}": {"finding": self.worst_finding or None, **self.worst.to_json()},
            "beats_chance": self.beats_chance,
        }


@dataclass(frozen=True)
class Preparation:
    """The progress of the preparation of a library, and at the end its result.

    ``imported``: cases read so far, if the preparation began with an import. ``extracted`` of ``cases`` have
    features; ``failed`` lists (case_id, reason) of the others. ``metrics`` are the plain distance and, when there is
    one, the trained metric. ``current`` is the library's current metric, "" while there is none; while
    ``provisional`` it ranks the cases measured so far. ``validation``: macro retrieval accuracy @ 10 of each candidate
    inside the training patients, by which the learner ``chosen`` ("" before) and the ``description`` of the cases ("":
    the default features) were chosen; ``refused``: why candidates have none. ``difference``: that of trained minus
    plain on the ``held_out_cases`` of ``held_out_units`` patients (or single cases, where no patient is known), paired;
    both were used neither to train nor to choose. ``message`` says in a sentence what is current, ``details`` in more
    sentences why; they are texts for :func:`semblance.core.language.translate`.
    """

    library: str
    imported: int = 0
    feature_set: str = ""
    extractor: str = ""
    extracted: int = 0
    cases: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    provisional: bool = False
    metrics: tuple[PreparedMetric, ...] = ()
    current: str = ""
    chosen: str = ""
    description: str = ""
    validation: Mapping[str, float] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    difference: MeanInterval | None = None
    held_out_cases: int = 0
    held_out_units: int = 0
    by_patient: bool = False
    message: str = ""
    details: str = ""

    def to_json(self) -> dict[str, Any]:
        """``prepared`` of ``semblance import --prepare --json`` (CONTRACT.md)."""
        return {
            "feature_set": self.feature_set,
            "extractor": self.extractor,
            "extracted": self.extracted,
            "failed": [{"case_id": case, "reason": reason} for case, reason in self.failed],
            "metrics": [one.to_json() for one in self.metrics],
            "current": self.current or None,
            "beats_chance": any(one.beats_chance for one in self.metrics if one.name == self.current),
            "chosen": self.chosen or None,
            "description": self.description or None,
            "chosen_among": dict(self.validation),
            "refused": {name: str(reason) for name, reason in self.refused.items()},
            "difference": None if self.difference is None else self.difference.to_json(),
            "held_out": {
                "cases": self.held_out_cases,
                "patients": self.held_out_units if self.by_patient else None,
            },
            "message": f"{self.message} {self.details}".strip(),
        }


def prepare_library(
    library: LibraryLocation,
    *,
    metric_in_use: str = "",
    seed: int = 0,
    workers: int | None = None,
    reporter: Reporter = SILENT,
) -> Preparation:
    """Measure the cases of ``library``, and make the best metric current that held-out patients confirm.

    1. The default extractor measures every case that it has not measured yet, those that
       :func:`semblance.core.workflows.features.measuring_order.measure_first` named first. As soon as the
       first are measured, a provisional metric is current that ranks them and all that follow; see
       :func:`semblance.core.workflows.metrics.provisional_metric.store_provisional_metric`.
    2. The Euclidean distance on these features is stored and becomes current.
    3. Where two findings have :data:`CASES_OF_A_FINDING` cases each, a learner is chosen among
       :data:`semblance.core.evaluation.choose_learner.SHORT_LIST`, and of the encoder one of its
       :data:`semblance.core.evaluation.choose_learner.DESCRIPTIONS`, by validation inside the training patients,
       trained on all of them and scored on the held-out ones. It becomes current only if the 95 % interval of its
       paired difference to the Euclidean distance there, as the mean over findings, lies above 0, and no finding is
       found less often by more than chance.
    4. The slices of volumes are described, which takes longest and which no metric waits for, and the places of many
       cases are coded, so that searches by place compare candidates only.

    The reporter's partial results are :class:`Preparation`, one after every step. Finished steps are recorded: a call
    after a cancelled one continues there, and one on an unchanged library measures nothing. A metric that a person
    made current stays current, and cases that lack its features are measured for it too. ``metric_in_use``: the
    metric that a person searches with, if it is not recorded in the library.

    Raises:
        BadInput: no cases, or none that the extractor can measure.
        SemblanceError: the extractor cannot run, or the library cannot be written to.
    """
    preparation = LibraryPreparation(library, seed, workers, reporter, metric_in_use)
    preparation.extract()
    preparation.choose_metric()
    return preparation.describe_slices()


class LibraryPreparation:
    """A running preparation: :meth:`extract`, :meth:`choose_metric`, then :meth:`describe_slices`. ``state``: its
    progress; ``record``: what the library stores of it."""

    def __init__(
        self,
        library: LibraryLocation,
        seed: int,
        workers: int | None,
        reporter: Reporter,
        metric_in_use: str = "",
    ) -> None:
        self.path, self.seed, self.workers, self.reporter = library, seed, workers, reporter
        self.metric_in_use = metric_in_use
        self.inner = _InnerReporter(reporter)
        # The import reports from a thread of its own.
        self.lock = threading.Lock()
        self.state = Preparation(str(library.absolute()))
        self.record: dict[str, Any] = {}
        #: Cases that the provisional metric was fitted on; it is fitted again when they have doubled.
        self.fitted_on = 1
        #: The time of the next report on how many cases can be ranked, because with many cases a report takes long.
        self.next_provisional = 0.0
        #: Whether there is no current metric, or a preparation made it current.
        self.may_select = True
        #: Why added cases cannot be ranked by the metric that a person chose; "" if they can.
        self.not_ranked = ""

    def choose_metric(self, *, trained: bool = True) -> Preparation:
        """The plain distance, and if ``trained`` the comparison of learners and the trained metric; see
        :func:`prepare_library`."""
        if self.state.extracted == 1:
            self.update(
                message=tr_lazy(
                    "{library} has one case: there is nothing to compare it with.",
                    library=library_name(self.path),
                ),
                details=tr_lazy("Add more cases to the library."),
            )
            return self.state
        self._measure_for_chosen_metric()
        with open_library(self.path, writable=True) as library:
            data = read_training_data(library, self._request(PLAIN, ""), make_learner(PLAIN))
            self._read_record(library, data)
            plain = self._plain_metric(library, data)
            if trained:
                self._choose(library, data, plain)
        return self.state

    def update(self, **changes: Any) -> None:
        """Change the state and report it."""
        with self.lock:
            self.state = replace(self.state, **changes)
            self.reporter.partial(self.state)

    # Features

    def extract(self, growing: Callable[[], bool] | None = None) -> None:
        """Measure the unmeasured cases; while ``growing()`` is true also cases that are added. Does nothing if the
        default extractor needs no image."""
        suitable = suitable_extractors(self.path)
        if not suitable:
            raise BadInput(
                tr_lazy("{library} holds no cases yet.", library=self.path.name),
                "Import some first: semblance import.",
            )
        if growing is not None and not extractor_class(suitable[0]).needs_image:
            return
        with open_library(self.path, writable=True) as library:
            self._read_selection(library)
            name = _feature_set_name(library, suitable[0])
        self.update(feature_set=name, extractor=suitable[0])
        result = extract_features(
            self.path,
            suitable[0],
            name=name,
            workers=self.workers,
            first=partial(rows_to_measure_first, self.path),
            growing=growing,
            slices=False,
            reporter=_InnerReporter(self.reporter, self._rank_provisionally, quiet=growing),
        )
        failed = tuple((one["case_id"], one["reason"]) for one in result.failed)
        if not result.cases:
            raise BadInput(
                tr_lazy(
                    "No case of {library} could be measured by '{extractor}'.",
                    library=self.path.name,
                    extractor=suitable[0],
                ),
                tr_lazy("The first reason: {reason}", reason=failed[0][1]) if failed else "",
            )
        self.update(extracted=result.cases, cases=result.cases + len(failed), failed=failed)

    def describe_slices(self) -> Preparation:
        """Describe the slices of volumes and code the places; see :func:`prepare_library`."""
        left_out = describe_slices(
            self.path, self.state.feature_set, workers=self.workers, reporter=self.inner
        )
        if left_out:
            self.update(failed=(*self.state.failed, *sorted(left_out.items())))
        code_places(self.path, self.state.feature_set, reporter=self.inner)
        return self.state

    def _measure_for_chosen_metric(self) -> None:
        """Measure the cases that lack the features of the metric that a person chose."""
        with open_library(self.path) as library:
            metric = library.current_metric()
            if self.may_select or metric is None:
                return
            features = next((s.name for s in library.features.all() if s.id == metric.feature_set), "")
        if features and features != self.state.feature_set:
            try:
                measure_new_cases(self.path, features, workers=self.workers, reporter=self.inner)
            except SemblanceError as error:
                self.not_ranked = tr_lazy(
                    "New cases cannot be ranked by {metric}: {error}", metric=metric.name, error=str(error)
                )

    def _rank_provisionally(self, extracted: object) -> None:
        """Make the cases measured so far searchable; this may take a third of the time."""
        assert isinstance(extracted, int)
        begin = time.monotonic()
        if begin < self.next_provisional:
            return
        with open_library(self.path, writable=True) as library:
            feature_set = library.features.get(self.state.feature_set)
            measured = len(library.features.cases_of(feature_set))
            current = self.state.current
            if measured >= 2 * self.fitted_on:
                self.fitted_on = measured
                current = self._store_provisional(library, feature_set)
            total = len(library.catalogue.all_cases())
        self.update(
            extracted=measured,
            cases=total,
            current=current,
            provisional=bool(current),
            message=tr_lazy(
                "Similar cases are ranked among the {measured:,} of {total:,} cases measured so far.",
                measured=measured,
                total=total,
            ),
        )
        now = time.monotonic()
        self.next_provisional = now + 2 * (now - begin)

    def _store_provisional(self, library: Library, feature_set: FeatureSet) -> str:
        """Fit the default steps on the measured cases and store the plain distance after them under its final name;
        returns the current metric."""
        name = _metric_name(library, feature_set.name, PLAIN)
        known = next((one for one in library.metrics() if one.name == name), None)
        if known is not None and PROVISIONAL not in known.card:
            # The library has grown; its current metric ranks the new cases too.
            self.fitted_on = sys.maxsize
        else:
            try:
                store_provisional_metric(library, feature_set, name)
            except BadInput:
                # The first few may have equal features; more cases are measured soon.
                return ""
            if self.may_select and library.selected_metric is None:
                self._select(library, name)
        current = library.current_metric()
        return "" if current is None else current.name

    # What is known

    def _request(self, learner: str, name: str, features: str = "", steps: str = "") -> TrainRequest:
        return TrainRequest(learner, name, features or self.state.feature_set, steps, seed=self.seed)

    def _request_for(self, candidate: Candidate, name: str, data: TrainingData) -> TrainRequest:
        """The request of a metric made of ``candidate``."""
        steps = DESCRIPTIONS[candidate.description] if candidate.description else ""
        return self._request(candidate.learner, name, data.feature_set.name, steps)

    def _read_selection(self, library: Library) -> None:
        """Find out whether the current metric may be replaced."""
        self.record = {"current": library.preparation.get("current")}
        in_use = next((one for one in library.metrics() if one.name == self.metric_in_use), None)
        if in_use is not None and PREPARED not in in_use.card:
            library.set_current_metric(in_use.name)
        current, selected = library.current_metric(), library.selected_metric
        if selected is not None:
            self.may_select = selected == self.record["current"]
        elif current is not None and any(PREPARED not in one.card for one in library.metrics()):
            # Recorded, because otherwise the metrics that are added now would become current as the latest.
            library.set_current_metric(current.name)
            self.may_select = False

    def _read_record(self, library: Library, data: TrainingData) -> None:
        """Take over what an earlier call finished on the same cases and features."""
        known = dict(library.preparation)
        levels = library.features.part(data.feature_set, LEVELS) is not None
        digest = _digest(data.everything, self.seed, DESCRIPTIONS if levels else {})
        # The metric that a preparation made current is remembered when the cases change. Any other was chosen by a
        # person.
        self.record = known if known.get("digest") == digest else {"current": known.get("current")}
        self.record["digest"] = digest

    def _save_record(self, library: Library, **changes: Any) -> None:
        self.record |= changes
        library.set_preparation(self.record)

    def _stored(self, library: Library, key: str) -> MetricRecord | None:
        """The metric that an earlier call stored under ``key`` of the record, if it is still there."""
        name = self.record.get(key)
        own = (one for one in library.metrics() if PREPARED in one.card and PROVISIONAL not in one.card)
        return next((one for one in own if one.name == name), None)

    # The plain distance

    def _plain_metric(self, library: Library, data: TrainingData) -> MetricRecord:
        record = self._stored(library, PLAIN)
        if record is None:
            request = self._request(PLAIN, _metric_name(library, self.state.feature_set, PLAIN))
            metric, scores = fit_and_score(library, request, make_learner(PLAIN), data, self.inner)
            entries = {PREPARED: {}, **region_entries(library, data, seed=self.seed, reporter=self.inner)}
            store_metric(library, request, metric, data, scores, self.reporter, **entries)
            self._save_record(library, **{PLAIN: request.name})
            record = library.metric(request.name)
        if self.may_select and library.selected_metric is None:
            self._select(library, record.name)
        current = library.current_metric()
        assert current is not None
        units = patient_codes(data.cases.units, data.cases.n_cases)
        test = np.empty(0, dtype=np.int64) if data.split is None else data.split.test
        self.update(
            metrics=(_prepared(record),),
            held_out_cases=len(test),
            held_out_units=len(test if units is None else np.unique(units[test])),
            by_patient=data.cases.by_patient,
            current=current.name,
            provisional=False,
            message=tr_lazy("Similar cases are ranked by {metric}.", metric=current.name),
        )
        return record

    def _select(self, library: Library, name: str) -> None:
        library.set_current_metric(name)
        self._save_record(library, current=name)

    # The trained metric

    def _choose(self, library: Library, data: TrainingData, plain: MetricRecord) -> None:
        reason = _too_few(data)
        if reason:
            self._settle(library, plain.name, data, reason)
            return
        validation = LearnerValidation(
            dict(self.record.get("validation", {})), dict(self.record.get("refused", {}))
        )

        def finished(so_far: LearnerValidation) -> None:
            refused = {name: str(text) for name, text in so_far.failed.items()}
            self._save_record(library, validation=dict(so_far.accuracy), refused=refused)
            self.update(validation=dict(so_far.accuracy), refused=dict(so_far.failed))

        levels = self._with_levels(library, data)
        train = data.train if levels is None else levels.train
        validate_learners(
            train,
            data.feature_set.extractor,
            learners=SHORT_LIST,
            known=validation,
            finished=finished,
            seed=self.seed,
            reporter=self.reporter,
        )
        best = validation.best
        self.update(
            validation=dict(validation.accuracy),
            refused=dict(validation.failed),
            chosen=best.learner,
            description=best.description,
        )
        if best == Candidate(PLAIN):
            self._settle(
                library,
                plain.name,
                data,
                tr_lazy(
                    "{metric} stays: no learner found more of the same finding inside the training cases.",
                    metric=plain.name,
                ),
                [
                    tr_lazy("Macro accuracy by validation: {scores}.", scores=_scores_text(validation)),
                    *validation.failed.values(),
                ],
            )
            return
        described = levels if best.description and levels is not None else data
        self._train(library, data, described, plain, validation)

    def _with_levels(self, library: Library, data: TrainingData) -> TrainingData | None:
        """``data`` with the encoder's levels in place of its features; ``None`` where a case lacks them, or they are
        too many."""
        feature_set = library.features.part(data.feature_set, LEVELS)
        if feature_set is None or data.everything.n_cases > MOST_DESCRIBED:
            return None
        everything = library_data(library, feature_set)
        rows, others = data.everything.case_rows, everything.case_rows
        assert rows is not None and others is not None
        if not np.array_equal(rows, others):
            return None
        return replace(data, feature_set=feature_set, everything=everything, cases=prepare(everything))

    def _train(
        self,
        library: Library,
        data: TrainingData,
        described: TrainingData,
        plain: MetricRecord,
        validation: LearnerValidation,
    ) -> None:
        """Train the best learner on ``described``, the cases of ``data`` in the best description."""
        best = validation.best
        trained = self._stored(library, "trained")
        if trained is None or _candidate(trained) != best:
            name = _metric_name(library, described.feature_set.name, best.learner)
            request = self._request_for(best, name, described)
            try:
                learner = make_learner(best.learner)
                metric, scores = fit_and_score(library, request, learner, described, self.inner)
            except SemblanceError as error:
                reason = tr_lazy(
                    "{learner} could not be trained: {error}", learner=best.title, error=str(error)
                )
                self.update(refused={**self.state.refused, best.key: reason})
                self._settle(library, plain.name, data, reason)
                return
            facts = self._compare(library, described, metric, data, stored_metric(plain))
            chosen = tr_lazy(
                "Chosen by validation inside the training cases: {scores}.", scores=_scores_text(validation)
            )
            metric = metric.with_card(notes=(*metric.card.notes, chosen, _difference_text(plain.name, facts)))
            entries = {
                **facts,
                "against": plain.name,
                "description": best.description,
                "chosen_among": dict(validation.accuracy),
            }
            regions = {key: plain.card[key] for key in (REGION_SEARCH,) if key in plain.card}
            if REGION_SEARCH in (reasons := plain.card.get(PLACES_NOT_MEASURED, {})):
                regions[PLACES_NOT_MEASURED] = {REGION_SEARCH: reasons[REGION_SEARCH]}
            store_metric(
                library, request, metric, described, scores, self.reporter, **{PREPARED: entries}, **regions
            )
            self._save_record(library, trained=request.name)
            trained = library.metric(request.name)
        facts = trained.card[PREPARED]
        difference = MeanInterval.from_json(facts["difference"])
        self.update(
            metrics=(_prepared(plain), _prepared(trained)),
            difference=difference,
            held_out_cases=facts["held_out_cases"],
            held_out_units=facts["held_out_units"],
            by_patient=facts["by_patient"],
        )
        better = difference.ci95 is not None and difference.ci95[0] > 0.0
        enough = facts["held_out_units"] >= HELD_OUT_UNITS
        worse = [str(one) for one in facts.get("worse", ())]
        # Of features that say nothing one metric may seem better than another, but none tells the findings apart.
        at_chance = _prepared(trained).beats_chance is False
        details = [_difference_text(plain.name, facts)]
        if not enough:
            details.append(
                tr_lazy("These are too few to decide, so {metric} stays current.", metric=plain.name)
            )
        elif worse:
            details += [*worse, tr_lazy("So {metric} stays current.", metric=plain.name)]
        elif not better:
            details.append(tr_lazy("This may be chance, so {metric} stays current.", metric=plain.name))
        elif at_chance:
            note = _prepared(trained).chance_note
            details += [*filter(None, [note]), tr_lazy("So {metric} stays current.", metric=plain.name)]
        elif self.may_select:
            details.insert(0, tr_lazy("{metric} was chosen to rank similar cases.", metric=trained.name))
        confirmed = better and enough and not worse and not at_chance
        self._settle(
            library,
            trained.name if confirmed else plain.name,
            described if confirmed else data,
            _comparison_text(_prepared(plain), _prepared(trained)),
            details,
        )

    def _compare(
        self, library: Library, described: TrainingData, metric: Metric, data: TrainingData, plain: Metric
    ) -> dict[str, Any]:
        """The paired difference of the macro accuracies on the held-out cases, of ``metric`` on ``described`` and
        ``plain`` on ``data``, and what the new metric finds worse, as JSON."""
        searches = []
        for one, cases in ((metric, described), (plain, data)):
            assert cases.held_out is not None
            searches.append(
                held_out_searches(library, one, cases.held_out, K, seed=self.seed, reporter=self.inner)
            )
        rankings = [one.rankings for one in searches]
        # Both have the same queries.
        queries, test = rankings[0].queries, searches[0].test
        units = patient_codes(searches[0].data.units, searches[0].data.n_cases)
        codes = np.arange(searches[0].data.n_cases) if units is None else units
        groups = codes[test]
        shares = [
            FindingShares(one.shares(K), one.findings, codes[queries], np.zeros(len(queries), dtype=np.intp))
            for one in rankings
        ]
        mean, low, high = over_findings(
            shares[0].accuracy - shares[1].accuracy,
            rankings[0].findings,
            seed=self.seed,
            groups=codes[queries],
        )
        title = learner_title(metric.card.learner)
        ends = (low, high) if np.isfinite([low, high]).all() else None
        return {
            "difference": MeanInterval(mean if np.isfinite(mean) else None, ends).to_json(),
            "held_out_cases": len(test),
            "held_out_units": len(np.unique(groups)),
            "by_patient": data.cases.by_patient,
            "worse": worse_findings(
                shares[0], shares[1], rankings[0].gallery.names, title=title, seed=self.seed
            ),
        }

    def _settle(
        self, library: Library, name: str, data: TrainingData, message: str, details: Sequence[str] = ()
    ) -> None:
        """Make ``name``, a metric of ``data``, current unless a user chose another, and report the reason."""
        if self.may_select or library.selected_metric == name:
            self._weigh_places(library, library.metric(name), data)
        if self.may_select and library.selected_metric != name:
            self._select(library, name)
        current = library.current_metric()
        assert current is not None
        if not self.may_select:
            chosen = tr_lazy("{metric} stays current, because you chose it.", metric=current.name)
            details = [*details, chosen, *([self.not_ranked] if self.not_ranked else [])]
        notes = [one.chance_note for one in self.state.metrics if one.name == current.name]
        details = [*details, *filter(None, notes)]
        self.update(current=current.name, message=message, details=join_texts(details, " "))

    def _weigh_places(self, library: Library, record: MetricRecord, data: TrainingData) -> None:
        """Enter on the card whether places join the distance. That takes longer than to train, so it is measured for
        the metric that ranks alone."""
        reasons = record.card.get(PLACES_NOT_MEASURED, {})
        if WEIGHT_CHOICE in record.card or WEIGHT_CHOICE in reasons:
            return
        request = self._request_for(_candidate(record), record.name, data)
        entries = weight_entries(
            library, request, stored_metric(record), data, seed=self.seed, reporter=self.inner
        )
        if PLACES_NOT_MEASURED in entries:
            entries[PLACES_NOT_MEASURED] |= reasons
        if entries:
            library.add_to_card(record.name, entries)


def _feature_set_name(library: Library, extractor: str) -> str:
    """The feature set of ``extractor`` with its default settings, or a name for a new one."""
    made = make_extractor(extractor)
    known = {one.name: one for one in library.features.all()}
    # A set that was measured with burnt-in marks is continued as it is.
    for settings in (dict(made.settings), {**made.settings, BURNT_IN_MARKS: KEEP}):
        for one in known.values():
            own = one.extractor, one.version, one.extractor_settings
            if not one.part and own == (made.name, made.version, settings):
                return one.name
    return _free_name(extractor, known)


def _metric_name(library: Library, feature_set: str, learner: str) -> str:
    """``encoder + BDM+V``, with a number if another metric has that name."""
    names = [one.name for one in library.metrics() if PREPARED not in one.card]
    return _free_name(f"{feature_set} + {learner_title(learner)}", names)


def _candidate(trained: MetricRecord) -> Candidate:
    """What a trained metric of the preparation was made of."""
    return Candidate(trained.learner, str(trained.card[PREPARED].get("description", "")))


def _free_name(name: str, names: Collection[str]) -> str:
    numbered = (f"{name} {number}" for number in itertools.count(2))
    return next(one for one in itertools.chain([name], numbered) if one not in names)


def _digest(data: EvaluationData, seed: int, descriptions: Mapping[str, str]) -> str:
    """A digest that changes with the cases, their findings, patients and features, the short list of learners and of
    ``descriptions``, and the score they are compared by."""
    short_list = (seed, SHORT_LIST, "macro", *descriptions.items())
    digest = hashlib.blake2b(repr(short_list).encode(), digest_size=16)
    for values in (data.case_rows, data.y, data.units, data.X):
        if values is not None:
            digest.update(repr((values.shape, values.dtype.str)).encode())
            # As bytes without a copy, because the features of many cases are large.
            digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    return digest.hexdigest()


def _too_few(data: TrainingData) -> str:
    """Why no metric can be trained; "" if one can."""
    if data.unscored == NO_FINDINGS:
        return tr_lazy(
            "No metric was trained, because no case of the library has a finding. Similar cases are ranked by their "
            "features alone."
        )
    if data.split is None:
        return tr_lazy("No metric was trained. {reason}", reason=data.unscored)
    counts = sorted(data.cases.findings.items(), key=lambda item: -item[1])
    if len(counts) >= 2 and counts[1][1] >= CASES_OF_A_FINDING:
        return ""
    return tr_lazy(
        "No metric was trained: it takes two findings with at least {n} cases each. The most frequent are: "
        "{counts}.",
        n=CASES_OF_A_FINDING,
        counts=join_texts(count_label(n, finding) for finding, n in counts[:5]),
    )


def _prepared(record: MetricRecord) -> PreparedMetric:
    scores = stored_scores(record.scores)
    if scores is None:
        return PreparedMetric(record.name, record.learner, MeanInterval(None, None))
    worst = scores.worst or ("", None)
    return PreparedMetric(
        record.name,
        record.learner,
        MeanInterval.of(*scores.retrieval_accuracy.at(K)),
        _interval(scores.macro),
        _interval(worst[1]),
        worst[0],
        chance_note(scores),
        scores.beats_chance,
    )


def _interval(score: FindingScore | None) -> MeanInterval:
    return MeanInterval(None, None) if score is None else MeanInterval.of(score.mean, score.low, score.high)


def _scores_text(validation: LearnerValidation) -> str:
    scores = sorted(validation.accuracy.items(), key=lambda item: -item[1])
    return join_texts(
        [
            tr_lazy("{learner} {accuracy:.3f}", learner=Candidate.of_key(key).title, accuracy=score)
            for key, score in scores
        ]
    )


def _comparison_text(plain: PreparedMetric, trained: PreparedMetric) -> str:
    return tr_lazy(
        "{trained} finds the same finding in {accuracy:.2f} of the {k} nearest cases, {plain} in {other:.2f}, as means "
        "over findings.",
        trained=as_lazy(learner_title(trained.learner)),
        accuracy=trained.macro.mean if trained.macro.mean is not None else math.nan,
        plain=as_lazy(learner_title(plain.learner)),
        other=plain.macro.mean if plain.macro.mean is not None else math.nan,
        k=K,
    )


def _difference_text(plain: str, facts: Mapping[str, Any]) -> str:
    difference = MeanInterval.from_json(facts["difference"])
    if difference.mean is None or difference.ci95 is None:
        return tr_lazy("No held-out case could be used as a query.")
    values = {
        "plain": plain,
        "mean": difference.mean,
        "low": difference.ci95[0],
        "high": difference.ci95[1],
        "n": facts["held_out_cases"],
        "patients": facts["held_out_units"],
    }
    if facts["by_patient"]:
        return tr_lazy(
            "The difference to {plain} is {mean:.3f} (95 % interval {low:.3f} to {high:.3f}) on {n:,} held-out "
            "cases of {patients:,} patients.",
            **values,
        )
    return tr_lazy(
        "The difference to {plain} is {mean:.3f} (95 % interval {low:.3f} to {high:.3f}) on {n:,} held-out "
        "cases of unknown patients.",
        **values,
    )


class _InnerReporter(PartReporter):
    """Passes on progress; partial results of single steps go to ``partial`` if it is given."""

    def __init__(
        self,
        whole: Reporter,
        partial: Callable[[object], None] | None = None,
        quiet: Callable[[], bool] | None = None,
    ) -> None:
        """While ``quiet()`` is true the progress of other work is shown."""
        super().__init__(whole)
        self._partial, self._quiet = partial, quiet

    def partial(self, result: object) -> None:
        """Pass ``result`` to the preparation."""
        if self._partial is not None:
            self._partial(result)

    def progress(self, done: int, total: int | None, what: str) -> None:
        """Pass it on."""
        if self._quiet is None or not self._quiet():
            self._whole.progress(done, total, what)
