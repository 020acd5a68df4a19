"""Texts and numbers in the user's language: English in the sources, translations in gettext catalogues.

A text that is only shown is translated at once: ``tr("{n} cases", n=3)``. ``core`` passes on a :class:`LazyText`,
``tr_lazy("{n} cases", n=3)``: an English text that remembers its message id and values. Files, scripts and the
command line thus get English, and another process can translate the text by :func:`translate` for display. ``tr_n``
and ``tr_lazy_n`` choose between singular and plural. Names of learners, extractors and other registered classes are
plain texts, translated by :func:`tr_name`.

The language is chosen before the other modules of the program are imported, by :func:`set_language` or the
environment variable :data:`LANGUAGE_VARIABLE`, which worker processes inherit. A text without a translation stays
English.
"""

from __future__ import annotations

import gettext
import os
import re
import string
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

LANGUAGE_VARIABLE = "SEMBLANCE_LANGUAGE"
ENGLISH = "en"
#: Code -> name of the language in that language.
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}
#: The catalogues are ``LANGUAGE/LC_MESSAGES/semblance.mo`` in :func:`translations_folder`.
DOMAIN = "semblance"
#: The formats of numbers that a message from a file may use.
_SPEC = re.compile(r"[#,]{0,2}(\.\d)?[defg%]?")
#: Control characters, and marks that turn the direction of writing.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_HAS_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
#: An invisible letter from left to right: it keeps a number beside a name in the order of the sentence.
LEFT_TO_RIGHT_MARK = "\u200e"
#: Code -> thousands separator and decimal point.
_SEPARATORS = {"de": str.maketrans(",.", ".,")}


def translations_folder() -> Path:
    """Where the catalogues are."""
    from semblance import resources

    return Path(resources.__file__).parent / "translations"


def current_language() -> str:
    """The code of the language in use."""
    code = os.environ.get(LANGUAGE_VARIABLE, ENGLISH)
    return code if code in LANGUAGES else ENGLISH


def set_language(code: str) -> None:
    """Use another language from now on, here and in processes started later; unknown ones mean English."""
    os.environ[LANGUAGE_VARIABLE] = code if code in LANGUAGES else ENGLISH


@lru_cache
def _catalogue(language: str, folder: Path) -> gettext.NullTranslations:
    """The translations into one language; none where it is English or its catalogue is not compiled."""
    if language == ENGLISH:
        return gettext.NullTranslations()
    return gettext.translation(DOMAIN, folder, [language], fallback=True)


def _lookup(msgid: str, plural: str = "", n: int = 1) -> str:
    """The translation of a text, its places not filled in; English where there is none."""
    language = current_language()
    if language == ENGLISH or not msgid:
        # The empty id is that of the catalogue's own header.
        return plural if plural and n != 1 else msgid
    catalogue = _catalogue(language, translations_folder())
    return catalogue.ngettext(msgid, plural, n) if plural else catalogue.gettext(msgid)


class _English(string.Formatter):
    """Fills in English texts, with a space before % (ISO 80000-1)."""

    def format_field(self, value: Any, format_spec: str) -> str:
        filled = str(super().format_field(value, format_spec))
        return filled.replace("%", " %") if format_spec.endswith("%") else filled


