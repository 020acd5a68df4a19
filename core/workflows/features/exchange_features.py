"""Features in and out: vectors that another program computed, and a library's own for other programs.

Embeddings name their cases by id or by the path of an image, and never make new ones. A case without a row has no
features in the set, as one whose extraction failed. What is written can be read again to the bit.
"""

from __future__ import annotations

import json
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.lib.format as npy
import numpy.typing as npt

from semblance.core.csv_cells import csv_line, safe_text
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.evaluation.data_sources import sealed_rows
from semblance.core.features.imported import COLUMNS, DATE, DIGEST, EMBEDDING, FILE, FORM, ORIGIN, Imported
from semblance.core.features.places import LARGEST, PLACES
from semblance.core.features.registry import stored_extractor
from semblance.core.files import replacing, write_error
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.export_log import log_export
from semblance.core.library.importers.parquet_table import import_parquet
from semblance.core.library.importers.parquet_vectors import NOTED
from semblance.core.library.importers.vector_file import (
    CASE_ID,
    KEYS,
    PATH,
    FeatureTable,
    Vectors,
    read_vectors,
)
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CHUNK, FeatureSet, checked_name
from semblance.core.normal_text import composed, spellings
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.stored_places import coding_of

if TYPE_CHECKING:
    from semblance.core.library.library import Library

__all__ = [
    "AddedFeatures",
    "ExportedFeatures",
    "FeatureTable",
    "add_features",
    "export_features",
    "import_features",
    "read_vectors",
]

#: Columns up to this number are each explained by themselves; more of them together, as those of an encoder are.
_MOST_GROUPS = 100
#: Ids that a message lists.
_LISTED = 5
#: Bytes of vectors that are written in one transaction.
_WRITTEN_BYTES = 64 << 20
#: Vectors of so many bytes are put into the order of the catalogue for an export.
_ORDERED_BYTES = 512 << 20
#: Endings of the files that features are exported to.
PARQUET, NPZ, CSV = FORMATS = (".parquet", ".npz", ".csv")
#: Names of what is exported.
_VECTORS, _NAMES, _FINDING = "features", "names", "finding"


@dataclass(frozen=True)
class AddedFeatures(JsonDocument):
    """How many cases of ``library`` got features in the set ``features`` of ``n_features`` numbers.

    ``added``: those that had none before; ``unchanged``: those that had the same ones. ``cases``: all that have some
    now, ``without_features``: all that have none. ``left_out``: columns of the file that are no features, and why.
    """

    library: str
    features: str
    n_features: int
    added: int
    unchanged: int
    cases: int
    without_features: int
    left_out: list[dict[str, str]] = field(default_factory=list)
    sha256: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class ExportedFeatures(JsonDocument):
    """``cases`` of the set ``features`` were written to ``out``; ``sealed`` ones in the test vault were left out."""

    library: str
    features: str
    out: str
    n_features: int
    cases: int
    sealed: int
    size: int


def add_features(
    library: LibraryLocation,
    name: str,
    vectors: npt.ArrayLike,
    case_ids: Iterable[Any],
    *,
    key: str = CASE_ID,
    names: Sequence[str] = (),
    origin: str = "",
    reporter: Reporter = SILENT,
) -> AddedFeatures:
    """Add ``vectors`` (n, d) of real numbers as the feature set ``name`` of the cases ``case_ids`` (n,), in single
    precision.

    ``key`` "path": the cases are named by the paths of their images, absolute, relative to what was imported, or their
    last parts. ``names`` (d,): of the numbers. ``origin``: what made them, for cards and lists. Cases that are not
    named have no features in the set. The same vectors again change nothing.

    Raises:
        BadArguments: another key, or a set of that name that holds something else.
        BadInput: another form, a number that is not finite, or ids that are unknown, ambiguous or named twice.
        SemblanceError: the library cannot be written to.
    """
    table = FeatureTable.of_array(vectors, case_ids, names)
    return _add(library, table, name, key, "", origin, reporter)


