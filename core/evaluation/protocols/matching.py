"""The polyp matching of the MetricBoost paper: from one view to the candidates of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.neighbours import metric_distances, tie_numbers
from semblance.core.evaluation.protocols.protocol import (
    EvaluationPlan,
    MetricTrial,
    SplitProtocol,
    repeat_seed,
)
from semblance.core.evaluation.result import MeasuredScores
from semblance.core.evaluation.splits import HoldOut, folds
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter

if TYPE_CHECKING:
    pass

Rows = npt.NDArray[np.intp]

FOLDS, MAX_K = 5, 10
VIEW, GEODESIC = "view", "geodesic"


@dataclass(frozen=True, eq=False)
class PolypQuery:
    """A polyp of one view: its ``row``; ``candidates`` (n,) rows of the same patient's other view, of which
    ``hits`` (n,) show the same polyp; ``direction``: the two views."""

    row: int
    candidates: Rows
    hits: npt.NDArray[np.bool_]
    direction: tuple[str, str]


class MatchingProtocol(SplitProtocol):
    """Five folds of patients, each tested once (metricboost.txt 5.3); each repeat has new folds.

    Each candidate that is a polyp is a query. The candidates of the same patient's other view, polyps and
    false positives, are ranked. ``hit_rate@K``: the share of queries with the same polyp among the first K, as the
    mean of both directions. Polyps that the other view does not show are no queries. Learners of triplets get the
    paper's: the polyp, the same one in the other view, any other candidate there. Other learners, and steps, get
    findings: each polyp its own, and each false positive its own. ``geodesic`` is a baseline among the learners: the
    distance along the colon.
    """

    name: ClassVar[str] = "matching"
    title: ClassVar[str] = "Polyps from view to view"
    paper: ClassVar[str] = (
        "J. Bi et al., AdaBoost on Low-Rank PSD Matrices for Metric Learning, IEEE Conference on Computer "
        "Vision and Pattern Recognition, 2011, section 5.3"
    )
    summary: ClassVar[str] = (
        "Five folds of patients: hit rate @ 1-10 of the same polyp among the candidates of the other view."
    )
    repeats: ClassVar[int] = 1
    compared: ClassVar[tuple[str, ...]] = ("hit_rate@1", "hit_rate@3", "hit_rate@5")
    attributes: ClassVar[tuple[str, ...]] = (VIEW, GEODESIC)
    baselines: ClassVar[tuple[str, ...]] = (GEODESIC,)
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("negative", "false positive", "The finding of candidates that are no polyp."),
    )

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """Folds of patients with as many polyps and false positives in each as can be."""
        strata = np.where(data.y == self.settings["negative"], "no polyp", "polyp").tolist()
        seeds = [repeat_seed(seed, repeat) for repeat in range(repeats)]
        return tr_lazy("{folds} folds of patients", folds=FOLDS), [
            split for one in seeds for split in folds(strata, data.units, one, FOLDS)
        ]

    def plan(
        self, data: EvaluationData, repeats: int | None, seed: int, learners: Sequence[str] = ()
    ) -> EvaluationPlan:
        """As :meth:`SplitProtocol.plan`; learners are fitted with each polyp as a finding of its own."""
        data = prepare(data)
        views = PolypViews(data, str(self.settings["negative"]))
        parted = self.parted(data, repeats, seed)
        return EvaluationPlan(
            replace(data, y=views.identities),
            data,
            parted.rule,
            parted.splits,
            lambda trial: _measure(trial, views),
            parted.per_repeat,
            triplets=views.triplets,
            baselines={GEODESIC: _positions(data, views)} if GEODESIC in learners else {},
            **self.plan_options(parted),
        )

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """Hit rates @k of finding a lesion of one view in the other."""
        return _measure(trial, PolypViews(trial.data, str(self.settings["negative"])))


class PolypViews:
    """The polyps and candidates in the views of the patients of ``data``."""

    def __init__(self, data: EvaluationData, negative: str) -> None:
        """
        Raises:
            BadInput: cases without a view or a patient, or no polyp in two views.
        """
        view = data.attributes.get(VIEW)
        if view is None or not (view != "").all():
            raise BadInput(
                tr_lazy("{data} does not give the view (prone, supine) of every candidate.", data=data.name),
                "Import candidates as the kind 'polyps', or add a column 'view'.",
            )
        if data.groups is None or data.patients != "known":
            raise BadInput(
                tr_lazy("{data} does not give the patient of every candidate.", data=data.name),
                "Add a column 'patient_id'.",
            )
        self._view, self._patients = view, data.groups
        self._polyp = data.y != negative
        own = [
            f"{patient}\n{finding}" if polyp else f"\n{row}"
            for row, (patient, finding, polyp) in enumerate(
                zip(data.groups.tolist(), data.y.tolist(), self._polyp.tolist(), strict=True)
            )
        ]
        #: (n,) one finding for each polyp, and one for each false positive alone.
        self.identities: npt.NDArray[np.str_] = np.array(own, dtype=np.str_)
        if not self.queries:
            raise BadInput(
                tr_lazy("{data} holds no polyp that two views of a patient show.", data=data.name),
                "Give the same polyp the same name in both views.",
            )

    @cached_property
    def queries(self) -> list[PolypQuery]:
        """Of all patients, in the order of their rows."""
        found = []
        result_rows: dict[tuple[str, str], list[int]] = {}
        for row, key in enumerate(zip(self._patients.tolist(), self._view.tolist(), strict=True)):
            result_rows.setdefault(key, []).append(row)
        views = sorted(set(self._view.tolist()))
        for row in np.flatnonzero(self._polyp).tolist():
            here = str(self._view[row])
            for there in views:
                candidates = np.array(result_rows.get((str(self._patients[row]), there), []), dtype=np.intp)
                hits = self.identities[candidates] == self.identities[row]
                if there != here and hits.any():
                    found.append(PolypQuery(row, candidates, hits, (here, there)))
        return found

    def triplets(self, split: HoldOut) -> npt.NDArray[np.int64]:
        """(t, 3) triplets of training rows: a polyp, the same one in the other view, another candidate there.

        Raises:
            BadInput: the training part has none.
        """
        place = np.full(len(self.identities), -1, dtype=np.int64)
        place[split.train] = np.arange(len(split.train))
        out = []
        for query in self.queries:
            if place[query.row] >= 0:
                same, other = query.candidates[query.hits], query.candidates[~query.hits]
                j, k = (axis.ravel() for axis in np.meshgrid(place[same], place[other], indexing="ij"))
                out.append(np.stack([np.full(len(j), place[query.row]), j, k], axis=1))
        found = np.concatenate(out) if out else np.empty((0, 3), dtype=np.int64)
        if not len(found):
            raise BadInput(
                "No polyp of the training part has a match and another candidate in the other view."
            )
        return found


def _positions(data: EvaluationData, views: PolypViews) -> EvaluationData:
    """The same cases with their position along the colon as the only feature."""
    texts = data.attributes.get(GEODESIC)
    texts_of_cases = [] if texts is None else texts.tolist()
    if not any(texts_of_cases):
        raise BadInput(
            tr_lazy(
                "{data} has no position along the colon, so 'geodesic' cannot be measured.", data=data.name
            ),
            "Add a column 'geodesic' (0 rectum to 1 caecum), or leave 'geodesic' out.",
        )
    try:
        places = np.array([float(text) if text else np.nan for text in texts_of_cases])
    except ValueError:
        raise BadInput(
            tr_lazy("A position along the colon of {data} is not a number.", data=data.name)
        ) from None
    return replace(
        data, X=places[:, None], y=views.identities, feature_names=(GEODESIC,), feature_groups=(GEODESIC,)
    )


def _measure(trial: MetricTrial, views: PolypViews) -> MeasuredScores:
    is_test = np.zeros(trial.data.n_cases, dtype=np.bool_)
    is_test[trial.split.test] = True
    rates_by_direction: dict[tuple[str, str], list[npt.NDArray[np.float64]]] = {}
    for query in views.queries:
        if is_test[query.row]:
            trial.reporter.check_cancelled()
            rates_by_direction.setdefault(query.direction, []).append(_hits(trial, query))
    if not rates_by_direction:
        return MeasuredScores({}, {"hit_rate": np.full(MAX_K, np.nan)})
    rates = np.mean([np.mean(query_row, axis=0) for query_row in rates_by_direction.values()], axis=0)
    return MeasuredScores(
        {f"hit_rate@{k}": float(rates[k - 1]) for k in range(1, MAX_K + 1)}, {"hit_rate": rates}
    )


def _hits(trial: MetricTrial, query: PolypQuery) -> npt.NDArray[np.float64]:
    """(MAX_K,) whether a match is among the first K; with ties the probability in random order."""
    X = trial.data.X
    distances = metric_distances(trial.metric, X[[query.row]], X[query.candidates])
    query_row, all_candidates = np.zeros(1, dtype=np.intp), np.arange(len(query.candidates))[None, :]
    first = distances.exact(query_row, all_candidates)[0]
    second = distances.second(query_row, all_candidates)
    order = np.argsort(first, kind="stable")
    tie = np.empty(len(order), dtype=np.intp)
    tie[order] = tie_numbers(first[order][None, :])[0]
    if second is not None:
        order = np.lexsort((second[0], tie))
        differ = np.diff(second[0][order]) > 1e-12 * float(second[0].max())
        ranks = np.concatenate([[0], np.cumsum((np.diff(tie[order]) > 0) | differ)])
        tie[order] = ranks
    return hit_probabilities(tie, query.hits, MAX_K)


def hit_probabilities(tie: Rows, hits: npt.NDArray[np.bool_], max_k: int) -> npt.NDArray[np.float64]:
    """(most,) the probability of a hit among the first k = 1 ... ``most`` of n candidates.

    ``tie`` (n,): equal numbers for candidates equally near, smaller for nearer; they come in random order.
    ``hits`` (n,): which of them match.
    """
    first = int(tie[hits].min())
    before, group = int((tie < first).sum()), tie == first
    misses = int((group & ~hits).sum())
    size = int(group.sum())
    out = np.zeros(max_k)
    no_hit = 1.0
    for k in range(max_k):
        drawn = k - before
        if drawn >= size:
            no_hit = 0.0
        elif drawn >= 0:
            # The probability that one more of the tied cases is no match, if none before was.
            no_hit *= max(misses - drawn, 0) / (size - drawn)
        out[k] = 1.0 - no_hit
    return out
