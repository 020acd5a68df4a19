"""What a window does with concepts: make, mark, rename, delete, and how well each can be separated.

Every call answers with all concepts of the library as they are after it, measured under one metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.records import ConceptRecord
from semblance.core.searches.concepts import MINIMUM, Strength, strength
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.library.concepts import ConceptTable
    from semblance.core.workflows.searches.refinement_session import RefinementSession


@dataclass(frozen=True)
class ConceptFacts:
    """A concept as shown.

    ``with_`` and ``without`` are case ids in the order they were marked; ``gone`` counts those that cannot be
    used: no longer in the library, or without the metric's features. ``moves``: both sides have a case, so
    its slider can be used. ``strength`` under the metric, on marked cases left out; where ``None``, ``why``
    says so in words.
    """

    id: int
    name: str
    author: str
    time: str
    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    gone: int = 0
    moves: bool = False
    strength: Strength | None = None
    why: str = ""


def concepts(library: Path, metric: str | None, *, reporter: Reporter = SILENT) -> tuple[ConceptFacts, ...]:
    """All concepts in use, in the order of their making; ``metric`` measures them, ``None`` does not.

    Raises:
        BadInput: not a library.
    """
    from semblance.core.library.open_library import open_library

    if metric is None:
        with open_library(library) as opened:
            return tuple(_facts(None, one, "") for one in opened.concepts.all())
    return _after(library, metric, lambda _table: None, reporter)


def add_concept(
    library: Path, metric: str, name: str, *, author: str = "", reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """A new concept without marks.

    Raises:
        BadInput: no name, too long a one, or one that is taken.
    """
    return _after(library, metric, lambda table: table.add(name, author), reporter)


def rename_concept(
    library: Path, metric: str, key: int, name: str, *, reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Another name; errors as :func:`add_concept`, and BadArguments where it is gone."""
    return _after(library, metric, lambda table: table.rename(key, name), reporter)


def delete_concept(
    library: Path, metric: str, key: int, *, reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Put a concept away with its marks; BadArguments where it is gone."""
    return _after(library, metric, lambda table: table.delete(key), reporter)


def restore_concept(
    library: Path, metric: str, key: int, *, reporter: Reporter = SILENT
) -> tuple[ConceptFacts, ...]:
    """Bring a concept back; BadInput where another has its name now."""
    return _after(library, metric, lambda table: table.restore(key), reporter)


def mark_cases(
    library: Path,
    metric: str,
    key: int,
    marks: Iterable[tuple[str, bool | None]],
    *,
    author: str = "",
    reporter: Reporter = SILENT,
) -> tuple[ConceptFacts, ...]:
    """Each case has the concept, has it not, or (``None``) its mark is removed.

    Raises:
        BadArguments: the concept is gone.
    """
    return _after(library, metric, lambda table: table.mark(key, marks, author), reporter)


def _after(
    library: Path, metric: str, write: Callable[[ConceptTable], object], reporter: Reporter
) -> tuple[ConceptFacts, ...]:
    from semblance.core.workflows.searches.open_metrics import open_metric, without_reload
    from semblance.core.workflows.searches.refinement_session import open_refinement

    table = open_metric(library, metric, reporter).library.concepts
    with without_reload(library):
        write(table)
    session, why = None, ""
    try:
        session = open_refinement(library, metric, reporter)
    except BadInput as refused:
        why = refused.message
    return tuple(_facts(session, one, why) for one in table.all())


def _facts(session: RefinementSession | None, one: ConceptRecord, why: str) -> ConceptFacts:
    with_ = tuple(mark.case for mark in one.marks if mark.has)
    without = tuple(mark.case for mark in one.marks if not mark.has)
    facts = ConceptFacts(one.id, one.name, one.author, one.time, with_, without, why=why)
    return facts if session is None else _measured(session, one, facts)


def _measured(session: RefinementSession, one: ConceptRecord, facts: ConceptFacts) -> ConceptFacts:
    from semblance.core.workflows.searches.shift_query import learnt_direction, marked

    points, has, places = marked(session, one)
    patients = [session.loaded.patients[place] for place in places]
    units = session.loaded.identity_index.codes(session.loaded.rows[places])
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
    return replace(facts, gone=len(one.marks) - len(places), moves=moves, strength=found, why=why)