def import_features(
    library: LibraryLocation,
    file: Path,
    name: str,
    key: str = CASE_ID,
    *,
    ids: Path | None = None,
    origin: str = "",
    reporter: Reporter = SILENT,
) -> AddedFeatures:
    """Add the vectors in ``file`` (.npy, .npz, .parquet, .csv) as the feature set ``name``.

    ``ids``: the file of the ids of a .npy; else it is looked for beside it. Otherwise as :func:`add_features`. The same
    file again adds the cases that have come since.

    Raises:
        BadArguments, BadInput, SemblanceError: as :func:`add_features` and :func:`read_vectors`.
    """
    reporter.progress(0, None, tr_lazy("Reading {file}", file=file.name))
    table = read_vectors(file, key, ids=ids, reporter=reporter)
    return _add(library, table, name, key, file.name, origin, reporter)


def import_by_ids_or_paths(
    library: LibraryLocation, file: Path, name: str, *, reporter: Reporter = SILENT
) -> AddedFeatures:
    """:func:`import_features` by ids of cases or, where these do not fit, by paths of images.

    Raises:
        BadArguments, BadInput, SemblanceError: as :func:`import_features` by ids, where neither fits.
    """
    try:
        return import_features(library, file, name, CASE_ID, reporter=reporter)
    except BadInput as by_ids:
        try:
            return import_features(library, file, name, PATH, reporter=reporter)
        except BadInput:
            raise by_ids from None


def _add(
    library: LibraryLocation,
    table: FeatureTable,
    name: str,
    key: str,
    file: str,
    origin: str,
    reporter: Reporter,
) -> AddedFeatures:
    start = time.monotonic()
    if key not in KEYS:
        raise BadArguments(
            tr_lazy("There is no key '{key}'.", key=key),
            tr_lazy("Rows are named by {keys}.", keys=", ".join(KEYS)),
        )
    name = checked_name(name, tr_lazy("A feature set"))
    with open_library(library, writable=True) as opened:
        rows = _rows_by_path(opened, table) if key == PATH else _rows_by_id(opened, table)
        columns = _columns(table, name)
        # All is checked before anything is written.
        digest = table.digest(reporter)
        for done, block in _counted(table.blocks(reporter)):
            reporter.progress(done, len(table), tr_lazy("Checking {source}", source=table.source))
            del block
        feature_set = _known_set(opened, name, digest, columns)
        if feature_set is None:
            settings = {
                FILE: file,
                DIGEST: digest,
                DATE: opened.catalogue.now()[:10],
                ORIGIN: " ".join(origin.split())[:_LONGEST_ORIGIN],
                FORM: COLUMNS if table.names and table.width <= _MOST_GROUPS else EMBEDDING,
            }
            feature_set = opened.features.make(
                name, Imported.name, Imported.version, settings, columns, dtype=Imported.stored_type()
            )
        held = opened.features.cases_of(feature_set)
        _write(opened, feature_set, table, rows, held, reporter)
        after = opened.features.cases_of(feature_set)
        return AddedFeatures(
            str(opened.location),
            feature_set.name,
            len(feature_set.columns),
            len(np.setdiff1d(after, held)),
            int(np.isin(rows, held).sum()),
            len(after),
            len(np.setdiff1d(opened.catalogue.case_rows(), after)),
            [{"column": column, "reason": reason} for column, reason in table.left_out],
            digest,
            time.monotonic() - start,
        )


#: Characters of what the user says of the origin.
_LONGEST_ORIGIN = 500


def _columns(table: FeatureTable, name: str) -> list[tuple[str, str]]:
    if not table.names:
        return [(f"{name} {n}", name) for n in range(1, table.width + 1)]
    if len(table.names) != table.width:
        raise BadArguments(
            tr_lazy("There are {n} names for {width} numbers.", n=len(table.names), width=table.width),
            "Give one name for each number, or none.",
        )
    repeated = [one for one, count in Counter(table.names).items() if count > 1]
    if repeated:
        raise BadArguments(
            tr_lazy("The name '{name}' is given to several numbers.", name=repeated[0]),
            "Give each number a name of its own.",
        )
    few = table.width <= _MOST_GROUPS
    return [(one, one if few else name) for one in table.names]


