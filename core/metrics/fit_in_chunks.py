"""Fit a learner on rows that are read a chunk at a time, from disk or from Dask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from semblance.core.metrics.learner import Learner
from semblance.core.metrics.scikit_learn import as_value_errors
from semblance.core.metrics.training_data.chunked_rows import open_rows
from semblance.core.tasks import SILENT, Reporter
from semblance.core.threads import one_thread

L = TypeVar("L", bound=Learner)


def fit_in_chunks(
    learner: L,
    rows: Any,
    y: Any = None,
    *,
    groups: Any = None,
    columns: Sequence[str] | None = None,
    chunk_rows: int | None = None,
    reporter: Reporter | None = None,
) -> L:
    """Fit ``learner`` on ``rows`` (n, d) that need not fit into memory, and return it.

    ``rows`` are an array that is read by slices (``np.memmap``, zarr, h5py), a Dask array, or the path of a Parquet
    file or of a folder of such files. ``y`` are the findings and ``groups`` the patients (n,), or the name of their
    column in Parquet files, whose other columns, or ``columns``, are the features. A chunk has ``chunk_rows``, or about
    64 MB; of a Dask array its blocks are the chunks, and its scheduler computes them beside each other.

    Mahalanobis, PCA, RCA and LDA count all rows, by running means and scatter. Learners with the parameter
    ``training_cases`` are fitted on the sample that ``fit`` draws; for these and those the result is that of ``fit``.
    CCML goes through all rows in random shares, which it stores in a temporary file of 8 bytes a number (in the folder
    ``TMPDIR`` names); passive-aggressive learns from pairs within each chunk, in the order of the chunks. All others
    read all rows into memory. Rows are read more than once where they are sampled.

    Raises:
        BadRows: rows that cannot be read or learnt from, or do not fit into memory.
        BadParameter: a parameter outside its range, or a source of another kind.
        Cancelled: the reporter was cancelled; the learner is then as before the call.

    Example:
        >>> import numpy as np
        >>> from semblance.core.metrics import fit_in_chunks, make_learner
        >>> X = np.random.default_rng(0).normal(size=(1000, 4))
        >>> y = np.arange(1000) % 2
        >>> in_parts = fit_in_chunks(make_learner("lda"), X, y, chunk_rows=100)
        >>> bool(np.allclose(in_parts.L_, make_learner("lda").fit(X, y).L_))
        True
    """
    with as_value_errors(), one_thread():
        learner._check_parameters()
        source = open_rows(rows, y, groups, columns=columns, chunk_rows=chunk_rows)
        learner.fit_chunks(source, reporter or SILENT)
    learner._feature_names = None if source.names is None else np.array(source.names, dtype=object)
    return learner
