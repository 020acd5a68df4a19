"""What a person types to find texts: beginnings of words, and "words in quotes", which follow each other."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Letters of scripts that write no spaces between words (Thai, Lao, Burmese, Khmer, Chinese, Japanese), and of Korean.
#: A text in them is found anywhere in another. The function ``words_of`` of the server has the same.
UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
_TERM = re.compile(r'"([^"]*)(?:"|$)|([^\s"]+)')
_ACCENTS = re.compile("[\u0300-\u036f]")


@dataclass(frozen=True)
class TextTerm:
    """``words`` (lower case, without accents) that follow each other; ``is_prefix``: the last may go on."""

    words: tuple[str, ...]
    is_prefix: bool


def text_terms(text: str) -> tuple[TextTerm, ...]:
    """The terms of ``text``, all of which a case must have; none where it holds no letter and no digit.

    Letter case and accents do not matter. Punctuation separates words that follow each other, so that nothing typed is
    an operator of a database.
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
    """The words of ``text`` in lower case and without accents, with one space between; a letter of :data:`UNSPACED` is
    a word."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
    spaced = re.sub(UNSPACED, r" \g<0> ", unicodedata.normalize("NFC", plain.lower()))
    return re.sub(r"[\W_]+", " ", spaced).strip()
