"""Ask me next: the most informative question, and saving its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.library.location import LibraryLocation
from semblance.core.retrieval.index import Position
from semblance.core.searches.feedback import questions
from semblance.core.searches.feedback.judgements import JudgementKind, given_marks
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.feedback.questions import LikenessModel, QuestionRows, draw_query, nearer
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.feedback.refinement_session import (
    RefinementSession,
    open_search_refinement,
)


@dataclass(frozen=True)
class CaseQuestion:
    """Which of the two cases are like the query? Case ids."""

    query: str
    first: str
    second: str


def next_question(
    library: LibraryLocation,
    search: Search,
    passed: Sequence[str] = (),
    *,
    about: str | None = None,
    reporter: Reporter = SILENT,
) -> CaseQuestion | None:
    """The most informative question about the query; ``None`` if all cases were judged.

    Questions are about training cases only, and none of the query's patient, so that the held-out cases can still be
    scored. ``passed``: cases that the user skipped. ``about``: a case to ask about instead of the query of the
    search.

    Raises:
        BadInput: the query is an image from outside or a region: questions are about whole cases; or a
            metric that clicks cannot refine.
    """
    session = open_search_refinement(library, search, reporter)
    place = _place(session, search, about)
    if place is None:
        raise BadInput("Questions are about a whole case of the library.", "Choose a case as the query.")
    return _about(session, search, place, passed)


def next_question_anywhere(
    library: LibraryLocation,
    search: Search,
    passed: Sequence[str] = (),
    *,
    about: str | None = None,
    reporter: Reporter = SILENT,
) -> CaseQuestion | None:
    """As :func:`next_question`, but about another query if that is more informative; ``None`` if all cases were
    judged.

    If half of the cases are like the query, many questions are about it; if few are, two. Another query also follows
    if nothing is left to ask about the query, or if it is not a whole case of the library.

    Raises:
        BadInput: a metric that clicks cannot refine.
    """
    session = open_search_refinement(library, search, reporter)
    in_force = _in_force(session, search)
    place = _place(session, search, about)
    if place is not None:
        judged = sum(1 for entry in in_force if _is_mark_of(entry, session.case_at(place)))
        if not _likeness(session, in_force).should_change_query(judged // 2):
            found = _about(session, search, place, passed)
            if found is not None:
                return found
    known = {session.position_of(entry.judgement.query) for entry in in_force}
    known |= {place, *(session.position_of(case) for case in passed)}
    used = {at for at in known if at is not None}
    rng = np.random.default_rng(len(in_force))
    while (other := draw_query(used, rng, session.trained)) is not None:
        found = _about(session, search, Position(other), passed)
        if found is not None:
            return found
        used.add(Position(other))
    return None if place is None else _about(session, search, place, passed)


def _place(session: RefinementSession, search: Search, about: str | None) -> Position | None:
    """The position of the case to ask about; ``None`` if it is not a whole case with features."""
    if about is not None:
        return session.position_of(about)
    query = search.query
    return None if query.case is None or query.region else session.position_of(query.case)


def _in_force(session: RefinementSession, search: Search) -> list[LedgerEntry]:
    """The judgements of the ledger, then the marks that came with the search."""
    stored = session.loaded.ledger(search.ledger).in_force if search.ledger else []
    given = given_marks(search)
    # A session knows judgements by their numbers: those of a ledger are positive.
    return [*stored, *(LedgerEntry(-1 - abs(hash(one.statement)), one) for one in given)]


def _is_mark_of(entry: LedgerEntry, query: str) -> bool:
    return entry.judgement.kind != JudgementKind.CLOSER and entry.judgement.query_key == query


def _about(
    session: RefinementSession, search: Search, place: Position, passed: Sequence[str]
) -> CaseQuestion | None:
    loaded, query = session.loaded, session.case_at(place)
    in_force = _in_force(session, search)
    cases = [entry.judgement.case for entry in in_force if _is_mark_of(entry, query)]
    allowed = session.trained.copy()
    patient = loaded.patient_codes[place]
    if patient >= 0:
        allowed &= loaded.patient_codes != patient
    question: QuestionRows | None = questions.choose_question(
        session.coordinates,
        session.form(in_force, search.strength),
        place,
        _likeness(session, in_force),
        [there for case in (*cases, *passed) if (there := session.position_of(case)) is not None],
        np.random.default_rng(len(in_force)),
        allowed=allowed,
    )
    if question is None:
        return None
    return CaseQuestion(
        *(session.case_at(Position(at)) for at in (question.query, question.first, question.second))
    )


def _likeness(session: RefinementSession, in_force: Sequence[LedgerEntry]) -> LikenessModel:
    """The model of how likely a case is like a query, from the marks of the newest queries that are whole cases."""
    of_query: dict[str, list[LedgerEntry]] = {}
    for entry in in_force:
        if entry.judgement.kind != JudgementKind.CLOSER:
            of_query.setdefault(entry.judgement.query_key, []).append(entry)
    start = session.space.start()
    sample = questions.nearness_sample(session.coordinates)
    shares: list[float] = []
    alike: list[bool] = []
    for query in list(of_query)[-questions.QUERIES :]:
        place = session.position_of(query)
        marks = [(session.position_of(one.judgement.case), one.judgement.kind) for one in of_query[query]]
        there = [(at, kind == JudgementKind.ALIKE) for at, kind in marks if at is not None]
        if place is not None and there:
            cases = session.coordinates[[at for at, _ in there]]
            shares += nearer(cases, session.coordinates[place], sample, start).tolist()
            alike += [yes for _, yes in there]
    before = _known_before(session)
    return LikenessModel.of(np.array(shares), alike, before) if shares else before


def _known_before(session: RefinementSession) -> LikenessModel:
    """Prior knowledge from the metric's held-out score on how far from a query similar cases are."""
    scores = session.loaded.record.scores or {}
    curve = scores.get("retrieval_accuracy") or {}
    return LikenessModel.from_accuracy(curve.get("mean") or (), int(scores.get("n_test", 0)))
