"""What made a distance, said in a sentence: close in this, far in that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.metrics.distance import Matrix

#: Nearer than so large a share of the library is close, farther than so large a share is far.
CLOSE, FAR = 0.25, 0.75
_MOST_CLOSE, _MOST_FAR = 3, 2
#: Of more visual words none is close or far by name: a word means nothing by itself.
_MANY_WORDS = 12
_WORD = re.compile(r"word (\d+)")
_STRIPES = re.compile(r"Gabor, (.+) px")
#: Groups of the extractors as one speaks of them; names of a table's columns stay as they are.
_SPOKEN = {
    "Size": "size",
    "Shape": "outline shape",
    "Radial length": "radial length",
    "Margin": "margin",
    "Contrast": "contrast",
    "Grey inside": "grey inside",
    "Grey around": "grey around",
    "Texture": "texture",
    "Breast": "the breast as a whole",
    "Colour": "colour",
    "Edge direction": "edge directions",
    "Local geometry": "local geometry",
    "Morphology": "morphology",
    "Intensity": "intensity",
    "Context": "context",
    "Position": "position",
    "First order": "grey levels",
    "Low attenuation": "low attenuation",
    "Co-occurrence": "co-occurrence texture",
    "Run length": "run lengths",
    "Grey-level difference": "grey-level differences",
}


def spoken(group: str) -> str:
    """A group of features within a sentence."""
    if match := _STRIPES.fullmatch(group):
        return f"stripes {match[1]} px wide"
    if match := re.fullmatch(r"Pixels, block row (\d+), column (\d+)", group):
        return f"the block at row {match[1]}, column {match[2]}"
    if match := _WORD.fullmatch(group):
        return f"visual word {match[1]}"
    return _SPOKEN.get(group, group)


def ranks_among(amounts: Matrix, usual: Matrix) -> Matrix:
    """(G,) the share of the pairs ``usual`` (n, G) in which a group contributes less; half of equal ones."""
    if not len(usual):
        return amounts * 0.0 + 0.5
    below = (usual < amounts).mean(axis=0)
    equal = (usual == amounts).mean(axis=0)
    ranks: Matrix = below + 0.5 * equal
    return ranks


def sentence(
    groups: Sequence[str], amounts: Sequence[float], ranks: Sequence[float], left_out: Sequence[str] = ()
) -> str:
    """``Close in outline shape and size, far in margin.``

    ``ranks`` as :func:`ranks_among` gives them: what is close and far is told by what is usual.
    Groups ``left_out`` of the ranking are not spoken of.
    """
    told = [place for place, group in enumerate(groups) if group not in left_out]
    if not told:
        return ""
    if all(amounts[place] == 0.0 for place in told):
        return "Nothing that is compared tells the two apart."
    near = sorted((place for place in told if ranks[place] <= CLOSE), key=lambda place: ranks[place])
    far = sorted((place for place in told if ranks[place] >= FAR), key=lambda place: -ranks[place])
    most = max(told, key=lambda place: amounts[place])
    if len(told) > _MANY_WORDS and all(_WORD.fullmatch(groups[place]) for place in told):
        counted = f"Close in {len(near)} of {len(told)} visual words, far in {len(far)}"
        return f"{counted}; most apart in {spoken(groups[most])}."
    close = _together([groups[place] for place in near[:_MOST_CLOSE]])
    if len(near) == len(told):
        close = "everything" if len(told) > 1 else close
        return f"Close in {close}" + (f"; most apart in {spoken(groups[most])}." if len(told) > 1 else ".")
    if far:
        distant = _together([groups[place] for place in far[:_MOST_FAR]])
        return f"Close in {close}, far in {distant}." if close else f"Far in {distant}."
    apart = spoken(
        groups[max((place for place in told if place not in near), key=lambda place: amounts[place])]
    )
    if close:
        return f"Close in {close}; in {apart} no nearer than usual."
    return f"As far apart as usual; most in {apart}."


def _together(groups: Sequence[str]) -> str:
    """Several groups in a sentence; the widths of stripes stand together."""
    widths = [match[1] for group in groups if (match := _STRIPES.fullmatch(group))]
    words = [spoken(group) for group in groups if not _STRIPES.fullmatch(group)]
    return joined([*words, f"stripes {joined(widths)} px wide"] if widths else words)


def joined(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
