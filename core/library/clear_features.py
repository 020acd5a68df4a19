"""Numbers that no longer belong to a case, inside the transaction that made it so."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import sqlalchemy as sa

from semblance.core.library.schema import feature_chunks, feature_failures

#: Stands in a chunk where a case had its numbers.
NO_CASE = -1


def clear_features(connection: sa.Connection, case_rows: Collection[int]) -> None:
    """Cases ``case_rows`` have no numbers in any feature set any more: all are extracted anew."""
    gone = np.array(sorted(case_rows), dtype=np.int64)
    if not len(gone):
        return
    for chunk in connection.execute(sa.select(feature_chunks)).all():
        rows = np.frombuffer(chunk.case_rows, dtype=np.int64).copy()
        hit = np.isin(rows, gone)
        if hit.any():
            rows[hit] = NO_CASE
            connection.execute(
                feature_chunks.update()
                .where(
                    feature_chunks.c.feature_set == chunk.feature_set, feature_chunks.c.chunk == chunk.chunk
                )
                .values(case_rows=rows.tobytes())
            )


def clear_failures(connection: sa.Connection, case_rows: Collection[int]) -> None:
    """What extractors said of the cases ``case_rows`` is forgotten."""
    if case_rows:
        connection.execute(
            feature_failures.delete().where(feature_failures.c.case == sa.bindparam("row")),
            [{"row": int(row)} for row in case_rows],
        )
