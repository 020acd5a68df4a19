"""Compare two metrics: the same query ranked by both, and the queries they disagree on most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.core.evaluation.search_rankings import VOTERS
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.retrieval.index import CaseRow, DistanceIndex, Index, Matrix, Rows, nearest_first
from semblance.core.retrieval.rank_agreement import RankAgreement, kendall, ranks_in, shared, whole_order
from semblance.core.retrieval.ranking import EmbeddedQuery, rank
from semblance.core.searches.query import Query, check_one_query
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import Vote
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.estimate import estimate_from_neighbours, trained_on
from semblance.core.workflows.searches.feedback.refinement_session import open_refinement
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.open_metrics import open_metric
from semblance.core.workflows.searches.query_features import embed_query
from semblance.core.workflows.searches.rank_cases import rank_cases

#: Ranks shown of each metric at most, and those that Kendall's tau compares. Tau is over the left metric's cases: over
#: those of both lists chance alone would give a negative one.
DEPTH = 50
#: Ranks of a refined search that are known; a case behind them has none.
REFINED_RANKS = 1000
#: Queries ranked at most to find where two metrics disagree.
MOST_QUERIES = 1000


@dataclass(frozen=True)
class ComparedCase:
    """A ranked case under one metric; ``other`` is its rank under the other, ``None`` where it has none.

    ``rise``: by how many ranks it is nearer here than under the other metric.
    """

    rank: int
    row: int
    case_id: str
    distance: float
    finding: str | None
    other: int | None

    @property
    def rise(self) -> int | None:
        """Ranks gained over the other metric; negative if it fell, ``None`` if it has no rank there."""
        return None if self.other is None else self.other - self.rank


@dataclass(frozen=True)
class MetricComparison:
    """A query under two metrics: the first ranks of each, and the estimates from their ten nearest cases.

    ``agreement``: Kendall's tau of both orders on the left's first 50.
    """

    left: tuple[ComparedCase, ...]
    right: tuple[ComparedCase, ...]
    agreement: RankAgreement | None
    votes: tuple[Vote, Vote] = (Vote(), Vote())

    def shared(self, depth: int) -> int:
        """How many cases are among the first ``depth`` of both."""
        return sum(line.other is not None and line.other <= depth for line in self.left[:depth])

    def largest_rise(self, depth: int) -> ComparedCase | None:
        """The line of the right's first ``depth`` that rose most from left to right; ``None``: none rose."""
        moved = [line for line in self.right[:depth] if line.rise is not None and line.rise > 0]
        return max(moved, key=lambda line: line.rise or 0, default=None)

    def largest_fall(self, depth: int) -> ComparedCase | None:
        """The line of the left's first ``depth`` that fell most from left to right; ``None``: none fell."""
        moved = [line for line in self.left[:depth] if line.rise is not None and line.rise > 0]
        return max(moved, key=lambda line: line.rise or 0, default=None)


@dataclass(frozen=True)
class Disagreement:
    """One query: cases shared by the 10 nearest of both, tau of the left's first 50, and how many of the 10
    nearest have the query's finding under each (``None`` for a query without one). ``trained``: whether the
    left and the right were trained on the query or its patient."""

    row: int
    case_id: str
    finding: str | None
    shared: int
    agreement: RankAgreement | None
    left_same: int | None
    right_same: int | None
    trained: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Disagreements:
    """Queries, those with least in common first; ``n_queries`` of ``cases``, a sample drawn with ``seed``."""

    lines: tuple[Disagreement, ...]
    n_queries: int
    cases: int
    seed: int

    @property
    def sampled(self) -> bool:
        """Whether only a sample of the cases were queries."""
        return self.n_queries < self.cases

    @property
    def mean_shared(self) -> float:
        """Mean share, 0 to 1, of the 10 nearest that both have."""
        return float(np.mean([line.shared for line in self.lines])) / VOTERS if self.lines else 0.0


def compare_metrics(
    library: LibraryLocation,
    left: str | Search,
    right: str | Search,
    query: Query,
    *,
    hide_same_patient: bool = True,
    group_duplicates: bool = True,
    reporter: Reporter = SILENT,
) -> MetricComparison:
    """``query`` ranked by the metrics ``left`` and ``right``; a search ranks its own query, as it is refined.

    Raises:
        BadArguments: no such metric, or not exactly one of case and image given.
        BadInput: no such case, no features for it, or an image that cannot be read.
    """
    check_one_query(query)
    sides = []
    for one in (left, right):
        if isinstance(one, Search):
            sides.append(_MetricRanking.of_search(library, one, reporter))
        else:
            loaded = open_metric(library, one, reporter)
            sides.append(_MetricRanking.of(loaded, query, hide_same_patient, group_duplicates))
        reporter.check_cancelled()
    return _compared(sides[0], sides[1])


