"""Create a reader study, take its answers, and analyse and export them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.files import make_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.reader_studies import ReaderStudyTable, StoredStudy
from semblance.core.research.reader_study.analysis import StudyAnalysis, analyse
from semblance.core.research.reader_study.design import (
    METRIC,
    RANDOM,
    UNAIDED,
    ReaderAnswer,
    Reading,
    ReadingArm,
    StudyCase,
    StudyDesign,
    next_reading,
)
from semblance.core.research.reader_study.export import study_files
from semblance.core.searches.query import Query
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.leakage import IdentityIndex, contents_elsewhere
from semblance.core.workflows.searches.rank_cases import nearest_cases

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Similar cases shown in an aided arm.
SHOWN = 8
#: Names of the arms without a metric.
UNAIDED_NAME, RANDOM_NAME = "unaided", "random"
_DEFAULT_CASES = 40


@dataclass(frozen=True)
class StudyRequest:
    """The design of a new study.

    ``metrics``: one aided arm each. ``cases``: the ids to read; empty for ``n_cases`` drawn at random, as many of
    each finding as possible, from the cases that no metric of the study was trained on. ``random``: add a control arm
    with cases drawn at random.
    """

    name: str
    positive: str
    readers: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    n_cases: int = _DEFAULT_CASES
    unaided: bool = True
    random: bool = False
    washout_days: int = 28
    seed: int = 0


@dataclass(frozen=True)
class ReaderProgress:
    """The progress of a reader: ``answered`` of ``total``; ``opens``: when the next session may begin, if not yet."""

    reader: str
    answered: int
    total: int
    opens: str | None = None


@dataclass(frozen=True)
class StudyStatus:
    """A study and the progress of its readers."""

    name: str
    created: str
    design: StudyDesign
    readers: tuple[ReaderProgress, ...]


@dataclass(frozen=True)
class NextCase:
    """The next case of a reader, blinded: it has neither the arm nor the finding.

    ``row``, and ``similar_rows`` nearest first, are rows of the catalogue; no similar cases in the unaided arm.
    ``findings``: the answers to choose from. ``reading`` is ``None`` when ``finished`` or before ``opens``.
    """

    reader: str
    findings: tuple[str, ...]
    answered: int
    total: int
    number: int = -1
    session: int = 0
    sessions: int = 1
    row: int = -1
    similar_rows: tuple[int, ...] = ()
    opens: str | None = None

    @property
    def finished(self) -> bool:
        """Whether every case of every session is answered."""
        return self.answered == self.total


def create_study(
    library: LibraryLocation, request: StudyRequest, *, reporter: Reporter = SILENT
) -> StudyStatus:
    """Choose the cases, find the similar cases of every aided arm, and store the design.

    The similar cases are stored with the study, so that all readers see the same ones even if metrics change.

    Raises:
        BadArguments: a name, finding, metric or case that does not exist, or too few cases.
        BadInput: a chosen case was used to train one of the metrics.
    """
    arms = (
        *([ReadingArm(UNAIDED_NAME, UNAIDED)] if request.unaided else []),
        *(ReadingArm(metric, METRIC, metric) for metric in request.metrics),
        *([ReadingArm(RANDOM_NAME, RANDOM)] if request.random else []),
    )
    with open_library(library) as opened:
        sealed = set(sealed_rows(opened).tolist())
        records = [r for r in opened.catalogue.all_cases() if r.finding and r.id not in sealed]
        findings = tuple(sorted({record.finding for record in records}))
        units = IdentityIndex(opened)
        trained = _trained_cases(opened, request.metrics, units)
        chosen = _chosen_cases(request, records, trained, units)
    codes = units.codes([record.id for record in chosen])
    cases = [
        StudyCase(record.case_id, record.finding, int(code), {})
        for record, code in zip(chosen, codes.tolist(), strict=True)
    ]
    design = StudyDesign(
        findings, request.positive, tuple(cases), arms, request.readers, request.washout_days, request.seed
    )
    design.check()
    unit_of_case = dict(
        zip((r.case_id for r in records), units.codes([r.id for r in records]).tolist(), strict=True)
    )
    # A reader must not learn the finding of a case from the similar cases of another.
    read = {case.unit for case in cases}
    allowed = [case_id for case_id, unit in unit_of_case.items() if unit not in read]
    if len(allowed) < SHOWN and any(arm.kind != UNAIDED for arm in arms):
        raise BadArguments(
            tr_lazy("Only {n} cases are left to be shown as similar cases.", n=len(allowed)),
            tr_lazy("Read fewer cases: {n} at least must be left.", n=SHOWN),
        )
    with_similar = []
    for place, case in enumerate(cases):
        reporter.progress(place, len(cases), "Finding the similar cases")
        similar = {
            arm.name: _random_cases(allowed, request.seed, place)
            if arm.kind == RANDOM
            else _nearest(library, arm.metric, case, frozenset(allowed))
            for arm in arms
            if arm.kind != UNAIDED
        }
        with_similar.append(replace(case, similar=similar))
    reporter.progress(len(cases), len(cases), "Finding the similar cases")
    design = replace(design, cases=tuple(with_similar))
    with open_library(library) as opened:
        ReaderStudyTable(opened.catalogue).add(request.name, design.to_json())
    return study_status(library, request.name)


def _trained_cases(opened: Library, metrics: Sequence[str], units: IdentityIndex) -> set[int]:
    """Catalogue rows of the cases that any of ``metrics`` was trained on, with their patients' other cases."""
    trained: set[int] = set()
    every = set(units.ids.tolist())
    for name in metrics:
        record = opened.metric(name)
        trained |= every - set(units.unseen(record.training, contents_elsewhere(record.card)).tolist())
    return trained


