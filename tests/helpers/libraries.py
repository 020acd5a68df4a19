"""Libraries made by hand: cases and numbers without images to decode or processes to start."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from semblance.core.library.lesion_group_rows import GroupMember, groups_in, remove_from_groups
from semblance.core.library.lesion_groups import joined, split_off
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE, CaseRecord, FeatureSet, FileRecord, SourceRecord
from semblance.core.library.schema import lesion_groups


def make_library(folder: Path, cases: int = 6, findings: Sequence[str] = ("benign", "malignant")) -> Path:
    """A closed library with one source of ``cases`` made-up images, ``s/0.png`` and so on."""
    with Library.create(folder) as library:
        fill(library, range(cases), findings=findings)
    return folder


def fill(
    library: Library,
    numbers: Sequence[int],
    *,
    source: str = "s",
    content: str = "c",
    findings: Sequence[str] = ("benign", "malignant"),
) -> SourceRecord:
    """Catalogue images ``0.png``, ``1.png`` ... of one source; content ``c0``, ``c1`` ..."""
    record = library.catalogue.add_source("folder", source, Path("/images") / source)
    library.catalogue.put(
        record,
        [FileRecord(f"{n}.png", 100 + n, n, f"hash{n}", "ok") for n in numbers],
        [
            CaseRecord(
                f"{record.name}/{n}.png",
                f"{n}.png",
                finding=findings[n % len(findings)],
                patient=f"P{n // 2}",
                attributes={"view": "CC"},
                width=10,
                height=20,
                content=f"{content}{n}",
            )
            for n in numbers
        ],
    )
    return record


def join(library: Library, rows: Sequence[int]) -> None:
    """Make the cases ``rows`` one same-lesion group by hand, without an edit."""
    _set_groups(library, joined, rows)


def split(library: Library, rows: Sequence[int]) -> None:
    """Take each of the cases ``rows`` out of its same-lesion group by hand, without an edit."""
    _set_groups(library, split_off, rows)


def _set_groups(
    library: Library, change: Callable[..., Mapping[int, GroupMember]], rows: Sequence[int]
) -> None:
    with library.catalogue.transaction() as connection:
        changed = change(groups_in(connection), rows)
        remove_from_groups(connection, changed)
        values = [{"case": row, "group": one.group, "source": one.source} for row, one in changed.items()]
        connection.execute(lesion_groups.insert(), values)


def numbers_set(
    library: Library, name: str = "made up", width: int = 3, dtype: str = "float32"
) -> FeatureSet:
    """A feature set nobody extracted."""
    columns = [(f"f{n}", f"group {n // 2}") for n in range(width)]
    return library.features.make(name, "gabor", 1, {}, columns, dtype=dtype)


def values_of(rows: Sequence[int], width: int = 3) -> np.ndarray:
    """(n, width) float32 that tell which case they belong to."""
    return np.array([[row + 0.25 * column for column in range(width)] for row in rows], dtype=np.float32)


def case_rows(library: Library) -> np.ndarray:
    """(n,) ids of all cases."""
    return np.array([r.id for r in library.catalogue.all_cases()], dtype=np.int64)


def finding_of(library: Path) -> dict[str, str | None]:
    """The finding of each case, by its id."""
    with Library.open(library, writable=False) as opened:
        return {row.case_id: row.finding for row in opened.catalogue.all_cases()}


def stored_features(library: Path) -> tuple[np.ndarray, np.ndarray]:
    """Ids and numbers of the only feature set."""
    with Library.open(library) as opened:
        return opened.features.read(opened.features.get(None))


def tables_of(library: Path) -> dict[str, list[tuple]]:
    """Everything in the catalogue, to compare before and after."""
    with raw(library) as connection:
        names = [r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        return {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for name in names}


def settled(library: Path) -> bytearray:
    """The catalogue's bytes with everything in the file itself."""
    with raw(library) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return bytearray((library / CATALOGUE).read_bytes())


@contextlib.contextmanager
def raw(library: Path) -> Iterator[sqlite3.Connection]:
    """The catalogue's file, past all our code; changes are committed."""
    with contextlib.closing(sqlite3.connect(library / CATALOGUE)) as connection:
        yield connection
        connection.commit()
