"""Refine a metric by clicks: every call takes the whole request, and what is heavy stays in the process.

The ledger lies in the library, so a process that was ended, or another one, goes on where it was. What is
written is one small row a click; nothing of the library is laid out anew for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import BadInput
from core.imaging.region import Region
from core.library.records import now
from core.metrics.online.clicks import LEARNER, clicked_metric
from core.metrics.storage import save_metric
from core.searches.contradictions import Contradiction, contradictions
from core.searches.influence import Influence, influences
from core.searches.judgement import Judgement, Kind
from core.searches.ledger import Entry
from core.searches.questions import Answer, ask, judgements_of, next_query
from core.searches.teaching import trust
from core.tasks import SILENT, Reporter
from core.workflows.desk import own_write
from core.workflows.refining_desk import Bench, bench_for
from core.workflows.searching import Query, SearchResult, asked_of, ranked_result

#: Cases among which influence is looked for.
NEAREST = 500
#: Held-out cases the live score is measured on at most.
SCORED = 400


@dataclass(frozen=True)
class Refining:
    """What is refined, for which query, and where its judgements are kept.

    ``ledger`` is any name; searches that share one share their judgements. ``strength`` 0 is the metric as it
    was, 1 follows the clicks as far as their number warrants.
    """

    library: Path
    metric: str
    query: Query
    ledger: str
    strength: float = 1.0
    k: int = 20
    hide_same_patient: bool = True
    fold_duplicates: bool = True


@dataclass(frozen=True)
class Refined:
    """The ranking after a call, the ledger, and what in it disagrees.

    ``shifts``: by how many ranks each ranked case stands before where it stood under the metric as it was,
    in the order of ``result.ranked``. ``trust``: how far the clicks are followed, 0 to 1, ``strength`` apart.
    """

    result: SearchResult
    shifts: tuple[int, ...]
    entries: tuple[Entry, ...]
    contradictions: tuple[Contradiction, ...]
    trust: float


@dataclass(frozen=True)
class AskedNext:
    """Which of the two cases are like the query?"""

    query: str
    first: str
    second: str


def begin(request: Refining, *, reporter: Reporter = SILENT) -> Refined:
    """The ranking with what the ledger holds already; also after the strength or the query was changed.

    Raises:
        BadArguments: no such metric.
        BadInput: a metric without coordinates, or as :func:`core.workflows.searching.search`.
    """
    return _refined(request, bench_for(request.library, request.metric, reporter))


def judge(
    request: Refining, judgements: Sequence[Judgement], *, author: str = "", reporter: Reporter = SILENT
) -> Refined:
    """Keep these clicks, made together, and rank anew; see :func:`thumb` and :func:`closer`.

    Raises:
        BadInput: a case that the library does not have.
        SemblanceError: the library cannot be written to.
    """
    bench = bench_for(request.library, request.metric, reporter)
    for judgement in judgements:
        for case in (judgement.case, judgement.other):
            if case is not None:
                bench.desk.row_of(case)
    made = [_signed(one, author) for one in judgements]
    with own_write(request.library):
        bench.ledger(request.ledger).add(made)
    return _refined(request, bench)


def undo(request: Refining, ids: Sequence[int] = (), *, reporter: Reporter = SILENT) -> Refined:
    """Take back these judgements, or without ids the newest in force.

    Raises:
        BadArguments: no such judgement.
    """
    bench = bench_for(request.library, request.metric, reporter)
    ledger = bench.ledger(request.ledger)
    with own_write(request.library):
        ledger.undo(ids) if ids else ledger.undo_last()
    return _refined(request, bench)


def redo(request: Refining, ids: Sequence[int] = (), *, reporter: Reporter = SILENT) -> Refined:
    """Put these judgements in force again, or without ids the one undone last.

    Raises:
        BadArguments: no such judgement.
    """
    bench = bench_for(request.library, request.metric, reporter)
    ledger = bench.ledger(request.ledger)
    with own_write(request.library):
        ledger.redo(ids) if ids else ledger.redo_last()
    return _refined(request, bench)


def reset(request: Refining, *, reporter: Reporter = SILENT) -> Refined:
    """Take back everything; each can be put in force again."""
    bench = bench_for(request.library, request.metric, reporter)
    ledger = bench.ledger(request.ledger)
    with own_write(request.library):
        ledger.undo([entry.id for entry in ledger.in_force])
    return _refined(request, bench)


def ask_next(
    request: Refining, passed: Sequence[str] = (), *, reporter: Reporter = SILENT
) -> AskedNext | None:
    """The question about the query whose answer would teach most; ``None`` when all were judged.

    Only cases the metric was trained on are asked about, and none of the query's own patient, so that what
    was held out can still be scored. ``passed``: cases the person did not want to judge.

    Raises:
        BadInput: the query is a picture from outside or a region: questions are about whole cases.
    """
    bench = bench_for(request.library, request.metric, reporter)
    desk, query = bench.desk, request.query
    place = None if query.case is None or query.region else desk.place_of(desk.row_of(query.case))
    if place is None:
        raise BadInput("Questions are about a whole case of the library.", "Choose a case as the query.")
    judged: dict[Kind, list[int]] = {Kind.ALIKE: [], Kind.NOT_ALIKE: []}
    in_force = bench.ledger(request.ledger).in_force
    for entry in in_force:
        one = entry.judgement
        there = bench.place_of(one.case)
        if one.kind != Kind.CLOSER and one.asked == query.case and there is not None:
            judged[one.kind].append(there)
    allowed = bench.trained.copy()
    patient = desk.patients[place]
    if patient:
        allowed &= desk.patients != patient
    question = ask(
        bench.coordinates,
        bench.form(in_force, request.strength),
        place,
        judged[Kind.ALIKE],
        judged[Kind.NOT_ALIKE],
        np.random.default_rng(len(in_force)),
        allowed=allowed,
        passed=[there for case in passed if (there := bench.place_of(case)) is not None],
    )
    if question is None:
        return None
    return AskedNext(*(bench.case_at(at) for at in (question.query, question.first, question.second)))


def another_query(request: Refining, *, reporter: Reporter = SILENT) -> str | None:
    """A training case the ledger has not asked about yet, for after QUESTIONS_EACH questions; or ``None``."""
    bench = bench_for(request.library, request.metric, reporter)
    entries = bench.ledger(request.ledger).entries
    asked = {bench.place_of(entry.judgement.query) for entry in entries}
    if request.query.case is not None:
        asked.add(bench.place_of(request.query.case))
    known = [place for place in asked if place is not None]
    place = next_query(known, np.random.default_rng(len(entries)), bench.trained)
    return None if place is None else bench.case_at(place)


def answer(
    request: Refining, asked: AskedNext, given: Answer, *, author: str = "", reporter: Reporter = SILENT
) -> Refined:
    """Keep the two judgements that an answer is; errors as :func:`judge`."""
    made = judgements_of(given, asked.query, asked.first, asked.second)
    return judge(request, made, author=author, reporter=reporter)


def influence(request: Refining, *, reporter: Reporter = SILENT) -> list[Influence]:
    """What each judgement in force does to the ranks on screen; learns once for each of them.

    Raises:
        Cancelled: asked for by the reporter.
    """
    bench = bench_for(request.library, request.metric, reporter)
    index = bench.index_for(_vector(request, bench))
    entries = bench.ledger(request.ledger).in_force
    index.form = bench.form(entries, request.strength)
    vector = index.query
    near = index.search(vector, NEAREST).rows
    return influences(
        entries,
        bench.vector_of(entries),
        bench.coordinates[near],
        vector,
        k=request.k,
        strength=request.strength,
        reporter=reporter,
    )


def held_out_accuracy(request: Refining, *, reporter: Reporter = SILENT) -> float | None:
    """Retrieval accuracy@10 on cases the metric was not trained on and nobody judged: the curve of clicks.

    ``None`` where nothing was held out. Cases of trained or judged patients are no part of it.
    """
    bench = bench_for(request.library, request.metric, reporter)
    entries = bench.ledger(request.ledger).in_force
    return bench.held_out_accuracy(entries, request.strength, SCORED)


def save_refined(request: Refining, name: str, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Keep the refined metric as ``name``; its card as JSON. It has no scores until it is measured.

    Judged cases count as training cases, so :func:`core.workflows.training.score_metric` leaves them out.

    Raises:
        BadInput: no judgement is in force, or the name is that of the metric it came from.
        SemblanceError: the library cannot be written to.
    """
    bench = bench_for(request.library, request.metric, reporter)
    entries = bench.ledger(request.ledger).in_force
    if not entries:
        raise BadInput("No judgement is in force: there is nothing to save.", "Judge some cases first.")
    if name == request.metric:
        raise BadInput(f"The metric '{name}' is what this one came from.", "Choose another name.")
    authors = sorted({entry.judgement.author for entry in entries if entry.judgement.author})
    metric = clicked_metric(
        bench.desk.metric,
        bench.space,
        bench.form(entries, request.strength),
        name=name,
        judgements=len(entries),
        triplets=bench.n_triplets(entries),
        authors=authors,
        strength=request.strength,
    )
    library, record = bench.desk.library, bench.desk.record
    file = library.new_metric_file()
    save_metric(metric, file)
    findings_map = record.card.get("findings_map") or ""
    card = {**metric.card.to_json(), "findings_map": findings_map}
    training = np.union1d(record.training, bench.judged_rows(entries))
    library.add_metric(name, LEARNER, record.feature_set, file, card, training, None)
    return card


