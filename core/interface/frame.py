"""Columns of values: a pandas data frame where pandas is installed, else a small table that works in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from semblance.core.language import visible

if TYPE_CHECKING:
    import numpy.typing as npt

#: Lines and characters of a printed table, and of one cell.
_LINES, _WIDTH, _CELL = 20, 110, 48


class Columns:
    """A table by columns, where pandas is not installed.

    What scripts use most works as with a pandas data frame: ``len`` counts rows, iteration and ``in`` are over the
    names of the columns, ``table["finding"]`` is a column (n,), ``table[mask]`` keeps the rows where the Boolean
    ``mask`` (n,) is true, ``dict(table)`` has all columns.

    >>> table = Columns({"case_id": ["017", "102"], "distance": [0.5, 1.25]})
    >>> len(table), list(table), table["distance"].sum().item()
    (2, ['case_id', 'distance'], 1.75)
    >>> table[table["distance"] < 1]["case_id"].tolist()
    ['017']
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> None:
        """``columns``: name -> values (n,), all of the same length.

        Raises:
            ValueError: columns of different lengths.
        """
        self._columns = {name: _array(values) for name, values in columns.items()}
        lengths = {len(values) for values in self._columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"The columns have different lengths: {sorted(lengths)}.")
        self._length = lengths.pop() if lengths else 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._length, len(self._columns)

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.columns

    def items(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Each column's name and values (n,)."""
        return iter(self._columns.items())

    def head(self, n: int = 5) -> Columns:
        """The first ``n`` rows."""
        return Columns({name: values[:n] for name, values in self._columns.items()})

    def to_dict(self) -> dict[str, list[Any]]:
        """Name -> list of values."""
        return {name: values.tolist() for name, values in self._columns.items()}

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, (list, tuple)) and all(isinstance(name, str) for name in key):
            return Columns({name: self._columns[name] for name in key})
        rows = _array(key if hasattr(key, "__iter__") else [key])
        if rows.dtype.kind != "b" or rows.shape != (self._length,):
            raise KeyError(f"{type(key).__name__}: give the name of a column, or a Boolean for each row")
        return Columns({name: values[rows] for name, values in self._columns.items()})

    def __repr__(self) -> str:
        if not self._columns:
            return "(no columns)"
        half = _LINES // 2
        shown = list(range(self._length))
        cut = self._length > _LINES
        if cut:
            shown = [*range(half), *range(self._length - half, self._length)]
        texts = [[name, *(_cell(values[row]) for row in shown)] for name, values in self._columns.items()]
        widths = [max(map(len, column)) for column in texts]
        kept, width = 0, 0
        while kept < len(texts) and (not kept or width + widths[kept] + 2 <= _WIDTH):
            width += widths[kept] + 2
            kept += 1
        lines = [
            "  ".join(column[at].rjust(width) for column, width in zip(texts[:kept], widths, strict=False))
            for at in range(len(shown) + 1)
        ]
        if cut:
            lines.insert(half + 1, "…")
        more = "" if kept == len(texts) else f"; not shown: {', '.join(self.columns[kept:])}"
        return "\n".join([*lines, f"[{self._length:,} rows x {len(self._columns)} columns{more}]"])


def data_frame(columns: Mapping[str, Sequence[Any] | npt.NDArray[Any]]) -> Any:
    """``columns`` as a pandas data frame, or as :class:`Columns` where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return Columns(columns)
    return pd.DataFrame({name: _array(values) for name, values in columns.items()})


def _array(values: Any) -> npt.NDArray[Any]:
    """(n,) numbers as numbers, and anything else as objects, so that a missing text stays ``None``."""
    import numpy as np

    if isinstance(values, np.ndarray):
        return values.astype(object) if values.dtype.kind == "U" else values
    listed = list(values)
    kinds = {type(value) for value in listed}
    if kinds and (kinds <= {bool} or kinds <= {int} or kinds <= {int, float}):
        return np.array(listed)
    found = np.empty(len(listed), dtype=object)
    found[:] = listed
    return found


def _cell(value: Any) -> str:
    text = "–" if value is None else f"{value:.4g}" if isinstance(value, float) else visible(str(value))
    # The ends of ids and paths tell them apart.
    return text if len(text) <= _CELL else f"{text[: _CELL // 2]}…{text[1 - _CELL // 2 :]}"
