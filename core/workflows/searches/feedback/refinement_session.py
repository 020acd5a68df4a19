"""The cases of a loaded metric in the coordinates in which feedback is learned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.evaluation.evaluate_metric import HELD_OUT_CASES, HELD_OUT_PATIENTS
from semblance.core.evaluation.intervals import over_queries
from semblance.core.evaluation.neighbours import EmbeddedDistances
from semblance.core.evaluation.scores import retrieval_accuracy
from semblance.core.imaging.region import Region
from semblance.core.library.location import LibraryLocation
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.relevance_feedback.feedback_space import FeedbackSpace
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm
from semblance.core.retrieval.index import Position, Rows
from semblance.core.retrieval.refined_index import RefinedIndex
from semblance.core.searches.feedback.judgements import Judgement, outside_image
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.feedback.relevance_feedback import Coordinates, feedback_triplets, learn_form
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.leakage import contents_elsewhere
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.open_metrics import open_metric, open_search_metric
from semblance.core.workflows.searches.query_features import embed_query, query_features

#: Cases between two checks for cancellation.
_AT_ONCE = 20_000


class RefinementSession:
    """The cases of a loaded metric in the coordinates in which feedback is learned."""

    def __init__(self, loaded: LoadedMetric, reporter: Reporter = SILENT) -> None:
        """
        Raises:
            BadInput: a metric that cannot be refined.
        """
        self.loaded = loaded
        rows = loaded.transformed.rows(reporter)
        #: (n,) whether each case is a training case; all are if the metric does not say.
        self.trained = np.isin(loaded.rows, loaded.record.training)
        if np.count_nonzero(self.trained) < 2:
            self.trained[:] = True
        # The held-out cases are not used here either, because the refined metric is scored on them.
        self.space = FeedbackSpace.of(loaded.metric.distance, rows[self.trained])
        reporter.check_cancelled()
        self.coordinates = np.empty((len(rows), len(self.space.initial_weights.own)))
        for start in range(0, len(rows), _AT_ONCE):
            reporter.check_cancelled()
            self.coordinates[start : start + _AT_ONCE] = self.space.coordinates(
                rows[start : start + _AT_ONCE]
            )
        #: Cached directions of concepts, by their marks.
        self.directions: dict[tuple[tuple[str, bool | None], ...], tuple[Matrix, float] | None] = {}
        self._outside: dict[str, Matrix | None] = {}
        self._index: RefinedIndex | None = None
        self._learnt: tuple[tuple[int, ...], float, FeedbackForm] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the parts that grow with the library."""
        # The feedback index needs half as much again, in single precision.
        return self.coordinates.nbytes * 3 // 2

    # Cases by id

    def position_of(self, case: str) -> Position | None:
        """The position of a case; ``None`` if it was removed or has no features."""
        try:
            return self.loaded.position_of(self.loaded.cases.row_of(case))
        except BadInput:
            return None

    def case_at(self, place: Position) -> str:
        """The id of the case at a place."""
        return self.loaded.cases.id_of(self.loaded.row_at(place))

    # Vectors

    def query_vector(self, query: Query) -> Matrix:
        """(m,) coordinates of a query.

        Raises:
            BadInput: no such case, no features for it, or an image that cannot be read.
        """
        if query.case is not None and query.region is None:
            place = self.loaded.position_of(self.loaded.cases.row_of(query.case))
            if place is not None:
                return self._row(place)
        rows = self.loaded.metric.transform(query_features(self.loaded, query)[np.newaxis, :])
        vector: Matrix = self.space.coordinates(rows)[0]
        return vector

    def _row(self, place: int) -> Matrix:
        row: Matrix = self.coordinates[place]
        return row

    def vector_of(self, entries: Sequence[LedgerEntry]) -> Coordinates:
        """Coordinates of cases by id, of marked images by path, and of queries by :attr:`Judgement.query_key`; ``None``
        for those that no longer exist."""
        queries = {entry.judgement.query_key: entry.judgement for entry in entries}
        images = {entry.judgement.case for entry in entries} - queries.keys()

        def vector(key: str) -> Matrix | None:
            place = self.position_of(key)
            if place is not None:
                return self._row(place)
            if key not in self._outside:
                if key in queries:
                    self._outside[key] = self._read(queries[key])
                elif key in images and (image := outside_image(key)) is not None:
                    self._outside[key] = self._read_image(Query(image=image))
            return self._outside.get(key)

        return vector

    def _read(self, judgement: Judgement) -> Matrix | None:
        """The query of an earlier judgement that is not a whole case; its image may be missing."""
        region = None if judgement.region is None else Region.from_json(dict(judgement.region))
        try:
            self.loaded.cases.row_of(judgement.query)
            query = Query(case=judgement.query, region=region)
        except BadInput:
            query = Query(image=Path(judgement.query), region=region)
        return self._read_image(query)

    def _read_image(self, query: Query) -> Matrix | None:
        try:
            return self.query_vector(query)
        except BadInput:
            return None

    # Learning

    def form(self, entries: Sequence[LedgerEntry], strength: float) -> FeedbackForm:
        """The form learned from these judgements; cached as long as they stay the same."""
        key = tuple(entry.id for entry in entries)
        known = self._learnt
        if known is None or known[0] != key:
            m = self.coordinates.shape[1]
            judgements = (entry.judgement for entry in entries)
            full = learn_form(
                judgements, self.vector_of(entries), m, initial_weights=self.space.initial_weights
            )
            known = self._learnt = (key, 1.0, full)
        return known[2].blended(strength)

    def n_triplets(self, entries: Sequence[LedgerEntry]) -> int:
        """The number of triplets from the judgements."""
        judged = feedback_triplets((entry.judgement for entry in entries), self.vector_of(entries))
        return 0 if judged is None else len(judged.triplets)

    def judged_rows(self, entries: Sequence[LedgerEntry]) -> Rows:
        """Ids of the judged cases and of the queries, their copies and their patients' cases."""
        judgements = [entry.judgement for entry in entries]
        cases = {case for one in judgements for case in one.cases()}
        places = [place for case in sorted(cases) if (place := self.position_of(case)) is not None]
        for image in sorted(case for case in cases if self.position_of(case) is None):
            places += self._places_of_image(Path(image))
        rows: Rows = self.loaded.rows[places]
        return rows

    def _places_of_image(self, image: Path) -> list[Position]:
        """The cases of the patient of an image and its copies; none for a missing image."""
        try:
            embedded = embed_query(self.loaded, Query(image=image))
        except SemblanceError:
            return []
        known = [places for places in (embedded.same_patient, embedded.copies) if places is not None]
        return list(map(Position, np.concatenate(known).tolist())) if known else []

    # Ranking

    def index_for(self, vector: Matrix) -> RefinedIndex:
        """The index for the query, cached until it changes."""
        if self._index is None:
            self._index = RefinedIndex(
                self.coordinates, vector, self.space.initial_weights, self.loaded.index
            )
        elif not np.array_equal(self._index.query, vector):
            self._index.set_query(vector)
        return self._index

    def nearest_under(self, form: FeedbackForm) -> Matrix:
        """(s, c) squared distances from some cases to some that are near under ``form``.

        The distances of their neighbours under the original metric are measured again. If ``form`` brings another
        case nearer, the distance is too large, so fewer queries have no close match, never more.
        """
        near = self.loaded.neighbourhoods
        rows = self.coordinates[near.nearest] - self.coordinates[near.places][:, None, :]
        measured: Matrix = form.squared(rows.reshape(-1, rows.shape[-1])).reshape(near.nearest.shape)
        measured[np.isinf(near.distances)] = np.inf
        return measured

    def held_out_score(
        self, entries: Sequence[LedgerEntry], strength: float, most: int, reporter: Reporter = SILENT
    ) -> HeldOutScore | None:
        """See :func:`semblance.core.workflows.searches.feedback.refine_metric.held_out_score`."""
        part = self._held_out(entries, most, reporter)
        if part is None:
            return None
        reporter.check_cancelled()
        now = part.accuracies(self.embedded(part.places, entries, strength))
        reporter.check_cancelled()
        before = part.accuracies(self.embedded(part.places, (), strength))
        if np.isnan(now).all():
            return None
        mean, low, high = (
            float(values[0]) for values in over_queries(now[:, np.newaxis], seed=0, groups=part.patients)
        )
        measured_on = HELD_OUT_PATIENTS if part.patients_known else HELD_OUT_CASES
        return HeldOutScore(mean, (low, high), float(np.nanmean(before)), len(part.places), measured_on)

    def embedded(self, places: Rows, entries: Sequence[LedgerEntry], strength: float) -> Matrix:
        """(p, m) cases in the coordinates of the refined metric; those of the original metric without judgements."""
        if not entries or not strength > 0.0:
            plain: Matrix = self.loaded.embedding[places]
            return plain
        return self.form(entries, strength).embed(self.coordinates[places])

    def _held_out(self, entries: Sequence[LedgerEntry], most: int, reporter: Reporter) -> _HeldOut | None:
        """At most so many cases with a finding whose patients have no training case and no judged case."""
        loaded = self.loaded
        used_rows = np.concatenate([loaded.record.training, self.judged_rows(entries)])
        elsewhere = contents_elsewhere(loaded.record.card)
        identities = loaded.identity_index(reporter)
        # "" is no finding.
        has_finding = np.array([*map(bool, loaded.cases.finding_names), False])
        fresh = (
            np.isin(loaded.rows, identities.unseen(used_rows, elsewhere)) & has_finding[loaded.finding_codes]
        )
        places = np.flatnonzero(fresh)
        if len(places) > most:
            places = np.sort(np.random.default_rng(0).choice(places, most, replace=False))
        if len(places) < 2:
            return None
        findings = np.unique(loaded.finding_codes[places], return_inverse=True)[1]
        used = np.isin(loaded.rows, used_rows)
        known = not elsewhere and bool(used.any()) and bool((loaded.patient_codes[used] >= 0).all())
        known = known and bool((loaded.patient_codes[places] >= 0).all())
        own = identities.codes(loaded.rows[places])
        ties = None if loaded.ties is None else loaded.ties[places]
        return _HeldOut(places, findings.astype(np.intp), own, loaded.keys[places], ties, known)


