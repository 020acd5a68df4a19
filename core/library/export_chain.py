"""The log of exports of a library in a folder as a chain: each line has a number and the hash of all before it.

The last number and hash are also in a file of their own, which shows when lines are missing at the end, and the number
is in the catalogue, which shows when both files are missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from semblance.core.files import open_private, write_file
from semblance.core.language import tr_lazy
from semblance.core.library.audit import (
    EXPORT,
    START,
    AuditCheck,
    AuditEntry,
    AuditHead,
    check_chain,
    entry_hash,
)
from semblance.core.library.records import EXPORTS, EXPORTS_HEAD

_HASH = ', "hash": "'


def append_exports(connection: sa.Connection, folder: Path, lines: Sequence[str]) -> None:
    """Add ``lines``, each a JSON object, to the log in ``folder``, within a running transaction of its catalogue.

    Raises:
        OSError: they cannot be written.
    """
    head, counted = last_export(folder), counted_exports(connection)
    if head.number < counted:
        # What is missing stays missing.
        head = AuditHead(counted, head.hash)
    written, number, last = [], head.number, head.hash
    for line in lines:
        number += 1
        body = json.dumps({**json.loads(line), "number": number}, ensure_ascii=False)
        last = entry_hash(last, number, "", "", EXPORT, body)
        written.append(f'{body[:-1]}{_HASH}{last}"}}\n')
    with open_private(folder / EXPORTS, "ab") as file:
        # A line that another program left unfinished must not swallow this one.
        if file.tell() and not _ends_with_line_break(folder / EXPORTS):
            file.write(b"\n")
        file.write("".join(written).encode("utf-8"))
        file.flush()
        os.fsync(file.fileno())
    write_file(folder / EXPORTS_HEAD, json.dumps({"number": number, "hash": last}).encode())
    connection.exec_driver_sql(f"PRAGMA user_version = {number:d}")


def counted_exports(connection: sa.Connection) -> int:
    """The number of the last line, as the catalogue has it. It is no row, so that a copy of the tables to another home
    does not take it along."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def plain_exports(folder: Path, count: int | None = None) -> list[str]:
    """The last ``count`` lines of the log, or all, oldest first, without numbers and hashes.

    Raises:
        OSError: it cannot be read.
    """
    lines = _lines(folder)
    chosen = lines if count is None else lines[-count:]
    plain = []
    for line in chosen:
        text = line.decode("utf-8", "replace")
        entry = _entry(text)
        if entry is not None:
            found = json.loads(entry.detail)
            del found["number"]
            text = json.dumps(found, ensure_ascii=False)
        plain.append(text)
    return plain


def check_exports(folder: Path, counted: int, since: str = "") -> AuditCheck:
    """Check the log in ``folder``, of which the catalogue ``counted`` lines; see
    :func:`semblance.core.library.audit.check_chain`.

    Raises:
        OSError: it cannot be read.
    """
    entries = [_entry(line.decode("utf-8", "replace")) for line in _lines(folder)]
    written = [entry for entry in entries if entry is not None]
    damaged = tuple(
        tr_lazy("Line {number} of the log was not written by Semblance.", number=place + 1)
        for place, entry in enumerate(entries)
        if entry is None
    )
    head = _head(folder)
    if head is None and written:
        damaged += (tr_lazy("The file {name} is missing.", name=EXPORTS_HEAD),)
    head = head or AuditHead()
    if counted > head.number:
        # One that was written before it was noted is no damage.
        head = AuditHead(counted, next((entry.hash for entry in written if entry.number == counted), START))
    found = check_chain(written, head, since)
    return AuditCheck(found.entries, found.hash, damaged + found.problems)


def last_export(folder: Path) -> AuditHead:
    """The entry that the next one follows: the noted one, or one that was written after it was noted.

    Raises:
        OSError: the log cannot be read.
    """
    lines, head = _lines(folder), _head(folder)
    if head is not None and len(lines) <= head.number:
        return head
    entry = _entry(lines[-1].decode("utf-8", "replace")) if lines else None
    if entry is not None and entry.number == len(lines):
        return AuditHead(entry.number, entry.hash)
    return head or AuditHead()


def _head(folder: Path) -> AuditHead | None:
    try:
        found = json.loads((folder / EXPORTS_HEAD).read_bytes())
        return AuditHead(int(found["number"]), str(found["hash"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _lines(folder: Path) -> list[bytes]:
    file = folder / EXPORTS
    return [line for line in file.read_bytes().split(b"\n") if line.strip()] if file.exists() else []


def _ends_with_line_break(file: Path) -> bool:
    with file.open("rb") as opened:
        opened.seek(-1, os.SEEK_END)
        return opened.read(1) == b"\n"


def _entry(line: str) -> AuditEntry | None:
    """The entry of a line of the chain; ``None`` for another line."""
    body, mark, last = line.rpartition(_HASH)
    body += "}"
    if not mark or len(last) != len(START) + 2 or not last.endswith('"}'):
        return None
    try:
        found = json.loads(body)
        return AuditEntry(int(found["number"]), "", "", EXPORT, body, last[:-2])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
