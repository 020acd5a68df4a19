"""What the scores, learners, protocols and cases of a results document are called where people read them.

CSV, JSON and the command line keep the names that commands take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.language import tr_lazy, tr_name
from semblance.core.metrics.registry import learner_class

_SCORES = {
    "retrieval_accuracy": tr_lazy("Retrieval accuracy"),
    "precision": tr_lazy("Precision"),
    "recall": tr_lazy("Recall"),
    "residual_precision": tr_lazy("Residual precision"),
    "gain": tr_lazy("Gain by marks"),
    "map@r": tr_lazy("MAP@R"),
    "ndcg": tr_lazy("nDCG"),
    "hit_rate": tr_lazy("Hit rate"),
    "triplet_accuracy": tr_lazy("Triplet accuracy"),
    "knn_accuracy": tr_lazy("k-NN accuracy"),
    "knn_error": tr_lazy("k-NN error"),
    "validation_knn_error": tr_lazy("k-NN error, validation"),
    "balanced_knn_error": tr_lazy("k-NN error, balanced"),
    "balanced_error": tr_lazy("Balanced error"),
    "ccknn_error": tr_lazy("Class-conditional k-NN error"),
    "auc": tr_lazy("AUC"),
    "auc_distance": tr_lazy("AUC by distance"),
    "auc_marginal": tr_lazy("AUC by marginalised k-NN"),
    "pair_accuracy_distance": tr_lazy("Pair accuracy by distance"),
    "pair_accuracy_marginal": tr_lazy("Pair accuracy by marginalised k-NN"),
}
_BUILTIN = re.compile(r"builtin:(\w+)")
_FIRST_NAME = re.compile(r"^\w+")

Speak = Callable[[str], str]


def score_title(name: str, speak: Speak = tr_name) -> str:
    """``retrieval_accuracy@10`` as "Retrieval accuracy @10"; ``speak`` puts it into a language."""
    if name in _SCORES:
        return speak(_SCORES[name])
    stem, _, rank = name.partition("@")
    return f"{speak(_SCORES[stem])} @{rank}" if stem in _SCORES else name


def learner_title(label: str, speak: Speak = tr_name) -> str:
    """``bdm_v (rounds=50)`` as "BDM+V (rounds=50)"; a baseline of a protocol stays as it is."""
    return _FIRST_NAME.sub(lambda found: _learner(found.group(), speak), label)


def rank_plot_data(test: Mapping[str, Any]) -> tuple[dict[str, float], float, list[list[str]]]:
    """Ranks by learner, the critical difference, and the groups within it, as a plot shows them."""
    ranks = {learner_title(name): float(rank) for name, rank in test["ranks"].items()}
    alike = [[learner_title(name) for name in group] for group in test["nemenyi"]["alike"]]
    return ranks, float(test["nemenyi"]["critical_difference"]), alike


def protocol_title(label: str, speak: Speak = tr_name) -> str:
    """``full (split=folds)`` as "All scores (split=folds)"."""
    return _FIRST_NAME.sub(lambda found: _protocol(found.group(), speak), label)


def cases_title(name: str) -> str:
    """``builtin:breast_cancer`` as "breast cancer"; other cases are called as they were given."""
    return _BUILTIN.sub(lambda found: found.group(1).replace("_", " "), name)


def _learner(name: str, speak: Speak) -> str:
    try:
        return speak(learner_class(name).title)
    except BadArguments:
        return name


def _protocol(name: str, speak: Speak) -> str:
    try:
        return speak(protocol_class(name).title)
    except BadArguments:
        return name
