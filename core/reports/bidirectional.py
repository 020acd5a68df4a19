"""Lines of Arabic and Hebrew in the order and the letter forms in which they are drawn from left to right."""

from __future__ import annotations

import unicodedata

from semblance.core.language import LEFT_TO_RIGHT_MARK, has_right_to_left

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_STRONG = _RIGHT_TO_LEFT | {"L"}
_NUMBERS = frozenset({"EN", "AN"})
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


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
