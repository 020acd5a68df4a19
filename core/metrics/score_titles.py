"""The titles of scores."""

from __future__ import annotations

from semblance.core.language import tr_lazy

_TITLES = {
    "retrieval_accuracy": tr_lazy("Retrieval accuracy"),
    "macro_retrieval_accuracy": tr_lazy("Macro retrieval accuracy"),
    "worst_finding": tr_lazy("Retrieval accuracy of the worst finding"),
    "chance": tr_lazy("Chance"),
    "macro_chance": tr_lazy("Macro chance"),
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
    "balanced_error_best_on_test": tr_lazy("Balanced error, at the best k of the test part"),
    "ccknn_error": tr_lazy("Class-conditional k-NN error"),
    "auc": tr_lazy("Mean AUC over findings"),
    "auc_distance": tr_lazy("AUC by distance"),
    "auc_marginal": tr_lazy("AUC by marginalised k-NN"),
    "pair_accuracy_distance": tr_lazy("Pair accuracy by distance"),
    "pair_accuracy_marginal": tr_lazy("Pair accuracy by marginalised k-NN"),
    "acc": tr_lazy("Nearest right"),
    "mmv": tr_lazy("Majority right"),
    "map": tr_lazy("Mean average precision"),
    "place_in_region": tr_lazy("Place inside the region"),
    "place_in_region_chance": tr_lazy("Place inside the region by chance"),
    "calibration_error": tr_lazy("Calibration error"),
}


#: What the searches of a card score is not what a protocol scores inside its tested part, so it has other titles.
_OF_SEARCHES = {
    "retrieval_accuracy": tr_lazy("Search accuracy"),
    "macro_retrieval_accuracy": tr_lazy("Macro search accuracy"),
    "worst_finding": tr_lazy("Search accuracy of the worst finding"),
}


def search_score_title(name: str) -> str:
    """The title of a score of searches with held-out cases in the whole library, as on the card of a metric."""
    stem, _, k = name.partition("@")
    return (
        tr_lazy("{score} @{k}", score=_OF_SEARCHES[stem], k=k) if stem in _OF_SEARCHES else score_title(name)
    )


def score_title(name: str) -> str:
    """``retrieval_accuracy@10`` as "Retrieval accuracy @10"; ``auc`` is a mean, ``auc:benign`` "AUC, benign against the
    rest". A name that is not known stays as it is."""
    if name.startswith("auc:"):
        return tr_lazy("AUC, {finding} against the rest", finding=name.removeprefix("auc:"))
    if name in _TITLES:
        return _TITLES[name]
    stem, _, k = name.partition("@")
    return tr_lazy("{score} @{k}", score=_TITLES[stem], k=k) if stem in _TITLES else name
