"""The terms that the standard defines for coded strings (PS3.3), each with the attribute that has them."""

from __future__ import annotations

import csv
import functools
import re

from semblance import resources

_OF_ALL, _DIGITS = "*", "@digits"
#: Numbers of templates and of bits are no longer; those of patients are.
_MOST_DIGITS = 5


def is_defined(keyword: str, value: str) -> bool:
    """Whether every word of a coded string is a word of a term that the standard defines for the attribute."""
    terms = _terms()
    known = terms.get(keyword, frozenset())
    return all(
        word in known
        or word in terms[_OF_ALL]
        or (_DIGITS in known and word.isdigit() and len(word) <= _MOST_DIGITS)
        for word in re.split(r"[ \\]+", value.strip())
        if word
    )


@functools.cache
def _terms() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    with resources.path("deidentification/defined_terms.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            words = row["terms"].split()
            # "@Laterality": the terms of another attribute.
            same_as = words[0].removeprefix("@")
            found[row["keyword"]] = found.get(same_as) or frozenset(words)
    return found
