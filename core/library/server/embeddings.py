"""The embeddings of metrics on the server, as vectors with an HNSW index of pgvector that finds candidates.

Malkov, Yashunin: Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small World
graphs. IEEE TPAMI 42 (2020). The index compares in half precision; candidates are given as they were embedded, in
float64.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.database import upsert
from semblance.core.library.records import EmbeddingIndex
from semblance.core.library.server.catalogue import ServerCatalogue, server_function
from semblance.core.library.server.tables import embeddings
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

#: The most numbers of a case that an index of pgvector takes in half precision.
MAX_DIMENSIONS = 4000
#: Neighbours of each case in the graph, and candidates for them while it is built.
_NEIGHBOURS, _CONSTRUCTION = 16, 64
#: The most candidates that pgvector collects before it continues a scan (hnsw.ef_search), and the most tuples and the
#: memory, in times work_mem, of a continued scan.
_MAX_EF, _MAX_TUPLES, _SCAN_MEMORY = 1000, 200_000, 8
#: Below this share of cases that may be found, they are compared one by one: the index would mostly find others.
_SMALL_SHARE = 0.1
#: Candidates that are read beyond the requested number, because those of the query's patient are not ranked.
_RESERVE = 50
_BATCH = 5_000


class ServerEmbedding:
    """Reads the vectors of one embedding; ``connection`` in place of a new one of ``catalogue`` for each query."""

    def __init__(
        self,
        catalogue: ServerCatalogue,
        number: int,
        centre: Matrix,
        scale: float,
        connection: sa.Connection | None = None,
    ) -> None:
        self._catalogue, self._number, self._centre, self._scale = catalogue, number, centre, scale
        self._connection = connection
        self._table = _table(number, len(centre))

    def nearest(self, query: Matrix, count: int, cases: Rows, allowed: Rows | None) -> tuple[Rows, Matrix]:
        """``count`` cases that are near ``query`` (m,), ascending, and their coordinates (c, m); fewer only where fewer
        are ``allowed`` of all ``cases`` (ascending numbers; ``None``: all are)."""
        share = 1.0 if allowed is None else len(allowed) / max(1, len(cases))
        if allowed is not None and share < _SMALL_SHARE:
            return self._among(query, count, allowed)
        limit = int(np.ceil(count / share)) + _RESERVE
        found, coordinates = self._indexed(query, limit)
        chosen = cases if allowed is None else allowed
        may = np.flatnonzero(np.isin(found, chosen))[:count]
        if len(may) < min(count, len(chosen)):
            # Most of what is near may not be ranked, or the scan of the index ended.
            return self._among(query, count, chosen)
        return _ascending(found[may], coordinates[may])

    def coordinates(self, cases: Rows) -> Matrix:
        """(c, m) coordinates of ``cases`` (c,).

        Raises:
            SemblanceError: another program has just removed one of them.
        """
        if not len(cases):
            return np.empty((0, len(self._centre)))
        t = self._table
        query = sa.select(t.c.case, t.c.exact).where(
            t.c.case == sa.any_(sa.literal(cases.tolist(), _INTEGERS))
        )
        with self._connected() as connection:
            found, coordinates = _ascending(*self._numbers(connection.execute(query).all()))
        places = np.minimum(np.searchsorted(found, cases), max(0, len(found) - 1))
        if not len(found) or (found[places] != cases).any():
            raise changed_error(self._catalogue)
        return coordinates[places]

    def _indexed(self, query: Matrix, limit: int) -> tuple[Rows, Matrix]:
        settings = {
            "hnsw.ef_search": min(max(limit, 40), _MAX_EF),
            "hnsw.iterative_scan": "strict_order",
            "hnsw.max_scan_tuples": max(_MAX_TUPLES, 2 * limit),
            "hnsw.scan_mem_multiplier": _SCAN_MEMORY,
            "enable_seqscan": "off",
        }
        return self._nearest(query, limit, settings)

    def _among(self, query: Matrix, count: int, allowed: Rows) -> tuple[Rows, Matrix]:
        """The ``count`` nearest of ``allowed``, compared one by one."""
        among = f"WHERE \"case\" = ANY('{{{','.join(map(str, allowed.tolist()))}}}'::integer[])"
        return _ascending(*self._nearest(query, count, {"enable_indexscan": "off"}, among))

    def _nearest(
        self, query: Matrix, limit: int, settings: dict[str, Any], among: str = ""
    ) -> tuple[Rows, Matrix]:
        """The settings and the query in one message, which the server runs as one transaction: four would be as many
        ways to it and back. All of it is numbers, and nothing in it has to be quoted."""
        chosen = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
        near = f"'{_vector((query - self._centre) * self._scale)}'::halfvec({len(self._centre)})"
        text = (
            f'SELECT {chosen}; SELECT "case", exact FROM embedding_{int(self._number)} {among}'
            f" ORDER BY near <-> {near} LIMIT {int(limit)}"
        )
        with self._connected() as connection, connection.exec_driver_sql(text) as found:
            assert found.cursor is not None
            # Behind that of the settings.
            found.cursor.nextset()
            return self._numbers(found.cursor.fetchall())

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        if self._connection is not None:
            yield self._connection
            return
        with self._catalogue.errors(), self._catalogue.engine.connect() as connection:
            yield connection

    def _numbers(self, rows: Sequence[tuple[int, bytes]]) -> tuple[Rows, Matrix]:
        cases = np.array([case for case, _ in rows], dtype=np.int64)
        values = np.frombuffer(b"".join(exact for _, exact in rows), dtype="<f8").astype(np.float64)
        return cases, values.reshape(len(cases), len(self._centre))


def embedding_indexes(catalogue: ServerCatalogue) -> list[EmbeddingIndex]:
    """The embeddings that have an index."""
    return [
        EmbeddingIndex(
            r.number, r.metric, r.features, r.cases, r.dimensions, np.frombuffer(r.centre, dtype="<f8"), r.scale,
            r.candidates, r.recall, r.queries, r.built,
        )
        for r in catalogue.read(sa.select(embeddings).order_by(embeddings.c.number))
    ]  # fmt: skip


@dataclass(frozen=True)
class StoredRows:
    """The cases of an embedding: numbers ``cases`` (n,), ascending, the numbers of the ``chunks`` (n,) that hold their
    features, and their ``coordinates`` (n, m)."""

    cases: Rows
    chunks: Rows
    coordinates: Matrix


class EmbeddingBuild:
    """One transaction that makes or updates an embedding: others see it when it ends, or nothing."""

    def __init__(self, catalogue: ServerCatalogue, connection: sa.Connection) -> None:
        self._catalogue, self._connection = catalogue, connection

    def store(self, metric: str, rows: StoredRows, reporter: Reporter = SILENT) -> ServerEmbedding:
        """Have the vectors of ``rows`` in the index of ``metric`` and no others: only what changed is written."""
        known = next((one for one in self._known() if one.metric == metric), None)
        if known is not None and known.dimensions == rows.coordinates.shape[1]:
            number, centre, scale = known.number, np.frombuffer(known.centre, dtype="<f8"), float(known.scale)
            there = self._stored(number, len(centre))
            here = {(int(case), int(chunk)) for case, chunk in zip(rows.cases, rows.chunks, strict=True)}
            self._delete(number, len(centre), [case for case, chunk in there - here])
            new = np.array(
                [pair not in there for pair in zip(rows.cases.tolist(), rows.chunks.tolist(), strict=True)]
            )
            self._insert(number, rows, np.flatnonzero(new), centre, scale, reporter)
            return ServerEmbedding(self._catalogue, number, centre, scale, self._connection)
        if known is not None:
            self.drop(known.number)
        centre = rows.coordinates.mean(axis=0)
        largest = float(np.abs(rows.coordinates - centre).max(initial=0.0))
        # Half precision has 11 bits and ends at 65504.
        scale = 1.0 if largest == 0.0 else 100.0 / largest
        made = server_function("make_embedding", len(centre))
        number = int(self._connection.execute(sa.select(made)).scalar_one())
        self._insert(number, rows, np.arange(len(rows.cases)), centre, scale, reporter)
        reporter.check_cancelled()
        reporter.progress(0, None, "Building the index on the server")
        index = server_function("index_embedding", number, _NEIGHBOURS, _CONSTRUCTION)
        self._connection.execute(sa.select(index))
        return ServerEmbedding(self._catalogue, number, centre, scale, self._connection)

    def finish(
        self,
        embedding: ServerEmbedding,
        metric: str,
        features: str,
        cases: int,
        candidates: int | None,
        recall: float,
        queries: int,
    ) -> None:
        """Note what was measured; from the end of the transaction on searches use it."""
        self._connection.execute(
            upsert(self._connection, embeddings, ("number",)),
            {
                "number": embedding._number,
                "metric": metric,
                "features": features,
                "cases": cases,
                "dimensions": len(embedding._centre),
                "centre": embedding._centre.astype("<f8").tobytes(),
                "scale": embedding._scale,
                "candidates": candidates,
                "recall": recall,
                "queries": queries,
                "built": self._catalogue.now(),
            },
        )

    def drop(self, number: int) -> None:
        """Drop the table of an embedding."""
        self._connection.execute(sa.select(server_function("drop_embedding", number)))

    def _known(self) -> list[sa.Row[Any]]:
        return list(self._connection.execute(sa.select(embeddings)).all())

    def _stored(self, number: int, dimensions: int) -> set[tuple[int, int]]:
        t = _table(number, dimensions)
        return {(r.case, r.chunk) for r in self._connection.execute(sa.select(t.c.case, t.c.chunk))}

    def _delete(self, number: int, dimensions: int, cases: list[int]) -> None:
        t = _table(number, dimensions)
        if cases:
            self._connection.execute(t.delete().where(t.c.case == sa.any_(sa.literal(cases, _INTEGERS))))

    def _insert(
        self, number: int, rows: StoredRows, places: Rows, centre: Matrix, scale: float, reporter: Reporter
    ) -> None:
        cursor = self._connection.connection.cursor()
        table, columns = f"embedding_{number}", '"case", chunk, near, exact'

        def row(place: int) -> tuple[int, int, str, bytes]:
            exact = rows.coordinates[place]
            near = _vector((exact - centre) * scale)
            return int(rows.cases[place]), int(rows.chunks[place]), near, exact.astype("<f8").tobytes()

        with contextlib.ExitStack() as stack:
            # PostgreSQL copies to no table whose rows have policies, as in a project.
            copy = None
            if not self._catalogue.address.project:
                copy = stack.enter_context(cursor.copy(f"COPY {table} ({columns}) FROM STDIN"))
            for start in range(0, len(places), _BATCH):
                reporter.check_cancelled()
                reporter.progress(start, len(places), "Copying the cases to the server")
                part = map(row, places[start : start + _BATCH].tolist())
                if copy is None:
                    cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES (%s, %s, %s, %s)", list(part))
                    continue
                for one in part:
                    copy.write_row(one)


@contextlib.contextmanager
def building(catalogue: ServerCatalogue) -> Iterator[EmbeddingBuild]:
    """A build of embeddings. It keeps nobody from working: only other builds are refused.

    Raises:
        SemblanceError: another program is building one.
    """
    with catalogue.files_transaction() as connection:
        free = connection.execute(sa.select(server_function("start_build"))).scalar_one()
        if not free:
            raise SemblanceError(
                tr_lazy("Another program is building an index in {library}.", library=catalogue.library_name),
                "Wait until it has finished.",
            )
        yield EmbeddingBuild(catalogue, connection)
        # At the end, because it keeps others from writing. Other transactions have triggers for changes of cases.
        connection.execute(sa.select(server_function("note_change", True)))


def changed_error(catalogue: ServerCatalogue) -> SemblanceError:
    """The error for cases that changed while they were read."""
    return SemblanceError(
        tr_lazy("Another program changed {library} at the same time.", library=catalogue.library_name),
        "Try again.",
    )


class _HalfVector(sa.types.UserDefinedType[str]):
    """The type ``halfvec`` of pgvector, as text."""

    cache_ok = True

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    def get_col_spec(self, **_: Any) -> str:
        """The type in SQL."""
        return f"halfvec({self.dimensions})"


_INTEGERS = sa.ARRAY(sa.Integer)


def _table(number: int, dimensions: int) -> sa.Table:
    return sa.Table(
        f"embedding_{int(number)}",
        sa.MetaData(),
        sa.Column("case", sa.Integer, primary_key=True),
        sa.Column("chunk", sa.Integer, nullable=False),
        sa.Column("near", _HalfVector(dimensions), nullable=False),
        sa.Column("exact", sa.LargeBinary, nullable=False),
    )


def _vector(values: Matrix) -> str:
    return f"[{','.join(f'{value:.7g}' for value in values.tolist())}]"


def _ascending(cases: Rows, coordinates: Matrix) -> tuple[Rows, Matrix]:
    order = np.argsort(cases)
    return cases[order], coordinates[order]
