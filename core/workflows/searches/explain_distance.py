"""Explain the distance of a ranked case: parts that sum to it, and a sentence."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import as_lazy, join_texts, tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.explanation import DistanceShare, Grouping, shares_of
from semblance.core.retrieval.explanation.sentence import ranks_among, sentence
from semblance.core.searches.feedback.judgements import QueryMarks, refines
from semblance.core.searches.search import BOTH, WHOLE, Search
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.embedding_cache import sample_positions
from semblance.core.workflows.searches.feedback.concepts import shift_query
from semblance.core.workflows.searches.feedback.refinement_session import open_search_refinement
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.open_metrics import open_search_metric
from semblance.core.workflows.searches.place_search import (
    combined_comparison,
    metric_query,
    place_search,
    resolved_match,
)
from semblance.core.workflows.searches.query_features import embed_query, features_of_cases, query_features
from semblance.core.workflows.searches.search_result import SearchResult

#: The part of a distance that comes from concepts moving the query.
MOVED = tr_lazy("concepts")
#: Sampled cases used for each subset of groups.
SAMPLE_ROWS = 128
#: In a library with fewer cases groups are not called close or far.
_FEWEST_CASES = 5
#: Refined metrics cached for one loaded metric.
_MAX_CONTEXTS = 3
#: Columns of a group that are named individually.
_FEW_COLUMNS, _MAX_NAMED = 40, 2


@dataclass(frozen=True)
class GroupPart:
    """The contribution of a group of features to the distance.

    ``rank``: the share of the library's cases that are nearer to the query in it. ``left_out``: the ranking excludes
    it. ``group``: False for a part that comes from no group (:data:`MOVED`).
    """

    name: str
    amount: float
    rank: float = 0.5
    left_out: bool = False
    detail: str = ""
    group: bool = True


@dataclass(frozen=True)
class Explanation:
    """Why ``case`` is at ``distance``: ``groups`` sum to it, and so do ``shares``, which are of a ``kind``
    ("Directions", "Bits", ...). A search by place has no groups."""

    case: str
    distance: float
    groups: tuple[GroupPart, ...]
    kind: str
    shares: tuple[DistanceShare, ...]
    sentence: str


@dataclass(frozen=True)
class ShortExplanation:
    """A short explanation: ``parts`` by group, which sum to the distance, and one sentence."""

    parts: tuple[tuple[str, float], ...]
    sentence: str


def explain_distance(
    library: LibraryLocation,
    search: Search,
    case: str,
    *,
    shown: float | None = None,
    reporter: Reporter = SILENT,
) -> Explanation:
    """Explain the distance of ``case`` in the ranking of ``search``; ``shown``: its distance there.

    Raises:
        BadArguments: no such metric or group of features.
        BadInput: no such case, no features for it or the query, or an image that cannot be read.
    """
    loaded = open_search_metric(library, search, reporter)
    match = _match(library, loaded, search, reporter)
    if match != WHOLE:
        (found,) = _explained_by_place(loaded, search, match, [case], reporter)
        of_places = tuple(DistanceShare(name, amount) for name, amount in found.parts)
        total = sum(share.amount for share in of_places)
        return Explanation(case, total, (), tr_lazy("Parts"), of_places, found.sentence)
    context = ExplanationContext.of(library, search, reporter)
    q, x = context.query_row(), context.case_rows([case])[0]
    amounts = context.grouping.shares(q, x[np.newaxis])[0]
    ranks = ranks_among(amounts, context.usual())
    distance = float(amounts.sum())
    names = context.grouping.groups
    groups = [
        GroupPart(name, amount, rank, name in search.without, context.detail(place, q, x))
        for place, (name, amount, rank) in enumerate(
            zip(names, amounts.tolist(), ranks.tolist(), strict=True)
        )
    ]
    kind, shares = shares_of(context.grouping, q, x, context.feature_names)
    moved = 0.0 if shown is None or not search.is_shifted else shown - distance
    if moved:
        groups.append(GroupPart(MOVED, moved, group=False))
        shares.append(DistanceShare(MOVED, moved))
    text = context.sentence(amounts, ranks)
    return Explanation(case, distance + moved, tuple(groups), kind, tuple(shares), text)


def nearest_mark(case: RankedCase, marks: QueryMarks, name: Callable[[str], str]) -> str:
    """A sentence on the marked case that moved ``case``; empty without ``marks`` and for a marked case itself.
    ``name`` gives the name of a case id, empty for a case that must not be named."""
    if case.case_id in (*marks.liked, *marks.disliked):
        return ""
    marked = case.near_liked if case.nearer_to_liked else case.near_disliked
    called = name(marked) if marked is not None else ""
    if not called:
        return ""
    if case.nearer_to_liked:
        return tr_lazy("Of the marked cases, nearest to {case}, which is marked more like this.", case=called)
    return tr_lazy("Of the marked cases, nearest to {case}, which is marked less like this.", case=called)


def short_explanations(
    library: LibraryLocation, search: Search, cases: Sequence[str], *, reporter: Reporter = SILENT
) -> list[ShortExplanation]:
    """A short explanation of each of ``cases``, without the part of the concepts.

    Raises:
        BadArguments, BadInput: as :func:`explain_distance`.
    """
    if not cases:
        return []
    loaded = open_search_metric(library, search, reporter)
    match = _match(library, loaded, search, reporter)
    if match != WHOLE:
        return _explained_by_place(loaded, search, match, cases, reporter)
    context = ExplanationContext.of(library, search, reporter)
    q = context.query_row()
    amounts = context.grouping.shares(q, context.case_rows(cases))
    names = context.grouping.groups
    out = []
    for row in amounts:
        ranks = ranks_among(row, context.usual())
        text = context.sentence(row, ranks)
        parts = tuple((name, amount) for name, amount in zip(names, row.tolist(), strict=True) if amount)
        out.append(ShortExplanation(parts, text))
    return out


def _match(library: LibraryLocation, loaded: LoadedMetric, search: Search, reporter: Reporter) -> str:
    """What ``search`` compares: places join a whole image only where no judgements refine the metric."""
    refined = not search.match and _refined(library, loaded, search, reporter) is not loaded.metric
    return resolved_match(loaded, search, refined=refined)


def _explained_by_place(
    loaded: LoadedMetric, search: Search, match: str, cases: Sequence[str], reporter: Reporter
) -> list[ShortExplanation]:
    """What the places and, where they are compared too, the whole images make of the distance of each of ``cases``."""
    found = place_search(loaded, search.query, reporter)
    rows = loaded.positions_of_cases(cases)
    distances = found.comparison.distances((), rows)
    cosines = (1.0 - distances / 2.0).tolist()
    if search.query.slices:
        sentences = [
            tr_lazy("Similarity of its slices: {cosine:.2f} on average. 1 is identical.", cosine=one)
            for one in cosines
        ]
    elif found.query.is_all:
        sentences = [
            tr_lazy("Similarity of its places: {cosine:.2f} on average. 1 is identical.", cosine=one)
            for one in cosines
        ]
    else:
        sentences = [
            tr_lazy("Similarity of its place: {cosine:.2f} on average. 1 is identical.", cosine=one)
            for one in cosines
        ]
    of_metric = np.zeros(len(rows))
    if match == BOTH:
        embedded = embed_query(loaded, metric_query(loaded, search.query))
        both = combined_comparison(loaded, search, embedded, found)
        distances *= both.factors[0]
        of_metric = both.distances((), rows) - distances
    named = (tr_lazy("Places"), tr_lazy("Whole image"))
    return [
        ShortExplanation(
            tuple(zip(named, parts, strict=False)) if match == BOTH else ((named[0], parts[0]),), text
        )
        for parts, text in zip(np.stack([distances, of_metric], axis=1).tolist(), sentences, strict=True)
    ]


def most_different_groups(
    library: LibraryLocation, search: Search, cases: Sequence[str], *, reporter: Reporter = SILENT
) -> list[str]:
    """For each of ``cases`` the group of features that contributes most to its distance; empty if none does, or if
    all features are one group.

    Raises:
        BadArguments, BadInput: as :func:`explain_distance`.
    """
    found = short_explanations(library, search, cases, reporter=reporter)
    largest = [max(one.parts, key=lambda part: part[1], default=("", 0.0)) for one in found]
    return [
        name if amount > 0.0 and len(one.parts) > 1 else ""
        for one, (name, amount) in zip(found, largest, strict=True)
    ]


def result_with_reasons(
    library: LibraryLocation,
    result: SearchResult,
    without: tuple[str, ...] = (),
    *,
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """The JSON of ``result`` with a ``reason`` and the ``parts`` of the distance for each case.

    Raises:
        BadArguments, BadInput: as :func:`explain_distance`.
    """
    document = result.to_json()
    search = Search(
        result.metric,
        result.query,
        without=without,
        without_patient=result.without_patient,
        match=result.compared_by,
    )
    found = short_explanations(library, search, [case.case_id for case in result.ranked], reporter=reporter)
    for line, reason in zip(document["results"], found, strict=True):
        line["reason"] = reason.sentence
        line["parts"] = [{"name": name, "amount": amount} for name, amount in reason.parts]
    return document


def preload_feature_groups(library: LibraryLocation, search: Search, *, reporter: Reporter = SILENT) -> None:
    """Read the data for ranking without any one group of features. After cancelling, the next call continues.

    Raises:
        BadArguments: no such metric.
        BadInput: not a library, or no case has the metric's features.
    """
    open_search_metric(library, dataclasses.replace(search, without=()), reporter).transformed.prepare(
        reporter
    )


class ExplanationContext:
    """The data that all explanations of one search share."""

    def __init__(self, loaded: LoadedMetric, metric: Metric, search: Search) -> None:
        self.loaded, self.search = loaded, search
        self.grouping = Grouping(metric)
        self.feature_names = self._names()
        self._deviations = self.grouping.deviations()
        self._numbers: Matrix | None = None
        self._query: Matrix | None = None
        self._usual: Matrix | None = None

    @classmethod
    def of(cls, library: LibraryLocation, search: Search, reporter: Reporter) -> ExplanationContext:
        """The context of ``search``, cached as long as the loaded metric and the judgements stay the same."""
        loaded = open_search_metric(library, search, reporter)
        metric = _refined(library, loaded, search, reporter)
        contexts = loaded.cache.or_made(_Contexts, _Contexts)
        key = (metric.card.content_hash, repr(search.query))
        context = contexts.pop(key, None)
        if context is None:
            context = cls(loaded, metric, search)
        contexts[key] = context
        while len(contexts) > _MAX_CONTEXTS:
            contexts.popitem(last=False)
        return context

    def query_row(self) -> Matrix:
        """(d',) the query in the columns of the groups."""
        if self._query is None:
            self._query = self.grouping.head_rows(self.numbers()[np.newaxis])[0]
        return self._query

    def numbers(self) -> Matrix:
        """(d,) features of the query as extracted."""
        if self._numbers is None:
            self._numbers = query_features(self.loaded, self.search.query)
        return self._numbers

    def sample_rows(self) -> Matrix:
        """(n, d') cases drawn from the whole library, in the columns of the groups."""
        return self.grouping.head_rows(_sample(self.loaded))

    def case_rows(self, cases: Sequence[str]) -> Matrix:
        """(n, d') some cases in the columns of the groups."""
        return self.grouping.head_rows(features_of_cases(self.loaded, cases, self.loaded.feature_set))

    def usual(self) -> Matrix:
        """(n, G) the contributions of the groups to the query's distances to other cases, drawn from the library."""
        if self._usual is None:
            shares = self.grouping.shares(self.query_row(), self.sample_rows(), rows=SAMPLE_ROWS)
            # Not to the query itself and copies of it.
            self._usual = shares[shares.any(axis=1)]
        return self._usual

    def sentence(self, amounts: Matrix, ranks: Matrix) -> str:
        """What is close and far for the ``amounts`` (G,) of a distance, with their ``ranks`` (G,) among usual ones;
        empty in a library with too few cases."""
        if len(self.usual()) < _FEWEST_CASES:
            return ""
        return sentence(self.grouping.groups, amounts.tolist(), ranks.tolist(), self.search.without)

    def detail(self, group: int, q: Matrix, x: Matrix) -> str:
        """The features of a group that differ most, in standard deviations of the training cases."""
        columns = self.grouping.columns_of(group)
        if len(columns) > _FEW_COLUMNS or len(self.feature_names) != len(q) or len(columns) < 2:
            return ""
        varies = self._deviations[columns] > 0.0
        apart = np.zeros(len(columns))
        apart[varies] = np.abs(x - q)[columns][varies] / self._deviations[columns][varies]
        order = np.argsort(-apart, kind="stable")[:_MAX_NAMED]
        texts = [
            tr_lazy("{name} {apart:.1f}", name=as_lazy(self.feature_names[columns[k]]), apart=apart[k])
            for k in order.tolist()
            if apart[k] > 0.0
        ]
        return tr_lazy("Most apart, in deviations: {columns}", columns=join_texts(texts)) if texts else ""

    def _names(self) -> tuple[str, ...]:
        """The names of the columns of the groups, without those of local descriptors."""
        groups = self.grouping.metric.names_before_tail()
        own = tuple(name for name, _ in self.loaded.feature_set.columns)
        return own if len(own) == len(groups) == self.grouping.metric.n_features else groups


class _Contexts(OrderedDict[tuple[str, str], ExplanationContext]):
    """The last contexts, by the content of the metric and the query."""


@dataclass(frozen=True, eq=False)
class _Sample:
    """(n, d) features of some cases of a loaded metric."""

    features: Matrix

    @classmethod
    def drawn(cls, loaded: LoadedMetric) -> _Sample:
        """Those of cases drawn at random."""
        chosen = loaded.rows[sample_positions(len(loaded.rows))]
        return cls(loaded.library.features.read(loaded.feature_set, chosen)[1].astype(np.float64))

    @property
    def nbytes(self) -> int:
        return self.features.nbytes


def _sample(loaded: LoadedMetric) -> Matrix:
    """(n, d) features of some cases, drawn once for a loaded metric."""
    if loaded.drawn is not None:
        return loaded.drawn
    return loaded.cache.or_made(_Sample, lambda: _Sample.drawn(loaded)).features


def _refined(library: LibraryLocation, loaded: LoadedMetric, search: Search, reporter: Reporter) -> Metric:
    """The metric that the ranking of ``search`` is by, frozen."""
    in_force = loaded.ledger(search.ledger).in_force if search.ledger and search.strength > 0.0 else []
    # Marks for this query change the order alone.
    entries = [entry for entry in in_force if refines(entry.judgement, search)]
    if not entries and not search.is_shifted:
        return loaded.metric
    try:
        session = open_search_refinement(library, search, reporter)
    except BadInput:
        # The metric cannot be refined, so the search ignored the judgements.
        return loaded.metric
    form = session.form(entries, search.strength).opened(shift_query(session, search).plain_weight)
    distance = session.space.distance(form)
    return dataclasses.replace(loaded.metric, distance=distance)
