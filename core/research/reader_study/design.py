"""The design of a reader study: every reader reads every case once in every arm, in counter-balanced order.

The design is fully crossed, as the analysis of Obuchowski and Rockette needs it. A reader has as many sessions as
there are arms, and reads each case once in a session, in another arm each time (a Latin square over blocks of cases,
sessions and readers). The cases of a session are in random order, so the arms are mixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy

#: Kinds of arms: no similar cases; those nearest by a metric; cases drawn at random.
UNAIDED, METRIC, RANDOM = "unaided", "metric", "random"
#: Levels of confidence, from guessing to certain.
CONFIDENCE_LEVELS = 5
#: The fewest cases that can be analysed.
MIN_CASES = 4
_MAX_READERS, _MAX_ARMS = 200, 6


@dataclass(frozen=True)
class ReadingArm:
    """A way of reading. ``metric``: the name of the metric, for an arm of kind ``metric``."""

    name: str
    kind: str
    metric: str = ""


@dataclass(frozen=True)
class StudyCase:
    """A case to read: its finding is the reference standard. ``unit``: a code of its patient or lesion group.

    ``similar``: for the name of each aided arm the ids of the similar cases shown, nearest first.
    """

    case_id: str
    finding: str
    unit: int
    similar: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Reading:
    """One case to read in one arm; ``number`` counts from 0 over all sessions of a reader."""

    number: int
    session: int
    case: StudyCase
    arm: ReadingArm


@dataclass(frozen=True)
class StudyDesign:
    """What is read, by whom and how.

    ``findings``: the answers a reader chooses from. ``positive``: the finding that sensitivity and the ROC are of.
    ``readers``: codes, never names. ``washout_days``: between two sessions of a reader.
    """

    findings: tuple[str, ...]
    positive: str
    cases: tuple[StudyCase, ...]
    arms: tuple[ReadingArm, ...]
    readers: tuple[str, ...]
    washout_days: int = 28
    seed: int = 0

    def check(self) -> None:
        """Check that the study can be read and analysed.

        Raises:
            BadArguments: it cannot; the message says what is missing.
        """
        for names, what in ((self.readers, tr_lazy("reader")), ([a.name for a in self.arms], tr_lazy("arm"))):
            twice = [name for name, count in Counter(names).items() if count > 1 or not name.strip()]
            if twice or not names:
                raise BadArguments(
                    tr_lazy("Each {what} of the study needs a name of its own.", what=what),
                    tr_lazy("Given: {names}.", names=", ".join(names) or "–"),
                )
        if len(self.arms) > _MAX_ARMS or len(self.readers) > _MAX_READERS:
            raise BadArguments(
                tr_lazy(
                    "A study has at most {arms} arms and {readers} readers.",
                    arms=_MAX_ARMS,
                    readers=_MAX_READERS,
                ),
                "Remove some.",
            )
        if self.washout_days < 0:
            raise BadArguments("The washout is a number of days.", "Give 0 or more days.")
        counts = Counter(case.finding for case in self.cases)
        if self.positive not in self.findings or not set(counts) <= set(self.findings):
            raise BadArguments(
                tr_lazy(
                    "The positive finding '{positive}' is not among the answers.", positive=self.positive
                ),
                tr_lazy("The answers are: {findings}.", findings=", ".join(self.findings)),
            )
        n_positive = counts[self.positive]
        if len(self.cases) < MIN_CASES or n_positive < 2 or len(self.cases) - n_positive < 2:
            raise BadArguments(
                tr_lazy(
                    "The study has {n} cases, {positive} of them {finding}.",
                    n=len(self.cases),
                    positive=n_positive,
                    finding=self.positive,
                ),
                "Choose two cases or more with the positive finding, and two or more without.",
            )

    def readings(self, reader: str) -> tuple[Reading, ...]:
        """All readings of ``reader``, session after session.

        Raises:
            BadArguments: no such reader.
        """
        if reader not in self.readers:
            raise BadArguments(
                tr_lazy("The study has no reader '{reader}'.", reader=reader),
                tr_lazy("Its readers are: {readers}.", readers=", ".join(self.readers)),
            )
        place = self.readers.index(reader)
        n_arms = len(self.arms)
        blocks = self._blocks()
        out: list[Reading] = []
        for session in range(n_arms):
            rng = np.random.default_rng([self.seed, 1, place, session])
            for case in rng.permutation(len(self.cases)).tolist():
                arm = self.arms[(int(blocks[case]) + session + place) % n_arms]
                out.append(Reading(len(out), session, self.cases[case], arm))
        return tuple(out)

    def _blocks(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """(n,) the block of every case: each finding is spread evenly over as many blocks as there are arms."""
        rng = np.random.default_rng([self.seed, 0])
        shuffled = rng.permutation(len(self.cases))
        findings = np.array([self.cases[case].finding for case in shuffled])
        blocks = np.empty(len(self.cases), dtype=np.int64)
        blocks[shuffled[np.argsort(findings, kind="stable")]] = np.arange(len(self.cases)) % len(self.arms)
        return blocks

    def to_json(self) -> dict[str, Any]:
        """The design as the catalogue stores it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The design that :meth:`to_json` gave.

        Raises:
            KeyError, TypeError, ValueError: other data.
        """
        return cls(
            findings=tuple(data["findings"]),
            positive=data["positive"],
            cases=tuple(
                StudyCase(
                    one["case_id"],
                    one["finding"],
                    int(one["unit"]),
                    {arm: tuple(ids) for arm, ids in one["similar"].items()},
                )
                for one in data["cases"]
            ),
            arms=tuple(ReadingArm(**one) for one in data["arms"]),
            readers=tuple(data["readers"]),
            washout_days=int(data["washout_days"]),
            seed=int(data["seed"]),
        )


@dataclass(frozen=True)
class ReaderAnswer:
    """What a reader answered. ``confidence``: 1 (guess) to 5 (certain). ``seconds``: shown, without pauses.

    ``time``: when, in ISO 8601, UTC.
    """

    reader: str
    number: int
    finding: str
    confidence: int
    seconds: float
    time: str

    def check(self, design: StudyDesign) -> None:
        """Check that the answer is one of ``design``.

        Raises:
            BadArguments: another finding, or a confidence or time out of range.
        """
        if self.finding not in design.findings:
            raise BadArguments(
                tr_lazy("'{finding}' is not an answer of this study.", finding=self.finding),
                tr_lazy("The answers are: {findings}.", findings=", ".join(design.findings)),
            )
        if not 1 <= self.confidence <= CONFIDENCE_LEVELS or not self.seconds >= 0.0:
            raise BadArguments(
                tr_lazy("Confidence is 1 to {levels}, and time is not negative.", levels=CONFIDENCE_LEVELS)
            )


def next_reading(design: StudyDesign, reader: str, answered: Sequence[ReaderAnswer]) -> Reading | None:
    """The first reading of ``reader`` without an answer; ``None`` when all are answered."""
    numbers = {one.number for one in answered if one.reader == reader}
    return next((one for one in design.readings(reader) if one.number not in numbers), None)
