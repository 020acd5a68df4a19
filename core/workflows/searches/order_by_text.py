"""Fuse the ranking of a search with the cases that have its text, by ranks alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.library.text_query import text_terms
from semblance.core.retrieval.feedback import MarkedIndex
from semblance.core.retrieval.ranking import first_of_each_key, rankable_cases
from semblance.core.workflows.searches.feedback.order_by_marks import distances_of
from semblance.core.workflows.searches.query_comparison import QueryComparison
from semblance.core.workflows.searches.search_result import TextOrder

#: The constant of the paper, which was chosen there on other data.
K = 60


def order_by_text(compared: QueryComparison, text: str) -> tuple[QueryComparison, TextOrder]:
    """``compared`` with its order, by marks or by distance, fused with that of the cases that have ``text``.

    Raises:
        BadArguments: there is no letter and no digit in it.
    """
    terms, loaded = text_terms(text), compared.loaded
    if not terms:
        raise BadArguments(
            tr_lazy("There is nothing to search for in '{text}'.", text=text), "Type a word or its beginning."
        )
    rows, ranks = loaded.library.catalogue.find_text(terms)
    _, places, at = np.intersect1d(loaded.rows, rows, assume_unique=True, return_indices=True)
    # Ranks are counted among what can be shown, as without words; what is hidden keeps its place.
    search = compared.search
    keys = loaded.keys if search.group_duplicates else None
    patients = loaded.patient_codes if search.hide_same_patient else None
    shown = rankable_cases(len(loaded.rows), compared.query, patients, keys)
    if not shown[places].any():
        return compared, TextOrder(text, len(places), K)
    every, marked = np.arange(len(loaded.rows)), compared.marked_index
    distances = distances_of(compared) if marked is None else marked.distances((), every)
    index = MarkedIndex(distances, -distances if marked is None else marked.scores, compared.tie_distances)
    by_image = index.ordered(every)
    counted = np.flatnonzero(shown[by_image])
    counted = counted[first_of_each_key(by_image[counted], keys)]
    image_ranks = np.empty(len(by_image), dtype=np.int64)
    image_ranks[by_image] = np.searchsorted(counted, np.arange(len(by_image))) + 1
    text_ranks = ranks[at]
    text_ranks = np.searchsorted(np.sort(text_ranks[shown[places]]), text_ranks) + 1
    orders = [(every, image_ranks), (places, text_ranks)]
    fused = MarkedIndex(distances, fused_scores(len(every), orders), compared.tie_distances)
    return replace(compared, marked_index=fused), TextOrder(text, len(places), K)


def with_hits(found: TextOrder, compared: QueryComparison, rows: Sequence[int]) -> TextOrder:
    """``found`` with where the cases at ``rows`` of the catalogue have its text."""
    return replace(found, hits=compared.loaded.library.catalogue.text_hits(rows, found.text))


def fused_scores(
    n: int, orders: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
) -> npt.NDArray[np.float64]:
    """(n,) the fused scores of n cases, larger ones first, from ``orders``: places of cases and their ranks from 1. A
    case that an order does not have gets nothing from it.

    Reciprocal rank fusion: score(d) = sum over the orders of 1 / (K + rank(d)) (G. V. Cormack, C. L. A. Clarke and
    S. Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods", SIGIR 2009).
    """
    scores = np.zeros(n)
    for places, ranks in orders:
        scores[places] += 1.0 / (K + ranks)
    return scores