class LazyText(str):
    """An English text that remembers its message id and values, so that it can be translated later.

    ``plural`` is the message id for several, empty where there is no such form; ``n`` is the number that
    chooses between the two.
    """

    msgid: str
    values: Mapping[str, Any]
    plural: str
    n: int

    def __new__(cls, msgid: str, values: Mapping[str, Any], plural: str = "", n: int = 1) -> LazyText:
        """The English text of ``msgid`` with ``values``, or of ``plural`` where ``n`` is not 1."""
        english = plural if plural and n != 1 else msgid
        text = super().__new__(cls, _English().vformat(english, (), values) if values else english)
        text.msgid, text.values, text.plural, text.n = msgid, values, plural, n
        return text

    def __reduce__(self) -> tuple[Callable[..., LazyText], tuple[str, Mapping[str, Any], str, int]]:
        return LazyText, (self.msgid, self.values, self.plural, self.n)

    def to_json(self) -> dict[str, Any]:
        """The message as JSON values; the inverse of :meth:`from_json`."""
        values = {
            name: value.to_json() if isinstance(value, LazyText) else value
            for name, value in self.values.items()
        }
        return {"msgid": self.msgid, "values": values, "plural": self.plural, "n": self.n}

    @classmethod
    def from_json(cls, stored: Any) -> LazyText:
        """The message that :meth:`to_json` wrote.

        Raises:
            TypeError, ValueError: ``stored`` is something else. A file can only fill in texts and numbers.
        """
        texts = stored["msgid"], stored["plural"]
        values = {
            name: cls.from_json(value) if isinstance(value, dict) else value
            for name, value in stored["values"].items()
        }
        plain = isinstance(stored["n"], int) and all(isinstance(text, str) for text in texts)
        if not plain or not all(isinstance(value, str | int | float) for value in values.values()):
            raise TypeError("not a message")
        for text in texts if values else ():
            for _, field, spec, conversion in string.Formatter().parse(text):
                if conversion or (
                    field is not None and not (field.isidentifier() and _SPEC.fullmatch(spec or ""))
                ):
                    raise ValueError("a message with other places than ours")
        return cls(texts[0], values, texts[1], stored["n"])

    def with_values(self, values: Mapping[str, Any]) -> LazyText:
        """The same text with other values filled in."""
        return LazyText(self.msgid, values, self.plural, self.n)


def stored_messages(texts: Iterable[str]) -> dict[str, Any]:
    """English text -> its message as JSON values, for those of ``texts`` that a file would not keep otherwise."""
    return {str(text): text.to_json() for text in texts if isinstance(text, LazyText) and text.values}


def restored_text(text: str, messages: Any) -> str:
    """``text`` from a file as a message again, by what :func:`stored_messages` put beside it.

    A text that has no message is translated only as a whole.
    """
    try:
        found = LazyText.from_json(messages[text])
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return as_lazy(text)
    return found if found == text else as_lazy(text)


def tr_lazy(text: str, /, **values: object) -> str:
    """``text`` in English, ``{name}`` and ``{name:,}`` in it filled in; :func:`translate` translates it.

    The text must be a literal in the call and not a variable or an f-string, so that ``make translations`` finds it.
    """
    return LazyText(text, {name: _as_plain_value(value) for name, value in values.items()})


def tr_lazy_n(one: str, many: str, n: int, /, **values: object) -> str:
    """``one`` for ``n`` = 1, else ``many``; ``{n}`` is filled in with thousands separated."""
    values_and_n = {"n": tr_lazy("{n:,}", n=n)} | {
        name: _as_plain_value(value) for name, value in values.items()
    }
    return LazyText(one, values_and_n, many, n)


def join_texts(texts: Iterable[str], separator: str = ", ") -> str:
    """Several texts in a row; each is translated by itself."""
    places = {f"_{place}": text for place, text in enumerate(texts)}
    return LazyText(
        separator.replace("{", "{{").replace("}", "}}").join(f"{{{name}}}" for name in places), places
    )


def as_lazy(text: str) -> str:
    """A text of the program from elsewhere, such as a name from a registry or a note in a file, to be translated as a
    whole."""
    return text if isinstance(text, LazyText) else LazyText(text, {})


class _Display:
    """How texts of ``core`` are shown in this process."""

    adapt: Callable[[str], str] | None = None


def set_display(adapt: Callable[[str], str] | None) -> None:
    """Show every text by ``adapt``, which gets it with its places not filled in; ``None``: as it is."""
    _Display.adapt = adapt


