"""The commands in the palette, and the search for them by a few letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from semblance.core.language import tr

_WORD_START, _INSIDE, _INITIALS, _CATEGORY, _SYNONYM = 4000, 3000, 2000, 1000, 500
#: Words that a text need not contain to be found.
_SMALL_WORDS = frozenset(tr("a an and as for in into of on or the this to with").split())


@dataclass(frozen=True)
class CommandEntry:
    """A command in the palette.

    ``icon``: the name of an icon, or empty. A command that is not ``enabled`` is listed but cannot be run.
    ``synonyms``: other words that find it.
    """

    text: str
    category: str
    run: Callable[[], object]
    shortcut: str = ""
    icon: str = ""
    enabled: bool = True
    synonyms: str = ""


@dataclass(frozen=True)
class Match:
    """An entry that was found. ``letters``: positions of the matching letters in its text."""

    entry: CommandEntry
    letters: frozenset[int] = frozenset()


def matches(entries: Sequence[CommandEntry], query: str) -> list[Match]:
    """The entries that match every word of ``query`` except small words, best first.

    A match at the start of a word is best, then inside a word, then initials, then the category, then the
    synonyms. Disabled entries come last. Equal entries keep their order.
    """
    terms = query.casefold().split()
    required = [word for word in terms if word not in _SMALL_WORDS] or terms
    found: list[tuple[tuple[bool, int], Match]] = []
    for entry in entries:
        score, letters = 0, set[int]()
        for word in terms:
            gain, at = _match_term(entry, word)
            if word not in required and gain <= _INSIDE:
                continue
            if not gain:
                break
            score += gain
            letters |= at
        else:
            found.append(((not entry.enabled, -score), Match(entry, frozenset(letters))))
    return [match for _, match in sorted(found, key=lambda pair: pair[0])]


def _match_term(entry: CommandEntry, word: str) -> tuple[int, set[int]]:
    text = entry.text.casefold()
    if len(text) != len(entry.text):
        # Case folding that changes the length would highlight other letters than were found.
        text = entry.text.lower() if len(entry.text.lower()) == len(entry.text) else entry.text
    at = _word_start(text, word)
    if at >= 0:
        return _WORD_START - at, set(range(at, at + len(word)))
    at = text.find(word)
    if at >= 0:
        return _INSIDE - at, set(range(at, at + len(word)))
    initials = _find_initials(text, word)
    if initials:
        return _INITIALS - initials[-1] + initials[0] - len(text), set(initials)
    if entry.category.casefold().startswith(word):
        return _CATEGORY, set()
    if _word_start(entry.synonyms.casefold(), word) >= 0:
        return _SYNONYM, set()
    return 0, set()


@lru_cache(maxsize=2048)
def _word_starts(text: str) -> tuple[int, ...]:
    """Where words start in ``text``, ascending. Cached, because every typed letter searches the same texts."""
    is_alnum = [letter.isalnum() for letter in text]
    return tuple(at for at, inside in enumerate(is_alnum) if inside and (at == 0 or not is_alnum[at - 1]))


def _word_start(text: str, word: str) -> int:
    return next((at for at in _word_starts(text) if text.startswith(word, at)), -1)


def _find_initials(text: str, word: str) -> list[int]:
    """Positions of the letters of ``word`` in order, each at the start of a word or right behind the letter
    before; empty if there are none."""
    starts = _word_starts(text)
    if not starts or len(word) < 2:
        return []

    def place(letter: int, after: int) -> list[int] | None:
        if letter == len(word):
            return []
        options = [at for at in range(after, len(text)) if text[at] == word[letter]]
        # Looser rules would find nearly everything.
        for at in options:
            if at in starts or (letter and at == after):
                rest = place(letter + 1, at + 1)
                if rest is not None:
                    return [at, *rest]
        return None

    return place(0, 0) or []
