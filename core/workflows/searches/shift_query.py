"""Move the query of a search by its concepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.library.records import ConceptRecord
from semblance.core.metrics.distance import Matrix
from semblance.core.searches.feedback.concept_direction import REACH, direction, spread
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.refinement_session import RefinementSession

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ShiftedQuery:
    """``vector`` (m,): the query in the session's coordinates after concepts.

    ``open``: the weight of plain features
    (:class:`semblance.core.metrics.relevance_feedback.quadratic_form.FeedbackForm`): a concept may be a direction
    that a learned metric ignores. ``left_out``: sentences on concepts that could not be used.
    """

    vector: Matrix
    open: float = 0.0
    left_out: tuple[str, ...] = ()


def shift_query(session: RefinementSession, search: Search) -> ShiftedQuery:
    """The query of ``search`` after moving it by its concepts.

    Concepts that were deleted are left out and reported.

    Raises:
        BadInput: no such query, no features for it, or an image that cannot be read.
    """
    vector = session.query_vector(search.query)
    left_out: list[str] = []
    open = 0.0
    known = {one.name: one for one in session.loaded.library.concepts.all()} if search.is_shifted else {}
    for name, amount in search.concepts:
        if not amount:
            continue
        learnt = learnt_direction(session, known[name]) if name in known else None
        if learnt is None:
            left_out.append(
                tr_lazy("The concept '{name}' no longer exists.", name=name)
                if name not in known
                else tr_lazy("The concept '{name}' needs cases with it and without it.", name=name)
            )
        else:
            along, reach = learnt
            vector = vector + amount * reach * along
            if not session.space.structured:
                open = max(open, min(1.0, abs(amount)))
    return ShiftedQuery(vector, open, tuple(left_out))


def learnt_direction(session: RefinementSession, concept: ConceptRecord) -> tuple[Matrix, float] | None:
    """Unit vector (m,) of a concept and the distance of its full amount; ``None`` until both sides have marks.

    Learned in the coordinates of this session, and again after each change of a mark.
    """
    key = tuple(concept.majority().items())
    if key not in session.directions:
        points, has, _ = marked(session, concept)
        along = direction(points, has) if has.any() and not has.all() else None
        session.directions[key] = (
            None if along is None else (along, REACH * spread(session.coordinates, along))
        )
    return session.directions[key]


def marked(session: RefinementSession, concept: ConceptRecord) -> tuple[Matrix, Mask, list[int]]:
    """Coordinates (p, m), marks (p,) and positions of the marked cases that exist and have features.

    The majority of those who marked a case counts; cases without one are left out.
    """
    there = [
        (place, has)
        for case, has in concept.majority().items()
        if has is not None and (place := session.place_of(case)) is not None
    ]
    places = [place for place, _ in there]
    return session.coordinates[places], np.array([has for _, has in there], dtype=np.bool_), places
