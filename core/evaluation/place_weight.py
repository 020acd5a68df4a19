"""Whether places should join the distance of a metric, and with which weight, by the rankings of some queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.chance import K
from semblance.core.evaluation.intervals import NORMAL_95, over_findings
from semblance.core.evaluation.scores import mean_over_findings
from semblance.core.evaluation.worse_findings import FindingShares, worse_findings
from semblance.core.features.places import Codes
from semblance.core.json_document import JsonDocument
from semblance.core.retrieval.place_comparison import spread_of
from semblance.core.retrieval.place_index import PlaceIndex, PlaceQuery
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: The weights of places beside the metric that are tried; 0 is the metric alone.
WEIGHTS = (0.0, 0.2, 0.35, 0.5)
#: Nearest cases by the metric that are ordered again, and others at random that the spread of distances needs.
_CANDIDATES, _SPREAD = 100, 50


@dataclass(frozen=True)
class PlaceWeight(JsonDocument):
    """The ``weight`` of places beside a metric that found most of the same finding, and what it changes.

    ``accuracy``: the retrieval accuracy @ 10 of ``queries``, as the mean over findings, of the metric alone and with
    the places; ``difference`` with its 95 % interval ``ci95`` over patients, as wide as the best of several
    weights needs (Bonferroni); ``worse``: findings that are found less often. ``held_out``: the difference on held-out
    patients, ``None`` where it was not measured.
    """

    JSON_STRICT: ClassVar[bool] = True

    weight: float
    accuracy: tuple[float, float]
    difference: float
    ci95: tuple[float, float]
    queries: int
    worse: tuple[str, ...] = ()
    held_out: float | None = None

    @property
    def is_better(self) -> bool:
        """Whether the places are to join: better beyond chance by validation, no finding worse, and no loss on the
        held-out patients."""
        lost = self.held_out is not None and self.held_out < 0.0
        return self.weight > 0.0 and self.ci95[0] > 0.0 and not self.worse and not lost


def shares_with_places(
    distances: Matrix,
    codes: Codes,
    queries: Rows,
    findings: Rows,
    units: Rows,
    n_findings: int,
    weights: tuple[float, ...] = WEIGHTS,
    reporter: Reporter = SILENT,
) -> npt.NDArray[np.float64]:
    """(w, q, c) the share of each finding among the 10 nearest of ``queries`` (q,), for each of the ``weights`` (w,).

    ``distances`` (q, n): by the metric, of n cases with coded places (n, p, m), numbers of ``findings`` (n,), -1 for
    none, and of ``units`` (n,), equal for cases that do not retrieve each other. As a search does, distances by place,
    of all places of the query weighted by how much they stand out, and those by the metric are added after division by
    their standard deviations. The 100 cases nearest by the metric are ordered. NaN for a query with no case to find.
    """
    rng = np.random.default_rng(0)
    index = PlaceIndex(codes)
    shares = np.full((len(weights), len(queries), n_findings), np.nan)
    for number, query in enumerate(queries.tolist()):
        reporter.check_cancelled()
        allowed = np.flatnonzero((units != units[query]) & (findings >= 0))
        if not len(allowed):
            continue
        near = allowed[np.argsort(distances[number, allowed], kind="stable")]
        rows, others = near[:_CANDIDATES], near[_CANDIDATES:]
        some = rng.choice(others, min(_SPREAD, len(others)), replace=False) if len(others) else others
        both = np.concatenate([rows, some])
        own = codes[query]
        standing_out = np.linalg.norm(own.astype(np.float64), axis=1)
        by_place = index.nearly_exact_distances(PlaceQuery.of(own, standing_out), both)
        by_metric = distances[number, both]
        # All of a small library, else the sample, which the nearest would narrow.
        sample = slice(None) if not len(some) else slice(len(rows), None)
        of_place, of_metric = spread_of(by_place[sample]), spread_of(by_metric[sample])
        for place, weight in enumerate(weights):
            combined = weight * by_place / of_place + (1.0 - weight) * by_metric / of_metric
            order = np.lexsort((np.arange(len(rows)), combined[: len(rows)]))[:K]
            counts = np.bincount(findings[rows[order]], minlength=n_findings)
            shares[place, number] = counts / counts.sum()
    return shares


def chosen_weight(
    shares: npt.NDArray[np.float64],
    findings: Rows,
    units: Rows,
    part: Rows,
    names: list[str],
    *,
    title: str,
    seed: int = 0,
    weights: tuple[float, ...] = WEIGHTS,
) -> PlaceWeight:
    """The best of the ``weights`` above 0 by ``shares`` (w, q, c) of queries with ``findings`` and patients ``units``
    (q,), compared with the first, 0; ``part`` (q,): the gallery each was ranked in."""
    from scipy.special import ndtri

    own = shares[:, np.arange(len(findings)), findings]
    macro = np.array([mean_over_findings(one[:, np.newaxis], findings)[0] for one in own])
    best = 1 + int(np.argmax(macro[1:]))
    mean, *ends = over_findings(own[best] - own[0], findings, seed=seed, groups=units)
    # The best of several weights is better than the metric alone by chance more often than a single one.
    wider = float(ndtri(1.0 - 0.025 / (len(weights) - 1))) / NORMAL_95
    low, high = (mean + (end - mean) * wider for end in ends)
    new, old = (FindingShares(shares[at], findings, units, part) for at in (best, 0))
    worse = tuple(str(one) for one in worse_findings(new, old, names, title=title, seed=seed))
    accuracy = float(macro[0]), float(macro[best])
    return PlaceWeight(weights[best], accuracy, mean, (low, high), len(findings), worse)