def _chosen_cases(
    request: StudyRequest, records: Sequence[Any], trained: set[int], units: IdentityIndex
) -> list[Any]:
    """The records of the cases to read: those named, else one of each patient, the same number from each finding."""
    by_id = {record.case_id: record for record in records}
    if request.cases:
        unknown = [case for case in request.cases if case not in by_id]
        if unknown:
            raise BadArguments(
                tr_lazy("The library has no case '{case}' with a finding.", case=unknown[0]),
                "Choose cases whose finding is known.",
            )
        named = [by_id[case] for case in dict.fromkeys(request.cases)]
        used = [record.case_id for record in named if record.id in trained]
        if used:
            raise BadInput(
                tr_lazy(
                    "{n} of the cases were used to train a metric of the study, {case} among them.",
                    n=len(used),
                    case=used[0],
                ),
                "Choose cases of patients that were not used for training.",
            )
        return named
    rng = np.random.default_rng([request.seed, 2])
    free = [record for record in records if record.id not in trained]
    first_of_unit: dict[int, Any] = {}
    if free:
        codes = units.codes([record.id for record in free])
        for place in rng.permutation(len(free)).tolist():
            first_of_unit.setdefault(int(codes[place]), free[place])
    by_finding: dict[str, list[Any]] = {}
    for record in first_of_unit.values():
        by_finding.setdefault(record.finding, []).append(record)
    chosen: list[Any] = []
    while by_finding and len(chosen) < request.n_cases:
        for finding in sorted(by_finding):
            if len(chosen) < request.n_cases:
                chosen.append(by_finding[finding].pop())
            if not by_finding[finding]:
                del by_finding[finding]
    return chosen


def _nearest(
    library: LibraryLocation, metric: str, case: StudyCase, allowed: frozenset[str]
) -> tuple[str, ...]:
    """The nearest of the cases ``allowed``; the own patient and near-duplicates are hidden, as in every search."""
    count = SHOWN * 4
    while True:
        found = nearest_cases(library, metric, Query(case=case.case_id), k=count)
        nearest = tuple(line.case_id for line in found.ranked if line.case_id in allowed)[:SHOWN]
        if len(nearest) == SHOWN or len(found.ranked) < count:
            return nearest
        count *= 4


def _random_cases(allowed: Sequence[str], seed: int, place: int) -> tuple[str, ...]:
    rng = np.random.default_rng([seed, 3, place])
    return tuple(allowed[at] for at in rng.permutation(len(allowed))[:SHOWN].tolist())


def studies(library: LibraryLocation, *, reporter: Reporter = SILENT) -> tuple[StudyStatus, ...]:
    """All studies of ``library`` and the progress of their readers."""
    with open_library(library) as opened:
        table = ReaderStudyTable(opened.catalogue)
        present = opened.catalogue.present()
        return tuple(
            _status(
                one.name, one.created, _design(one.name, one.design), _answers(table.answers(one.id)), present
            )
            for one in table.all()
        )


def study_status(library: LibraryLocation, name: str) -> StudyStatus:
    """The study ``name`` and the progress of its readers.

    Raises:
        BadArguments: no such study.
    """
    with open_library(library) as opened:
        design, answers, stored = _load(opened, name)
        return _status(name, stored.created, design, answers, opened.catalogue.present())


def _load(opened: Library, name: str) -> tuple[StudyDesign, list[ReaderAnswer], StoredStudy]:
    table = ReaderStudyTable(opened.catalogue)
    stored = table.get(name)
    return _design(name, stored.design), _answers(table.answers(stored.id)), stored


def _design(name: str, stored: Any) -> StudyDesign:
    try:
        return StudyDesign.from_json(stored)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(
            tr_lazy("The reader study '{name}' is damaged.", name=name), "Restore the library from a backup."
        ) from error


def _answers(rows: Sequence[Any]) -> list[ReaderAnswer]:
    return [ReaderAnswer(**row) for row in rows]


