"""What is typed becomes words; nothing in it is an operator."""

from __future__ import annotations

from semblance.core.library.text_query import TextTerm, folded, text_terms


def test_words_begin_words_and_quotes_hold_phrases():
    for text, expected in {
        "Spicul mass": [TextTerm(("spicul",), True), TextTerm(("mass",), True)],
        '"spiculated  MASS" left': [TextTerm(("spiculated", "mass"), False), TextTerm(("left",), True)],
        "“open": [TextTerm(("open",), False)],
        "2.0 x": [TextTerm(("2", "0"), True), TextTerm(("x",), True)],
        "Ödem E\u0301tude": [TextTerm(("odem",), True), TextTerm(("etude",), True)],
        "右肺": [TextTerm(("右", "肺"), True)],
        "a' OR 1=1; --": [TextTerm(("a",), True), TextTerm(("or",), True), TextTerm(("1", "1"), True)],
        '* ( ) - " "': [],
        "mass mass": [TextTerm(("mass",), True)],
    }.items():
        assert list(text_terms(text)) == expected, text
    assert folded("폐 がん") == "폐 が ん"
