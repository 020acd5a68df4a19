from __future__ import annotations

import pytest

from semblance.core.reports.bidirectional import isolated, visual_order

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


def test_a_count_stays_with_its_finding() -> None:
    line = ", ".join(isolated(f"{number} {name}") for number, name in ((6, ALEF + BET), (4, GIMEL + BET)))
    assert visual_order(f"10 nearest: {line}") == f"10 nearest: 6 {BET}{ALEF}, 4 {BET}{GIMEL}"
