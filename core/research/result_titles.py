"""Titles of the scores, learners, protocols and cases of a results document, for people.

CSV, JSON and the command line use the names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.language import tr_name
from semblance.core.metrics import score_titles
from semblance.core.metrics.registry import declared_learner

_BUILTIN = re.compile(r"builtin:(\w+)")
_FIRST_NAME = re.compile(r"^\w+")

Translate = Callable[[str], str]


def score_title(name: str, translate: Translate = tr_name) -> str:
    """The title of a score; ``translate`` translates it."""
    return translate(score_titles.score_title(name))


def learner_title(label: str, translate: Translate = tr_name) -> str:
    """``bdm_v (rounds=50)`` as "BDM+V (rounds=50)"; a baseline of a protocol is unchanged."""
    return _FIRST_NAME.sub(lambda found: _learner(found.group(), translate), label)


def rank_plot_data(test: Mapping[str, Any]) -> tuple[dict[str, float], float, list[list[str]]]:
    """Ranks by learner, the critical difference, and the groups within it, for a plot."""
    ranks = {learner_title(name): float(rank) for name, rank in test["ranks"].items()}
    groups = [[learner_title(name) for name in group] for group in test["nemenyi"]["alike"]]
    return ranks, float(test["nemenyi"]["critical_difference"]), groups


def protocol_title(label: str, translate: Translate = tr_name) -> str:
    """``full (split=folds)`` as "All scores (split=folds)"."""
    return _FIRST_NAME.sub(lambda found: _protocol(found.group(), translate), label)


def cases_title(name: str) -> str:
    """``builtin:breast_cancer`` as "breast cancer"; other names are unchanged."""
    return _BUILTIN.sub(lambda found: found.group(1).replace("_", " "), name)


def _learner(name: str, translate: Translate) -> str:
    try:
        return translate(declared_learner(name).title)
    except BadArguments:
        return name


def _protocol(name: str, translate: Translate) -> str:
    try:
        return translate(protocol_class(name).title)
    except BadArguments:
        return name
