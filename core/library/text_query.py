"""What a person types to find texts: beginnings of words, and "words in quotes", which follow each other."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.json_document import JsonDocument, JsonKeys

#: Letters of scripts that write no spaces between words (Thai, Lao, Burmese, Khmer, Chinese, Japanese), and of Korean.
#: A text in them is found anywhere in another. The function ``words_of`` of the server has the same.
UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
_TERM = re.compile(r'"([^"]*)(?:"|$)|([^\s"]+)')
#: Of Latin letters alone: elsewhere, as in Cyrillic, they make another letter, and the index of SQLite keeps them.
_ACCENTS = re.compile("(?<=[A-Za-z])[\u0300-\u036f]+")


@dataclass(frozen=True)
class TextTerm:
    """``words`` (as :func:`folded` gives them) that follow each other; ``is_prefix``: the last may go on."""

    words: tuple[str, ...]
    is_prefix: bool


def text_terms(text: str) -> tuple[TextTerm, ...]:
    """The terms of ``text``, all of which a case must have; none where it holds no letter and no digit.

    Letter case and accents of Latin letters do not matter. Punctuation separates words that follow each other, so that
    nothing typed is an operator of a database.
    """
    found = []
    for quoted, plain in _TERM.findall(
        unicodedata.normalize("NFC", text).replace("\u201c", '"').replace("\u201d", '"')
    ):
        words = tuple(folded(quoted or plain).split())
        if words:
            found.append(TextTerm(words, not quoted))
    return tuple(dict.fromkeys(found))


def folded(text: str) -> str:
    """The words of ``text`` in lower case and without accents of Latin letters, with one space between; a letter of
    :data:`UNSPACED` is a word."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
    spaced = re.sub(UNSPACED, r" \g<0> ", unicodedata.normalize("NFC", plain.lower().replace("ς", "σ")))
    return re.sub(r"[\W_]+", " ", spaced).strip()


def ranked_texts(
    rows: npt.NDArray[np.int64], scores: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """``rows`` (m,) by their ``scores`` (m,), the lowest first, and their ranks from 1; equal scores have one rank."""
    order = np.lexsort((rows, scores))
    ordered = scores[order]
    first = np.ones(len(ordered), dtype=np.bool_)
    # The last digits depend on the order in which a database adds.
    first[1:] = np.diff(ordered) > 1e-9 * np.maximum(1e-12, np.abs(ordered[1:]))
    starts = np.flatnonzero(first)
    ranks = starts[np.cumsum(first) - 1] + 1 if len(order) else np.empty(0, dtype=np.int64)
    return rows[order], ranks


#: Letters of a text before and after what was found in it.
_AROUND = 40


@dataclass(frozen=True)
class TextHit(JsonDocument):
    """Where words were found: in ``name`` (finding, notes, collection, or a text of the header), the text around them,
    and from where to where in it the first of them stands."""

    #: The part ``text_hit`` of ``semblance search --json``.
    JSON_KEYS: ClassVar[JsonKeys] = ("name", "text", "start", "stop")

    name: str
    text: str
    start: int
    stop: int


def text_hit(texts: Sequence[tuple[str, str]], terms: Sequence[TextTerm]) -> TextHit | None:
    """The first of ``texts`` (name, text) that has one of ``terms``, cut to what is around it."""
    for name, text in texts:
        # The cut marks its place with this character.
        plain = unicodedata.normalize("NFC", text).replace("\0", " ")
        words = [(found.span(), folded(found[0])) for found in _WORD.finditer(plain)]
        for term in terms:
            for at in range(len(words) - len(term.words) + 1):
                if _stands_at([word for _, word in words[at : at + len(term.words)]], term):
                    start, stop = words[at][0][0], words[at + len(term.words) - 1][0][1]
                    return _cut(name, plain, start, stop)
    return None


_WORD = re.compile(rf"{UNSPACED}|(?:(?!{UNSPACED})[^\W_])(?:(?!{UNSPACED})[^\W_]|[\u0300-\u036f])*")


def _stands_at(words: Sequence[str], term: TextTerm) -> bool:
    if tuple(words[:-1]) != term.words[:-1]:
        return False
    return words[-1].startswith(term.words[-1]) if term.is_prefix else words[-1] == term.words[-1]


def _cut(name: str, text: str, start: int, stop: int) -> TextHit:
    left, right = max(0, start - _AROUND), min(len(text), stop + _AROUND)
    before = ("…" if left else "") + text[left:start].lstrip() if left else text[:start]
    after = text[stop:right].rstrip() + "…" if right < len(text) else text[stop:]
    shown = " ".join((before + "\0" + text[start:stop] + "\0" + after).split())
    first, found, rest = shown.split("\0")
    return TextHit(name, first + found + rest, len(first), len(first) + len(found))
