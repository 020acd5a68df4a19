from __future__ import annotations

import pytest

from semblance.core.language import count_label, join_texts, set_language, tr_lazy, translate
from semblance.core.reports.pdf_text import visual_order
from tests.helpers.reports import report
from tests.helpers.reports import vote as make_vote

ALEF, BET, GIMEL = "\u05d0", "\u05d1", "\u05d2"


@pytest.mark.parametrize(
    ("line", "drawn"),
    [
        ("malignant (left) 12.5", "malignant (left) 12.5"),
        (f"{ALEF}{BET}{GIMEL}", f"{GIMEL}{BET}{ALEF}"),
        (f"Case {ALEF}{BET} {GIMEL} benign", f"Case {GIMEL} {BET}{ALEF} benign"),
        (f"{ALEF}{BET} 12.5 {GIMEL}", f"{GIMEL} 12.5 {BET}{ALEF}"),
        (f"{ALEF} ({BET})", f"({BET}) {ALEF}"),
        (f"{ALEF} BI-RADS 4 {BET}", f"{BET} BI-RADS 4 {ALEF}"),
        (f"6 {ALEF}, 4 benign", f"benign 4 ,{ALEF} 6"),
    ],
)
def test_hebrew_is_in_the_order_in_which_it_is_drawn(line: str, drawn: str) -> None:
    assert visual_order(line) == drawn


def test_arabic_letters_are_joined() -> None:
    # Initial, medial and final form of beh, drawn from the left.
    assert visual_order("\u0628\u0628\u0628") == "\ufe90\ufe92\ufe91"


@pytest.mark.parametrize("language", ["en", "de"])
def test_numbers_beside_a_name_stay_in_the_order_of_the_sentence(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMBLANCE_LANGUAGE", "en")
    set_language(language)
    counts = join_texts([count_label(6, ALEF + BET), count_label(4, GIMEL + BET)])
    line = translate(tr_lazy("{n} nearest: {counts}", n=10, counts=counts))
    assert visual_order(line).endswith(f": 6 {BET}{ALEF}, 4 {BET}{GIMEL}")
    vote = make_vote({ALEF + BET: 6}, ALEF + BET, probability=0.48, interval=(0.08, 0.9))
    estimate = visual_order(translate(report(vote=vote).estimate_text()))
    low, high = ("0,08", "0,90") if language == "de" else ("0.08", "0.90")
    assert f"{BET}{ALEF}: 0" in estimate
    assert f"({low}–{high})" in estimate
