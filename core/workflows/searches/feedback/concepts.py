"""The concepts of a library: add, mark, rename, delete and measure them, and move a query by them.

Every call returns all concepts of the library after the change, measured under one metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import ConceptRecord
from semblance.core.metrics.distance import Matrix
from semblance.core.retrieval.index import Position
from semblance.core.searches.feedback.concept_direction import (
    MINIMUM,
    REACH,
    Separability,
    direction,
    separability,
    spread,
)
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.searches.feedback.refinement_session import RefinementSession, open_refinement
from semblance.core.workflows.searches.open_metrics import open_metric, without_reload

if TYPE_CHECKING:
    from semblance.core.library.concepts import ConceptTable


Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ConceptFacts:
    """A concept with its marks and its strength.

    ``with_`` and ``without`` are case ids in the order they were marked, by the majority of those who marked them;
    ``undecided``: as many said that it has the concept as that it has not, which are not used. ``own``: this user's
    marks. ``gone``: the number of marked cases that were removed from the library or lack the metric's features.
    ``moves``: both sides have a case, so the slider can be used. ``strength``: measured under the metric by
    cross-validation on the marked cases; if it is ``None``, ``why`` gives the reason.
    """

    id: int
    name: str
    author: str
    time: str
    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    own: Mapping[str, bool] = field(default_factory=dict)
    gone: int = 0
    moves: bool = False
    strength: Separability | None = None
    why: str = ""


def concepts(
    library: LibraryLocation, metric: str | None, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """All concepts, oldest first; measured under ``metric``, or not measured if it is ``None``. ``author``: the user.

    Raises:
        BadInput: not a library.
    """
    from semblance.core.library.open_library import open_library

    if metric is None:
        with open_library(library) as opened:
            return tuple(
                _facts(None, one, "", opened.catalogue.author(author)) for one in opened.concepts.all()
            )
    return _after(library, metric, lambda _table: None, author, reporter)


def add_concept(
    library: LibraryLocation, metric: str, name: str, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Add a concept without marks.

    Raises:
        BadInput: the name is empty, too long or in use.
    """
    return _after(library, metric, lambda table: table.add(name, author), author, reporter)


def rename_concept(
    library: LibraryLocation,
    metric: str,
    key: int,
    name: str,
    *,
    author: str = "",
    reporter: Reporter = SILENT,
) -> tuple[ConceptFacts, ...]:
    """Rename a concept; errors as :func:`add_concept`, and BadArguments if it does not exist."""
    return _after(library, metric, lambda table: table.rename(key, name), author, reporter)


def delete_concept(
    library: LibraryLocation, metric: str, key: int, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Delete a concept with its marks; BadArguments if it does not exist."""
    return _after(library, metric, lambda table: table.delete(key), author, reporter)


def restore_concept(
    library: LibraryLocation, metric: str, key: int, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Restore a deleted concept; BadInput if another has its name now."""
    return _after(library, metric, lambda table: table.restore(key), author, reporter)


def mark_cases(
    library: LibraryLocation,
    metric: str,
    key: int,
    marks: Iterable[tuple[str, bool | None]],
    *,
    author: str = "",
    reporter: Reporter = SILENT,
) -> tuple[ConceptFacts, ...]:
    """Mark cases as with (``True``) or without (``False``) the concept, or remove their marks (``None``).

    Raises:
        BadArguments: the concept does not exist.
    """
    return _after(library, metric, lambda table: table.mark(key, marks, author), author, reporter)


def _after(
    library: LibraryLocation,
    metric: str,
    write: Callable[[ConceptTable], object],
    author: str,
    reporter: Reporter,
) -> tuple[ConceptFacts, ...]:
    opened = open_metric(library, metric, reporter).library
    table, user = opened.concepts, opened.catalogue.author(author)
    with without_reload(library):
        write(table)
    session, why = None, ""
    try:
        session = open_refinement(library, metric, reporter)
    except BadInput as refused:
        why = refused.message
    return tuple(_facts(session, one, why, user) for one in table.all())


def _facts(session: RefinementSession | None, one: ConceptRecord, why: str, user: str) -> ConceptFacts:
    sides = {
        side: tuple(case for case, has in one.majority().items() if has is side)
        for side in (True, False, None)
    }
    own = {mark.case: mark.has for mark in one.marks if mark.author == user}
    facts = ConceptFacts(
        one.id, one.name, one.author, one.time, sides[True], sides[False], sides[None], own, why=why
    )
    return facts if session is None else _measured(session, one, facts)


def _measured(session: RefinementSession, one: ConceptRecord, facts: ConceptFacts) -> ConceptFacts:
    points, has, places = marked(session, one)
    patients = [session.loaded.patients[place] for place in places]
    units = session.loaded.identity_index().codes(session.loaded.rows[places])
    found, why = None, ""
    try:
        moves = learnt_direction(session, one) is not None
        if moves:
            found = separability(points, has, units, patients_known=all(patients))
    except SemblanceError as error:
        moves, why = False, error.message
    if found is None and not why:
        of = tr_lazy(" of different patients") if any(patients) else ""
        why = tr_lazy(
            "Not enough marks to measure: {minimum} with and {minimum} without{of}.", minimum=MINIMUM, of=of
        )
    gone = len(facts.with_) + len(facts.without) - len(places)
    return replace(facts, gone=gone, moves=moves, strength=found, why=why)


@dataclass(frozen=True, eq=False)
class ShiftedQuery:
    """``vector`` (m,): the query in the session's coordinates after concepts.

    ``plain_weight``: the weight of plain features
    (:class:`semblance.core.metrics.relevance_feedback.quadratic_form.FeedbackForm`): a concept may be a direction
    that a learned metric ignores. ``left_out``: sentences on concepts that could not be used.
    """

    vector: Matrix
    plain_weight: float = 0.0
    left_out: tuple[str, ...] = ()


def shift_query(session: RefinementSession, search: Search) -> ShiftedQuery:
    """The query of ``search`` after moving it by its concepts.

    Concepts that were deleted are left out and reported.

    Raises:
        BadInput: no such query, no features for it, or an image that cannot be read.
    """
    vector = session.query_vector(search.query)
    left_out: list[str] = []
    plain_weight = 0.0
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
                plain_weight = max(plain_weight, min(1.0, abs(amount)))
    return ShiftedQuery(vector, plain_weight, tuple(left_out))


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


def marked(session: RefinementSession, concept: ConceptRecord) -> tuple[Matrix, Mask, list[Position]]:
    """Coordinates (p, m), marks (p,) and positions of the marked cases that exist and have features.

    The majority of those who marked a case counts; cases without one are left out.
    """
    there = [
        (place, has)
        for case, has in concept.majority().items()
        if has is not None and (place := session.position_of(case)) is not None
    ]
    places = [place for place, _ in there]
    return session.coordinates[places], np.array([has for _, has in there], dtype=np.bool_), places
