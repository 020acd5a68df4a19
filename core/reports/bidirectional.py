"""Lines of Arabic and Hebrew in the order and the letter forms in which they are drawn from left to right."""

from __future__ import annotations

import re
import unicodedata

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_STRONG = _RIGHT_TO_LEFT | {"L"}
_NUMBERS = frozenset({"EN", "AN"})
_HAS_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
#: An invisible letter from left to right: it keeps a number beside a name in the order of the sentence.
LEFT_TO_RIGHT_MARK = "\u200e"
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def has_right_to_left(text: str) -> bool:
    """Whether any character of ``text`` is written from right to left."""
    return _HAS_RIGHT_TO_LEFT.search(text) is not None


def isolated(label: str) -> str:
    """``label``, after which numbers and signs go on from left to right."""
    return f"{LEFT_TO_RIGHT_MARK}{label}{LEFT_TO_RIGHT_MARK}" if has_right_to_left(label) else label


def visual_order(line: str) -> str:
    """``line`` as it is drawn from left to right: joined Arabic letters, then the order of the Unicode Bidirectional
    Algorithm (UAX 9) without explicit embeddings. Lines without such letters stay as they are."""
    if not has_right_to_left(line):
        return line
    from arabic_reshaper import reshape

    line = reshape(line)
    kinds = [unicodedata.bidirectional(one) for one in line]
    levels = _levels(kinds)
    order = list(range(len(line)))
    for level in range(max(levels, default=0), 0, -1):
        # Rule L2: from the highest level on, reverse every run of at least this level.
        shown, start = [levels[place] for place in order], 0
        while start < len(order):
            end = start
            while end < len(order) and shown[end] >= level:
                end += 1
            order[start:end] = order[start:end][::-1]
            start = max(end, start + 1)
    drawn = (line[place].translate(_MIRRORED) if levels[place] % 2 else line[place] for place in order)
    return "".join(drawn).replace(LEFT_TO_RIGHT_MARK, "")


def _levels(kinds: list[str]) -> list[int]:
    """The embedding level of every character of a line, given their bidirectional classes."""
    base = int(next((kind for kind in kinds if kind in _STRONG), "L") in _RIGHT_TO_LEFT)
    # "L", "R", "number" (right to left for its neighbours) or "" (a space or sign) for every character.
    directions: list[str] = []
    right = bool(base)
    for place, kind in enumerate(kinds):
        if kind in _STRONG:
            right = kind in _RIGHT_TO_LEFT
            directions.append("R" if right else "L")
        elif kind in _NUMBERS or _joins_numbers(kinds, place):
            directions.append("number" if right else "L")
        else:
            directions.append(directions[-1] if kind == "NSM" and directions else "")
    for place, direction in enumerate(directions):
        if not direction:
            # Rules N1 and N2: between two parts of one direction it has theirs, else that of the line.
            after = next((one for one in directions[place:] if one), "")
            before = directions[place - 1] if place else ""
            sides = {"L" if one == "L" or not (one or base) else "R" for one in (before, after)}
            directions[place] = sides.pop() if len(sides) == 1 else "LR"[base]
    levels = {"L": 2 * base, "R": 1, "number": 2}
    return [levels[one] for one in directions]


def _joins_numbers(kinds: list[str], place: int) -> bool:
    """Whether a separator stands between two digits: the point of 12.5."""
    return kinds[place] in ("CS", "ES") and kinds[max(place - 1, 0) : place + 2 : 2] == ["EN", "EN"]