def thumb(request: Refining, case: str, alike: bool, shown: Sequence[str] = ()) -> Judgement:
    """``case`` is, or is not, like the query of the request; ``shown``: the cases on screen.

    Raises:
        BadInput: the case is the query.
    """
    kind = Kind.ALIKE if alike else Kind.NOT_ALIKE
    return Judgement(
        kind, *_named(request.query, case), region=_json(request.query.region), shown=tuple(shown)
    )


def closer(request: Refining, case: str, other: str) -> Judgement:
    """``case`` is closer to the query of the request than ``other`` is.

    Raises:
        BadInput: two of the three are the same.
    """
    return Judgement(Kind.CLOSER, *_named(request.query, case), other, _json(request.query.region))


def _named(query: Query, case: str) -> tuple[str, str]:
    return (query.case if query.case is not None else str(query.image)), case


def _json(region: Region | None) -> dict[str, Any] | None:
    return None if region is None else region.to_json()


def _signed(judgement: Judgement, author: str) -> Judgement:
    return Judgement(
        judgement.kind,
        judgement.query,
        judgement.case,
        judgement.other,
        judgement.region,
        judgement.shown,
        judgement.author or author,
        judgement.time or now(),
    )


def _vector(request: Refining, bench: Bench) -> Any:
    return bench.query_vector(request.query)


def _refined(request: Refining, bench: Bench) -> Refined:
    desk, ledger = bench.desk, bench.ledger(request.ledger)
    entries = ledger.in_force
    index = bench.index_for(_vector(request, bench))
    index.form = bench.form(entries, request.strength)
    asked = bench.rank_query(request.query, asked_of(desk, request.query))
    result = ranked_result(
        desk,
        request.metric,
        request.query,
        asked,
        index,
        k=request.k,
        hide_same_patient=request.hide_same_patient,
        fold_duplicates=request.fold_duplicates,
        usual=None,
        features_seconds=0.0,
    )
    places = [desk.place_of(line.row) for line in result.ranked]
    return Refined(
        result,
        bench.shifts(asked, [place for place in places if place is not None]),
        tuple(ledger.entries),
        tuple(contradictions(entries, bench.patient_of)),
        trust(len(entries)),
    )
