"""One short sign for each finding, so that none is told by its colour alone."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence


def finding_letters(findings: Sequence[str]) -> dict[str, str]:
    """A sign for each of ``findings``, all different: a letter of its name where one is free.

    Earlier findings choose first. When every letter and digit is taken, signs of two characters follow.
    """
    taken: set[str] = set()
    letters: dict[str, str] = {}
    for finding in findings:
        if finding not in letters:
            letters[finding] = next(sign for sign in _wishes(finding) if sign not in taken)
            taken.add(letters[finding])
    return letters


def _wishes(finding: str) -> Iterator[str]:
    own = [letter.upper()[0] for letter in finding if letter.isalnum()]
    starts = [word.upper()[0] for word in finding.split() if word[0].isalnum()]
    yield from starts
    yield from (letter for letter in own if letter.isalpha())
    yield from own
    yield from string.ascii_uppercase
    yield from string.digits[1:]
    yield from _pairs(own[:1] or ["X"])


def _pairs(first: Iterable[str]) -> Iterator[str]:
    for start in first:
        number = 2
        while True:
            yield f"{start}{number}"
            number += 1
