"""Why a case is where it is in a ranking: parts that sum to its distance, and a sentence."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import as_lazy, join_texts, tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.explanation import Grouping, Share, shares_of
from semblance.core.retrieval.explanation.words import ranks_among, sentence
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.desk import Desk, desk_for
from semblance.core.workflows.searches.desk_store import drawn_places
from semblance.core.workflows.searches.moving import moved
from semblance.core.workflows.searches.refining_desk import bench_for
from semblance.core.workflows.searches.searching import SearchResult, case_numbers, numbers_of

#: The part of a distance that examples and concepts made by moving what is asked.
MOVED = tr_lazy("examples and concepts")
#: Rows tried for each case that tells what is usual, where subsets of groups are.
SAMPLE_ROWS = 128
#: Metrics, as changed by clicks, kept ready on one desk.
_KEPT = 3
#: What a desk keeps of explanations.
_GROUNDS, _SAMPLE = "grounds", "sample"
#: Columns of a group that are told one by one.
_FEW_COLUMNS, _TOLD = 40, 2


@dataclass(frozen=True)
class GroupPart:
    """What a group of features made of the distance.

    ``rank``: the share of the library's cases that are nearer to the query in it. ``left_out``: the ranking
    is without it. ``group``: False for what no group made (:data:`MOVED`).
    """

    name: str
    amount: float
    rank: float = 0.5
    left_out: bool = False
    detail: str = ""
    group: bool = True


@dataclass(frozen=True)
class Why:
    """Why ``case`` is at ``distance``: ``groups`` sum to it, and so do ``shares``, which are of a ``kind``
    ("Directions", "Bits", ...)."""

    case: str
    distance: float
    groups: tuple[GroupPart, ...]
    kind: str
    shares: tuple[Share, ...]
    sentence: str


@dataclass(frozen=True)
class Reason:
    """The same in short: ``parts`` by group, which sum to the distance, and one sentence."""

    parts: tuple[tuple[str, float], ...]
    sentence: str


def why(
    library: Path, search: Search, case: str, *, shown: float | None = None, reporter: Reporter = SILENT
) -> Why:
    """Why ``case`` is where it is in the ranking of ``search``; ``shown`` is its distance there.

    Raises:
        BadArguments: no such metric or group of features.
        BadInput: no such case, no features for it or the query, or an image that cannot be read.
    """
    ground = Ground.of(library, search, reporter)
    q, x = ground.query_row(), ground.case_row(case)
    amounts = ground.grouping.shares(q, x[np.newaxis])[0]
    ranks = ranks_among(amounts, ground.usual())
    distance = float(amounts.sum())
    names = ground.grouping.groups
    groups = [
        GroupPart(name, amount, rank, name in search.without, ground.detail(place, q, x))
        for place, (name, amount, rank) in enumerate(
            zip(names, amounts.tolist(), ranks.tolist(), strict=True)
        )
    ]
    kind, shares = shares_of(ground.grouping, q, x, ground.feature_names)
    moved = 0.0 if shown is None or not search.moved else shown - distance
    if moved:
        groups.append(GroupPart(MOVED, moved, group=False))
        shares.append(Share(MOVED, moved))
    told = sentence(names, amounts.tolist(), ranks.tolist(), search.without)
    return Why(case, distance + moved, tuple(groups), kind, tuple(shares), told)


def reasons(
    library: Path, search: Search, cases: Sequence[str], *, reporter: Reporter = SILENT
) -> list[Reason]:
    """A reason for each of ``cases``, as :func:`why` tells it but for what moved the query.

    Raises:
        BadArguments, BadInput: as :func:`why`.
    """
    if not cases:
        return []
    ground = Ground.of(library, search, reporter)
    q = ground.query_row()
    amounts = ground.grouping.shares(q, np.stack([ground.case_row(case) for case in cases]))
    names = ground.grouping.groups
    out = []
    for row in amounts:
        ranks = ranks_among(row, ground.usual())
        told = sentence(names, row.tolist(), ranks.tolist(), search.without)
        parts = tuple((name, amount) for name, amount in zip(names, row.tolist(), strict=True) if amount)
        out.append(Reason(parts, told))
    return out


def with_reasons(
    library: Path, result: SearchResult, without: tuple[str, ...] = (), *, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """The JSON of ``result`` with a ``reason`` and the ``parts`` of the distance for each case.

    Raises:
        BadArguments, BadInput: as :func:`why`.
    """
    document = result.to_json()
    search = Search(result.metric, result.query, without=without)
    found = reasons(library, search, [case.case_id for case in result.ranked], reporter=reporter)
    for line, reason in zip(document["results"], found, strict=True):
        line["reason"] = reason.sentence
        line["parts"] = [{"name": name, "amount": amount} for name, amount in reason.parts]
    return document


def ready(library: Path, search: Search, *, reporter: Reporter = SILENT) -> None:
    """Read what ranking without any group of features will need; cancelled, it goes on where it was.

    Raises:
        BadArguments: no such metric.
        BadInput: not a library, or no case has the metric's features.
        Cancelled: asked for by the reporter.
    """
    desk_for(library, search.metric, reporter).stepped.prepare(reporter)


class Ground:
    """What all explanations of one search share."""

    def __init__(self, desk: Desk, metric: Metric, search: Search) -> None:
        self.desk, self.search = desk, search
        self.grouping = Grouping(metric)
        self.feature_names = self._names()
        self._deviations = self.grouping.deviations()
        self._numbers: Matrix | None = None
        self._query: Matrix | None = None
        self._usual: Matrix | None = None

    @classmethod
    def of(cls, library: Path, search: Search, reporter: Reporter) -> Ground:
        """The ground of ``search``, kept while the desk is and the clicks stay the same."""
        desk = desk_for(library, search.metric, reporter, without=search.without)
        metric = _refined(library, desk, search, reporter)
        kept: OrderedDict[tuple[str, str], Ground] = desk.kept.setdefault(_GROUNDS, OrderedDict())
        key = (metric.card.content_hash, repr(search.query))
        ground = kept.pop(key, None)
        if ground is None:
            ground = cls(desk, metric, search)
        kept[key] = ground
        while len(kept) > _KEPT:
            kept.popitem(last=False)
        return ground

    def query_row(self) -> Matrix:
        """(d',) the query where the groups are told."""
        if self._query is None:
            self._query = self.grouping.head_rows(self.numbers()[np.newaxis])[0]
        return self._query

    def numbers(self) -> Matrix:
        """(d,) features of the query as extracted."""
        if self._numbers is None:
            self._numbers = numbers_of(self.desk, self.search.query)
        return self._numbers

    def sample_rows(self) -> Matrix:
        """(n, d') cases drawn from the whole library, where the groups are told."""
        return self.grouping.head_rows(_sample(self.desk))

    def case_row(self, case: str) -> Matrix:
        row: Matrix = self.grouping.head_rows(case_numbers(self.desk, case)[np.newaxis])[0]
        return row

    def usual(self) -> Matrix:
        """(n, G) what the groups make of the query's distances to cases drawn from the whole library."""
        if self._usual is None:
            self._usual = self.grouping.shares(self.query_row(), self.sample_rows(), rows=SAMPLE_ROWS)
        return self._usual

    def detail(self, group: int, q: Matrix, x: Matrix) -> str:
        """The features of a group that are farthest apart, in deviations of the training cases."""
        columns = self.grouping.columns_of(group)
        if len(columns) > _FEW_COLUMNS or len(self.feature_names) != len(q) or len(columns) < 2:
            return ""
        varies = self._deviations[columns] > 0.0
        apart = np.zeros(len(columns))
        apart[varies] = np.abs(x - q)[columns][varies] / self._deviations[columns][varies]
        order = np.argsort(-apart, kind="stable")[:_TOLD]
        told = [
            tr_lazy("{name} {apart:.1f}", name=as_lazy(self.feature_names[columns[k]]), apart=apart[k])
            for k in order.tolist()
            if apart[k] > 0.0
        ]
        return tr_lazy("Most apart, in deviations: {told}", told=join_texts(told)) if told else ""

    def _names(self) -> tuple[str, ...]:
        """Of the columns where the groups are told; those of local descriptors are counted away."""
        groups = self.grouping.metric.names_before_tail()
        own = tuple(name for name, _ in self.desk.feature_set.columns)
        return own if len(own) == len(groups) == self.grouping.metric.n_features else groups


def _sample(desk: Desk) -> Matrix:
    """(n, d) numbers of cases drawn once for a desk."""
    if desk.drawn is not None:
        return desk.drawn
    if _SAMPLE not in desk.kept:
        chosen = desk.rows[drawn_places(len(desk.rows))]
        _, numbers = desk.library.features.read(desk.feature_set, chosen)
        desk.kept[_SAMPLE] = numbers.astype(np.float64)
    sample: Matrix = desk.kept[_SAMPLE]
    return sample


def _refined(library: Path, desk: Desk, search: Search, reporter: Reporter) -> Metric:
    """The metric that the ranking of ``search`` is by, frozen."""
    entries = desk.ledger(search.ledger).in_force if search.ledger and search.strength > 0.0 else []
    if not entries and not search.moved:
        return desk.metric
    try:
        bench = bench_for(library, search.metric, reporter, without=search.without)
    except BadInput:
        # It cannot follow clicks, and was asked without them.
        return desk.metric
    form = bench.form(entries, search.strength).opened(moved(bench, search).open)
    distance = bench.space.distance(form)
    return dataclasses.replace(desk.metric, distance=distance)
