"""Commands as the palette lists them, and how a few letters find them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from semblance.core.language import tr

_WORD_START, _INSIDE, _SCATTERED, _CATEGORY, _OTHER = 4000, 3000, 2000, 1000, 500
#: Words between words: they find what has them, and keep nothing else out.
_SMALL = frozenset(tr("a an and as for in into of on or the this to with").split())


@dataclass(frozen=True)
class CommandEntry:
    """A command: its text, the category behind it, the shortcut at its right, and what it does.

    ``icon`` names an icon or is empty; a command that is not ``enabled`` is listed but cannot be run.
    ``words`` find it too.
    """

    text: str
    category: str
    run: Callable[[], object]
    shortcut: str = ""
    icon: str = ""
    enabled: bool = True
    words: str = ""


@dataclass(frozen=True)
class Match:
    """An entry that was found, and the positions of the letters of its text that found it."""

    entry: CommandEntry
    letters: frozenset[int] = frozenset()


def matches(entries: Sequence[CommandEntry], wanted: str) -> list[Match]:
    """The entries that have every word of ``wanted``, in any order and but for small ones, best first.

    A word at the start of a word is best, then one inside a word, then letters in their order with
    others between, then the category, then the other words. Entries that cannot be run come last; equals
    keep their order.
    """
    words = wanted.casefold().split()
    needed = [word for word in words if word not in _SMALL] or words
    found: list[tuple[tuple[bool, int], Match]] = []
    for entry in entries:
        score, letters = 0, set[int]()
        for word in words:
            worth, at = _find(entry, word)
            if word not in needed and worth <= _INSIDE:
                continue
            if not worth:
                break
            score += worth
            letters |= at
        else:
            found.append(((not entry.enabled, -score), Match(entry, frozenset(letters))))
    return [match for _, match in sorted(found, key=lambda pair: pair[0])]


def _find(entry: CommandEntry, word: str) -> tuple[int, set[int]]:
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
    scattered = _scattered(text, word)
    if scattered:
        return _SCATTERED - scattered[-1] + scattered[0] - len(text), set(scattered)
    if entry.category.casefold().startswith(word):
        return _CATEGORY, set()
    if _word_start(entry.words.casefold(), word) >= 0:
        return _OTHER, set()
    return 0, set()


@lru_cache(maxsize=2048)
def _starts(text: str) -> tuple[int, ...]:
    """Where words start in ``text``, in order; the same texts are looked through at every letter typed."""
    within = [letter.isalnum() for letter in text]
    return tuple(at for at, inside in enumerate(within) if inside and (at == 0 or not within[at - 1]))


def _word_start(text: str, word: str) -> int:
    return next((at for at in _starts(text) if text.startswith(word, at)), -1)


def _scattered(text: str, word: str) -> list[int]:
    """Where the letters of ``word`` stand in order, at starts of words where possible; empty if nowhere."""
    starts = _starts(text)
    if not starts or len(word) < 2:
        return []

    def place(letter: int, after: int) -> list[int] | None:
        if letter == len(word):
            return []
        options = [at for at in range(after, len(text)) if text[at] == word[letter]]
        # Only the start of a word or the very next letter: anything looser finds everything.
        for at in options:
            if at in starts or (letter and at == after):
                rest = place(letter + 1, at + 1)
                if rest is not None:
                    return [at, *rest]
        return None

    return place(0, 0) or []
