"""Texts in the user's language: English in the sources, translations in tables beside the help pages.

``core`` says what happened in English, ``tr_lazy("{n} cases", n=3)``: a plain text that remembers its form and
what was filled in. So files, scripts and the command line get English whoever asks, and a text can go to
another process and be said in the user's language where a person sees it, by :func:`translate`. What is made
only to be seen is said at once, ``tr("{n} cases", n=3)``. Names that learners, extractors and the like give
themselves are plain texts, ``translate(as_lazy(title))``.

The language is chosen before the other modules of the program are imported, by :func:`set_language` or the
environment variable :data:`LANGUAGE_VARIABLE`, which worker processes inherit. What has no translation stays English.
"""

from __future__ import annotations

import json
import os
import re
import string
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

LANGUAGE_VARIABLE = "SEMBLANCE_LANGUAGE"
ENGLISH = "en"
#: Code -> what the language calls itself.
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}
#: Code -> how the marks of thousands and decimals of English numbers are written.
_MARKS = {"de": str.maketrans(",.", ".,")}


def translations_folder() -> Path:
    """Where the tables lie: ``LANGUAGE/PART.json``, each a mapping of English to translated texts."""
    from semblance import resources

    return Path(resources.__file__).parent / "translations"


def current_language() -> str:
    """The code of the language in force."""
    code = os.environ.get(LANGUAGE_VARIABLE, ENGLISH)
    return code if code in LANGUAGES else ENGLISH


def set_language(code: str) -> None:
    """Use another language from now on, here and in processes started later; unknown ones mean English."""
    os.environ[LANGUAGE_VARIABLE] = code if code in LANGUAGES else ENGLISH
    table.cache_clear()
    _forms.cache_clear()
    _recognised.cache_clear()


@lru_cache(maxsize=1)
def table() -> Mapping[str, str]:
    """English -> translation of the language in force; empty for English."""
    if current_language() == ENGLISH:
        return {}
    texts: dict[str, str] = {}
    for file in sorted((translations_folder() / current_language()).glob("*.json")):
        texts.update(json.loads(file.read_text(encoding="utf-8")))
    return texts


class LazyText(str):
    """An English text that knows its form and what was filled in, to be said in another language."""

    msgid: str
    values: Mapping[str, Any]

    def __new__(cls, form: str, values: Mapping[str, Any]) -> LazyText:
        said = super().__new__(cls, form.format(**values) if values else form)
        said.msgid, said.values = form, values
        return said

    def __reduce__(self) -> tuple[Callable[..., LazyText], tuple[str, Mapping[str, Any]]]:
        return LazyText, (self.msgid, self.values)


def tr_lazy(text: str, /, **values: object) -> str:
    """``text`` in English, ``{name}`` and ``{name:,}`` in it filled in; :func:`translate` says it otherwise.

    The text has to stand in the call as it is, not as a variable or an f-string: that is where the tests look
    for what is to be translated.
    """
    return LazyText(text, {name: _plain(value) for name, value in values.items()})


def tr_lazy_n(one: str, many: str, n: int, /, **values: object) -> str:
    """``one`` for ``n`` = 1, else ``many``; ``{n}`` is filled in with thousands apart."""
    return tr_lazy(one if n == 1 else many, n=tr_lazy("{n:,}", n=n), **values)


def join_texts(texts: Iterable[str], between: str = ", ") -> str:
    """Several texts in a row, each said by itself."""
    places = {f"_{place}": text for place, text in enumerate(texts)}
    return LazyText(
        between.replace("{", "{{").replace("}", "}}").join(f"{{{name}}}" for name in places), places
    )


def as_lazy(text: str) -> str:
    """A text of ours that was made elsewhere: a name out of a registry, or a note that was kept in a file and
    has forgotten what was filled in. Where it is shown it is looked up as it is, then by its form."""
    return text if isinstance(text, LazyText) else LazyText(text, {})


def translate(text: str) -> str:
    """``text`` of :func:`tr_lazy` or :func:`as_lazy` in the language in force, its numbers too. Any other text, as
    the name of a finding is, and what has no translation stay as they are."""
    if current_language() == ENGLISH or not isinstance(text, LazyText):
        return str(text)
    return _filled(table().get(text.msgid, text.msgid), text.values) if text.values else _looked_up(text)


def tr_name(text: str) -> str:
    """A name out of a registry, or a kept text of ours, in the language in force."""
    return translate(as_lazy(text))


def tr(text: str, /, **values: object) -> str:
    """``text`` in the language in force, its places filled in from ``values``; it stands in the call as for
    :func:`tr_lazy`."""
    found = table().get(text, text)
    return _filled(found, values) if values else found


