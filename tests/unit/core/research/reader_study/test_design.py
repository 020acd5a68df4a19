"""Every reader reads every case once in every arm, in a balanced order that the seed fixes."""

from collections import Counter
from dataclasses import replace

import pytest

from semblance.core.errors import BadArguments
from semblance.core.research.reader_study.design import (
    ReaderAnswer,
    ReadingArm,
    StudyCase,
    StudyDesign,
    next_reading,
)

ARMS = (ReadingArm("unaided", "unaided"), ReadingArm("m", "metric", "m"), ReadingArm("random", "random"))
CASES = tuple(
    StudyCase(f"c{n}", "malignant" if n < 6 else "benign", n, {"m": ("x", "y"), "random": ("z",)})
    for n in range(12)
)
DESIGN = StudyDesign(("benign", "malignant"), "malignant", CASES, ARMS, ("R1", "R2", "R3"), 14, 7)


def test_every_reader_reads_every_case_once_a_session_and_once_in_every_arm():
    for reader in DESIGN.readers:
        readings = DESIGN.readings(reader)
        assert [one.number for one in readings] == list(range(36))
        assert Counter((one.session, one.case.case_id) for one in readings).most_common(1)[0][1] == 1
        assert Counter((one.arm.name, one.case.case_id) for one in readings).most_common(1)[0][1] == 1


def test_arms_are_balanced_over_sessions_findings_and_readers():
    first = [one for reader in DESIGN.readers for one in DESIGN.readings(reader) if one.session == 0]
    assert set(Counter((one.arm.name, one.case.finding) for one in first).values()) == {6}
    # A case is read first in another arm by each of three readers.
    assert set(Counter((one.arm.name, one.case.case_id) for one in first).values()) == {1}


def test_the_seed_fixes_the_order_and_readers_have_orders_of_their_own():
    def order(design, reader):
        return [(one.case.case_id, one.arm.name) for one in design.readings(reader)]

    assert order(DESIGN, "R1") == order(StudyDesign.from_json(DESIGN.to_json()), "R1")
    assert order(DESIGN, "R1") != order(DESIGN, "R2")
    assert order(DESIGN, "R1") != order(replace(DESIGN, seed=8), "R1")


def test_a_reading_continues_at_the_first_case_without_an_answer():
    given = [ReaderAnswer("R1", n, "benign", 2, 3.0, "") for n in (0, 1, 3)] + [
        ReaderAnswer("R2", 2, "benign", 2, 3.0, "")
    ]
    assert next_reading(DESIGN, "R1", given).number == 2
    assert (
        next_reading(DESIGN, "R1", [ReaderAnswer("R1", n, "benign", 1, 0.0, "") for n in range(36)]) is None
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"readers": ("R1", "R1")}, "Each reader of the study needs a name of its own."),
        ({"readers": ()}, "Each reader of the study needs a name of its own."),
        ({"arms": (ARMS[0], ARMS[0])}, "Each arm of the study needs a name of its own."),
        ({"positive": "cyst"}, "The positive finding 'cyst' is not among the answers."),
        ({"cases": CASES[:7]}, "The study has 7 cases, 6 of them malignant."),
        ({"washout_days": -1}, "The washout is a number of days."),
    ],
)
def test_a_study_that_cannot_be_analysed_is_refused(change, message):
    with pytest.raises(BadArguments) as error:
        replace(DESIGN, **change).check()
    assert error.value.message == message


@pytest.mark.parametrize(
    "answer", [("cyst", 3, 1.0), ("benign", 0, 1.0), ("benign", 6, 1.0), ("benign", 3, -1.0)]
)
def test_an_answer_out_of_range_is_refused(answer):
    with pytest.raises(BadArguments):
        ReaderAnswer("R1", 0, *answer, "").check(DESIGN)
