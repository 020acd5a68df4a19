"""Texts of strangers in one form: letters, blanks, and what stands for a missing value."""

from __future__ import annotations

import unicodedata

#: What programs and people write where a value is missing: pandas, R, SAS and Excel.
_MISSING = frozenset(
    (
        "",
        "nan",
        "-nan",
        "na",
        "n/a",
        "n.a.",
        "n.d.",
        "#na",
        "#n/a",
        "#n/a n/a",
        "#nv",
        "#div/0!",
        "#value!",
        "#num!",
        "#ref!",
        "<na>",
        "nat",
        "null",
        ".",
        "unknown",
        "missing",
        "?",
        "??",
        "-",
        "--",
    )
)
#: As Python writes it, and pandas reads it; "none" is a finding of its own.
_PYTHON_NONE = "None"
#: What may also be a finding: "+" and "-", "Na" as sodium aside.
_ALSO_FINDINGS = frozenset(("-",))


def composed(text: str) -> str:
    """``text`` with its letters composed (NFC, Unicode UAX #15): macOS writes "ä" as "a" and two dots."""
    return unicodedata.normalize("NFC", text)


def storable(text: str) -> str:
    """``text`` without what no database stores: NUL and halves of characters."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


def spellings(text: str) -> tuple[str, ...]:
    """``text``, and the same with its letters composed and decomposed where that differs."""
    if text.isascii():
        return (text,)
    return tuple(dict.fromkeys((text, composed(text), unicodedata.normalize("NFD", text))))


def without_accents(text: str) -> str:
    """``text`` without marks above and below its letters: a PACS may compare names without regard to them."""
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFD", text)
    return composed("".join(one for one in letters if unicodedata.category(one) != "Mn"))


def normal_text(text: str) -> str:
    """``text`` composed, with one space where there are blanks of any kind, and none around it."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    visible = "".join("" if character in _INVISIBLE else character for character in composed(text))
    return " ".join(visible.split())


def is_missing(text: str) -> bool:
    """Whether a cell stands for a missing value, as "NA" and "?" do."""
    text = text.strip()
    return text.lower() in _MISSING or text == _PYTHON_NONE


def is_missing_finding(text: str) -> bool:
    """Whether the text of a finding stands for none."""
    return is_missing(text) and text.strip() not in _ALSO_FINDINGS


#: Zero-width space, word joiner, the mark at the start of a file, and the soft hyphen.
_INVISIBLE = frozenset("\u200b\u2060\ufeff\u00ad")
