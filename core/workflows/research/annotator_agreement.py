"""Agreement between the people who annotate a library: their marks for each concept, and their judgements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.agreement import (
    NOT_RATED,
    AgreementCoefficient,
    Ratings,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
)
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: The subjects beside concepts.
CONCEPT, SIMILARITY, COMPARISONS = "concept", "similarity", "comparisons"
#: The two answers; those of comparisons are their two cases.
_ANSWERS = {
    CONCEPT: (tr_lazy("with"), tr_lazy("without")),
    SIMILARITY: (tr_lazy("more like this"), tr_lazy("less like this")),
}

#: What is judged: a case, or a query with one or two cases.
_Unit = tuple[str, ...]
#: Author, what was judged, and the number of the answer.
_Answer = tuple[str, _Unit, int]


@dataclass(frozen=True)
class Annotator:
    """A person and the number of cases, or of pairs, that they judged."""

    name: str
    n: int


@dataclass(frozen=True)
class PairAgreement:
    """Two people: ``n`` judged by both, ``agreed`` of them alike; ``kappa``: Cohen's, ``None`` where both always gave
    the same one answer, or nothing was judged by both."""

    names: tuple[str, str]
    n: int
    agreed: int
    kappa: AgreementCoefficient | None


@dataclass(frozen=True)
class AnnotatorDifference:
    """What was judged differently: ``cases``, one of a concept, else the query first; ``answers`` by person."""

    cases: tuple[str, ...]
    answers: Mapping[str, str]


@dataclass(frozen=True)
class SubjectAgreement:
    """Agreement on one subject: a concept (``name``), similarity, or comparisons.

    ``shared``: judged by two people or more; ``alpha``: Krippendorff's of these. ``complete``: judged by all people;
    ``fleiss``: Fleiss' kappa of these, ``None`` for fewer than three people. Coefficients are ``None`` where there is
    only one answer.
    """

    kind: str
    name: str
    annotators: tuple[Annotator, ...]
    shared: int
    alpha: AgreementCoefficient | None
    complete: int
    fleiss: AgreementCoefficient | None
    pairs: tuple[PairAgreement, ...]
    differences: tuple[AnnotatorDifference, ...]

    def to_json(self) -> dict[str, Any]:
        """As ``semblance agreement --json`` prints it."""

        def of(value: AgreementCoefficient | None) -> Any:
            if value is None:
                return None
            return {
                "value": value.value,
                "interval": None if value.interval is None else list(value.interval),
            }

        return {
            "subject": self.kind,
            "name": self.name,
            "annotators": {one.name: one.n for one in self.annotators},
            "shared": self.shared,
            "krippendorff_alpha": of(self.alpha),
            "complete": self.complete,
            "fleiss_kappa": of(self.fleiss),
            "pairs": [
                {
                    "annotators": list(one.names),
                    "n": one.n,
                    "agreed": one.agreed,
                    "cohen_kappa": of(one.kappa),
                }
                for one in self.pairs
            ],
            "differences": [
                {
                    "cases": list(one.cases),
                    "answers": {name: str(answer) for name, answer in one.answers.items()},
                }
                for one in self.differences
            ],
        }


def annotator_agreement(
    library: LibraryLocation, *, reporter: Reporter = SILENT
) -> tuple[SubjectAgreement, ...]:
    """The agreement on each subject that two people or more judged: concepts, oldest first, then judgements.

    Each person's latest mark in force counts. Marks without an author are left out.

    Raises:
        BadInput: not a library.
    """
    from semblance.core.library.judgements import judgements_in_force

    with open_library(library, writable=False) as opened:
        found = []
        for concept in opened.concepts.all():
            marks = [(mark.author, (mark.case,), int(not mark.has)) for mark in concept.marks]
            found.append(_subject(opened, CONCEPT, concept.name, marks))
        reporter.check_cancelled()
        judged = [Judgement.from_record(record) for record in judgements_in_force(opened.catalogue)]
        closer = [one for one in judged if one.kind == JudgementKind.CLOSER]
        marked = [one for one in judged if one.kind != JudgementKind.CLOSER]
        found.append(_subject(opened, SIMILARITY, "", map(_mark, marked)))
        found.append(_subject(opened, COMPARISONS, "", map(_comparison, closer)))
    return tuple(one for one in found if len(one.annotators) > 1)


def _mark(one: Judgement) -> _Answer:
    return one.author, (one.query_key, one.case), int(one.kind == JudgementKind.NOT_ALIKE)


def _comparison(one: Judgement) -> _Answer:
    assert one.other is not None
    cases = sorted((one.case, one.other))
    return one.author, (one.query_key, *cases), cases.index(one.case)


def _subject(library: Library, kind: str, name: str, answers: Iterable[_Answer]) -> SubjectAgreement:
    latest = {(author, unit): answer for author, unit, answer in answers if author}
    people = sorted({author for author, _ in latest})
    units = list(dict.fromkeys(unit for _, unit in latest))
    ratings = np.full((len(people), len(units)), NOT_RATED, dtype=np.int64)
    row = {person: at for at, person in enumerate(people)}
    column = {unit: at for at, unit in enumerate(units)}
    for (author, unit), answer in latest.items():
        ratings[row[author], column[unit]] = answer
    is_rated = ratings != NOT_RATED
    rated = is_rated.sum(axis=0)
    shared, complete = rated > 1, rated == len(people)
    patients = _patients(library, units)
    return SubjectAgreement(
        kind,
        name,
        tuple(Annotator(person, int(n)) for person, n in zip(people, is_rated.sum(axis=1), strict=True)),
        int(shared.sum()),
        krippendorff_alpha(ratings, patients) if _varies(ratings[:, shared]) else None,
        int(complete.sum()),
        fleiss_kappa(ratings[:, complete], patients[complete])
        if len(people) > 2 and _varies(ratings[:, complete])
        else None,
        tuple(
            _pair((people[one], people[other]), ratings[[one, other]], patients)
            for one, other in combinations(range(len(people)), 2)
        ),
        tuple(
            AnnotatorDifference(
                unit,
                {
                    person: _ANSWERS[kind][latest[person, unit]]
                    if kind in _ANSWERS
                    else unit[1 + latest[person, unit]]
                    for person in people
                    if (person, unit) in latest
                },
            )
            for unit in units
            if len(set(ratings[is_rated[:, column[unit]], column[unit]].tolist())) > 1
        ),
    )


def _pair(names: tuple[str, str], ratings: Ratings, patients: npt.NDArray[np.str_]) -> PairAgreement:
    both = (ratings != NOT_RATED).all(axis=0)
    ratings = ratings[:, both]
    agreed = int((ratings[0] == ratings[1]).sum())
    kappa = cohen_kappa(ratings, patients[both]) if _varies(ratings) else None
    return PairAgreement(names, int(both.sum()), agreed, kappa)


def _varies(ratings: Ratings) -> bool:
    """Whether there is more than one answer; otherwise chance agrees fully too."""
    return len(set(ratings[ratings != NOT_RATED].tolist())) > 1


def _patients(library: Library, units: Sequence[_Unit]) -> npt.NDArray[np.str_]:
    """(n,) the patient of the case, or of the query; of the first judged case where all have the same query. Each case
    without a known patient is its own."""
    part = 1 if len({unit[0] for unit in units}) == 1 and len(units[0]) > 1 else 0
    known = library.catalogue.patients_of(list({unit[part] for unit in units}))
    return np.array([known.get(unit[part]) or f"\0{unit[part]}" for unit in units])
