"""What is typed becomes words; nothing in it is an operator."""

from __future__ import annotations

import numpy as np

from semblance.core.library.text_query import TextTerm, folded, ranked_texts, text_hit, text_terms


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
    # The index of SQLite has letters of other scripts with their accents, and one sigma.
    assert folded("Йод ΟΔΌΣ") == "йод οδόσ"


def test_where_words_stand_is_shown():
    texts = [("finding", "benign"), ("title", "x " * 60 + "Größe der Rundherde, 右肺肿瘤 " + "y " * 60)]
    for typed, shown in {
        "grosse": None,
        "grö": "Größe",
        '"der rund"': None,
        "der rund": "der",
        "肿": "肿",
        "ben": "benign",
    }.items():
        hit = text_hit(texts, text_terms(typed))
        assert (None if hit is None else hit.text[hit.start : hit.stop]) == shown, typed
    assert text_hit([("notes", "a\0b mass")], text_terms("mass")).text == "a b mass"
    hit = text_hit(texts, text_terms("rundherde"))
    assert (hit.text[0], hit.text[-1], len(hit.text) < 110) == ("…", "…", True)


def test_equal_scores_have_one_rank():
    rows, ranks = ranked_texts(np.array([5, 3, 9]), np.array([-1.0, -1.0, -2.0]))
    assert (rows.tolist(), ranks.tolist()) == ([9, 3, 5], [1, 2, 2])
    assert ranked_texts(np.empty(0, dtype=np.int64), np.empty(0))[0].tolist() == []
