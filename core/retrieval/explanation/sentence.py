"""The explanation of a distance in one sentence: close in this, far in that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from semblance.core.language import join_texts, tr_lazy
from semblance.core.metrics.distance import Matrix

#: Nearer than this share of the library is close, farther than this share is far.
CLOSE, FAR = 0.25, 0.75
_MOST_CLOSE, _MOST_FAR = 3, 2
#: The largest share that is reported of a sample.
_ALMOST_ALL = 0.99
#: With more visual words none is named, because a single word has no meaning.
_MANY_WORDS = 12
_WORD = re.compile(r"word (\d+)")
_STRIPES = re.compile(r"Gabor, (.+) px")
#: Names of the extractors' groups within a sentence; names of a table's columns stay as they are.
_SPOKEN = {
    "Size": tr_lazy("size"),
    "Shape": tr_lazy("outline shape"),
    "Radial length": tr_lazy("radial length"),
    "Margin": tr_lazy("margin"),
    "Contrast": tr_lazy("contrast"),
    "Grey inside": tr_lazy("grey inside"),
    "Grey around": tr_lazy("grey around"),
    "Texture": tr_lazy("texture"),
    "Breast": tr_lazy("the breast as a whole"),
    "Encoder": tr_lazy("general appearance"),
    "Colour": tr_lazy("colour"),
    "Edge direction": tr_lazy("edge directions"),
    "Local geometry": tr_lazy("local geometry"),
    "Morphology": tr_lazy("morphology"),
    "Intensity": tr_lazy("intensity"),
    "Context": tr_lazy("context"),
    "Position": tr_lazy("position"),
    "First order": tr_lazy("grey levels"),
    "Low attenuation": tr_lazy("low attenuation"),
    "Co-occurrence": tr_lazy("co-occurrence texture"),
    "Run length": tr_lazy("run lengths"),
    "Grey-level difference": tr_lazy("grey-level differences"),
}


def spoken(group: str) -> str:
    """A group of features within a sentence."""
    if match := _STRIPES.fullmatch(group):
        return tr_lazy("stripes {width} px wide", width=_width(match[1]))
    if match := re.fullmatch(r"Pixels, block row (\d+), column (\d+)", group):
        return tr_lazy("the block at row {row}, column {column}", row=match[1], column=match[2])
    if match := _WORD.fullmatch(group):
        return tr_lazy("visual word {number}", number=match[1])
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

    A single group, as of an encoder, is compared with the library instead of other groups: ``Nearer to the query in
    general appearance than 97 % of the library's cases.``

    ``ranks``: from :func:`ranks_among`, because close and far depend on the usual contribution. Groups ``left_out``
    of the ranking are not mentioned.
    """
    shown_groups = [place for place, group in enumerate(groups) if group not in left_out]
    if not shown_groups:
        return ""
    if all(amounts[place] == 0.0 for place in shown_groups):
        return tr_lazy("None of the compared features separates the two.")
    if len(shown_groups) == 1:
        return _single(groups[shown_groups[0]], ranks[shown_groups[0]])
    near = sorted((place for place in shown_groups if ranks[place] <= CLOSE), key=lambda place: ranks[place])
    far = sorted((place for place in shown_groups if ranks[place] >= FAR), key=lambda place: -ranks[place])
    most = max(shown_groups, key=lambda place: amounts[place])
    if len(shown_groups) > _MANY_WORDS and all(_WORD.fullmatch(groups[place]) for place in shown_groups):
        return tr_lazy(
            "Close in {near} of {n} visual words, far in {far}; most apart in {most}.",
            near=len(near),
            n=len(shown_groups),
            far=len(far),
            most=spoken(groups[most]),
        )
    close = _together([groups[place] for place in near[:_MOST_CLOSE]])
    if len(near) == len(shown_groups):
        apart = spoken(groups[most])
        return tr_lazy("Close in everything; most apart in {most}.", most=apart)
    if far:
        distant = _together([groups[place] for place in far[:_MOST_FAR]])
        both = tr_lazy("Close in {close}, far in {distant}.", close=close, distant=distant)
        return both if close else tr_lazy("Far in {distant}.", distant=distant)
    apart = spoken(
        groups[max((place for place in shown_groups if place not in near), key=lambda place: amounts[place])]
    )
    if close:
        return tr_lazy("Close in {close}, less so in {apart}.", close=close, apart=apart)
    return tr_lazy("As far apart as usual; most in {apart}.", apart=apart)


def _single(group: str, rank: float) -> str:
    """The sentence for a single group, by how many of the library's cases are nearer in it."""
    if rank <= 0.5:
        return tr_lazy(
            "Nearer to the query in {group} than {share:.0%} of the library's cases.",
            group=spoken(group),
            share=min(1.0 - rank, _ALMOST_ALL),
        )
    return tr_lazy(
        "Farther from the query in {group} than {share:.0%} of the library's cases.",
        group=spoken(group),
        share=min(rank, _ALMOST_ALL),
    )


def _together(groups: Sequence[str]) -> str:
    """Several groups in a sentence; widths of stripes are grouped."""
    widths = [_width(match[1]) for group in groups if (match := _STRIPES.fullmatch(group))]
    texts = [spoken(group) for group in groups if not _STRIPES.fullmatch(group)]
    return joined([*texts, tr_lazy("stripes {width} px wide", width=joined(widths))] if widths else texts)


def joined(texts: Sequence[str]) -> str:
    """``a, b and c``."""
    if len(texts) < 2:
        return texts[0] if texts else ""
    return tr_lazy("{first} and {last}", first=join_texts(texts[:-1]), last=texts[-1])


def _width(text: str) -> str:
    """The width of stripes as a localised number."""
    return tr_lazy("{width:g}", width=float(text))
