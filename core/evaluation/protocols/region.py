"""Measure what place search is worth: regions as queries, whole images as the gallery."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.choose_learner import sampled_rows
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.intervals import Interval, ScoreSummary, over_findings, over_queries
from semblance.core.evaluation.neighbours import GivenDistances, PairDistances, metric_distances
from semblance.core.evaluation.protocols.protocol import (
    FAILURES,
    PLAIN,
    EvaluationPlan,
    EvaluationProtocol,
    LearnerSpec,
    failure_text,
    repeated_folds,
)
from semblance.core.evaluation.query_records import ALL, QueryRecords, ranked_queries
from semblance.core.evaluation.region_queries import IN_REGION, found_places
from semblance.core.evaluation.result import (
    EvaluationResult,
    FitSeconds,
    LearnerFailure,
    LearnerResult,
    NamedSplit,
    ScoreCurve,
    SplitFacts,
    SplitQueries,
    number_or_none,
)
from semblance.core.evaluation.scores import (
    Matrix,
    Rows,
    answering_cases,
    mean_over_findings,
    mean_over_queries,
    retrieval_accuracy,
)
from semblance.core.evaluation.significance import ScoreComparison, paired_difference
from semblance.core.evaluation.splits import patient_codes
from semblance.core.json_document import JsonDocument
from semblance.core.language import join_texts, tr_lazy
from semblance.core.parameters import Parameter
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.engine.cluster import Cluster
    from semblance.core.metrics.steps import Step

#: Results that need no learner: search by place, and the plain distance on the features of the cases as they are, which
#: a case with a region has of its region.
BY_PLACE, BY_FEATURES = "place", "region_features"
MAX_K, FOLDS = 10, 5
PLACE_SCORE = "place_in_region"


class RegionProtocol(EvaluationProtocol):
    """The region of each case that has one searches the whole images of the others, leave-one-out.

    ``retrieval_accuracy@1`` to ``@10``, with its mean over findings, its worst finding and chance, as in other
    protocols; cases of the query's patient, lesion or image are not ranked. ``place_in_region``: the share of ranked
    cases with a region of their own where the place found, the largest of the map, is more than 25 % inside it;
    ``place_in_region@10`` of those among the 10 nearest; ``place_in_region_chance`` that of a random place. Besides
    search by place: learners compare the whole images, fitted in five folds on the other patients, and
    ``region_features`` is the plain distance on the stored features, which need regions drawn on the gallery too.
    Intervals are of queries, whole patients drawn again.
    """

    name: ClassVar[str] = "region"
    title: ClassVar[str] = "Regions against whole images"
    paper: ClassVar[str] = (
        "O. Khattab, M. Zaharia, ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction "
        "over BERT, SIGIR 2020 (the score)"
    )
    summary: ClassVar[str] = (
        "The region of each case searches the whole images of the others: same finding among 1 to 10, and how often "
        "the place found lies inside the region of the other case."
    )
    repeats: ClassVar[int] = 1
    compared: ClassVar[tuple[str, ...]] = (
        "retrieval_accuracy@10",
        "macro_retrieval_accuracy@10",
        "worst_finding@10",
        PLACE_SCORE,
        f"{PLACE_SCORE}_chance",
        f"{PLACE_SCORE}@10",
    )
    baselines: ClassVar[tuple[str, ...]] = (BY_PLACE, BY_FEATURES)
    default_learners: ClassVar[tuple[str, ...]] = (BY_PLACE, BY_FEATURES, PLAIN)
    needs_places: ClassVar[bool] = True
    own_splits: ClassVar[str] = tr_lazy("every region searches the whole images of all other patients.")
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("queries", 500, "Queries at most, a sample of the regions.", minimum=2, maximum=100_000),
    )

    def plan(
        self, data: EvaluationData, repeats: int | None, seed: int, learners: Sequence[str] = ()
    ) -> EvaluationPlan:
        """
        Raises:
            BadArguments: always: queries and gallery are other descriptions, which no plan of splits has.
        """
        raise BadArguments(
            "The protocol region is not measured in parts.",
            "Run it alone: semblance evaluate LIB --protocol region.",
        )

    def as_in_the_paper(self, spec: LearnerSpec) -> LearnerSpec:
        """The learner as it is."""
        return spec

    def run(
        self,
        data: EvaluationData,
        learners: Sequence[LearnerSpec],
        *,
        steps: Sequence[Step] = (),
        repeats: int | None = None,
        seed: int = 0,
        reporter: Reporter = SILENT,
        cluster: Cluster | None = None,
    ) -> EvaluationResult:
        """As :meth:`EvaluationProtocol.run`; search by place is always the first result. Repeats draw other folds."""
        from semblance.core.metrics.training import versions

        if data.places is None:
            raise BadInput(
                tr_lazy("{data} has no places to search by.", data=data.name),
                "Use a library whose images were measured by the encoder.",
            )
        repeats = self.repeats if repeats is None else repeats
        if repeats < 1:
            raise BadArguments("There must be at least one repeat.", "Use --repeats 1, for example.")
        searches = _RegionSearches(
            prepare(data), int(str(self.settings["queries"])), seed, self.keeps_queries
        )
        specs = [LearnerSpec(BY_PLACE), *(one for one in learners if one.name != BY_PLACE)]
        names = [spec.name for spec in specs]
        if len(set(names)) < len(names):
            raise BadArguments("A learner is named twice.", "Name each learner once.")
        runs: list[_Run] = []
        failed: list[LearnerFailure] = []
        for number, spec in enumerate(specs):
            reporter.progress(number, len(specs), tr_lazy("{name}, regions as queries", name=spec.name))
            try:
                runs.append(searches.measured(spec, steps, repeats, seed, reporter))
            except BadArguments:
                raise
            except FAILURES as problem:
                failed.append(LearnerFailure(spec.name, failure_text(problem)))
        reporter.progress(len(specs), len(specs), tr_lazy("Regions as queries"))
        used = searches.data
        return EvaluationResult(
            protocol=self.name,
            source={**used.source_json(), "queries": len(searches.queries)},
            seed=seed,
            repeats=repeats,
            split=SplitFacts(
                tr_lazy("leave-one-out; learners in {folds} folds", folds=FOLDS),
                used.by_patient,
                used.n_cases - used.n_cases / FOLDS,
                float(len(searches.queries)),
            ),
            results=tuple(searches.result(run, seed) for run in runs),
            comparisons=tuple(
                searches.compared(a, b, seed) for place, a in enumerate(runs) for b in runs[place + 1 :]
            ),
            failed=tuple(failed),
            compared=self.compared,
            versions=versions(),
            splits=tuple(searches.fitted_on.values()),
            queries=tuple(one for run in runs for one in run.queries),
        )


@dataclass(frozen=True)
class RegionSearchScore(JsonDocument):
    """What search by place finds with regions of a library as queries: the share of the same finding among the 10
    nearest, and that of places found inside the region of the other case, each with its 95 % interval and chance;
    ``None`` where it is not defined."""

    JSON_STRICT: ClassVar[bool] = True

    queries: int
    cases: int
    accuracy: float
    accuracy_ci95: tuple[float, float] | None
    chance: float
    in_region: float | None
    in_region_ci95: tuple[float, float] | None
    in_region_chance: float | None

    @classmethod
    def of(cls, result: EvaluationResult) -> RegionSearchScore | None:
        """Of a result of the protocol; ``None`` where it has no such score."""
        scores = next((one.scores for one in result.results if one.learner == BY_PLACE), {})
        k = max(
            (int(name.partition("@")[2]) for name in scores if name.startswith("retrieval_acc")), default=0
        )
        if not k:
            return None
        accuracy, inside = scores[f"retrieval_accuracy@{k}"], scores.get(PLACE_SCORE)
        by_chance = scores.get(f"{PLACE_SCORE}_chance")
        return cls(
            result.source["queries"],
            result.source["n_cases"],
            accuracy.mean,
            accuracy.ci95,
            scores[f"chance@{k}"].mean,
            None if inside is None else inside.mean,
            None if inside is None else inside.ci95,
            None if by_chance is None else by_chance.mean,
        )

    @property
    def summary(self) -> str:
        """The score in sentences, with chance, and that it is no better where it is not."""
        lines = [
            tr_lazy(
                "Same finding among the 10 nearest {accuracy:.2f} (chance {chance:.2f}), {n} regions as queries.",
                accuracy=self.accuracy,
                chance=self.chance,
                n=self.queries,
            )
        ]
        if self.in_region is not None and self.in_region_chance is not None:
            lines.append(
                tr_lazy(
                    "Place inside the region of the other case {inside:.2f} (chance {chance:.2f}).",
                    inside=self.in_region,
                    chance=self.in_region_chance,
                )
            )
        if not _is_above(self.accuracy, self.accuracy_ci95, self.chance):
            lines.append(tr_lazy("By place, findings are found no better than by chance here."))
        if self.in_region is not None and not _is_above(
            self.in_region, self.in_region_ci95, self.in_region_chance or 0.0
        ):
            lines.append(tr_lazy("The place is found no better than by chance here."))
        return join_texts(lines, " ")


def _is_above(value: float, interval: Interval | None, chance: float) -> bool:
    return (value if interval is None else interval[0]) > chance


@dataclass(frozen=True, eq=False)
class _Run:
    """What one way to search finds: retrieval accuracy (r, q, K) in each repeat; of the places found the share inside
    regions (q,), that of the 10 nearest, and chance, by the names of the scores; single ``queries`` where kept."""

    name: str
    params: Mapping[str, object]
    steps: str
    accuracy: Matrix
    seconds: tuple[float, ...]
    shares: Mapping[str, Matrix] = field(default_factory=dict)
    queries: Sequence[SplitQueries] = ()


class _RegionSearches:
    """The queries of one evaluation, and the scores of what they find."""

    def __init__(self, data: EvaluationData, most: int, seed: int, keeps_queries: bool) -> None:
        """
        Raises:
            BadInput: no case has a region and another one to find.
        """
        assert data.places is not None
        self.data, self.places, self._keeps_queries = data, data.places, keeps_queries
        #: The folds that learners were fitted on, by repeat and fold; empty unless queries are kept.
        self.fitted_on: dict[tuple[str, str], NamedSplit] = {}
        names, codes = np.unique(data.y, return_inverse=True)
        self.findings, self._n_findings = codes.astype(np.intp), len(names)
        known = patient_codes(data.units, data.n_cases)
        self.units: Rows = np.arange(data.n_cases) if known is None else known
        queries = np.flatnonzero(self.places.has_region)
        if len(queries) < 2 or len(np.unique(self.units[queries])) < 2:
            raise BadInput(
                tr_lazy("{data} has no regions of two patients or images.", data=data.name),
                "Import images with masks or boxes, or draw regions on cases.",
            )
        self.queries: Rows = sampled_rows(data.y, queries, most, seed)
        self.query_units = None if known is None else known[self.queries]

    def measured(
        self, spec: LearnerSpec, steps: Sequence[Step], repeats: int, seed: int, reporter: Reporter
    ) -> _Run:
        if spec.name == BY_PLACE:
            return self._by_place(repeats, reporter)
        if spec.name == BY_FEATURES:
            return self._by_metric(LearnerSpec(PLAIN), BY_FEATURES, self.data, steps, repeats, seed, reporter)
        whole = replace(self.data, X=self.places.whole)
        return self._by_metric(spec, spec.name, whole, steps, repeats, seed, reporter)

    def _by_place(self, repeats: int, reporter: Reporter) -> _Run:
        begin = time.perf_counter()
        distances, found = found_places(self.places, self.queries, reporter)
        accuracy = self._accuracy(GivenDistances(distances, lesions=self._lesions), self.queries, reporter)
        seconds = time.perf_counter() - begin
        inside = self.places.marked > IN_REGION
        regions = self.places.has_region
        shares = np.full((3, len(self.queries)), np.nan)
        for number, query in enumerate(self.queries.tolist()):
            order = np.argsort(distances[number], kind="stable")
            order = order[self.units[order] != self.units[query]]
            for line, rows in enumerate((order, order[:MAX_K])):
                rows = rows[regions[rows]]
                if len(rows):
                    shares[line, number] = inside[rows, found[number, rows]].mean()
            rows = order[regions[order]]
            if len(rows):
                shares[2, number] = inside[rows].mean()
        by_score = dict(
            zip((PLACE_SCORE, f"{PLACE_SCORE}@{MAX_K}", f"{PLACE_SCORE}_chance"), shares, strict=True)
        )
        given = GivenDistances(distances, lesions=self._lesions)
        return _Run(
            BY_PLACE,
            {},
            "",
            np.repeat(accuracy[np.newaxis], repeats, axis=0),
            (seconds,),
            by_score,
            self._kept((BY_PLACE, "", ""), given, self.queries, by_score, reporter),
        )

    def _kept(
        self,
        name: tuple[str, str, str],
        distances: PairDistances,
        queries: Rows,
        columns: Mapping[str, Matrix],
        reporter: Reporter,
    ) -> tuple[SplitQueries, ...]:
        """What single queries found, by the ``name`` of the way to search, the repeat and the fold; none unless they
        are kept."""
        if not self._keeps_queries:
            return ()
        found = ranked_queries(
            distances,
            self.findings,
            self.findings[queries],
            self._n_findings,
            range(1, MAX_K + 1),
            query_patients=self.units[queries],
            gallery_patients=self.units,
            reporter=reporter,
        )
        relevant, every = (
            rows[queries] for rows in answering_cases(self.findings, self.units, self._lesions)
        )
        chance = np.where(every > 0, relevant / np.maximum(every, 1), np.nan)
        records = QueryRecords(
            ALL,
            queries,
            found.k,
            found.hits,
            found.answers,
            found.nearest,
            self.units[queries],
            columns={"chance": chance, "relevant": relevant.astype(np.float64), **columns},
        )
        return (SplitQueries(*name, records),)

    @property
    def _lesions(self) -> Rows | None:
        return self.data.lesions_of(np.arange(self.data.n_cases))

    def _accuracy(self, distances: PairDistances, queries: Rows, reporter: Reporter) -> Matrix:
        return retrieval_accuracy(distances, self.findings, self.units, MAX_K, reporter, queries=queries)

    def _by_metric(
        self,
        spec: LearnerSpec,
        name: str,
        data: EvaluationData,
        steps: Sequence[Step],
        repeats: int,
        seed: int,
        reporter: Reporter,
    ) -> _Run:
        from semblance.core.metrics.pipeline import attach_steps
        from semblance.core.metrics.registry import make_learner
        from semblance.core.metrics.steps import fit_steps, steps_text

        accuracy = np.full((repeats, len(self.queries), min(MAX_K, data.n_cases - 1)), np.nan)
        seconds: list[float] = []
        kept: list[SplitQueries] = []
        is_query = np.full(data.n_cases, -1)
        is_query[self.queries] = np.arange(len(self.queries))
        learner = make_learner(spec.name, random_state=seed, **spec.params)
        for number, split in enumerate(repeated_folds(data, repeats, seed, FOLDS)):
            reporter.check_cancelled()
            queries = split.test[is_query[split.test] >= 0]
            if not len(queries):
                continue
            learner = make_learner(spec.name, random_state=seed, **spec.params)
            fitted, rows = fit_steps(steps, data.X[split.train], data.y[split.train])
            begin = time.perf_counter()
            groups = None if data.groups is None else data.groups[split.train]
            learner.fit(rows, data.y[split.train], groups=groups, reporter=SILENT)
            metric = attach_steps(learner.metric(), fitted, data.feature_names, data.feature_groups)
            seconds.append(time.perf_counter() - begin)
            distances = metric_distances(metric, data.X[queries], data.X, self._lesions)
            found = self._accuracy(distances, queries, reporter)
            accuracy[number // FOLDS, is_query[queries]] = found[:, : accuracy.shape[2]]
            label = str(number // FOLDS + 1), str(number % FOLDS + 1)
            if self._keeps_queries:
                self.fitted_on[label] = NamedSplit(*label, split)
            kept += self._kept((name, *label), distances, queries, {}, reporter)
        return _Run(
            name, learner.method_params(), steps_text(steps), accuracy, tuple(seconds), queries=tuple(kept)
        )

    def result(self, run: _Run, seed: int) -> LearnerResult:
        """The scores of ``run`` with their intervals over queries."""
        per_query = np.nanmean(run.accuracy, axis=0)
        findings = self.findings[self.queries]
        _, low, high = over_queries(per_query, seed=seed, groups=self.query_units)
        with_finding, every = answering_cases(self.findings, self.units, self._lesions)
        random = np.where(every > 0, with_finding / np.maximum(every, 1), np.nan)[self.queries, np.newaxis]
        chance, macro_chance = mean_over_queries(random)[0], mean_over_findings(random, findings)[0]
        by_repeat = [mean_over_queries(one) for one in run.accuracy]
        scores: dict[str, ScoreSummary] = {}
        for k in range(1, per_query.shape[1] + 1):
            column = k - 1
            scores[f"retrieval_accuracy@{k}"] = _summary(
                [float(one[column]) for one in by_repeat], (low[column], high[column])
            )
            scores[f"chance@{k}"] = _summary([float(chance)] * len(by_repeat))
            macro, *ends = over_findings(per_query[:, column], findings, seed=seed, groups=self.query_units)
            scores[f"macro_retrieval_accuracy@{k}"] = _summary([macro], (ends[0], ends[1]))
            scores[f"macro_chance@{k}"] = _summary([float(macro_chance)])
            worst = min(
                (
                    over_queries(
                        per_query[findings == one, column:k],
                        seed=seed,
                        groups=None if self.query_units is None else self.query_units[findings == one],
                    )
                    for one in np.unique(findings)
                ),
                key=lambda found: float(found[0][0]),
            )
            scores[f"worst_finding@{k}"] = _summary([float(worst[0][0])], (worst[1][0], worst[2][0]))
        for name, values in run.shares.items():
            if not np.isnan(values).all():
                mean, *found = over_queries(values[:, np.newaxis], seed=seed, groups=self.query_units)
                scores[name] = _summary([float(mean[0])], (found[0][0], found[1][0]))
        mean, std = (
            np.mean(by_repeat, axis=0),
            np.std(by_repeat, axis=0, ddof=1) if len(by_repeat) > 1 else None,
        )
        curve = ScoreCurve(
            tuple(range(1, len(mean) + 1)),
            tuple(number_or_none(value) for value in mean.tolist()),
            (None,) * len(mean) if std is None else tuple(std.tolist()),
        )
        return LearnerResult(
            run.name,
            run.params,
            run.steps,
            scores,
            {"retrieval_accuracy": curve},
            {},
            FitSeconds(float(np.median(run.seconds)), min(run.seconds), max(run.seconds)),
        )

    def compared(self, a: _Run, b: _Run, seed: int) -> ScoreComparison:
        """The paired difference of two ways to search, over queries."""
        k = min(a.accuracy.shape[2], b.accuracy.shape[2])
        apart = np.nanmean(a.accuracy, axis=0)[:, k - 1] - np.nanmean(b.accuracy, axis=0)[:, k - 1]
        difference = paired_difference(apart, seed=seed, groups=self.query_units)
        return ScoreComparison(a.name, b.name, f"retrieval_accuracy@{k}", **vars(difference))


def _summary(values: Sequence[float], ends: Interval | None = None) -> ScoreSummary:
    """The mean of repeats with an interval that was measured over queries."""
    std = float(np.std(values, ddof=1)) if len(values) > 1 else None
    known = ends is not None and bool(np.isfinite(ends).all())
    interval = (float(ends[0]), float(ends[1])) if ends is not None and known else None
    return ScoreSummary(float(np.mean(values)), std, interval, tuple(number_or_none(one) for one in values))
