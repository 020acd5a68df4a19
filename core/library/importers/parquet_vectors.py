"""Parquet files of vectors: a column of lists, as Hugging Face writes them, or a column for each number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.language import tr_lazy
from semblance.core.library.importers.parquet_table import (
    BUFFER,
    READ_LIMITS,
    check_values,
    damage_error,
    import_parquet,
    is_numeric,
    is_usable,
)

#: The key of what this program notes in a file: the names of the numbers of a vector.
NOTED = b"semblance"
_SAVE_AS_NPZ = tr_lazy("Write it again, or save the features as .npz.")


class ParquetVectors:
    """A Parquet file with a row of numbers for each case."""

    def __init__(self, file: Path) -> None:
        """
        Raises:
            BadInput: damaged, of sizes that a file of its length cannot have, or PyArrow is not installed.
        """
        parquet = import_parquet()
        self.name = file.name
        self._file = open_regular_file(file, file.name)
        size = self._file.seek(0, 2)
        self._file.seek(0)
        try:
            self._opened = parquet.ParquetFile(
                self._file, buffer_size=BUFFER, pre_buffer=False, **READ_LIMITS
            )
            described = self._opened.metadata
            check_values(described, described.num_rows, size, self.name)
            self._schema = self._opened.schema_arrow
        except Exception as error:
            self._file.close()
            if isinstance(error, BadInput):
                raise
            raise damage_error(self.name, error, _SAVE_AS_NPZ) from error
        #: The names of its columns.
        self.names: list[str] = list(self._schema.names)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def lists(self) -> list[str]:
        """The columns of lists of numbers."""
        return [field.name for field in self._schema if _is_list_of_numbers(field.type)]

    def numbers(self) -> list[str]:
        """The columns of numbers."""
        from pyarrow import types

        return [
            field.name for field in self._schema if is_numeric(field.type) or types.is_boolean(field.type)
        ]

    def path_in_images(self) -> str | None:
        """The paths within a column of images, as Hugging Face's datasets write them (``image.path``)."""
        from pyarrow import types

        for field in self._schema:
            if types.is_struct(field.type) and field.type.get_field_index("path") >= 0:
                return f"{field.name}.path"
        return None

    def index_of_texts(self) -> str | None:
        """The index of a data frame, if it is one of texts."""
        from pyarrow import types

        try:
            noted = json.loads((self._schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        except (ValueError, LookupError, TypeError, RecursionError):
            return None
        for name in noted if isinstance(noted, list) else ():
            place = self._schema.get_field_index(name) if isinstance(name, str) else -1
            if place >= 0 and (kind := self._schema.field(place).type) and is_usable(kind):
                return None if types.is_floating(kind) else str(name)
        return None

    def titles(self) -> list[str]:
        """The names of the numbers of a vector, as this program notes them; none otherwise."""
        try:
            noted = json.loads((self._schema.metadata or {}).get(NOTED, b"{}"))
            return [str(name) for name in noted.get("names", ())]
        except (ValueError, AttributeError, TypeError, RecursionError):
            return []

    def texts(self, column: str) -> list[Any]:
        """(n,) the values of a column of ids.

        Raises:
            BadInput: damaged, or a row without an id.
        """
        found: list[Any] = []
        for batch in self._batches([column], 1 << 14):
            values = batch.column(0)
            while "." in column and hasattr(values, "field"):
                values = values.field("path")
            found += values.to_pylist()
        if None in found:
            raise BadInput(
                tr_lazy(
                    "Row {row} of '{name}' has no value in its column '{column}'.",
                    row=found.index(None) + 1,
                    name=self.name,
                    column=column,
                ),
                "Name every row, or leave it out.",
            )
        return found

    def width(self, column: str) -> int:
        """How many numbers the first list of ``column`` has; 0 in a file without rows.

        Raises:
            BadInput: damaged.
        """
        kind = self._schema.field(column).type
        fixed = getattr(kind, "list_size", -1)
        if fixed >= 0:
            return int(fixed)
        for batch in self._batches([column], 1):
            lists = batch.column(0)
            return len(lists[0]) if lists[0].is_valid else 0
        return 0

    def vectors(self, column: str, width: int, n_rows: int) -> Iterator[npt.NDArray[Any]]:
        """(r, ``width``) the lists of ``column``, ``n_rows`` at a time.

        Raises:
            BadInput: damaged, or a row without a list or with one of another length.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        row = 0
        for batch in self._batches([column], n_rows):
            lists = batch.column(0)
            if isinstance(lists, pa.ExtensionArray):
                lists = lists.storage
            lengths = pc.fill_null(pc.list_value_length(lists), -1).to_numpy(zero_copy_only=False)
            wrong = np.flatnonzero(lengths != width)
            if len(wrong):
                found = int(lengths[wrong[0]])
                raise BadInput(
                    tr_lazy(
                        "Row {row} of '{name}' has {found} numbers in '{column}', and the first row has {width}.",
                        row=row + int(wrong[0]) + 1,
                        name=self.name,
                        found=max(0, found),
                        column=column,
                        width=width,
                    ),
                    "Leave out rows without a vector.",
                )
            row += len(lists)
            flat = lists.flatten()
            yield _numbers(flat).reshape(len(lists), width)

    def columns(self, names: Sequence[str], n_rows: int) -> Iterator[npt.NDArray[Any]]:
        """(r, d) the columns ``names``, ``n_rows`` at a time; NaN where a cell is empty.

        Raises:
            BadInput: damaged.
        """
        for batch in self._batches(list(names), n_rows):
            order = [batch.schema.get_field_index(name) for name in names]
            yield np.stack([_numbers(batch.column(place)) for place in order], axis=1)

    def _batches(self, columns: list[str], n_rows: int) -> Iterator[Any]:
        try:
            yield from self._opened.iter_batches(batch_size=n_rows, columns=columns, use_threads=False)
        except BadInput:
            raise
        except Exception as error:
            # Its decoders raise what they like.
            raise damage_error(self.name, error, _SAVE_AS_NPZ) from error


def _is_list_of_numbers(kind: Any) -> bool:
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.ExtensionType):
        kind = kind.storage_type
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and is_numeric(kind.value_type))


def _numbers(column: Any) -> npt.NDArray[Any]:
    """(n,) float32 where they are stored so, else float64; NaN where there is no value."""
    from pyarrow import types

    kind = "float32" if types.is_float32(column.type) or types.is_float16(column.type) else "float64"
    found: npt.NDArray[Any] = column.cast(kind, safe=False).to_numpy(zero_copy_only=False)
    return found