def _known_set(
    library: Library, name: str, digest: str, columns: Sequence[tuple[str, str]]
) -> FeatureSet | None:
    """The set called ``name`` that was made from the same; ``None`` where there is none.

    Raises:
        BadArguments: it holds something else.
    """
    known = next((one for one in library.features.every() if one.name == name), None)
    if known is None:
        return None
    if known.extractor != Imported.name or known.settings.get(DIGEST) != digest:
        raise BadArguments(
            tr_lazy("There is a feature set '{name}' that holds something else.", name=name),
            "Choose another name, or delete it first: semblance feature-set delete.",
        )
    if [one for one, _ in known.columns] != [one for one, _ in columns] and len(known.columns) != len(
        columns
    ):
        raise BadArguments(
            tr_lazy("The feature set '{name}' has other columns.", name=name), "Choose another name."
        )
    return known


def _counted(blocks: Iterator[Vectors]) -> Iterator[tuple[int, Vectors]]:
    done = 0
    for block in blocks:
        done += len(block)
        yield done, block


def _write(
    library: Library,
    feature_set: FeatureSet,
    table: FeatureTable,
    rows: npt.NDArray[np.int64],
    held: npt.NDArray[np.int64],
    reporter: Reporter,
) -> None:
    """Write the vectors of the cases ``rows`` (n,), without those that are ``held``."""
    lacking = ~np.isin(rows, held)
    step = max(CHUNK, _WRITTEN_BYTES // (4 * table.width) // CHUNK * CHUNK)
    waiting: list[Vectors] = []
    numbers: list[npt.NDArray[np.int64]] = []

    def flush(*, all_of_it: bool) -> None:
        nonlocal waiting, numbers
        values, ids = np.concatenate(waiting), np.concatenate(numbers)
        end = len(ids) if all_of_it else len(ids) // step * step
        for start in range(0, end, step):
            library.features.write_chunk(
                feature_set, ids[start : min(start + step, end)], values[start : min(start + step, end)]
            )
        waiting, numbers = [values[end:]], [ids[end:]]

    if not lacking.any():
        return
    for done, block in _counted(table.blocks(reporter)):
        begin = done - len(block)
        chosen = lacking[begin:done]
        waiting.append(block[chosen])
        numbers.append(rows[begin:done][chosen])
        if sum(map(len, numbers)) >= step:
            flush(all_of_it=False)
        reporter.progress(done, len(table), tr_lazy("Importing {name}", name=feature_set.name))
    flush(all_of_it=True)


def _rows_by_id(library: Library, table: FeatureTable) -> npt.NDArray[np.int64]:
    """(n,) the case of each row, by its id.

    Raises:
        BadInput: ids that the library does not have, or named twice.
    """
    if len(table.ids) * 4 < len(library.catalogue.case_rows()):
        known = library.catalogue.rows_of(list(table.ids))
    else:
        known = {one.case_id: one.id for one in library.catalogue.all_cases()}
    found = [next((known[form] for form in spellings(one) if form in known), -1) for one in table.ids]
    unknown = [one for one, row in zip(table.ids, found, strict=True) if row < 0]
    if unknown:
        raise BadInput(
            tr_lazy_n(
                "{n} of {total} ids in {source} is no case of {library}: {ids}.",
                "{n} of {total} ids in {source} are no cases of {library}: {ids}.",
                len(unknown),
                total=len(table.ids),
                source=table.source,
                library=library.location.name,
                ids=_listed(unknown),
            ),
            "Leave these rows out, or import their images first; `semblance info LIB --json` lists the case ids. For "
            "paths use --key path.",
        )
    return _each_once(table, np.array(found, dtype=np.int64))


def _rows_by_path(library: Library, table: FeatureTable) -> npt.NDArray[np.int64]:
    """(n,) the case of each row, by the path of its image.

    Raises:
        BadInput: paths of no case, of several, or of one case twice.
    """
    places = CasePaths(library)
    found, unknown, ambiguous = np.full(len(table.ids), -1, dtype=np.int64), list[str](), list[str]()
    for place, one in enumerate(table.ids):
        cases = places.find(one)
        if len(cases) == 1:
            found[place] = cases[0]
        else:
            (ambiguous if cases else unknown).append(one)
    if unknown or ambiguous:
        message = tr_lazy(
            "{n:,} of {total:,} paths in {source} are of no case of {library}: {ids}.",
            n=len(unknown),
            total=len(table.ids),
            source=table.source,
            library=library.location.name,
            ids=_listed(unknown),
        )
        several = tr_lazy(
            "{n:,} paths in {source} are of several cases of {library}: {ids}.",
            n=len(ambiguous),
            source=table.source,
            library=library.location.name,
            ids=_listed(ambiguous),
        )
        both = tr_lazy("{first} {second}", first=message, second=several)
        raise BadInput(
            both if unknown and ambiguous else message if unknown else several,
            "Give absolute paths, paths relative to the folder that was imported, or ends of paths that fit one case. "
            "Images with several cases need --key case_id.",
        )
    return _each_once(table, found)


def _each_once(table: FeatureTable, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """``rows``, if they are all different.

    Raises:
        BadInput: a case is named twice.
    """
    if len(np.unique(rows)) < len(rows):
        counts = Counter(rows.tolist())
        repeated = [one for one, row in zip(table.ids, rows.tolist(), strict=True) if counts[row] > 1]
        raise BadInput(
            tr_lazy(
                "{n:,} rows of {source} name a case that another row names too: {ids}.",
                n=len(repeated),
                source=table.source,
                ids=_listed(sorted(set(repeated))),
            ),
            "Leave one row for each case.",
        )
    return rows


def _listed(ids: Sequence[str]) -> str:
    more = len(ids) - _LISTED
    return ", ".join(ids[:_LISTED]) + (tr_lazy(" and {n:,} more", n=more) if more > 0 else "")


class CasePaths:
    """The cases of a library by the paths of their images."""

    def __init__(self, library: Library) -> None:
        #: Last part of a path -> (all parts, those within the source, case) of the images called so.
        self._by_name: dict[str, list[tuple[tuple[str, ...], int, int]]] = {}
        sources = {one.id: _parts(str(one.path)) for one in library.catalogue.sources()}
        for row, source, path, member, frame in library.catalogue.paths_of_cases():
            within = _parts(path)
            self._add(row, sources.get(source, ()), within)
            if member or frame is not None:
                inside = f"{member}[{frame}]" if frame is not None else member
                self._add(row, sources.get(source, ()), (*within, *_parts(inside)))

    def _add(self, row: int, source: tuple[str, ...], within: tuple[str, ...]) -> None:
        whole = (*source, *within)
        if whole:
            # A source may be the file itself.
            self._by_name.setdefault(whole[-1], []).append((whole, len(within) or 1, row))

    def find(self, path: str) -> list[int]:
        """The cases whose image lies at ``path``: the whole path if one fits, else those whose path ends so, or whose
        path within their source is the end of ``path``; of several those that share the longest end with it."""
        parts = _parts(path)
        candidates = self._by_name.get(parts[-1], ()) if parts else ()
        exact = {row for whole, _, row in candidates if whole == parts}
        if exact:
            return sorted(exact)
        shared = [
            (_n_shared(whole, parts), row)
            for whole, n_within, row in candidates
            if whole[-len(parts) :] == parts or parts[-n_within:] == whole[-n_within:]
        ]
        longest = max((length for length, _ in shared), default=0)
        return sorted({row for length, row in shared if length == longest})


def _n_shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """How many parts at their ends are equal."""
    pairs = enumerate(zip(reversed(a), reversed(b), strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(a), len(b)))


def _parts(path: str) -> tuple[str, ...]:
    text = composed(path).removeprefix("file://").replace("\\", "/").replace("!", "/")
    return tuple(part for part in text.split("/") if part not in ("", "."))


#: Ids, findings and vectors of some cases.
_Block = tuple[list[str], list[str], npt.NDArray[Any]]


class _StoredSet:
    """A feature set with the ids and findings of its cases, without those in the sealed test vault."""

    def __init__(self, library: Library, name: str | None) -> None:
        self._library, self.feature_set = library, _set_to_export(library, name)
        sealed = set(sealed_rows(library).tolist())
        held = library.features.cases_of(self.feature_set).tolist()
        self._cases = {
            one.id: (one.case_id, one.finding or "")
            for one in library.catalogue.all_cases()
            if one.id not in sealed
        }
        self._places = {case_id: place for place, (case_id, _) in enumerate(self._cases.values())}
        self.n_sealed = sum(row in sealed for row in held)
        self._coding = None
        if self.feature_set.is_packed:
            self._coding = coding_of(self.feature_set)
            n_places = self.feature_set.width // self._coding.width
            self.names = tuple(
                f"place {place} {number}"
                for place in range(1, n_places + 1)
                for number in range(1, self._coding.width + 1)
            )
        else:
            self.names = tuple(str(one) for one, _ in self.feature_set.columns)
        of_numbers = stored_extractor(self.feature_set.extractor).stored_type()
        #: Packed places are decoded to single precision; columns of tables have double precision.
        self.dtype = np.dtype("float32" if self.feature_set.is_packed else of_numbers)

    def __len__(self) -> int:
        held = self._library.features.cases_of(self.feature_set).tolist()
        return sum(row in self._cases for row in held)

    def blocks(self, reporter: Reporter) -> Iterator[_Block]:
        """Ids, findings and vectors, some chunks at a time: in the order of the catalogue where all of them fit into
        memory, else in that of the store."""
        found = self._stored_blocks(reporter)
        if len(self) * len(self.names) * self.dtype.itemsize > _ORDERED_BYTES:
            yield from found
            return
        every = list(found)
        if every:
            ids = [one for block in every for one in block[0]]
            findings = [one for block in every for one in block[1]]
            order = sorted(range(len(ids)), key=lambda place: self._places[ids[place]])
            values = np.concatenate([block[2] for block in every])[order]
            yield [ids[place] for place in order], [findings[place] for place in order], values

    def _stored_blocks(self, reporter: Reporter) -> Iterator[_Block]:
        for rows, values in self._library.features.blocks(self.feature_set):
            reporter.check_cancelled()
            there = np.array([row in self._cases for row in rows.tolist()], dtype=bool)
            if not there.all():
                rows, values = rows[there], values[there]
            if not len(rows):
                continue
            found = [self._cases[row] for row in rows.tolist()]
            if self._coding is not None:
                values = values.astype(np.float32) * np.float32(self._coding.top / LARGEST)
            values = np.ascontiguousarray(values, dtype=self.dtype)
            yield [case_id for case_id, _ in found], [finding for _, finding in found], values


def _set_to_export(library: Library, name: str | None) -> FeatureSet:
    if name is None:
        return library.features.get(None)
    every = library.features.every()
    found = next((one for one in every if one.name == name), None)
    if found is None and name == PLACES:
        of_places = [one for one in every if one.part == PLACES]
        found = of_places[0] if len(of_places) == 1 else None
    # The error lists what there is.
    return found or library.features.get(name)


def export_features(
    library: LibraryLocation, name: str | None, out: Path, *, reporter: Reporter = SILENT
) -> ExportedFeatures:
    """Write the feature set ``name`` to ``out`` (.parquet, .npz or .csv): ids of cases, findings and vectors.

    Parquet: columns case_id, finding and features, a list of float32 with the names noted in the file. NPZ: arrays
    case_id, finding, features (n, d) and names. CSV: case_id, a column for each number, and finding. Read again, the
    numbers are the same to the bit. Cases in the sealed test vault are left out; paths and patients are not written.

    Raises:
        BadArguments: another ending of ``out``, or no such set.
        BadInput: the library has no features, or they are damaged.
        SemblanceError: ``out`` cannot be written.
    """
    writers: dict[str, Callable[[_StoredSet, Path, Reporter], int]] = {
        PARQUET: _write_parquet,
        NPZ: _write_npz,
        CSV: _write_csv,
    }
    if out.suffix.lower() not in writers:
        raise BadArguments(
            tr_lazy("Features cannot be written to '{out}'.", out=out.name),
            tr_lazy("Name a file ending in {endings}.", endings=", ".join(FORMATS)),
        )
    with open_library(library) as opened:
        stored = _StoredSet(opened, name)
        feature_set = stored.feature_set
        try:
            with replacing(out, private=False) as temporary:
                n_cases = writers[out.suffix.lower()](stored, temporary, reporter)
        except OSError as error:
            raise write_error(out, error) from error
    log_export(library, "features", out.suffix)
    return ExportedFeatures(
        str(library),
        feature_set.name,
        str(out),
        len(stored.names),
        n_cases,
        stored.n_sealed,
        out.stat().st_size,
    )


def _progress(stored: _StoredSet, reporter: Reporter) -> Iterator[_Block]:
    done, title = 0, tr_lazy("Exporting {name}", name=stored.feature_set.name)
    for ids, findings, values in stored.blocks(reporter):
        done += len(ids)
        reporter.progress(done, None, title)
        yield ids, findings, values


def _write_parquet(stored: _StoredSet, file: Path, reporter: Reporter) -> int:
    parquet = import_parquet()
    import pyarrow as pa

    width = len(stored.names)
    of_numbers = pa.from_numpy_dtype(stored.dtype)
    schema = pa.schema(
        [(CASE_ID, pa.string()), (_FINDING, pa.string()), pa.field(_VECTORS, pa.list_(of_numbers, width))],
        metadata={
            NOTED: json.dumps({_VECTORS: stored.feature_set.name, _NAMES: list(stored.names)}).encode()
        },
    )
    n_rows = 0
    # Embeddings hardly compress, and no two are alike.
    with parquet.ParquetWriter(file, schema, use_dictionary=[_FINDING], compression="zstd") as writer:
        for ids, findings, values in _progress(stored, reporter):
            flat = pa.array(values.reshape(-1), of_numbers)
            columns = [
                pa.array(ids, pa.string()),
                pa.array([one or None for one in findings], pa.string()),
                pa.FixedSizeListArray.from_arrays(flat, width),
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema))
            n_rows += len(ids)
    return n_rows


def _write_npz(stored: _StoredSet, file: Path, reporter: Reporter) -> int:
    n_cases, ids, findings = len(stored), list[str](), list[str]()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        with archive.open(f"{_VECTORS}.npy", "w", force_zip64=True) as out:
            shape = (n_cases, len(stored.names))
            npy.write_array_header_1_0(
                out, {"descr": npy.dtype_to_descr(stored.dtype), "fortran_order": False, "shape": shape}
            )
            for of_cases, found, values in _progress(stored, reporter):
                ids += of_cases
                findings += found
                out.write(values.data)
        for name, texts in ((CASE_ID, ids), (_FINDING, findings), (_NAMES, stored.names)):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
                npy.write_array(out, np.array(texts, dtype=np.str_), allow_pickle=False)
    if len(ids) != n_cases:
        raise SemblanceError(
            tr_lazy("Another program changed the features '{name}' meanwhile.", name=stored.feature_set.name),
            "Try again.",
        )
    return n_cases


def _write_csv(stored: _StoredSet, temporary: Path, reporter: Reporter) -> int:
    n_rows = 0
    # Nine digits are a number of single precision to the bit, seventeen one of double precision.
    of_number = "%.9g" if stored.dtype == np.float32 else "%.17g"
    pattern = ",".join([of_number] * len(stored.names))
    with temporary.open("w", encoding="utf-8", newline="") as out:
        out.write(csv_line(map(safe_text, [CASE_ID, *stored.names, _FINDING])) + "\n")
        for ids, findings, values in _progress(stored, reporter):
            for case_id, finding, row in zip(ids, findings, values.tolist(), strict=True):
                numbers = pattern % tuple(row)
                if "nan" in numbers:
                    numbers = ",".join("" if one == "nan" else one for one in numbers.split(","))
                begin, end = csv_line(map(safe_text, [case_id])), csv_line(map(safe_text, [finding]))
                out.write(f"{begin},{numbers},{end}\n")
            n_rows += len(ids)
    return n_rows
