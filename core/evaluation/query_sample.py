"""The number of held-out cases that are queries when a large library is scored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.training_data.training_sample import stratified_sample

Rows = npt.NDArray[np.intp]

#: Maximum number of queries, and the minimum if there are so many. A share of .8 is then known to within .012 and
#: .025.
MOST, FEWEST = 4_000, 1_000
#: Pairs of a query and a case that are compared at most, as far as FEWEST allows.
MOST_PAIRS = 200_000_000


def query_limit(n_cases: int) -> int:
    """The number of queries that ``n_cases`` are compared with at most: 4,000, and fewer beyond 50,000 cases."""
    return max(FEWEST, min(MOST, MOST_PAIRS // max(1, n_cases)))


def sampled_queries(findings: Rows, n_cases: int, seed: int) -> Rows:
    """Which of the held-out cases with ``findings`` (t,) are queries: all, or a stratified sample of
    :func:`query_limit`."""
    limit = max(query_limit(n_cases), len(np.unique(findings)))
    return np.arange(len(findings)) if len(findings) <= limit else stratified_sample(findings, limit, seed)
