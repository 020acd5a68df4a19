"""A letter for each finding, so that no finding is shown by its colour alone."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence


def finding_letters(findings: Sequence[str]) -> dict[str, str]:
    """A letter for each of ``findings``, all different: a letter of its name where one is free.

    Earlier findings choose first. When every letter and digit is used, two characters follow.
    """
    used: set[str] = set()
    letters: dict[str, str] = {}
    for finding in findings:
        if finding not in letters:
            letters[finding] = next(letter for letter in _candidates(finding) if letter not in used)
            used.add(letters[finding])
    return letters


def _candidates(finding: str) -> Iterator[str]:
    characters = [letter.upper()[0] for letter in finding if letter.isalnum()]
    initials = [word.upper()[0] for word in finding.split() if word[0].isalnum()]
    yield from initials
    yield from (letter for letter in characters if letter.isalpha())
    yield from characters
    yield from string.ascii_uppercase
    yield from string.digits[1:]
    yield from _pairs(characters[:1] or ["X"])


def _pairs(first: Iterable[str]) -> Iterator[str]:
    for start in first:
        number = 2
        while True:
            yield f"{start}{number}"
            number += 1
