"""The concepts of a library: add, mark, rename and delete them, and measure how well each can be separated.

Every call returns all concepts of the library after the change, measured under one metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.records import ConceptRecord
from semblance.core.searches.feedback.concept_direction import MINIMUM, Strength, strength
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.library.concepts import ConceptTable
    from semblance.core.workflows.searches.refinement_session import RefinementSession


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
    strength: Strength | None = None
    why: str = ""


def concepts(
    library: Path, metric: str | None, *, author: str = "", reporter: Reporter = SILENT
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
    library: Path, metric: str, name: str, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Add a concept without marks.

    Raises:
        BadInput: the name is empty, too long or in use.
    """
    return _after(library, metric, lambda table: table.add(name, author), author, reporter)


def rename_concept(
    library: Path, metric: str, key: int, name: str, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Rename a concept; errors as :func:`add_concept`, and BadArguments if it does not exist."""
    return _after(library, metric, lambda table: table.rename(key, name), author, reporter)


def delete_concept(
    library: Path, metric: str, key: int, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Delete a concept with its marks; BadArguments if it does not exist."""
    return _after(library, metric, lambda table: table.delete(key), author, reporter)


def restore_concept(
    library: Path, metric: str, key: int, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Restore a deleted concept; BadInput if another has its name now."""
    return _after(library, metric, lambda table: table.restore(key), author, reporter)


def mark_cases(
    library: Path,
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
    library: Path, metric: str, write: Callable[[ConceptTable], object], author: str, reporter: Reporter
) -> tuple[ConceptFacts, ...]:
    from semblance.core.workflows.searches.open_metrics import open_metric, without_reload
    from semblance.core.workflows.searches.refinement_session import open_refinement

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
    from semblance.core.workflows.searches.shift_query import learnt_direction, marked

    points, has, places = marked(session, one)
    patients = [session.loaded.patients[place] for place in places]
    units = session.loaded.identity_index().codes(session.loaded.rows[places])
    found, why = None, ""
    try:
        moves = learnt_direction(session, one) is not None
        if moves:
            found = strength(points, has, units, patients_known=all(patients))
    except SemblanceError as error:
        moves, why = False, error.message
    if found is None and not why:
        of = tr_lazy(" of different patients") if any(patients) else ""
        why = tr_lazy(
            "Not enough marks to measure: {minimum} with and {minimum} without{of}.", minimum=MINIMUM, of=of
        )
    gone = len(facts.with_) + len(facts.without) - len(places)
    return replace(facts, gone=gone, moves=moves, strength=found, why=why)
