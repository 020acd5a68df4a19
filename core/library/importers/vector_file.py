"""Files of embeddings: NumPy arrays with ids beside them, Parquet tables and CSV, read block by block.

The files come from strangers: nothing is unpickled, a header is not trusted for the sizes it states, and no more than a
few blocks are in memory at a time, except of a compressed array, which cannot be read in parts.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.lib.format as npy
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.arrays import ArrayFile
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.language import join_texts, tr_lazy
from semblance.core.library.importers.csv_text import (
    IMAGE_COLUMNS,
    PATIENT_COLUMNS,
    TABLE_FINDING_COLUMNS,
    CsvFile,
    checked_header,
)
from semblance.core.library.importers.parquet_table import PARQUET_SUFFIXES
from semblance.core.library.importers.parquet_vectors import ParquetVectors
from semblance.core.limits import MAX_STREAMED_TABLE_BYTES, max_text_bytes, size_text
from semblance.core.normal_text import composed
from semblance.core.tasks import SILENT, Reporter

Vectors = npt.NDArray[np.float32]
Blocks = Iterator[npt.NDArray[Any]]

#: What names a row: the id of a case, or the path of its image.
CASE_ID, PATH = KEYS = ("case_id", "path")
#: What arrays and columns of ids, of vectors and of the names of their numbers are called, the first preferred.
ID_NAMES: dict[str, tuple[str, ...]] = {
    CASE_ID: ("case_id", "case_ids", "ids", "id", "case", "cases"),
    PATH: (
        *("path", "paths", "filepath", "filepaths", "file_path", "filename", "filenames", "file_name"),
        *("file", "files", "image_path", "image", "images"),
    ),
}
VECTOR_NAMES = ("features", "embeddings", "embedding", "X", "x", "vectors", "vector", "arr_0")
COLUMN_NAMES = ("names", "feature_names", "columns")
#: Columns that are no features, whatever they hold.
_NO_FEATURES = frozenset(
    (
        *(name for names in ID_NAMES.values() for name in names),
        *(*IMAGE_COLUMNS, *PATIENT_COLUMNS, *TABLE_FINDING_COLUMNS),
        *("labels", "findings", "index", "split", "fold"),
    )
)
NPY, NPZ, CSV_SUFFIXES = ".npy", ".npz", (".csv", ".tsv", ".txt")
READ = ".npy, .npz, .parquet, .csv"
#: Endings of files beside an array that may hold its ids.
IDS_ENDINGS = tuple(
    [f"{mark}ids{ending}" for ending in (".txt", ".csv", ".npy", ".json") for mark in "._"]
    + [".txt", ".csv", ".json"]
)
IDS_NAMES = ("ids.txt", "ids.csv", "ids.npy", "ids.json")
#: Bytes of a block of vectors, and the most numbers of one vector.
_BLOCK_BYTES, MAX_WIDTH = 32 << 20, 1 << 17
_HEADER_BYTES = 1 << 16
_NUMBERS = "biuf"
_HASHED = 1 << 22


class FeatureTable:
    """The vectors of n rows with their ``ids`` (n,), ``names`` (d,) of their numbers or none.

    ``source`` names the file or array in messages. ``left_out``: columns that are no features, and why.
    """

    def __init__(
        self,
        source: str,
        ids: Sequence[str],
        width: int,
        blocks: Callable[[], Blocks],
        *,
        names: Sequence[str] = (),
        left_out: Sequence[tuple[str, str]] = (),
        digest: str = "",
    ) -> None:
        """``blocks``: yields all rows in their order, (r, d) of real numbers; may be called again."""
        self.source, self.ids, self.width, self._blocks = source, ids, width, blocks
        self.names, self.left_out, self._digest = tuple(names), tuple(left_out), digest

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of_array(
        cls, vectors: npt.ArrayLike, ids: Iterable[Any], names: Sequence[str] = (), source: str = ""
    ) -> FeatureTable:
        """The rows of an array (n, d).

        Raises:
            BadInput: not (n, d) real numbers, or not n ids.
        """
        source = source or tr_lazy("the array")
        try:
            array = np.asarray(vectors)
        except ValueError:
            raise BadInput(
                tr_lazy("The rows of {source} have different lengths.", source=source),
                "Give one row of the same length for each case.",
            ) from None
        _check_form(array.shape, array.dtype, source)
        if not len(array):
            raise BadInput(
                tr_lazy("There are no vectors in {source}.", source=source), "Give a row for each case."
            )
        named = [id_text(one) for one in ids]
        _check_count(len(named), len(array), source)
        return cls(source, named, array.shape[1], lambda: _rows(array), names=names)

    def blocks(self, reporter: Reporter = SILENT) -> Iterator[Vectors]:
        """All rows in their order as float32, some at a time.

        Raises:
            BadInput: the file is damaged, or a number is NaN, infinite or too large for single precision.
        """
        n_rows = 0
        for block in self._blocks():
            reporter.check_cancelled()
            with np.errstate(over="ignore", invalid="ignore"):
                values = np.ascontiguousarray(block, dtype=np.float32)
            if not np.isfinite(values).all():
                raise self._refused_number(block, values, n_rows)
            n_rows += len(values)
            yield values
        if n_rows != len(self.ids):
            raise _wrong_count(len(self.ids), n_rows, self.source)

    @property
    def vectors(self) -> Vectors:
        """(n, d) float32, all of them in memory.

        Raises:
            BadInput: as :meth:`blocks`.
        """
        found = np.empty((len(self.ids), self.width), dtype=np.float32)
        start = 0
        for block in self.blocks():
            found[start : start + len(block)] = block
            start += len(block)
        return found

    def digest(self, reporter: Reporter = SILENT) -> str:
        """The SHA-256 of the file; of an array that of its numbers and ids.

        Raises:
            BadInput: as :meth:`blocks`.
        """
        if not self._digest:
            found = hashlib.sha256("\n".join([*self.names, "", *self.ids]).encode())
            for block in self.blocks(reporter):
                found.update(block.astype("<f4").tobytes())
            self._digest = found.hexdigest()
        return self._digest

    def _refused_number(self, block: npt.NDArray[Any], values: Vectors, n_rows: int) -> BadInput:
        row, column = (int(one) for one in np.argwhere(~np.isfinite(values))[0])
        number, place = block[row, column], n_rows + row
        shown = tr_lazy("NaN") if np.isnan(number) else f"{float(number):g}"
        return BadInput(
            tr_lazy(
                "Row {row} of {source} ({id}) is not usable: its number {column} is {shown}.",
                row=place + 1,
                source=self.source,
                id=self.ids[place],
                column=self.names[column] if self.names else column + 1,
                shown=shown,
            ),
            "Leave rows without a vector out of the file: their cases then have no features. Every number must be "
            "finite in single precision.",
        )


def read_vectors(
    file: Path, key: str = CASE_ID, *, ids: Path | None = None, reporter: Reporter = SILENT
) -> FeatureTable:
    """The vectors in ``file`` (.npy, .npz, .parquet or .csv) with the ids that ``key`` names; ``ids``: a file of them.

    Raises:
        BadArguments: another key.
        BadInput: another kind of file, damaged, without vectors or ids, or not one id for each vector.
    """
    if key not in KEYS:
        raise BadArguments(
            tr_lazy("There is no key '{key}'.", key=key),
            tr_lazy("Rows are named by {keys}.", keys=", ".join(KEYS)),
        )
    suffix = file.suffix.lower()
    readers: dict[str, Callable[..., FeatureTable]] = {NPY: _read_npy, NPZ: _read_npz}
    readers |= dict.fromkeys(PARQUET_SUFFIXES, _read_parquet) | dict.fromkeys(CSV_SUFFIXES, _read_csv)
    if suffix not in readers:
        raise BadInput(
            tr_lazy("'{file}' cannot be read as a file of features ({read}).", file=file.name, read=READ),
            "Save it as one of these: numpy.savez('f.npz', features=X, case_id=ids), or a data frame with to_parquet. "
            "Pickled files (.pkl, .pt) are not read, because reading them can run what they hold.",
        )
    with open_regular_file(file, file.name) as opened:
        digest = hashlib.sha256()
        while part := opened.read(_HASHED):
            reporter.check_cancelled()
            digest.update(part)
    table = readers[suffix](file, key, None if ids is None else read_ids(ids, key))
    if not len(table):
        raise BadInput(
            tr_lazy("'{file}' holds no vector.", file=file.name), "Check that it is the right file."
        )
    table._digest = digest.hexdigest()
    return table


def read_ids(file: Path, key: str = CASE_ID) -> list[str]:
    """The ids in ``file``: a text with one on each line, a CSV with a column of them, a JSON list, or a .npy array.

    Raises:
        BadInput: another kind of file, damaged, or without ids.
    """
    suffix = file.suffix.lower()
    if suffix == NPY:
        return _ids_of(_whole_npy(file), file.name)
    with open_regular_file(file, file.name) as opened:
        if suffix == ".json":
            try:
                found = json.loads(opened.read(max_text_bytes() + 1))
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, list) or not all(isinstance(one, str | int) for one in found):
                raise BadInput(
                    tr_lazy("'{file}' is not a JSON list of ids.", file=file.name), 'Write it as ["a", "b"].'
                )
            return [id_text(one) for one in found]
        # A line may hold commas and quotation marks of its own where it is not a table.
        table = CsvFile(opened, file.name, "," if suffix == ".csv" else "\t")
        header = table.first.cells
        column = _id_column(header, key)
        if column is None and len(header) > 1:
            raise _no_ids(file.name, key, header)
        blocks = table.blocks(header=column is not None)
        cells = [cell for block in blocks for cell in block.columns[column or 0]]
    return [composed(cell) for cell in cells]


def read_vector(file: Path, width: int | None = None) -> npt.NDArray[np.float64]:
    """(d,) one vector: .npy of (d,) or (1, d), a JSON list, or a CSV of one line or one column of numbers.

    Raises:
        BadInput: another kind of file, damaged, not one vector, or not of ``width`` numbers.
    """
    suffix = file.suffix.lower()
    if suffix == NPY:
        array = np.asarray(_whole_npy(file))
    elif suffix in (".json", *CSV_SUFFIXES):
        with open_regular_file(file, file.name) as opened:
            text = opened.read(max_text_bytes() + 1)
        array = _numbers_of_text(text, suffix, file.name)
    else:
        raise BadInput(
            tr_lazy("'{file}' cannot be read as a vector.", file=file.name),
            "Save it as .npy, as a list in .json, or as one line of a .csv.",
        )
    if array.dtype.kind not in _NUMBERS or array.size != max(array.shape, default=0) or not array.size:
        raise BadInput(
            tr_lazy(
                "'{file}' holds {form} of {kind} and not one vector.",
                file=file.name,
                form=_form(array.shape),
                kind=array.dtype.name,
            ),
            "Save one vector: (d,) or (1, d) numbers.",
        )
    return checked_vector(array.reshape(-1), _quoted(file), width)


def checked_vector(vector: npt.ArrayLike, source: str, width: int | None = None) -> npt.NDArray[np.float64]:
    """``vector`` as (d,) float64 numbers of single precision, as stored features are.

    Raises:
        BadInput: a number that is not finite, or not ``width`` numbers.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(vector, dtype=np.float64).astype(np.float32).astype(np.float64).reshape(-1)
    if not np.isfinite(found).all():
        raise BadInput(
            tr_lazy(
                "{source} has no finite number at place {n}.",
                n=int(np.flatnonzero(~np.isfinite(found))[0]) + 1,
                source=source,
            ),
            "Give a vector of finite numbers.",
        )
    if width is not None and len(found) != width:
        raise BadInput(
            tr_lazy(
                "{source} has {n} numbers, and the features of the metric have {width}.",
                source=source,
                n=len(found),
                width=width,
            ),
            "Give the vector that the same model makes of the query.",
        )
    return found