def _status(
    name: str, created: str, design: StudyDesign, answers: Sequence[ReaderAnswer], present: datetime
) -> StudyStatus:
    progress = []
    for reader in design.readers:
        own = [one for one in answers if one.reader == reader]
        progress.append(
            ReaderProgress(
                reader,
                len(own),
                len(design.cases) * len(design.arms),
                _opening_time(design, reader, own, present),
            )
        )
    return StudyStatus(name, created, design, tuple(progress))


def _opening_time(
    design: StudyDesign, reader: str, own: Sequence[ReaderAnswer], present: datetime
) -> str | None:
    """When the washout before the next session of ``reader`` ends (ISO 8601, UTC); ``None`` if it may begin."""
    reading = next_reading(design, reader, own)
    if reading is None or not own or not design.washout_days:
        return None
    last = max(own, key=lambda one: one.number)
    if design.readings(reader)[last.number].session == reading.session:
        return None
    opens = datetime.fromisoformat(last.time) + timedelta(days=design.washout_days)
    return opens.isoformat(timespec="seconds") if opens > present else None


def next_case(library: LibraryLocation, name: str, reader: str, *, reporter: Reporter = SILENT) -> NextCase:
    """The next case of ``reader``, without the arm, the patient and the finding.

    Raises:
        BadArguments: no such study or reader.
        BadInput: a case of the study was removed from the library.
    """
    with open_library(library) as opened:
        design, answers, _ = _load(opened, name)
        own = [one for one in answers if one.reader == reader]
        state = NextCase(reader, design.findings, len(own), len(design.cases) * len(design.arms))
        reading, opens = (
            next_reading(design, reader, own),
            _opening_time(design, reader, own, opened.catalogue.present()),
        )
        if reading is None or opens is not None:
            return replace(state, opens=opens)
        rows = _rows(opened, reading)
    return replace(
        state,
        number=reading.number,
        session=reading.session,
        sessions=len(design.arms),
        row=rows[0],
        similar_rows=rows[1:],
    )


def _rows(opened: Library, reading: Reading) -> tuple[int, ...]:
    """Catalogue rows of the case and its similar cases; similar cases that were removed are left out."""
    row_of = {record.case_id: int(record.id) for record in opened.catalogue.all_cases()}
    case = reading.case
    if case.case_id not in row_of:
        raise BadInput(
            tr_lazy("The case {case} of the study is not in the library any more.", case=case.case_id),
            "Import its image again, or restore the library from a backup.",
        )
    shown = case.similar.get(reading.arm.name, ())
    return (row_of[case.case_id], *(row_of[other] for other in shown if other in row_of))


def record_answer(
    library: LibraryLocation,
    name: str,
    reader: str,
    number: int,
    finding: str,
    confidence: int,
    seconds: float,
    *,
    reporter: Reporter = SILENT,
) -> None:
    """Store the answer of ``reader`` to the reading ``number``; it is durable when this returns.

    Raises:
        BadArguments: no such study or reader, another reading is due, or no valid answer.
    """
    with open_library(library) as opened:
        design, answers, stored = _load(opened, name)
        due = next_reading(design, reader, answers)
        if due is None or due.number != number:
            raise BadArguments("Another case is due for this reader.", "Open the reading again.")
        answer = ReaderAnswer(reader, number, finding, confidence, round(seconds, 2), opened.catalogue.now())
        answer.check(design)
        ReaderStudyTable(opened.catalogue).add_answer(stored.id, asdict(answer))


def delete_study(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> None:
    """Delete the study ``name`` with its answers.

    Raises:
        BadArguments: no such study.
    """
    with open_library(library) as opened:
        ReaderStudyTable(opened.catalogue).delete(name)


def analyse_study(
    library: LibraryLocation, name: str, *, reporter: Reporter = SILENT
) -> StudyAnalysis | None:
    """The analysis of all readers who finished; ``None`` while nobody has.

    Raises:
        BadArguments: no such study.
    """
    with open_library(library) as opened:
        design, answers, _ = _load(opened, name)
    return analyse(design, answers)


def export_study(
    library: LibraryLocation, name: str, folder: Path, *, reporter: Reporter = SILENT
) -> list[Path]:
    """Write answers, codebook, results and a summary into ``folder``, which is created if needed.

    Cases have numbers, and readers their codes: no file names a patient, a case or a file.

    Raises:
        BadArguments: no such study.
        SemblanceError: the folder cannot be written to.
    """
    with open_library(library) as opened:
        design, answers, stored = _load(opened, name)
    texts = study_files(name, stored.created, design, answers, analyse(design, answers))
    make_folder(folder, private=False)
    for file, text in texts.items():
        write_file(folder / file, text.encode(), private=False)
    log_export(library, "reader study", "csv", files=len(texts))
    return [folder / file for file in texts]