def translate(text: str) -> str:
    """A text of :func:`tr_lazy` or :func:`as_lazy` in the language in use, its numbers too.

    Any other text, such as the name of a finding, and what has no translation stay as they are.
    """
    if not isinstance(text, LazyText) or (current_language() == ENGLISH and _Display.adapt is None):
        return str(text)
    found = _lookup(text.msgid, text.plural, text.n)
    if _Display.adapt is not None:
        found = _Display.adapt(found)
    return _fill(found, text.values) if text.values else found


def tr_name(text: str) -> str:
    """A name from a registry, or a note from a file, in the language in use."""
    return translate(as_lazy(text))


def tr(text: str, /, **values: object) -> str:
    """``text`` in the language in use, filled in from ``values``; it must be a literal as for :func:`tr_lazy`."""
    found = _lookup(text)
    return _fill(found, values) if values else found


def tr_n(one: str, many: str, n: int, /, **values: object) -> str:
    """``one`` for ``n`` = 1, else ``many``; ``{n}`` is filled in with thousands separated."""
    return _fill(_lookup(one, many, n), {"n": format_number(n, ","), **values})


def format_number(value: float, format_spec: str = "") -> str:
    """A number in the format of the language in use, with a space before % (ISO 80000-1); never for CSV, JSON or
    commands."""
    return localise_number(format(value, format_spec).replace("%", " %"))


def has_right_to_left(text: str) -> bool:
    """Whether any character of ``text`` is written from right to left."""
    return _HAS_RIGHT_TO_LEFT.search(text) is not None


def isolated(name: str) -> str:
    """``name`` inside a sentence, whose numbers and signs go on from left to right after it."""
    if not has_right_to_left(name):
        return name
    return LazyText(f"{LEFT_TO_RIGHT_MARK}{{name}}{LEFT_TO_RIGHT_MARK}", {"name": _as_plain_value(name)})


def count_label(n: int, name: str) -> str:
    """``7 malignant``; ``7 × 2`` where what is counted is called by a number."""
    return isolated(f"{format_number(n, ',')} {'× ' if name[:1].isdigit() else ''}{name}")


def localise_number(text: str) -> str:
    """An English text of nothing but numbers, with the separators of the language in use."""
    separators = _SEPARATORS.get(current_language())
    return text.translate(separators) if separators else text


def to_english_number(text: str) -> str:
    """A number typed in the language in use, with English separators.

    A number in English format is accepted too if it is not ambiguous.
    """
    if current_language() not in _SEPARATORS or "," not in text:
        return text
    if text.count(",") > 1 or text.rfind(".") > text.rfind(","):
        # Only thousands are separated more than once, and the decimal separator comes last.
        return text.replace(",", "")
    return text.replace(".", "").replace(",", ".")


class _Filler(string.Formatter):
    """Fills in numbers in the format of the language, and texts of ``core`` in that language."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, float | int) and not isinstance(value, bool):
            return format_number(value, format_spec)
        if isinstance(value, LazyText):
            value = translate(value)
        elif isinstance(value, str):
            # A text may have lines of its own here, a name from outside shows its other hidden characters.
            value = visible_lines(value)
        return str(super().format_field(value, format_spec))


def _fill(text: str, values: Mapping[str, Any]) -> str:
    return _Filler().vformat(text, (), values)


def visible(text: str) -> str:
    """A name from outside with its control characters and marks of writing direction as ``\\n`` and ``\\u202e``: they
    would break a line, or show a name as another one."""
    return _HIDDEN.sub(lambda found: ascii(found.group())[1:-1], text)


def visible_lines(text: str) -> str:
    """A text of several lines with its other hidden characters as :func:`visible` shows them."""
    return "\n".join(map(visible, text.split("\n")))


def _as_plain_value(value: object) -> object:
    """A value that another process can fill in later: a text or a number. Hidden characters of names are shown."""
    if isinstance(value, str) and not isinstance(value, LazyText):
        return visible(value)
    if isinstance(value, str | int | float):
        return value
    return value.item() if hasattr(value, "item") else str(value)
