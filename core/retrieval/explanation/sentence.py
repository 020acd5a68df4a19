"""What made a distance, said in a sentence: close in this, far in that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from semblance.core.language import say, say_all
from semblance.core.metrics.distance import Matrix

#: Nearer than so large a share of the library is close, farther than so large a share is far.
CLOSE, FAR = 0.25, 0.75
_MOST_CLOSE, _MOST_FAR = 3, 2
#: Of more visual words none is close or far by name: a word means nothing by itself.
_MANY_WORDS = 12
_WORD = re.compile(r"word (\d+)")
_STRIPES = re.compile(r"Gabor, (.+) px")
#: Groups of the extractors as one speaks of them; names of a table's columns stay as they are.
_SPOKEN = {
    "Size": say("size"),
    "Shape": say("outline shape"),
    "Radial length": say("radial length"),
    "Margin": say("margin"),
    "Contrast": say("contrast"),
    "Grey inside": say("grey inside"),
    "Grey around": say("grey around"),
    "Texture": say("texture"),
    "Breast": say("the breast as a whole"),
    "Colour": say("colour"),
    "Edge direction": say("edge directions"),
    "Local geometry": say("local geometry"),
    "Morphology": say("morphology"),
    "Intensity": say("intensity"),
    "Context": say("context"),
    "Position": say("position"),
    "First order": say("grey levels"),
    "Low attenuation": say("low attenuation"),
    "Co-occurrence": say("co-occurrence texture"),
    "Run length": say("run lengths"),
    "Grey-level difference": say("grey-level differences"),
}


def spoken(group: str) -> str:
    """A group of features within a sentence."""
    if match := _STRIPES.fullmatch(group):
        return say("stripes {width} px wide", width=_width(match[1]))
    if match := re.fullmatch(r"Pixels, block row (\d+), column (\d+)", group):
        return say("the block at row {row}, column {column}", row=match[1], column=match[2])
    if match := _WORD.fullmatch(group):
        return say("visual word {number}", number=match[1])
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
    shown_groups = [place for place, group in enumerate(groups) if group not in left_out]
    if not shown_groups:
        return ""
    if all(amounts[place] == 0.0 for place in shown_groups):
        return say("Nothing that is compared tells the two apart.")
    near = sorted((place for place in shown_groups if ranks[place] <= CLOSE), key=lambda place: ranks[place])
    far = sorted((place for place in shown_groups if ranks[place] >= FAR), key=lambda place: -ranks[place])
    most = max(shown_groups, key=lambda place: amounts[place])
    if len(shown_groups) > _MANY_WORDS and all(_WORD.fullmatch(groups[place]) for place in shown_groups):
        return say(
            "Close in {near} of {n} visual words, far in {far}; most apart in {most}.",
            near=len(near),
            n=len(shown_groups),
            far=len(far),
            most=spoken(groups[most]),
        )
    close = _together([groups[place] for place in near[:_MOST_CLOSE]])
    if len(near) == len(shown_groups):
        apart = spoken(groups[most])
        everything = say("Close in everything; most apart in {most}.", most=apart)
        return everything if len(shown_groups) > 1 else say("Close in {close}.", close=close)
    if far:
        distant = _together([groups[place] for place in far[:_MOST_FAR]])
        both = say("Close in {close}, far in {distant}.", close=close, distant=distant)
        return both if close else say("Far in {distant}.", distant=distant)
    apart = spoken(
        groups[max((place for place in shown_groups if place not in near), key=lambda place: amounts[place])]
    )
    if close:
        return say("Close in {close}; in {apart} no nearer than usual.", close=close, apart=apart)
    return say("As far apart as usual; most in {apart}.", apart=apart)


def _together(groups: Sequence[str]) -> str:
    """Several groups in a sentence; the widths of stripes stand together."""
    widths = [_width(match[1]) for group in groups if (match := _STRIPES.fullmatch(group))]
    words = [spoken(group) for group in groups if not _STRIPES.fullmatch(group)]
    return joined([*words, say("stripes {width} px wide", width=joined(widths))] if widths else words)


def joined(words: Sequence[str]) -> str:
    """``a, b and c``."""
    if len(words) < 2:
        return words[0] if words else ""
    return say("{first} and {last}", first=say_all(words[:-1]), last=words[-1])


def _width(text: str) -> str:
    """The width of stripes as a number that every language writes its own way."""
    return say("{width:g}", width=float(text))