def tr_n(one: str, many: str, n: int, /, **values: object) -> str:
    """``one`` for ``n`` = 1, else ``many``; ``{n}`` is filled in with thousands apart."""
    return tr(one if n == 1 else many, n=format_number(n, ","), **values)


def format_number(value: float, form: str = "") -> str:
    """A number by the format ``form`` as the language in force writes it; never for CSV, JSON or commands."""
    return localise_number(format(value, form))


def count_label(n: int, name: str) -> str:
    """``7 malignant``; ``7 × 2`` where what is counted is called by a number."""
    return f"{n} × {name}" if name[:1].isdigit() else f"{n} {name}"


def localise_number(text: str) -> str:
    """An English text that holds nothing but numbers, with the marks of the language in force."""
    marks = _MARKS.get(current_language())
    return text.translate(marks) if marks else text


def to_english_number(text: str) -> str:
    """A number as it is typed in the language in force, with the marks of English; both ways are understood
    where only one can be meant."""
    if current_language() not in _MARKS or "," not in text:
        return text
    if text.count(",") > 1 or text.rfind(".") > text.rfind(","):
        # Thousands: decimals are set apart by one mark, the last.
        return text.replace(",", "")
    return text.replace(".", "").replace(",", ".")


class _Filler(string.Formatter):
    """Fills in numbers as the language writes them, and texts of ``core`` in that language."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, float | int) and not isinstance(value, bool):
            return format_number(value, format_spec)
        if isinstance(value, LazyText):
            value = translate(value)
        return str(super().format_field(value, format_spec))


def _filled(text: str, values: Mapping[str, Any]) -> str:
    return _Filler().vformat(text, (), values)


def _plain(value: object) -> object:
    """What can be filled in later, in another process: texts and numbers."""
    if isinstance(value, str | int | float):
        return value
    return value.item() if hasattr(value, "item") else str(value)


def _looked_up(text: str) -> str:
    found = table().get(text)
    return found if found is not None else _recognised(str(text))


@lru_cache(maxsize=4096)
def _recognised(text: str) -> str:
    """A text with its places filled in, found by the form that has most letters of it."""
    for form, pieces in _forms():
        if all(piece in text for piece in pieces):
            match = _pattern(form).fullmatch(text)
            # Few words stand in many texts: then what was filled in has to be a number or a text of ours.
            if match and (sum(map(len, pieces)) >= _FEW_LETTERS or all(map(_is_ours, match.groups()))):
                values = {name: _number_or_text(value) for name, value in match.groupdict().items()}
                return string.Formatter().vformat(_FIELD.sub(r"{\1}", table()[form]), (), values)
    return text


_FIELD = re.compile(r"\{(\w+)[^{}]*\}")
_NUMBER = re.compile(r"[-+−]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?%?")


def _is_ours(value: str) -> bool:
    return bool(_NUMBER.fullmatch(value)) or value in table()


def _number_or_text(value: str) -> str:
    return localise_number(value) if _NUMBER.fullmatch(value) else table().get(value, value)


@lru_cache(maxsize=1)
def _forms() -> list[tuple[str, list[str]]]:
    """(form, its pieces between places), those with most letters first."""
    found = []
    for form in table():
        parts = list(string.Formatter().parse(form)) if "{" in form else []
        pieces = [piece for piece, *_ in parts if piece]
        places = [name for _, name, *_ in parts if name is not None]
        if any(map(str.isidentifier, places)) and sum(map(len, pieces)) >= _LEAST_LETTERS:
            found.append((form, pieces))
    return sorted(found, key=lambda one: -sum(map(len, one[1])))


@lru_cache(maxsize=256)
def _pattern(form: str) -> re.Pattern[str]:
    """What ``form`` looks like filled in; compiled where a text may be of it: all would take 0.1 s."""
    seen: set[str] = set()
    pattern = ""
    for piece, name, *_ in string.Formatter().parse(form):
        pattern += re.escape(piece)
        if name:
            pattern += f"(?P={name})" if name in seen else f"(?P<{name}>.*?)"
            seen.add(name)
    return re.compile(pattern, re.DOTALL)


#: A form with fewer letters would be found in texts that were never made from it.
_LEAST_LETTERS, _FEW_LETTERS = 5, 9


# The names of before, until every part uses the new ones.
say, say_n, say_all, shown, known, named, Said = (
    tr_lazy,
    tr_lazy_n,
    join_texts,
    translate,
    as_lazy,
    tr_name,
    LazyText,
)
figure, in_marks, in_english, counted = format_number, localise_number, to_english_number, count_label
