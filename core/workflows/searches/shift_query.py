"""Where a search asks from once its examples and concepts have moved the query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.records import ConceptRecord
from semblance.core.metrics.distance import Matrix
from semblance.core.searches.concepts import REACH, direction, spread
from semblance.core.searches.examples import shifted_query
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.query_features import embed_query
from semblance.core.workflows.searches.refinement_session import RefinementSession

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ShiftedQuery:
    """``vector`` (m,): the query in the session's coordinates after examples and concepts.

    ``allowed`` (n,): cases that may answer, ``None`` for all: an example answers no more than the query does.
    ``open``: how far plain features count
    (:class:`semblance.core.metrics.relevance_feedback.quadratic_form.FeedbackForm`): a concept may
    lie along what a learnt metric leaves out. ``left_out``: sentences on what could not be followed.
    """

    vector: Matrix
    allowed: Mask | None = None
    open: float = 0.0
    left_out: tuple[str, ...] = ()


def shift_query(session: RefinementSession, search: Search) -> ShiftedQuery:
    """The query of ``search``, moved.

    Examples that are gone and concepts that were deleted are left out, and said.

    Raises:
        BadInput: no such query, no features for it, or an image that cannot be read.
    """
    start = session.query_vector(search.query)
    if not search.is_shifted:
        return ShiftedQuery(start)
    left_out: list[str] = []
    sides = [_examples(session, side, left_out) for side in (search.like, search.unlike)]
    vector = shifted_query(start, *sides)
    open = 0.0
    known = {one.name: one for one in session.loaded.library.concepts.all()}
    for name, amount in search.concepts:
        if not amount:
            continue
        learnt = learnt_direction(session, known[name]) if name in known else None
        if learnt is None:
            left_out.append(
                tr_lazy("The concept '{name}' is gone.", name=name)
                if name not in known
                else tr_lazy("The concept '{name}' needs cases with it and without it.", name=name)
            )
        else:
            along, reach = learnt
            vector = vector + amount * reach * along
            if not session.space.structured:
                open = max(open, min(1.0, abs(amount)))
    return ShiftedQuery(vector, _allowed(session, search), open, tuple(left_out))


def learnt_direction(session: RefinementSession, concept: ConceptRecord) -> tuple[Matrix, float] | None:
    """Unit vector (m,) of a concept and how far its whole amount moves; ``None`` until both sides are marked.

    Learnt for the coordinates of this session, and anew when a mark is made: it is never an older metric's.
    """
    key = tuple((mark.case, mark.has) for mark in concept.marks)
    if key not in session.directions:
        points, has, _ = marked(session, concept)
        along = direction(points, has) if has.any() and not has.all() else None
        session.directions[key] = (
            None if along is None else (along, REACH * spread(session.coordinates, along))
        )
    return session.directions[key]


def marked(session: RefinementSession, concept: ConceptRecord) -> tuple[Matrix, Mask, list[int]]:
    """Coordinates (p, m), marks (p,) and places of the marked cases that are there and have features."""
    there = [
        (place, mark.has) for mark in concept.marks if (place := session.place_of(mark.case)) is not None
    ]
    places = [place for place, _ in there]
    return session.coordinates[places], np.array([has for _, has in there], dtype=np.bool_), places


def _examples(session: RefinementSession, examples: tuple[Query, ...], left_out: list[str]) -> list[Matrix]:
    found = []
    for example in examples:
        try:
            if example not in session.examples:
                session.examples[example] = session.query_vector(example)
            found.append(session.examples[example])
        except SemblanceError as error:
            left_out.append(tr_lazy("An example is left out: {message}", message=error.message))
    return found


def _allowed(session: RefinementSession, search: Search) -> Mask | None:
    """Cases that may answer: no example, and where patients are hidden none of an example's patient."""
    loaded = session.loaded
    allowed = np.ones(len(loaded.rows), dtype=np.bool_)
    for example in (*search.like, *search.unlike):
        try:
            embedded = embed_query(loaded, example)
        except SemblanceError:
            # Left out of the shift as well, which says so.
            continue
        if embedded.row is not None:
            allowed[embedded.row] = False
        if search.hide_same_patient:
            allowed &= ~embedded.same_patient_cases(loaded.patient_codes)
        if search.group_duplicates and embedded.copies is not None:
            allowed[embedded.copies] = False
    return None if allowed.all() else allowed
