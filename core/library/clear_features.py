"""Remove the features of cases within a running transaction."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import sqlalchemy as sa

from semblance.core.library.schema import feature_chunks, feature_failures

#: The case id of a row of a chunk whose features were removed.
NO_CASE = -1


def clear_features(
    connection: sa.Connection, case_rows: Collection[int], sets: Collection[int] | None = None
) -> None:
    """Remove the features of the cases ``case_rows`` from every feature set, or from those with the ids ``sets``, so
    that they are extracted again."""
    removed = np.array(sorted(case_rows), dtype=np.int64)
    if not len(removed):
        return
    chunks = sa.select(feature_chunks)
    if sets is not None:
        chunks = chunks.where(feature_chunks.c.feature_set.in_(sets))
    for chunk in connection.execute(chunks).all():
        rows = np.frombuffer(chunk.case_rows, dtype=np.int64).copy()
        matches = np.isin(rows, removed)
        if matches.any():
            rows[matches] = NO_CASE
            connection.execute(
                feature_chunks.update()
                .where(
                    feature_chunks.c.feature_set == chunk.feature_set, feature_chunks.c.chunk == chunk.chunk
                )
                .values(case_rows=rows.tobytes())
            )


def clear_failures(connection: sa.Connection, case_rows: Collection[int]) -> None:
    """Remove the recorded extraction failures of the cases ``case_rows``."""
    if case_rows:
        connection.execute(
            feature_failures.delete().where(feature_failures.c.case == sa.bindparam("row")),
            [{"row": int(row)} for row in case_rows],
        )