@dataclass(frozen=True)
class HeldOutScore:
    """Retrieval accuracy@10 of the refined metric with its 95 % interval, and ``before`` that of the original metric,
    on ``cases`` that are neither training cases nor judged; ``measured_on``: the kind of these cases."""

    accuracy: float
    interval: tuple[float, float]
    before: float
    cases: int
    measured_on: str


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """Positions (q,) of the cases to score on, with their findings, their patients or images, and lesions, as numbers,
    and the rows (q, d) that break ties.

    ``patients_known``: whether the patients of all of them, and of all training and judged cases, are known.
    """

    places: Rows
    findings: Rows
    patients: Rows
    lesions: Rows
    ties: Matrix | None
    patients_known: bool

    def accuracies(self, embedded: Matrix) -> Matrix:
        """(q,) retrieval accuracy@10 of each in the coordinates ``embedded`` (q, m), NaN if undefined."""
        second = None if self.ties is None else (self.ties, self.ties)
        distances = EmbeddedDistances(embedded, embedded, second, self.lesions)
        per_query: Matrix = retrieval_accuracy(distances, self.findings, self.patients, 10)[:, -1]
        return per_query


def open_refinement(
    library: LibraryLocation, metric: str, reporter: Reporter = SILENT, *, without: Collection[str] = ()
) -> RefinementSession:
    """The session of ``metric``, made again if the library changed other than by judgements.

    ``without``: groups of features to exclude.

    Raises:
        BadArguments: no such metric, a group it does not have, or all groups left out.
        BadInput: not a library, no case has the metric's features, or the metric cannot be refined.
    """
    return refinement_of(open_metric(library, metric, reporter, without=without), reporter)


def open_search_refinement(
    library: LibraryLocation, search: Search, reporter: Reporter = SILENT
) -> RefinementSession:
    """As :func:`open_refinement`, of the metric that ranks the cases for ``search``.

    Raises:
        BadArguments, BadInput: as :func:`open_refinement`, and where the metric cannot be trained again.
    """
    return refinement_of(open_search_metric(library, search, reporter), reporter)


def refinement_of(loaded: LoadedMetric, reporter: Reporter = SILENT) -> RefinementSession:
    """The session of a loaded metric, one for all its refinements.

    Raises:
        BadInput: as :func:`open_refinement`.
    """
    return loaded.cache.or_made(RefinementSession, lambda: RefinementSession(loaded, reporter))