def disagreements(
    library: LibraryLocation,
    left: str | Search,
    right: str | Search,
    *,
    hide_same_patient: bool = True,
    group_duplicates: bool = True,
    most: int = MOST_QUERIES,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> Disagreements:
    """Every case as a query under both metrics, a seeded sample of ``most`` where there are more.

    A search represents its metric refined by all its judgements, without the feature groups that it excludes.
    Marks on its own query, examples and concepts are ignored.

    Raises:
        BadArguments: no such metric.
        BadInput: no case has the metric's features, or clicks cannot refine it.
    """
    one, two = (_MetricSearch.of(library, side, reporter) for side in (left, right))
    both = np.intersect1d(one.loaded.rows, two.loaded.rows)
    chosen = both
    if len(both) > most:
        chosen = np.sort(np.random.default_rng(seed).choice(both, most, replace=False))
    lines = []
    for done, row in enumerate(chosen.tolist()):
        reporter.check_cancelled()
        if done % 20 == 0:
            reporter.progress(
                done, len(chosen), tr_lazy("Asking {left} and {right}", left=one.name, right=two.name)
            )
        lines.append(_disagreement(one, two, row, hide_same_patient, group_duplicates))
    lines.sort(key=lambda line: (line.shared, 1.0 if line.agreement is None else line.agreement.tau))
    return Disagreements(tuple(lines), len(chosen), len(both), seed)


@dataclass(frozen=True, eq=False)
class _MetricSearch:
    """The cases of a loaded metric, where every one of them can be the query."""

    name: str
    loaded: LoadedMetric
    index: Index | DistanceIndex
    embedding: Matrix
    ties: Matrix | None

    @classmethod
    def of_metric(cls, loaded: LoadedMetric, name: str = "") -> _MetricSearch:
        return cls(name or loaded.record.name, loaded, loaded.index, loaded.embedding, loaded.ties)

    @classmethod
    def of(cls, library: LibraryLocation, side: str | Search, reporter: Reporter) -> _MetricSearch:
        if isinstance(side, str):
            return cls.of_metric(open_metric(library, side, reporter))
        loaded = open_metric(library, side.metric, reporter, without=side.without)
        judged = loaded.ledger(side.ledger).in_force if side.ledger and side.strength > 0.0 else []
        name = tr_lazy("{metric}, refined", metric=side.metric)
        if not judged:
            return cls.of_metric(loaded, name)
        session = open_refinement(library, side.metric, reporter, without=side.without)
        embedding = session.embedded(np.arange(len(loaded.rows)), judged, side.strength)
        return cls(name, loaded, Index(embedding, loaded.ties), embedding, loaded.ties)

    def embedded_query(self, row: CaseRow) -> EmbeddedQuery:
        place = self.loaded.position_of(row)
        assert place is not None
        tie = None if self.ties is None else self.ties[place]
        return EmbeddedQuery(
            self.embedding[place],
            tie,
            place,
            self.loaded.query_patient(row),
            self.loaded.cases.lesion_of(row),
        )

    def nearest(self, embedded: EmbeddedQuery, k: int, *, hide: bool, group_duplicates: bool) -> Rows:
        """(k,) catalogue rows of the nearest, as the ranking has them."""
        loaded = self.loaded
        patients, keys = loaded.patient_codes if hide else None, loaded.keys if group_duplicates else None
        rows: Rows = loaded.rows[rank(self.index, embedded, k, patients=patients, keys=keys).rows]
        return rows

    def agreement(self, embedded: EmbeddedQuery, order: Rows) -> RankAgreement | None:
        """Kendall's tau of this ranking with ``order``, the first cases of another."""
        loaded = self.loaded
        known = [
            (place, at)
            for place, row in enumerate(order.tolist())
            if (at := loaded.position_of(row)) is not None
        ]
        places = np.array([at for _, at in known], dtype=np.int64)
        order = nearest_first(
            self.index.distances(embedded.embedded, places),
            self.index.tie_distances(places, embedded.tie_break),
            places,
        )
        return kendall([place for place, _ in known], order.argsort())


@dataclass(frozen=True, eq=False)
class _MetricRanking:
    """One metric's answer: the catalogue rows of the whole order, the first distances, and whether each lesion is in
    it once; ``embedded`` of ``field``, both ``None`` for a search as it is refined."""

    loaded: LoadedMetric
    field: _MetricSearch | None
    embedded: EmbeddedQuery | None
    order: Rows
    distances: Matrix
    vote: Vote
    is_grouped: bool

    @classmethod
    def of(cls, loaded: LoadedMetric, query: Query, hide: bool, group_duplicates: bool) -> _MetricRanking:
        embedded = embed_query(loaded, query)
        patients, keys = loaded.patient_codes if hide else None, loaded.keys if group_duplicates else None
        first, order = whole_order(loaded.index, embedded, DEPTH, patients=patients, keys=keys)
        field = _MetricSearch.of_metric(loaded)
        voters = order[:VOTERS].tolist()
        search = Search(loaded.record.name, query, hide_same_patient=hide, group_duplicates=group_duplicates)
        vote = estimate_from_neighbours(loaded, search, embedded, voters)
        return cls(loaded, field, embedded, loaded.rows[order], first.distances, vote, group_duplicates)

    @classmethod
    def of_search(cls, library: LibraryLocation, search: Search, reporter: Reporter) -> _MetricRanking:
        result = rank_cases(library, search, k=REFINED_RANKS, reporter=reporter).result
        ranked = result.ranked
        rows = np.array([line.row for line in ranked], dtype=np.int64)
        distances = np.array([line.distance for line in ranked[:DEPTH]], dtype=np.float64)
        loaded = open_metric(library, search.metric, reporter)
        return cls(loaded, None, None, rows, distances, result.vote, search.group_duplicates)

    def ranks(self, rows: Rows) -> Rows:
        """(r,) the rank of each of ``rows``, of the case it is grouped under where it is; 0 where it has none."""
        if not self.is_grouped:
            return ranks_in(self.order, rows)
        return ranks_in(_lesions(self.loaded, self.order), _lesions(self.loaded, rows))

    def agreement(self, order: Rows) -> RankAgreement | None:
        """Kendall's tau of this ranking with ``order``, the first cases of another."""
        if self.field is not None and self.embedded is not None:
            return self.field.agreement(self.embedded, order)
        ranks = self.ranks(order)
        return kendall(np.arange(len(order)), np.where(ranks > 0, ranks, REFINED_RANKS + 1))


def _lesions(loaded: LoadedMetric, rows: Rows) -> Rows:
    """(r,) the number of the lesion of each of the catalogue ``rows``."""
    return np.array([loaded.cases.lesion_of(row) for row in rows.tolist()], dtype=np.int64)


def _compared(left: _MetricRanking, right: _MetricRanking) -> MetricComparison:
    lines = []
    for here, there in ((left, right), (right, left)):
        shown = here.order[:DEPTH]
        found = zip(shown.tolist(), here.distances[:DEPTH].tolist(), there.ranks(shown).tolist(), strict=True)
        lines.append(
            tuple(
                ComparedCase(
                    place,
                    row,
                    here.loaded.cases.id_of(row),
                    distance,
                    here.loaded.cases.finding_of(row),
                    other or None,
                )
                for place, (row, distance, other) in enumerate(found, start=1)
            )
        )
    agreement = right.agreement(left.order[:DEPTH])
    return MetricComparison(lines[0], lines[1], agreement, (left.vote, right.vote))


def _disagreement(
    one: _MetricSearch, two: _MetricSearch, row: CaseRow, hide: bool, group_duplicates: bool
) -> Disagreement:
    """Only the first ranks of both: the others of a case are measured, not looked for."""
    embedded = [field.embedded_query(row) for field in (one, two)]
    left, right = [
        field.nearest(query, DEPTH, hide=hide, group_duplicates=group_duplicates)
        for field, query in zip((one, two), embedded, strict=True)
    ]
    finding = one.loaded.cases.finding_of(row)
    same = [
        None
        if finding is None
        else sum(field.loaded.cases.finding_of(int(other)) == finding for other in rows[:VOTERS])
        for field, rows in zip((one, two), (left, right), strict=True)
    ]
    compared = (left, right)
    if group_duplicates:
        compared = (_lesions(one.loaded, left), _lesions(one.loaded, right))
    return Disagreement(
        row,
        one.loaded.cases.id_of(row),
        finding,
        shared(*compared, VOTERS),
        two.agreement(embedded[1], left),
        same[0],
        same[1],
        (trained_on(one.loaded, embedded[0]), trained_on(two.loaded, embedded[1])),
    )