def id_text(value: Any) -> str:
    """An id as text: 17 and 17.0 are "17"."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return composed(str(value).strip())


def _read_npy(file: Path, key: str, ids: list[str] | None) -> FeatureTable:
    array = _mapped_npy(file)
    _check_form(array.shape, array.dtype, _quoted(file))
    if ids is None:
        ids = _ids_beside(file, key)
    _check_count(len(ids), len(array), _quoted(file))
    return FeatureTable(_quoted(file), ids, array.shape[1], lambda: _mapped_rows(array))


def _ids_beside(file: Path, key: str) -> list[str]:
    """The ids in the first of the files beside an array that may hold them.

    Raises:
        BadInput: there is none.
    """
    tried = [file.with_name(file.stem + ending) for ending in IDS_ENDINGS]
    tried += [file.with_name(name) for name in IDS_NAMES]
    for one in tried:
        if one != file and one.is_file():
            return read_ids(one, key)
    raise BadInput(
        tr_lazy(
            "'{file}' holds vectors and no ids, and no file of ids is beside it. Tried: {tried}.",
            file=file.name,
            tried=", ".join(one.name for one in tried),
        ),
        "Write the ids there, one for each row in the order of the rows, or name their file with --ids FILE.",
    )


def _read_npz(file: Path, key: str, ids: list[str] | None) -> FeatureTable:
    arrays = ArrayFile(file, file.name)
    try:
        name = _vectors_in(arrays)
        header = arrays.header(name)
        _check_form(header.shape, header.dtype, _quoted(file))
        if ids is None:
            found = next((one for one in ID_NAMES[key] if one in arrays.names), None)
            if found is None:
                other = PATH if key == CASE_ID else CASE_ID
                if any(one in arrays.names for one in ID_NAMES[other]):
                    raise _no_ids(file.name, key, arrays.names)
                ids = _ids_beside(file, key)
            else:
                ids = _ids_of(arrays.read(found), file.name)
        names = next((one for one in COLUMN_NAMES if one in arrays.names), None)
        titles = [] if names is None else _ids_of(arrays.read(names), file.name)
        if len(titles) not in (0, header.shape[1]):
            titles = []
    finally:
        arrays.close()
    _check_count(len(ids), header.shape[0], _quoted(file))

    def blocks() -> Blocks:
        opened = ArrayFile(file, file.name)
        try:
            yield from opened.blocks(name, _rows_of_block(header.shape[1], header.dtype.itemsize))
        finally:
            opened.close()

    return FeatureTable(_quoted(file), ids, header.shape[1], blocks, names=titles)


def _vectors_in(arrays: ArrayFile) -> str:
    if arrays.refused:
        entry, reason = arrays.refused[0]
        raise BadInput(
            tr_lazy(
                "'{entry}' of '{file}' is refused: {reason}.", entry=entry, file=arrays.name, reason=reason
            ),
            "Save the arrays again with numpy.savez, without compression.",
        )
    named = [one for one in VECTOR_NAMES if one in arrays.names]
    others = [
        one
        for one in arrays.names
        if one not in _NO_FEATURES | {*COLUMN_NAMES} and len(arrays.header(one).shape) == 2
    ]
    if not named and len(others) != 1:
        raise BadInput(
            tr_lazy(
                "'{file}' has no array of vectors that can be told from the others. It has: {names}. "
                "Looked for: {tried}.",
                file=arrays.name,
                names=", ".join(arrays.names) or "–",
                tried=", ".join(VECTOR_NAMES),
            ),
            "Save it with numpy.savez('f.npz', features=X, case_id=ids).",
        )
    return named[0] if named else others[0]


def _read_parquet(file: Path, key: str, ids: list[str] | None) -> FeatureTable:
    with contextlib.closing(ParquetVectors(file)) as opened:
        return _parquet_table(opened, file, key, ids)


def _parquet_table(opened: ParquetVectors, file: Path, key: str, ids: list[str] | None) -> FeatureTable:
    names = opened.names
    column = _id_column(names, key)
    if ids is None:
        inside = opened.path_in_images() if key == PATH else None
        index = opened.index_of_texts()
        if inside is not None and (column is None or names[column] == inside.partition(".")[0]):
            found = inside
        elif column is not None:
            found = names[column]
        elif index is not None and key == CASE_ID:
            found = index
        else:
            raise _no_ids(file.name, key, names)
        column = names.index(found) if found in names else column
        ids = [id_text(one) for one in opened.texts(found)]
    lists = opened.lists()
    if lists:
        wanted = [one for one in VECTOR_NAMES if one in lists]
        if not wanted and len(lists) > 1:
            raise BadInput(
                tr_lazy(
                    "'{file}' has several columns of lists: {names}.", file=file.name, names=", ".join(lists)
                ),
                tr_lazy("Name the column of the vectors {name}.", name=VECTOR_NAMES[0]),
            )
        chosen = wanted[0] if wanted else lists[0]
        width, titles = opened.width(chosen), opened.titles()
        if len(titles) != width:
            titles = []
        rows = _rows_of_block(width)
        return FeatureTable(
            _quoted(file),
            ids,
            _checked_width(width, file),
            lambda: _parquet_blocks(file, lambda again: again.vectors(chosen, width, rows)),
            names=titles,
        )
    numbers = opened.numbers()
    features = [one for one in names if one in numbers and _may_be_feature(one)]
    left_out = [
        (one, tr_lazy("it names, labels or divides the cases") if one in numbers else tr_lazy("it is text"))
        for one in names
        if one not in features and not (column is not None and one == names[column])
    ]
    if not features:
        raise _no_features(file.name, names)
    rows = _rows_of_block(len(features), 8)
    return FeatureTable(
        _quoted(file),
        ids,
        _checked_width(len(features), file),
        lambda: _parquet_blocks(file, lambda again: again.columns(features, rows)),
        names=features,
        left_out=left_out,
    )


def _parquet_blocks(file: Path, read: Callable[[ParquetVectors], Blocks]) -> Blocks:
    with contextlib.closing(ParquetVectors(file)) as opened:
        yield from read(opened)


def _read_csv(file: Path, key: str, ids: list[str] | None) -> FeatureTable:
    with open_regular_file(file, file.name) as opened:
        table = CsvFile(opened, file.name, max_bytes=MAX_STREAMED_TABLE_BYTES)
        header = checked_header(table.first.cells, file.name)
        column = _id_column(header, key)
        if column is None and ids is None:
            # The index of a data frame has no name.
            if key != CASE_ID or header[0] != "":
                raise _no_ids(file.name, key, header)
            column = 0
        first = next(islice(zip(*next(iter(table.blocks())).columns, strict=True), 1), ())
        n_rows, named, failed = 0, list[str](), list[tuple[int, str]]()
        for block in table.blocks():
            n_rows += len(block.numbers)
            named += map(composed, block.columns[column]) if column is not None and ids is None else ()
            failed += [(one.line, one.reason) for one in block.failed]
    if failed:
        raise BadInput(
            tr_lazy(
                "Line {line} of '{file}' cannot be used: {reason}.",
                line=failed[0][0],
                file=file.name,
                reason=failed[0][1],
            ),
            "Repair or remove the line.",
        )
    chosen = [
        place
        for place, (name, cell) in enumerate(zip(header, first, strict=False))
        if place != column and _may_be_feature(name) and _is_number(cell, table.delimiter)
    ]
    if not chosen:
        raise _no_features(file.name, header)
    left_out = [
        (
            name,
            tr_lazy("it names, labels or divides the cases")
            if not _may_be_feature(name)
            else tr_lazy("it is text"),
        )
        for place, name in enumerate(header)
        if place not in {*chosen, column}
    ]
    delimiter = table.delimiter

    def blocks() -> Blocks:
        with open_regular_file(file, file.name) as again:
            for block in CsvFile(again, file.name, delimiter, max_bytes=MAX_STREAMED_TABLE_BYTES).blocks():
                if len(block.numbers):
                    yield _cell_numbers(
                        [block.columns[place] for place in chosen],
                        [header[place] for place in chosen],
                        block.lines,
                        delimiter,
                        file.name,
                    )

    return FeatureTable(
        _quoted(file),
        named if ids is None else ids,
        _checked_width(len(chosen), file),
        blocks,
        names=[header[place] for place in chosen],
        left_out=left_out,
    )


def _cell_numbers(
    columns: Sequence[Sequence[str]], names: Sequence[str], lines: Sequence[int], delimiter: str, file: str
) -> npt.NDArray[np.float64]:
    """(r, d) the numbers in ``columns`` of cells.

    Raises:
        BadInput: a cell is no number.
    """
    found = np.empty((len(lines), len(columns)))
    for place, cells in enumerate(columns):
        if delimiter != ",":
            cells = [cell.replace(",", ".") for cell in cells]
        try:
            found[:, place] = np.array([cell or "nan" for cell in cells], dtype=np.float64)
        except ValueError:
            line, cell = next(
                (line, cell)
                for line, cell in zip(lines, cells, strict=True)
                if cell and not _is_number(cell, delimiter)
            )
            raise BadInput(
                tr_lazy(
                    "Line {line} of '{file}' has {cell} in the column '{name}', which is no number.",
                    line=line,
                    file=file,
                    cell=repr(cell[:40]),
                    name=names[place],
                ),
                "Repair the cell, or remove the column.",
            ) from None
    return found


def _is_number(cell: str, delimiter: str) -> bool:
    try:
        float(cell if delimiter == "," else cell.replace(",", "."))
    except ValueError:
        return False
    return "_" not in cell


def _numbers_of_text(text: bytes, suffix: str, file: str) -> npt.NDArray[Any]:
    try:
        decoded = text.decode("utf-8-sig")
        if suffix == ".json":
            found = json.loads(decoded)
            if isinstance(found, list) and all(_is_plain(one) for one in found):
                return np.array(found, dtype=np.float64)
            if isinstance(found, list) and len(found) == 1 and isinstance(found[0], list):
                return np.array([found[0]], dtype=np.float64)
            raise ValueError
        lines = [line for line in decoded.splitlines() if line.strip()]
        for mark in (";", "\t", ","):
            if any(mark in line for line in lines):
                cells = [[cell.strip() for cell in line.split(mark) if cell.strip()] for line in lines]
                break
        else:
            mark, cells = ";", [line.split() for line in lines]
        if len(cells) == 2 and not all(_is_number(cell, mark) for cell in cells[0]):
            # A header.
            del cells[0]
        return np.array([[float(c if mark == "," else c.replace(",", ".")) for c in row] for row in cells])
    except (ValueError, TypeError, RecursionError, OverflowError):
        raise BadInput(
            tr_lazy("'{file}' does not hold one vector of numbers.", file=file),
            "Write it as [0.1, 0.2] in .json, or as one line of numbers in .csv.",
        ) from None


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mapped_npy(file: Path) -> npt.NDArray[Any]:
    """The array of a .npy file, mapped from it.

    Raises:
        BadInput: damaged, of Python objects, or of another size than its header says.
    """
    with open_regular_file(file, file.name) as opened:
        shape, fortran, dtype, offset = _npy_header(opened, file.name)
        size = opened.seek(0, 2)
    declared = offset + math.prod(shape) * dtype.itemsize
    if min(shape, default=1) < 0 or declared != size:
        raise BadInput(
            tr_lazy(
                "The header of '{file}' promises {declared} and the file has {size}.",
                file=file.name,
                declared=size_text(declared),
                size=size_text(size),
            ),
            "It is damaged or cut off. Copy or save it again.",
        )
    if not math.prod(shape):
        return np.empty(shape, dtype)
    try:
        return np.memmap(file, dtype, "r", offset, shape, "F" if fortran else "C")
    except (OSError, ValueError) as error:
        raise BadInput(
            tr_lazy("'{file}' cannot be read: {reason}.", file=file.name, reason=error),
            "Check that its disk is connected.",
        ) from error


def _npy_header(file: BinaryIO, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    start = io.BytesIO(file.read(_HEADER_BYTES))
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        shape, fortran, dtype = readers[npy.read_magic(start)](start)
    except Exception:  # noqa: BLE001 - numpy parses a Python literal there, which may fail in any way
        raise BadInput(
            tr_lazy("'{file}' is not a NumPy array file, or it is damaged.", file=name),
            "Save it again with numpy.save.",
        ) from None
    if dtype.hasobject:
        raise BadInput(
            tr_lazy("'{file}' holds Python objects, which are never read.", file=name),
            "Save it as numbers: numpy.save('f.npy', numpy.stack(vectors).astype('float32')). Ids as text: "
            "numpy.array(ids, dtype=str).",
        )
    return tuple(shape), bool(fortran), dtype, start.tell()


def _whole_npy(file: Path) -> npt.NDArray[Any]:
    found = _mapped_npy(file)
    if found.nbytes > max_text_bytes() * 50:
        raise BadInput(
            tr_lazy("'{file}' is {size} large.", file=file.name, size=size_text(found.nbytes)),
            "Check that it is the right file.",
        )
    return found


def _ids_of(array: npt.NDArray[Any], file: str) -> list[str]:
    """An array of ids as texts.

    Raises:
        BadInput: not (n,) texts or whole numbers.
    """
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1 or array.dtype.kind not in "iuUS":
        raise BadInput(
            tr_lazy(
                "The ids in '{file}' are {form} of {kind}, not texts or whole numbers.",
                file=file,
                form=_form(array.shape),
                kind=array.dtype.name,
            ),
            "Save them with numpy.array(ids, dtype=str).",
        )
    return [id_text(one) for one in array.tolist()]


def _rows(array: npt.NDArray[Any]) -> Blocks:
    step = _rows_of_block(array.shape[1], array.dtype.itemsize)
    for start in range(0, len(array), step):
        yield array[start : start + step]


def _mapped_rows(array: npt.NDArray[Any]) -> Blocks:
    mapped: Any = array.base
    for block in _rows(array):
        yield block
        # Else all of the file that was read counts as memory of this program.
        if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def _rows_of_block(width: int, itemsize: int = 4) -> int:
    return max(1, _BLOCK_BYTES // max(1, width * max(4, itemsize)))


def _check_form(shape: Sequence[int], dtype: np.dtype[Any], source: str) -> None:
    if len(shape) != 2 or dtype.kind not in _NUMBERS or not shape[1]:
        raise BadInput(
            tr_lazy(
                "The vectors of {source} are {form} of {kind}; (n, d) real numbers are needed: a row for each case.",
                source=source,
                form=_form(shape),
                kind=dtype.name,
            ),
            "Save them with numpy.stack(vectors).astype('float32').",
        )
    if shape[1] > MAX_WIDTH:
        raise _too_wide(shape[1], source)


def _checked_width(width: int, file: Path) -> int:
    if not 0 < width <= MAX_WIDTH:
        raise _too_wide(width, _quoted(file))
    return width


def _too_wide(width: int, source: str) -> BadInput:
    return BadInput(
        tr_lazy(
            "The vectors of {source} have {width:,} numbers; the limit is {most:,}.",
            source=source,
            width=width,
            most=MAX_WIDTH,
        ),
        "Check that the rows are the cases.",
    )


def _check_count(n_ids: int, n_rows: int, source: str) -> None:
    if n_ids != n_rows:
        raise _wrong_count(n_ids, n_rows, source)


def _wrong_count(n_ids: int, n_rows: int, source: str) -> BadInput:
    return BadInput(
        tr_lazy(
            "There are {n_ids:,} ids for the {n_rows:,} vectors of {source}.",
            source=source,
            n_rows=n_rows,
            n_ids=n_ids,
        ),
        "Give one id for each vector, in the order of the rows.",
    )


def _form(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _quoted(file: Path) -> str:
    return f"'{file.name}'"


def _may_be_feature(name: str) -> bool:
    return bool(name) and name.casefold() not in _NO_FEATURES and not name.startswith("__index_level_")


def _id_column(header: Sequence[str], key: str) -> int | None:
    folded = [one.casefold() for one in header]
    return next((folded.index(name) for name in ID_NAMES[key] if name in folded), None)


def _no_ids(file: str, key: str, names: Sequence[str]) -> BadInput:
    other = PATH if key == CASE_ID else CASE_ID
    folded = [one.casefold() for one in names]
    if any(name in folded for name in ID_NAMES[other]):
        hint = tr_lazy("It names its rows otherwise: use --key {key}.", key=other)
    else:
        hint = tr_lazy("Call the column or array of ids {name}, or give --ids FILE.", name=ID_NAMES[key][0])
    shown = [one or '""' for one in names[:12]]
    return BadInput(
        tr_lazy(
            "'{file}' has no column or array of {what}. It has: {names}. Looked for: {tried}.",
            file=file,
            what=tr_lazy("paths") if key == PATH else tr_lazy("case ids"),
            names=join_texts([*shown, *(["…"] if len(names) > 12 else [])], ", "),
            tried=", ".join(ID_NAMES[key]),
        ),
        hint,
    )


def _no_features(file: str, names: Sequence[str]) -> BadInput:
    return BadInput(
        tr_lazy(
            "'{file}' has no column of numbers and no column of lists of numbers. It has: {names}.",
            file=file,
            names=", ".join(names[:12]),
        ),
        "Write one column for each number, or one column of lists.",
    )
