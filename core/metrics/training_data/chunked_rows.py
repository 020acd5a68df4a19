"""Rows that are read a chunk at a time: arrays on disk, Dask arrays, and Parquet files."""

from __future__ import annotations

import abc
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.files import NO_SPACE
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.content_order import row_hashes
from semblance.core.metrics.training_data.labelled_rows import check_one_finding_each
from semblance.core.metrics.training_data.memory import check_memory
from semblance.core.metrics.training_data.rows import training_rows
from semblance.core.parquet import import_parquet

T = TypeVar("T")
Positions = npt.NDArray[np.intp]
Labels = npt.NDArray[np.generic]

#: Numbers in a chunk where its size is not given: 64 MB.
_NUMBERS = 1 << 23


class ChunkedRows(abc.ABC):
    """``n`` rows of ``n_features``, of which one chunk is held at a time; they can be gone through again.

    Attributes:
        y: (n,) findings, or ``None``.
        groups: (n,) patients, or ``None``.
        names: of the columns, or ``None``.
        chunk_rows: rows of a chunk, those of the largest where they differ.
        n_chunks: how many chunks there are.
    """

    def __init__(self, n: int, n_features: int, chunk_rows: int, names: Sequence[str] | None = None) -> None:
        self.n, self.n_features, self.names = n, n_features, names
        self.y: Labels | None = None
        self.groups: Labels | None = None
        self.chunk_rows = max(1, chunk_rows)
        self.n_chunks = -(-n // self.chunk_rows)

    @abc.abstractmethod
    def _read(self) -> Iterable[npt.ArrayLike]:
        """All chunks (rows, n_features), in order."""

    def map(self, function: Callable[[Matrix, int], T]) -> Iterator[T]:
        """``function`` of each chunk, checked, and of the place of its first row; results come in order.

        Raises:
            BadInput: a chunk that is no table of numbers.
        """
        start = 0
        for chunk in self._read():
            X = training_rows(chunk, None, self.n_features)
            yield function(X, start)
            start += len(X)

    def in_turn(self, function: Callable[[Matrix, int], T]) -> Iterator[T]:
        """As :meth:`map`, each chunk after the one before has ended."""
        return ChunkedRows.map(self, function)

    def hashes(self, seed: int) -> npt.NDArray[np.uint64]:
        """(n,) :func:`row_hashes`."""
        return np.concatenate(list(self.map(lambda X, _start: row_hashes(X, seed))))

    def take(self, rows: Positions) -> Matrix:
        """The rows at these ascending places.

        Raises:
            BadInput: they would not fit into memory.
        """
        check_memory(
            8.0 * 2 * len(rows) * self.n_features,
            tr_lazy("{n:,} rows of {d:,} features", n=len(rows), d=self.n_features),
            tr_lazy("Train on fewer cases (training_cases), or by a learner that takes rows in chunks."),
        )

        return np.concatenate(list(self.map(lambda X, start: X[_inside(rows, start, len(X)) - start])))

    @contextmanager
    def stored_parts(self, places: Sequence[Positions]) -> Iterator[Callable[[int], Matrix]]:
        """A function of i that gives the rows at ``places[i]`` in that order, as often as it is called.

        All rows are read once. Those of the parts are stored in a temporary file, 8 bytes a number.

        Raises:
            BadInput: the folder for temporary files has no space for them.
        """
        width = 8 * self.n_features
        starts = np.cumsum([0, *(len(part) for part in places)]).tolist()
        orders = [np.argsort(part) for part in places]
        ascending = [part[order] for part, order in zip(places, orders, strict=True)]
        with tempfile.TemporaryFile(prefix="semblance-rows-") as file:

            def store(X: Matrix, start: int) -> None:
                for first, part in zip(starts, ascending, strict=False):
                    inside = _inside(part, start, len(X))
                    if len(inside):
                        file.seek(width * (first + int(np.searchsorted(part, start))))
                        file.write(X[inside - start].data)

            def part(number: int) -> Matrix:
                file.seek(width * starts[number])
                stored, rows = np.empty((2, len(places[number]), self.n_features))
                file.readinto(stored.data)
                rows[orders[number]] = stored
                return rows

            try:
                for _ in self.in_turn(store):
                    pass
                file.flush()
            except OSError as problem:
                if problem.errno not in NO_SPACE:
                    raise
                raise BadInput(
                    tr_lazy(
                        "The folder for temporary files, {folder}, has no space for {size:.1f} GB of rows.",
                        folder=tempfile.gettempdir(),
                        size=width * starts[-1] / 1e9,
                    ),
                    tr_lazy("Free some space, or name another folder in the variable TMPDIR."),
                ) from problem
            yield part


class _ArrayRows(ChunkedRows):
    """Of anything with a shape that gives rows for a slice: np.memmap, zarr, h5py."""

    def __init__(self, array: Any, chunk_rows: int | None) -> None:
        n, d = array.shape
        stored = getattr(array, "chunks", None)
        size = chunk_rows or max(1, _NUMBERS // d)
        if chunk_rows is None and stored:
            # A stored chunk is decompressed as a whole.
            size = max(stored[0], size // stored[0] * stored[0])
        super().__init__(n, d, size)
        self._array = array

    def _read(self) -> Iterator[npt.ArrayLike]:
        for start in range(0, self.n, self.chunk_rows):
            yield self._array[start : start + self.chunk_rows]


class _DaskRows(ChunkedRows):
    """Of a Dask array: its blocks, whose results Dask's scheduler computes beside each other."""

    def __init__(self, array: Any) -> None:
        array = array.rechunk({1: -1})
        if np.isnan(array.shape[0]):
            array.compute_chunk_sizes()
        n, d = array.shape
        super().__init__(n, d, max(array.chunks[0]))
        self._array, self._sizes = array, array.chunks[0]
        self.n_chunks = len(self._sizes)

    def _read(self) -> Iterator[npt.ArrayLike]:
        for block in np.flatnonzero(self._sizes).tolist():
            yield self._array.blocks[block].compute()

    def map(self, function: Callable[[Matrix, int], T]) -> Iterator[T]:
        import dask

        def of_block(block: npt.ArrayLike, start: int) -> T:
            return function(training_rows(block, None, self.n_features), start)

        starts = np.cumsum([0, *self._sizes[:-1]]).tolist()
        blocks = self._array.to_delayed().ravel()
        task = dask.delayed(of_block)
        tasks = [
            task(block, start) for block, start, size in zip(blocks, starts, self._sizes, strict=True) if size
        ]
        results: Iterable[T] = dask.compute(*tasks)
        yield from results


class _ParquetRows(ChunkedRows):
    """Of a Parquet file, or of all files ``*.parquet`` in a folder by their names."""

    def __init__(
        self, path: Path, columns: Sequence[str] | None, labels: Sequence[str], chunk_rows: int | None
    ) -> None:
        parquet = import_parquet()
        files = [path] if path.is_file() else sorted(path.glob("**/*.parquet"))
        if not files:
            raise BadInput(
                tr_lazy("There is no Parquet file at {path}.", path=path),
                tr_lazy("Give a file, or a folder of files that end in .parquet."),
            )
        try:
            self._files = [parquet.ParquetFile(file) for file in files]
        except (OSError, ValueError) as problem:
            raise BadInput(
                tr_lazy("{path} cannot be read: {reason}.", path=path, reason=problem),
                tr_lazy("Give Parquet files."),
            ) from problem
        names = self._files[0].schema_arrow.names
        chosen = list(columns) if columns is not None else [name for name in names if name not in labels]
        for file, opened in zip(files, self._files, strict=True):
            missing = [name for name in [*chosen, *labels] if name not in opened.schema_arrow.names]
            if missing:
                raise BadInput(
                    tr_lazy("{file} has no column {name}.", file=file, name=missing[0]),
                    tr_lazy("Its columns: {names}.", names=", ".join(opened.schema_arrow.names)),
                )
        super().__init__(
            sum(opened.metadata.num_rows for opened in self._files),
            len(chosen),
            chunk_rows or max(1, _NUMBERS // max(1, len(chosen))),
            chosen,
        )
        self.n_chunks = sum(-(-opened.metadata.num_rows // self.chunk_rows) for opened in self._files)

    def _read(self) -> Iterator[npt.ArrayLike]:
        assert self.names is not None
        for opened in self._files:
            for batch in opened.iter_batches(batch_size=self.chunk_rows, columns=list(self.names)):
                # Filled column by column: joining them would hold all of them a second time.
                rows = np.empty((batch.num_rows, len(self.names)))
                for place, name in enumerate(self.names):
                    rows[:, place] = _numbers(batch.column(name), name)
                yield rows

    def column(self, name: str) -> Labels:
        """(n,) the values of one column."""
        return np.concatenate(
            [opened.read([name]).column(0).to_pandas().to_numpy() for opened in self._files]
        )


def _inside(places: Positions, start: int, size: int) -> Positions:
    """Those of the ascending ``places`` from ``start`` on that are among so many rows."""
    first, last = np.searchsorted(places, [start, start + size])
    return places[first:last]


def _numbers(column: Any, name: str) -> npt.NDArray[np.float64]:
    """(n,) values of a column of Arrow, NaN where there is none."""
    try:
        values: npt.NDArray[np.float64] = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    except (NotImplementedError, ValueError) as problem:
        raise BadInput(
            tr_lazy("The column {name} is not of numbers.", name=name),
            tr_lazy("Name the columns of features (columns)."),
        ) from problem
    return values


def open_rows(
    source: Any,
    y: Any = None,
    groups: Any = None,
    *,
    columns: Sequence[str] | None = None,
    chunk_rows: int | None = None,
) -> ChunkedRows:
    """The rows of ``source`` as :func:`semblance.core.metrics.fit_in_chunks` takes them.

    Raises:
        BadInput: a file that cannot be read, or labels that are not one a row.
        BadArguments: a source of another kind.
    """
    rows: ChunkedRows
    if isinstance(source, str | Path):
        labels = [label for label in (y, groups) if isinstance(label, str)]
        rows = parquet = _ParquetRows(Path(source), columns, labels, chunk_rows)
        y, groups = (parquet.column(label) if isinstance(label, str) else label for label in (y, groups))
    elif len(getattr(source, "shape", ())) != 2:
        raise BadArguments(
            tr_lazy("A source of rows is an array (n, d) or the path of Parquet files."),
            tr_lazy("Give np.memmap, a zarr or Dask array, or a path."),
        )
    elif type(source).__module__.startswith("dask."):
        rows = _DaskRows(source)
    else:
        rows = _ArrayRows(source, chunk_rows)
    if y is not None:
        rows.y = np.asarray(y)
        check_one_finding_each(rows.n, len(rows.y))
    if groups is not None:
        rows.groups = np.asarray(groups)
        if rows.groups.shape != (rows.n,):
            raise BadInput(
                tr_lazy("There are {n} cases but {size} patients.", n=rows.n, size=rows.groups.size),
                "Give one patient a case, empty where unknown.",
            )
    if not rows.n:
        raise BadInput("There is no case to learn from.", "Add cases, or hold fewer of them out.")
    return rows
