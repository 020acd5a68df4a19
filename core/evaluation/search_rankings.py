"""Rankings of searches with held-out cases, on which scores and calibration are measured.

As in a search, every case of the library may be ranked, including training cases and cases without a finding. Cases
of the query's own patient and of its lesion are hidden, and each other lesion counts once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.calibration import NeighbourVotes
from semblance.core.evaluation.data import EvaluationData
from semblance.core.metrics.metric import Metric
from semblance.core.retrieval.index import DistanceIndex, Index, Position, index_for
from semblance.core.retrieval.ranking import EmbeddedQuery, rank_many
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

VOTERS = 10


@dataclass(frozen=True, eq=False)
class Gallery:
    """The cases of a library under a metric, in the form in which a search compares them.

    ``patients`` and ``lesions`` (n,) are numbers: equal for cases of one patient (negative: unknown) and of one
    lesion. ``findings`` (n,) are numbers of ``names``, -1 for a case without a finding.
    """

    index: Index | DistanceIndex
    coordinates: Matrix
    ties: Matrix | None
    patients: Rows
    lesions: Rows
    findings: Rows
    names: tuple[str, ...]

    @classmethod
    def of(cls, metric: Metric, data: EvaluationData) -> Gallery:
        """All cases of ``data``; "" is no finding and no patient.

        Raises:
            BadInput: rows the metric cannot take.
        """
        coordinates, ties = metric.coordinates(data.X), metric.tie_break(data.X)
        names = tuple(name for name in np.unique(data.y).tolist() if name)
        numbers = {name: number for number, name in enumerate(names)}
        patients = np.full(data.n_cases, -1, dtype=np.intp)
        if data.groups is not None:
            _, codes = np.unique(data.groups, return_inverse=True)
            patients = np.where(data.groups == "", -1, codes).astype(np.intp)
        return cls(
            index_for(metric.distance, coordinates, ties),
            coordinates,
            ties,
            patients,
            np.arange(data.n_cases) if data.lesions is None else data.lesions.astype(np.intp),
            np.array([numbers.get(name, -1) for name in data.y.tolist()], dtype=np.intp),
            names,
        )

    def query(self, row: int) -> EmbeddedQuery:
        """A case as a query."""
        patient = int(self.patients[row])
        return EmbeddedQuery(
            np.asarray(self.coordinates[row], dtype=np.float64),
            None if self.ties is None else np.asarray(self.ties[row], dtype=np.float64),
            Position(row),
            patient if patient >= 0 else None,
            int(self.lesions[row]),
        )


@dataclass(frozen=True, eq=False)
class SearchRankings:
    """The first K ranks of the ``queries`` (q,), rows of ``gallery``.

    ``nearest`` (q, K): rows of the gallery, -1 beyond its end. ``relevant``, ``others`` and ``unnamed`` (q,): numbers
    of lesions to rank with the query's finding, another one, or none.
    """

    gallery: Gallery
    queries: Rows
    nearest: Rows
    relevant: Rows
    others: Rows
    unnamed: Rows

    @property
    def findings(self) -> Rows:
        """(q,) the findings of the queries, as numbers."""
        return self.gallery.findings[self.queries]

    @property
    def nearest_findings(self) -> Rows:
        """(q, K) the findings of the nearest; -1 for none, and beyond the end."""
        return np.where(self.nearest >= 0, self.gallery.findings[self.nearest], -1)

    @property
    def retrieval_accuracy(self) -> Matrix:
        """(q, K) the share of the query's finding among the first 1, 2, ... K cases, of those that have a finding;
        NaN where none has."""
        found = self.nearest_findings
        given = np.cumsum(found >= 0, axis=1)
        same = np.cumsum(found == self.findings[:, np.newaxis], axis=1)
        return np.where(given > 0, same / np.maximum(given, 1), np.nan)

    @property
    def ceiling(self) -> Matrix:
        """(q, K) the largest retrieval accuracy that any order reaches: all cases of the finding first, then those
        without one. NaN if there is no case with a finding to rank."""
        k = np.arange(1, self.nearest.shape[1] + 1)
        relevant, others = self.relevant[:, np.newaxis], self.others[:, np.newaxis]
        first = np.minimum(k, relevant)
        wrong = np.clip(k - first - self.unnamed[:, np.newaxis], 0, others)
        given = first + wrong
        return np.where(given > 0, first / np.maximum(given, 1), np.where(others > 0, 0.0, np.nan))

    @property
    def chance(self) -> Matrix:
        """(q,) the expected retrieval accuracy, at any k, of a random order; NaN if there is no case to rank."""
        given = self.relevant + self.others
        return np.where(given > 0, self.relevant / np.maximum(given, 1), np.nan)

    def votes(self, k: int) -> Rows:
        """(q, c) the number of the ``k`` nearest with each finding."""
        counts = np.zeros((len(self.queries), len(self.gallery.names)), dtype=np.intp)
        found = self.nearest_findings[:, :k]
        query, rank_ = np.nonzero(found >= 0)
        np.add.at(counts, (query, found[query, rank_]), 1)
        return counts

    def shares(self, k: int) -> Matrix:
        """(q, c) the share of each finding among the ``k`` nearest that have one; NaN where none has."""
        counts = self.votes(k).astype(np.float64)
        given = counts.sum(axis=1, keepdims=True)
        return np.where(given > 0, counts / np.maximum(given, 1.0), np.nan)

    def voted(self) -> Rows:
        """(q, K) the most frequent finding of the 1, 2, ... K nearest, of equally frequent ones that whose first case
        is nearer; -1 where none has a finding."""
        found = self.nearest_findings
        q, depth = found.shape
        counts = np.zeros((q, len(self.gallery.names)), dtype=np.intp)
        first = np.full(counts.shape, depth)
        out = np.full(found.shape, -1, dtype=np.intp)
        for k in range(depth):
            given = np.flatnonzero(found[:, k] >= 0)
            column = found[given, k]
            counts[given, column] += 1
            first[given, column] = np.minimum(first[given, column], k)
            has_votes = counts.max(axis=1, initial=0) > 0
            out[has_votes, k] = (counts * (depth + 1) - first)[has_votes].argmax(axis=1)
        return out


def search_rankings(
    gallery: Gallery, queries: Rows, k: int, *, reporter: Reporter = SILENT
) -> SearchRankings:
    """The first ``k`` ranks of a search with each of ``queries`` (q,), rows of ``gallery`` with a finding."""
    nearest = np.full((len(queries), k), -1, dtype=np.intp)
    embedded_queries = (gallery.query(row) for row in queries.tolist())
    found = rank_many(gallery.index, embedded_queries, k, patients=gallery.patients, keys=gallery.lesions)
    for position, ranking in enumerate(found):
        if position % 64 == 0:
            reporter.check_cancelled()
            reporter.progress(position, len(queries), "Searching with held-out cases")
        nearest[position, : len(ranking.rows)] = ranking.rows
    depth = max(1, int((nearest >= 0).sum(axis=1).max(initial=0)))
    counts = _answering_lesions(gallery, queries)
    return SearchRankings(gallery, queries, nearest[:, :depth], *counts)


def _answering_lesions(gallery: Gallery, queries: Rows) -> tuple[Rows, Rows, Rows]:
    """(q,) numbers of lesions of other patients and other lesions than the query's, with its finding, another, or
    none. A lesion counts once for each finding that its cases have."""
    findings, lesions = gallery.findings, gallery.lesions
    first = np.unique(np.stack([findings, lesions]), axis=1, return_index=True)[1]
    n = len(gallery.names)

    def table(values: Rows) -> Rows:
        counts = np.zeros((int(values.max(initial=-1)) + 1, n + 1), dtype=np.intp)
        known = first[values[first] >= 0]
        np.add.at(counts, (values[known], findings[known]), 1)
        return counts

    def of(counts: Rows, values: Rows) -> Rows:
        if not len(counts):
            return np.zeros((len(values), n + 1), dtype=np.intp)
        return np.where((values >= 0)[:, np.newaxis], counts[values], 0)

    _, lesion_codes = np.unique(lesions, return_inverse=True)
    pairs = np.stack([gallery.patients, lesions])
    _, pair_codes = np.unique(pairs, axis=1, return_inverse=True)
    both = np.where(gallery.patients >= 0, pair_codes.reshape(-1), -1)
    answering = np.bincount(findings[first] % (n + 1), minlength=n + 1) + of(table(both), both[queries])
    for values in (gallery.patients, lesion_codes.astype(np.intp)):
        answering = answering - of(table(values), values[queries])
    relevant = answering[np.arange(len(queries)), findings[queries]]
    unnamed = answering[:, n]
    return relevant, answering.sum(axis=1) - relevant - unnamed, unnamed


def neighbour_votes(
    rankings: SearchRankings, rows: npt.NDArray[np.int64], measured_on: str
) -> NeighbourVotes | None:
    """The votes of the :data:`VOTERS` nearest of each query of ``rankings``.

    ``rows`` (n,) are the ids of the cases of its gallery. ``None`` if these have fewer than two findings, or there are
    no queries.
    """
    gallery, queries = rankings.gallery, rankings.queries
    if len(gallery.names) < 2 or not len(queries):
        return None
    two = len(gallery.names) == 2
    voters = min(VOTERS, rankings.nearest.shape[1])
    counts = rankings.votes(voters)
    # With two findings the estimate is for the last by name, with more for that with most votes.
    voted = np.ones(len(queries), dtype=np.intp) if two else np.maximum(rankings.voted()[:, voters - 1], 0)
    patients = gallery.patients[queries]
    units = np.where(patients >= 0, patients, len(gallery.patients) + np.arange(len(queries)))
    return NeighbourVotes(
        rows[queries],
        counts[np.arange(len(queries)), voted].astype(np.int64),
        counts.sum(axis=1).astype(np.int64),
        rankings.findings == voted,
        np.unique(units, return_inverse=True)[1].astype(np.intp) if (patients >= 0).any() else None,
        gallery.names[1] if two else None,
        measured_on,
    )
